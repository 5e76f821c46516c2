//! Horovod without an MPI: `horovodrun --gloo` sets these for every task (github.com/horovod/horovod,
//! horovod/runner/gloo_run.py). The address in them is that of `horovodrun`, not of rank 0.

use super::mpi::MpiVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: VARIABLES.engine, detect: |host| VARIABLES.detect(host) };

const VARIABLES: MpiVariables = MpiVariables {
    engine: "Horovod",
    rank: "HOROVOD_RANK",
    size: "HOROVOD_SIZE",
    local_rank: "HOROVOD_LOCAL_RANK",
    local_size: "HOROVOD_LOCAL_SIZE",
    proxies: &["horovodrun"],
    ..MpiVariables::NONE
};
