//! PBS Professional, OpenPBS and Torque: the shell of a job. PBS_NODEFILE lists a machine once for each of its slots; Torque
//! also counts them (`man qsub` of each). `pbsdsh` gives what it starts neither the shell's variables nor its folder, so
//! zlaunch does not start itself through it.

use super::job_shell::{JobShell, Machines};
use crate::base::vars;
use crate::ranks::topology::engine::{Engine, Starter};

pub(super) const ENGINE: Engine = Engine { name: SHELL.engine, detect: |host| SHELL.detect(host) };

const SHELL: JobShell = JobShell {
    engine: "PBS",
    machines: &[Machines::File(vars::PBS_NODEFILE), Machines::Count("PBS_NUM_NODES")],
    marks: &[vars::PBS_JOBID, "PBS_ENVIRONMENT"],
    starter: Starter::ByHand(
        "mpirun --hostfile $PBS_NODEFILE --map-by ppr:1:node zlaunch … (Open MPI), or mpiexec -ppn 1 zlaunch … (MPICH, Intel MPI, PALS)",
    ),
};
