//! Open MPI: `mpirun` sets these for every task. It does not say where the ranks meet: the job's host list or the user
//! must.

use super::mpi::MpiVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine =
    Engine { name: "Open MPI", variable: "OMPI_COMM_WORLD_SIZE", detect: |host| VARIABLES.detect(host) };

const VARIABLES: MpiVariables = MpiVariables {
    rank: "OMPI_COMM_WORLD_RANK",
    size: "OMPI_COMM_WORLD_SIZE",
    local_rank: "OMPI_COMM_WORLD_LOCAL_RANK",
    local_size: "OMPI_COMM_WORLD_LOCAL_SIZE",
};
