//! Grid Engine (SGE, Univa, Altair, Son of): the shell of a job in a parallel environment. The first word of each line of
//! PE_HOSTFILE is a machine; NHOSTS counts them (`man sge_pe`, `man qsub`). `qrsh -inherit` runs a command on one of them, if
//! the parallel environment has `control_slaves`, and exits as it does (`man qrsh`). What such a task finds was seen with
//! 8.1.9.

use super::job::is_this_host;
use super::job_shell;
use super::nodes::hosts_in_file;
use crate::base::engines::Block;
use crate::base::source::Sourced;
use crate::host::Host;
use crate::ranks::topology::engine::{Detected, Engine};
use crate::ranks::topology::variables::text;
use crate::report;

pub(super) const ENGINE: Engine = Engine { name: "Grid Engine", detect };

fn detect(block: &Block, host: &Host) -> Option<Detected> {
    let elsewhere = || {
        let job = started_from_elsewhere(host)?.place();
        Some(Err(report::place_unknown(ENGINE.name, &[job], "how many machines it has").into()))
    };
    job_shell::detect(block, host).or_else(elsewhere)
}

/// The machine from which `qrsh -inherit` started this task, if that is another one. NHOSTS is 1 here then, however many the
/// job has, and PE_HOSTFILE names a file of the other machine, if anything.
fn started_from_elsewhere(host: &Host) -> Option<Sourced<String>> {
    let task = task_of_qrsh(host)?;
    let knows_all = text("PE_HOSTFILE", host).is_some_and(|file| hosts_in_file(&file).is_some());
    let from = text("SGE_O_HOST", host).unwrap_or(task);
    (!knows_all && !is_this_host(&from.value, host)).then_some(from)
}

/// Grid Engine's name for what `qrsh -inherit` starts.
fn task_of_qrsh(host: &Host) -> Option<Sourced<String>> {
    text("JOB_NAME", host).filter(|name| name.value == "petask")
}
