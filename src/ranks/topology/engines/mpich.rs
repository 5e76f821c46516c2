//! MPICH and Intel MPI (hydra). `srun --mpi=pmi2` sets `PMI_RANK`, too, and there Slurm's variables say more, so hydra's
//! own local variables must be there.

use super::mpi::MpiVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine =
    Engine { name: "MPICH", variable: "MPI_LOCALNRANKS", detect: |host| VARIABLES.detect(host) };

const VARIABLES: MpiVariables =
    MpiVariables { rank: "PMI_RANK", size: "PMI_SIZE", local_rank: "MPI_LOCALRANKID", local_size: "MPI_LOCALNRANKS" };
