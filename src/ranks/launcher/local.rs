//! zlaunch starts the ranks of this machine itself, in the environment torchrun would give them. Here is what is decided
//! about them; `exec` starts, watches and stops them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::{Launcher, direct};
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::command::target::Target;
use crate::command::trainer::Job;
use crate::host::Host;
use crate::ranks::topology::Topology;
use crate::report::{self, Problem};

/// Variables whose value is the number of the rank: on one machine they are all the same number.
pub(crate) const PER_RANK: &[&str] = &[vars::RANK, vars::LOCAL_RANK, vars::ROLE_RANK];

/// What ranks get to end after they were told to, as torchrun has it.
const GRACE: Duration = Duration::from_secs(30);

/// What the user said about the ranks' output.
#[derive(Default)]
pub(crate) struct OutputFlags {
    pub(crate) log_dir: Option<Sourced<PathBuf>>,
    pub(crate) prefix: Option<Source>,
}

impl OutputFlags {
    /// Only the ranks zlaunch starts itself can be listened to; a variable may serve a whole site.
    pub(crate) fn without_effect(&self, kind: Launcher) -> Vec<Problem> {
        let sourced = self.log_dir.as_ref().map(|sourced| &sourced.from).into_iter().chain(&self.prefix);
        let flags = sourced.filter(|from| kind != Launcher::Local && matches!(from, Source::Flag(_)));
        flags.map(|from| report::output_without_effect(from, &kind)).collect()
    }
}

/// The ranks, besides their argv and environment.
#[derive(Debug)]
pub(crate) struct Local {
    pub(crate) count: u32,
    /// From the first word to stop until they are killed.
    pub(crate) grace: Duration,
    /// `rankN.log` in it takes what rank N prints.
    pub(crate) log_dir: Option<PathBuf>,
    /// Every line shows its rank.
    pub(crate) prefix: bool,
}

impl Local {
    pub(crate) fn new(topology: &Topology, flags: &OutputFlags, host: &Host) -> Self {
        let seconds = host.filled(vars::TORCH_ELASTIC_SHUTDOWN_TIMEOUT).and_then(|text| text.trim().parse().ok());
        Local {
            count: topology.nproc_per_node.as_ref().map_or(1, |sourced| sourced.value),
            grace: seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or(GRACE),
            log_dir: flags.log_dir.as_ref().map(|sourced| host.absolute(&sourced.value)),
            prefix: flags.prefix.is_some(),
        }
    }
}

/// Where machines must find each other, torchrun is needed.
pub(super) fn possible(asked: &Sourced<Launcher>, topology: &Topology) -> Result<(), Problem> {
    match topology.nnodes.as_ref().filter(|nnodes| nnodes.value > 1) {
        Some(nnodes) => Err(report::local_is_one_machine(asked, nnodes)),
        None => Ok(()),
    }
}

/// Several ranks on one machine whose Python is known to have no torchrun.
pub(super) fn is_needed(job: &Job, topology: &Topology) -> bool {
    let one_machine = topology.nnodes.as_ref().is_some_and(|nnodes| nnodes.value == 1);
    one_machine && job.python.as_ref().is_some_and(|python| python.lacks("torch/distributed/run.py", "torch"))
}

/// What every rank executes: Python unbuffered, as torchrun starts it, so that no line is lost with a rank that is killed.
pub(super) fn head(job: &Job, host: &Host) -> Vec<OsString> {
    let mut words = direct::head(job, host);
    if let Target::Script { options, .. } | Target::Module { options, .. } = &job.target
        && !options.iter().any(|option| option == "-u")
    {
        words.insert(1, "-u".into());
    }
    words
}
