//! MPICH and Intel MPI (hydra). `PMI_RANK` alone is also what `srun --mpi=pmi2` sets, where Slurm knows more: hydra's
//! own local variables must be there.

use super::engine::Engine;
use super::mpi::Tasks;

pub(super) const ENGINE: Engine = Engine { name: "MPICH", mark: "MPI_LOCALNRANKS", look: |host| TASKS.look(host) };

const TASKS: Tasks =
    Tasks { rank: "PMI_RANK", size: "PMI_SIZE", local_rank: "MPI_LOCALRANKID", local_size: "MPI_LOCALNRANKS" };
