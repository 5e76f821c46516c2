//! Who starts the ranks. One file each in `launcher/` turns a job and a topology into the argv that is executed; here is
//! the choice between them. A command that already starts with a launcher is `wrapped`.

mod accelerate;
mod deepspeed;
mod direct;
pub(crate) mod local;
mod runner;
pub(crate) mod srun;
mod torchrun;
pub(crate) mod wrapped;

use std::ffi::OsString;
use std::fmt;

use crate::base::source::Said;
use crate::command::target::Target;
use crate::command::trainer::{Family, Job};
use crate::host::Host;
use crate::ranks::topology::{SaidHosts, Standing, Topology};
use crate::report::{self, Problem};

pub(crate) use wrapped::Wrapped;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Torchrun,
    Deepspeed,
    Direct,
    Srun,
    /// zlaunch itself.
    Local,
    /// Only where the command itself starts with it, by its name.
    OfTheCommand(&'static str),
}

impl Kind {
    /// The words of `--launcher`.
    pub(crate) const NAMES: &'static [(&'static str, Option<Kind>)] = &[
        ("auto", None),
        ("torchrun", Some(Kind::Torchrun)),
        ("deepspeed", Some(Kind::Deepspeed)),
        ("srun", Some(Kind::Srun)),
        ("direct", Some(Kind::Direct)),
        ("local", Some(Kind::Local)),
    ];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Torchrun => "torchrun",
            Kind::Deepspeed => "deepspeed",
            Kind::Direct => "direct",
            Kind::Srun => "srun",
            Kind::Local => "local",
            Kind::OfTheCommand(name) => name,
        })
    }
}

/// Whoever was asked for, if that is possible; else whoever fits. A variable serves a whole site: where it cannot be
/// followed, or the command is none of ours, it gives way.
pub(crate) fn choose(asked: Option<&Said<Kind>>, job: &Job, topology: &Topology) -> Result<Kind, Problem> {
    let opaque = job.trainer.family == Family::Opaque;
    match asked {
        Some(asked) if asked.from.is_flag() => insisted(asked, job, topology),
        Some(asked) if !opaque && !topology.ranks_exist() => {
            insisted(asked, job, topology).or_else(|_| fitting(job, topology))
        }
        _ => fitting(job, topology),
    }
}

/// torchrun; nobody where one process is all; zlaunch itself where there is no torchrun.
fn fitting(job: &Job, topology: &Topology) -> Result<Kind, Problem> {
    let opaque = job.trainer.family == Family::Opaque;
    if job.starts_ranks() && !opaque {
        return Err(report::starts_ranks_itself(job.target.name()));
    }
    if let Standing::Task(task) = &topology.standing
        && job.trainer.launches_itself
    {
        return Err(report::tasks_are_ranks(&task.local_world_size, job.target.name()));
    }
    Ok(match &topology.standing {
        _ if topology.pool.is_some() => Kind::Deepspeed,
        Standing::Shell { .. } => Kind::Srun,
        Standing::Rank { .. } | Standing::Task(_) => Kind::Direct,
        // What zlaunch does not know may be a launcher itself: it is never launched twice.
        Standing::Starter if topology.is_one_process() || opaque => Kind::Direct,
        Standing::Starter if local::is_needed(job, topology) => Kind::Local,
        Standing::Starter => Kind::Torchrun,
    })
}

fn insisted(asked: &Said<Kind>, job: &Job, topology: &Topology) -> Result<Kind, Problem> {
    let opaque = job.trainer.family == Family::Opaque;
    if job.starts_ranks() && !(opaque && asked.value == Kind::Direct) {
        return Err(report::starts_ranks_itself(job.target.name()));
    }
    if topology.pool.is_some() && asked.value != Kind::Deepspeed {
        return Err(report::hostfile_is_deepspeeds(asked));
    }
    match (&topology.standing, asked.value) {
        // Each machine chooses its launcher again.
        (Standing::Shell { .. }, Kind::Torchrun | Kind::Deepspeed | Kind::Srun) => return Ok(Kind::Srun),
        (Standing::Shell { .. }, _) => return Err(report::not_in_a_job_shell(asked)),
        (_, Kind::Srun) => return Err(report::srun_not_here(asked)),
        (Standing::Rank { .. } | Standing::Task(_), Kind::Direct) => {}
        (Standing::Rank { .. }, _) => return Err(report::ranks_exist(asked)),
        (Standing::Task(task), _) => {
            return Err(report::tasks_have_no_launcher(asked, task.local_world_size.value));
        }
        (Standing::Starter, Kind::Direct) if !opaque => direct::possible(asked, topology)?,
        (Standing::Starter, Kind::Deepspeed) => deepspeed::possible(asked, topology)?,
        (Standing::Starter, Kind::Local) => local::possible(asked, topology)?,
        (Standing::Starter, _) => {}
    }
    Ok(asked.value)
}

/// The words that start the ranks; the trainer's arguments follow them.
pub(crate) fn head(
    kind: Kind,
    job: &Job,
    topology: &Topology,
    extra: &[OsString],
    hosts: &SaidHosts,
    host: &Host,
) -> Vec<OsString> {
    match kind {
        Kind::Torchrun => torchrun::head(job, topology, extra, host),
        Kind::Deepspeed => deepspeed::head(job, topology, extra, hosts, host),
        Kind::Local => local::head(job, host),
        Kind::Direct | Kind::Srun | Kind::OfTheCommand(_) => direct::head(job, host),
    }
}

/// Options passed through to a launcher must not contradict what zlaunch decides.
pub(crate) fn check_extra(kind: Kind, extra: &[OsString]) -> Vec<Problem> {
    let runner = wrapped::RUNNERS.iter().find(|runner| runner.kind == kind);
    let stated = runner.map(|runner| runner.topology_options(extra)).unwrap_or_default();
    stated.into_iter().map(|(ours, said)| report::say_it_to_us(&said, ours)).collect()
}

/// The interpreter, or the word to blame if there is none.
fn python(job: &Job) -> OsString {
    job.python.as_ref().map_or_else(|| "python3".into(), |python| python.program.clone().into_os_string())
}

/// What a launcher starts as each rank: a file, a module behind its option for one, or a command without Python.
fn rank(job: &Job, module: &str, host: &Host) -> Vec<OsString> {
    // Launchers start each rank with `python -u` and know no other option of the interpreter.
    let plain = |options: &[OsString]| options.iter().all(|option| option == "-u");
    match &job.target {
        Target::Script { options, path } if plain(options) => vec![path.clone()],
        Target::Module { options, name } if plain(options) => vec![module.into(), name.clone()],
        _ => std::iter::once("--no_python".into()).chain(direct::head(job, host)).collect(),
    }
}
