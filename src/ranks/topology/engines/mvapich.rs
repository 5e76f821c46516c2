//! MVAPICH2 and MVAPICH 3: `mpirun_rsh` sets these for every task (src/mpid/ch4/netmod/ofi/mvp/mvp_env_params.c of
//! MVAPICH 3 has the names that begin with MVP).

use super::mpi::MpiVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine {
    name: MVAPICH2.engine,
    detect: |host| [MVAPICH2, MVAPICH3].iter().find_map(|variables| variables.detect(host)),
};

const MVAPICH2: MpiVariables = MpiVariables {
    engine: "MVAPICH",
    rank: "MV2_COMM_WORLD_RANK",
    size: "MV2_COMM_WORLD_SIZE",
    local_rank: "MV2_COMM_WORLD_LOCAL_RANK",
    local_size: "MV2_COMM_WORLD_LOCAL_SIZE",
    ..MpiVariables::NONE
};

const MVAPICH3: MpiVariables = MpiVariables {
    engine: "MVAPICH",
    rank: "MVP_COMM_WORLD_RANK",
    size: "MVP_COMM_WORLD_SIZE",
    local_rank: "MVP_COMM_WORLD_LOCAL_RANK",
    local_size: "MVP_COMM_WORLD_LOCAL_SIZE",
    ..MpiVariables::NONE
};
