//! PBS Professional, OpenPBS and Torque: the shell of a job. PBS_NODEFILE lists a machine once for each of its slots; Torque
//! also counts them (`man qsub` of each). `pbs_tmrsh` of the first two exits as its command does (openpbs,
//! src/cmds/pbs_tmrsh.c); `pbsdsh`, all that Torque has, exits with 0 whatever became of its tasks.

use super::job_shell::{JobShell, Machines};
use crate::base::vars;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: SHELL.engine, detect: |host| SHELL.detect(host) };

const SHELL: JobShell = JobShell {
    engine: "PBS",
    machines: &[Machines::File(vars::PBS_NODEFILE), Machines::Count("PBS_NUM_NODES")],
    marks: &[vars::PBS_JOBID, "PBS_ENVIRONMENT"],
    job: &[vars::PBS_JOBID],
    starter: &["pbs_tmrsh"],
    // The shell is task 1.
    is_task: |host| host.filled("PBS_TASKNUM").is_some_and(|task| task != "1"),
    by_hand: "mpirun --hostfile $PBS_NODEFILE --map-by ppr:1:node zlaunch … (Open MPI), or mpiexec -ppn 1 zlaunch … (MPICH, Intel MPI, PALS)",
};
