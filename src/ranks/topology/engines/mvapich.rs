//! MVAPICH2.

use super::mpi::MpiVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine =
    Engine { name: "MVAPICH2", variable: "MV2_COMM_WORLD_SIZE", detect: |host| VARIABLES.detect(host) };

const VARIABLES: MpiVariables = MpiVariables {
    rank: "MV2_COMM_WORLD_RANK",
    size: "MV2_COMM_WORLD_SIZE",
    local_rank: "MV2_COMM_WORLD_LOCAL_RANK",
    local_size: "MV2_COMM_WORLD_LOCAL_SIZE",
};
