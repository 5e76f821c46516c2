//! Open MPI: `mpirun` sets these for every task. It says nothing of where the ranks meet, so the job's host list or the
//! user must.

use super::engine::Engine;
use super::mpi::Tasks;

pub(super) const ENGINE: Engine =
    Engine { name: "Open MPI", mark: "OMPI_COMM_WORLD_SIZE", look: |host| TASKS.look(host) };

const TASKS: Tasks = Tasks {
    rank: "OMPI_COMM_WORLD_RANK",
    size: "OMPI_COMM_WORLD_SIZE",
    local_rank: "OMPI_COMM_WORLD_LOCAL_RANK",
    local_size: "OMPI_COMM_WORLD_LOCAL_SIZE",
};
