//! PBS Professional, OpenPBS and Torque: the shell of a job. PBS_NODEFILE lists a machine once for each of its slots; Torque
//! also counts them (`man qsub` of each). `pbs_tmrsh` of the first two exits as its command does (openpbs,
//! src/cmds/pbs_tmrsh.c); `pbsdsh`, all that Torque has, exits with 0 whatever became of its tasks.

use super::job_shell::JobShell;
use crate::host::Host;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine {
    name: "PBS",
    detect: |block, host| {
        // The shell is task 1.
        let is_task: fn(&Host) -> bool = |host| host.filled("PBS_TASKNUM").is_some_and(|task| task != "1");
        JobShell { block, is_task }.detect(host)
    },
};
