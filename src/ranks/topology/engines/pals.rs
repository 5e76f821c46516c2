//! Cray PALS, the `mpiexec` of PBS machines. PBS lists the job's machines in a file, one line for each slot.

use super::mpi::MpiVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: VARIABLES.engine, detect: |host| VARIABLES.detect(host) };

const VARIABLES: MpiVariables = MpiVariables {
    engine: "PALS",
    rank: "PALS_RANKID",
    size: "PMI_SIZE",
    local_rank: "PALS_LOCAL_RANKID",
    local_size: "PALS_LOCAL_SIZE",
    job: "PALS_APID",
    ..MpiVariables::NONE
};
