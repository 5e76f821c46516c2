//! Cray PALS, the `mpiexec` of PBS machines. PBS lists the job's machines in a file, one line for each slot.

use super::engine::Engine;
use super::mpi::Tasks;

pub(super) const ENGINE: Engine = Engine { name: "PALS", mark: "PALS_LOCAL_SIZE", look: |host| TASKS.look(host) };

const TASKS: Tasks =
    Tasks { rank: "PALS_RANKID", size: "PMI_SIZE", local_rank: "PALS_LOCAL_RANKID", local_size: "PALS_LOCAL_SIZE" };
