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

use crate::base::source::Sourced;
use crate::command::target::Target;
use crate::command::trainer::Job;
use crate::host::Host;
use crate::ranks::topology::{HostFlags, Role, Topology};
use crate::report::{self, Problem};

pub(crate) use wrapped::Wrapped;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Launcher {
    Torchrun,
    Deepspeed,
    Direct,
    Srun,
    /// zlaunch itself.
    Local,
    /// Only where the command itself starts with it, by its name.
    Existing(&'static str),
}

impl Launcher {
    /// The words of `--launcher`.
    pub(crate) const NAMES: &'static [(&'static str, Option<Launcher>)] = &[
        ("auto", None),
        ("torchrun", Some(Launcher::Torchrun)),
        ("deepspeed", Some(Launcher::Deepspeed)),
        ("srun", Some(Launcher::Srun)),
        ("direct", Some(Launcher::Direct)),
        ("local", Some(Launcher::Local)),
    ];
}

impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Launcher::Torchrun => "torchrun",
            Launcher::Deepspeed => "deepspeed",
            Launcher::Direct => "direct",
            Launcher::Srun => "srun",
            Launcher::Local => "local",
            Launcher::Existing(name) => name,
        })
    }
}

/// Whoever was asked for, if that is possible; else whoever fits. A variable serves a whole site: where it cannot be
/// followed, or the command is none of ours, it gives way.
pub(crate) fn choose(asked: Option<&Sourced<Launcher>>, job: &Job, topology: &Topology) -> Result<Launcher, Problem> {
    let opaque = job.trainer.passes_through();
    match asked {
        Some(asked) if asked.from.is_flag() => insisted(asked, job, topology),
        Some(asked) if !opaque && !topology.ranks_exist() => {
            insisted(asked, job, topology).or_else(|_| fitting(job, topology))
        }
        _ => fitting(job, topology),
    }
}

/// torchrun; nobody where one process is all; zlaunch itself where there is no torchrun.
fn fitting(job: &Job, topology: &Topology) -> Result<Launcher, Problem> {
    let opaque = job.trainer.passes_through();
    if job.starts_ranks() && !opaque {
        return Err(report::starts_ranks_itself(job.target.name()));
    }
    if let Role::Task(task) = &topology.role
        && job.trainer.launches_itself
    {
        return Err(report::tasks_are_ranks(&task.local_world_size, job.target.name()));
    }
    Ok(match &topology.role {
        _ if topology.pool.is_some() => Launcher::Deepspeed,
        Role::Shell { .. } => Launcher::Srun,
        Role::Rank { .. } | Role::Task(_) => Launcher::Direct,
        // What zlaunch does not know may be a launcher itself: it is never launched twice.
        Role::Starter if topology.is_one_process() || opaque => Launcher::Direct,
        Role::Starter if local::is_needed(job, topology) => Launcher::Local,
        Role::Starter => Launcher::Torchrun,
    })
}

fn insisted(asked: &Sourced<Launcher>, job: &Job, topology: &Topology) -> Result<Launcher, Problem> {
    let opaque = job.trainer.passes_through();
    if job.starts_ranks() && !(opaque && asked.value == Launcher::Direct) {
        return Err(report::starts_ranks_itself(job.target.name()));
    }
    if topology.pool.is_some() && asked.value != Launcher::Deepspeed {
        return Err(report::hostfile_is_deepspeeds(asked));
    }
    match (&topology.role, asked.value) {
        // Each machine chooses its launcher again.
        (Role::Shell { .. }, Launcher::Torchrun | Launcher::Deepspeed | Launcher::Srun) => return Ok(Launcher::Srun),
        (Role::Shell { .. }, _) => return Err(report::not_in_a_job_shell(asked)),
        (_, Launcher::Srun) => return Err(report::srun_not_here(asked)),
        (Role::Rank { .. } | Role::Task(_), Launcher::Direct) => {}
        (Role::Rank { .. }, _) => return Err(report::ranks_exist(asked)),
        (Role::Task(task), _) => {
            return Err(report::tasks_have_no_launcher(asked, task.local_world_size.value));
        }
        (Role::Starter, Launcher::Direct) if !opaque => direct::possible(asked, topology)?,
        (Role::Starter, Launcher::Deepspeed) => deepspeed::possible(asked, topology)?,
        (Role::Starter, Launcher::Local) => local::possible(asked, topology)?,
        (Role::Starter, _) => {}
    }
    Ok(asked.value)
}

/// The words that start the ranks; the trainer's arguments follow them.
pub(crate) fn head(
    kind: Launcher,
    job: &Job,
    topology: &Topology,
    extra: &[OsString],
    hosts: &HostFlags,
    host: &Host,
) -> Vec<OsString> {
    match kind {
        Launcher::Torchrun => torchrun::head(job, topology, extra, host),
        Launcher::Deepspeed => deepspeed::head(job, topology, extra, hosts, host),
        Launcher::Local => local::head(job, host),
        Launcher::Direct | Launcher::Srun | Launcher::Existing(_) => direct::head(job, host),
    }
}

/// Options passed through to a launcher must not contradict what zlaunch decides.
pub(crate) fn check_extra(kind: Launcher, extra: &[OsString]) -> Vec<Problem> {
    let runner = wrapped::RUNNERS.iter().find(|runner| runner.kind == kind);
    let stated = runner.map(|runner| runner.topology_options(extra)).unwrap_or_default();
    stated.into_iter().map(|(ours, sourced)| report::say_it_to_us(&sourced, ours)).collect()
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
