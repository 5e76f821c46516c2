//! submitit's local executor: github.com/facebookincubator/submitit, submitit/local/local.py. It starts one process for each
//! task, all on this machine. Its Slurm executor runs `srun`, whose variables are then there.

use super::mpi::MpiVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: VARIABLES.engine, detect: |host| VARIABLES.detect(host) };

const VARIABLES: MpiVariables = MpiVariables {
    engine: "submitit",
    rank: "SUBMITIT_LOCAL_GLOBALID",
    size: "SUBMITIT_LOCAL_NTASKS",
    local_rank: "SUBMITIT_LOCAL_LOCALID",
    // On one machine there are as many as there are at all.
    local_size: "SUBMITIT_LOCAL_NTASKS",
    job: "SUBMITIT_LOCAL_JOB_ID",
    ..MpiVariables::NONE
};
