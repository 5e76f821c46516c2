//! LSF with `jsrun`. The first line of its host file is the machine that launches, which runs no rank.

use super::mpi::MpiVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine =
    Engine { name: "LSF", variable: "JSM_NAMESPACE_SIZE", detect: |host| VARIABLES.detect(host) };

const VARIABLES: MpiVariables = MpiVariables {
    rank: "JSM_NAMESPACE_RANK",
    size: "JSM_NAMESPACE_SIZE",
    local_rank: "JSM_NAMESPACE_LOCAL_RANK",
    local_size: "JSM_NAMESPACE_LOCAL_SIZE",
};
