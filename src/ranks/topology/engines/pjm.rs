//! Fujitsu's PJM (Technical Computing Suite): the shell of a job. PJM_O_NODEINF names a file with a line for each machine, as
//! the scripts of Wisteria, Genkai and ITO read it; PJM_NODE counts them, PJM_VNODES where a job has parts of machines.

use super::job_shell::{JobShell, Machines};
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: SHELL.engine, detect: |host| SHELL.detect(host) };

const SHELL: JobShell = JobShell {
    engine: "PJM",
    machines: &[Machines::File("PJM_O_NODEINF"), Machines::Count("PJM_NODE"), Machines::Count("PJM_VNODES")],
    marks: &[],
    job: &[],
    starter: &[],
    is_task: |_| false,
    by_hand: "mpirun -machinefile $PJM_O_NODEINF -npernode 1 zlaunch … (Open MPI), or mpiexec -machinefile $PJM_O_NODEINF -ppn 1 zlaunch … (Intel MPI)",
};
