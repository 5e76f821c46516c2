//! MVAPICH2.

use super::engine::Engine;
use super::mpi::Tasks;

pub(super) const ENGINE: Engine =
    Engine { name: "MVAPICH2", mark: "MV2_COMM_WORLD_SIZE", look: |host| TASKS.look(host) };

const TASKS: Tasks = Tasks {
    rank: "MV2_COMM_WORLD_RANK",
    size: "MV2_COMM_WORLD_SIZE",
    local_rank: "MV2_COMM_WORLD_LOCAL_RANK",
    local_size: "MV2_COMM_WORLD_LOCAL_SIZE",
};
