//! OAR: the shell of a job. Its file lists a machine once for each of its cores, under any of four names
//! (oar.readthedocs.io, "oarsub"; seen with 2.5.9). `oarsh` is an ssh to the machines of the job (the same, "oarsh"): it hands on
//! neither the folder nor the variables, and a shell reads its words.

use super::job_shell::{JobShell, Machines};
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: SHELL.engine, detect: |host| SHELL.detect(host) };

const SHELL: JobShell = JobShell {
    engine: "OAR",
    machines: &[
        Machines::File("OAR_NODEFILE"),
        Machines::File("OAR_NODE_FILE"),
        Machines::File("OAR_FILE_NODES"),
        Machines::File("OAR_RESOURCE_FILE"),
    ],
    marks: &["OAR_JOB_ID", "OAR_JOBID"],
    job: &["OAR_JOB_ID"],
    starter: &["oarsh"],
    is_task: |_| false,
    by_hand: "mpirun --mca plm_rsh_agent oarsh --hostfile $OAR_NODEFILE --map-by ppr:1:node zlaunch … (Open MPI)",
};
