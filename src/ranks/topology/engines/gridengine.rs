//! Grid Engine (SGE, Univa, Altair, Son of): the shell of a job in a parallel environment. The first word of each line of
//! PE_HOSTFILE is a machine; NHOSTS counts them (`man sge_pe`, `man qsub`). `qrsh -inherit` runs a command on one of them, if
//! the parallel environment has `control_slaves`, and exits as it does (`man qrsh`).

use super::job_shell::{JobShell, Machines};
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: SHELL.engine, detect: |host| SHELL.detect(host) };

const SHELL: JobShell = JobShell {
    engine: "Grid Engine",
    machines: &[Machines::File("PE_HOSTFILE"), Machines::Count("NHOSTS")],
    // A job without a parallel environment is on one machine.
    marks: &["PE"],
    job: "JOB_ID",
    starter: &["qrsh", "-inherit", "-nostdin"],
    // Its name for what `qrsh -inherit` starts.
    is_task: |host| host.filled("JOB_NAME") == Some("petask"),
    by_hand: "mpirun -np $NHOSTS --map-by ppr:1:node zlaunch … (Open MPI), or mpiexec -n $NHOSTS -ppn 1 zlaunch … (MPICH, Intel MPI)",
};
