//! Cobalt: the shell of a job. COBALT_NODEFILE has a line for each machine, and COBALT_JOBSIZE counts them (as PRRTE and
//! RADICAL read them). It has no program that starts a command on one of them.

use super::job_shell::{JobShell, Machines};
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: SHELL.engine, detect: |host| SHELL.detect(host) };

const SHELL: JobShell = JobShell {
    engine: "Cobalt",
    machines: &[Machines::File("COBALT_NODEFILE"), Machines::Count("COBALT_JOBSIZE")],
    marks: &["COBALT_JOBID"],
    job: &[],
    starter: &[],
    is_task: |_| false,
    by_hand: "mpirun --hostfile $COBALT_NODEFILE --map-by ppr:1:node zlaunch … (Open MPI), or mpiexec -f $COBALT_NODEFILE -ppn 1 zlaunch … (MPICH)",
};
