//! MPICH and Intel MPI (hydra); seen with MPICH 5.0.2 and Intel MPI 2021.18. `srun --mpi=pmi2` sets `PMI_RANK`, too, and there
//! Slurm's variables say more, so hydra's own local variables must be there. Only Intel's names the start; MPICH's proxies are
//! told the host and port of their `mpiexec` (src/pm/hydra/mpiexec/mpiexec.c, HYD_server_info.control_listen_fd).

use super::mpi::MpiVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: VARIABLES.engine, detect: |host| VARIABLES.detect(host) };

const VARIABLES: MpiVariables = MpiVariables {
    engine: "MPICH",
    rank: "PMI_RANK",
    size: "PMI_SIZE",
    local_rank: "MPI_LOCALRANKID",
    local_size: "MPI_LOCALNRANKS",
    job: "I_MPI_HYDRA_UUID",
    proxies: &["hydra_pmi_proxy"],
    proxy_option: Some("--control-port"),
};
