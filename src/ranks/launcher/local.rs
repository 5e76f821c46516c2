//! zlaunch starts the ranks of this machine itself, in the environment that torchrun would give them. Here is what is
//! decided about them; `exec` starts and supervises them.

use std::ffi::OsString;
use std::time::Duration;

use super::context::{LaunchContext, refused};
use super::tables::launchers::Launcher;
use crate::base::source::Sourced;
use crate::base::vars;
use crate::command::job::Job;
use crate::command::target::Target;
use crate::host::Host;
use crate::ranks::topology::Topology;
use crate::report::Problem;
use crate::report::fix::give;

/// Variables whose value is the rank. On one machine these are the same number.
pub(crate) const PER_RANK: &[&str] = &[vars::RANK, vars::LOCAL_RANK, vars::ROLE_RANK];

/// torchrun's own default.
const DEFAULT_GRACE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct LocalRanks {
    pub(crate) count: u32,
    /// The time between asking them to stop and killing them.
    pub(crate) grace: Duration,
}

impl LocalRanks {
    pub(crate) fn new(topology: &Topology, host: &Host) -> Self {
        let seconds = host
            .nonempty_var(vars::TORCH_ELASTIC_SHUTDOWN_TIMEOUT)
            .and_then(|text| text.trim().parse().ok());
        let grace = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        LocalRanks {
            count: topology
                .nproc_per_node
                .as_ref()
                .map_or(1, |nproc| nproc.value),
            grace: grace.unwrap_or(DEFAULT_GRACE),
        }
    }
}

/// Refuses `local` for several machines, which need the rendezvous of torchrun.
pub(super) fn check(asked: &Sourced<Launcher>, topology: &Topology) -> Result<(), Problem> {
    let Some(nnodes) = topology.nnodes.as_ref().filter(|nnodes| nnodes.value > 1) else {
        return Ok(());
    };
    let what =
        format!("`local` only starts the ranks of one machine; {nnodes} machines need torchrun");
    let problem = refused(what).at(asked).at(nnodes);
    Err(problem.fix(give("--launcher", "torchrun").remark("once on each machine")))
}

pub(super) fn is_needed(job: &Job, topology: &Topology) -> bool {
    topology.is_one_machine()
        && job
            .python
            .as_ref()
            .is_some_and(|python| python.lacks("torch/distributed/run.py", "torch"))
}

/// Python is unbuffered, as under torchrun: otherwise a rank that is killed loses its last lines.
pub(super) fn prefix(context: &LaunchContext<'_>) -> Vec<OsString> {
    let mut words = context.process_words();
    if let Target::Script { options, .. } | Target::Module { options, .. } = &context.job.target
        && !options.iter().any(|option| option == "-u")
    {
        words.insert(1, "-u".into());
    }
    words
}
