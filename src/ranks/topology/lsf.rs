//! LSF with `jsrun`. The first line of its host file is the machine that launches, which runs no rank.

use super::engine::Engine;
use super::mpi::Tasks;

pub(super) const ENGINE: Engine = Engine { name: "LSF", mark: "JSM_NAMESPACE_SIZE", look: |host| TASKS.look(host) };

const TASKS: Tasks = Tasks {
    rank: "JSM_NAMESPACE_RANK",
    size: "JSM_NAMESPACE_SIZE",
    local_rank: "JSM_NAMESPACE_LOCAL_RANK",
    local_size: "JSM_NAMESPACE_LOCAL_SIZE",
};
