//! Open MPI: `mpirun` sets these for every task (docs.open-mpi.org, "Environment variables set for MPI applications"). It
//! does not say where the ranks meet: the job's host list or the user must. Open MPI 4 counts the nodes in
//! OMPI_MCA_orte_num_nodes, Open MPI 5 does not.

use super::mpi::MpiVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: VARIABLES.engine, detect: |host| VARIABLES.detect(host) };

const VARIABLES: MpiVariables = MpiVariables {
    engine: "Open MPI",
    rank: "OMPI_COMM_WORLD_RANK",
    size: "OMPI_COMM_WORLD_SIZE",
    local_rank: "OMPI_COMM_WORLD_LOCAL_RANK",
    local_size: "OMPI_COMM_WORLD_LOCAL_SIZE",
    job: "PMIX_NAMESPACE",
    // The namespace of Open MPI 4 is a hash of 16 bits, so that two starts may share one.
    proxies: &["mpirun", "mpiexec", "orterun"],
    ..MpiVariables::NONE
};
