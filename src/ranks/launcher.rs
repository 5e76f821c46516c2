//! What starts the ranks. `launcher/` has one file for each launcher with a command line of its own; here is the choice
//! between them. A command that starts with a launcher already is an `ExistingLauncher`.

mod accelerate;
pub(crate) mod carrier;
mod context;
mod deepspeed;
mod existing;
mod kind;
pub(crate) mod local;
mod output;
mod spec;
pub(crate) mod srun;
mod torchrun;

use std::ffi::OsString;

use crate::base::source::Sourced;
use crate::command::option_names::name_of;
use crate::command::trainer::{self, Job};
use crate::ranks::topology::{Role, Topology};
use crate::report::{self, Problem};

pub(crate) use context::LaunchContext;
pub(crate) use deepspeed::{carrier, options};
pub(crate) use existing::ExistingLauncher;
pub(crate) use kind::Launcher;
pub(crate) use output::OutputFlags;

/// Whether an option of torchrun, by its name with `_`, takes a value; `None` where torchrun has no such option.
pub(crate) fn torchrun_option(name: &str) -> Option<bool> {
    let option = torchrun::SPEC.options.lines().find(|option| name_of(option) == name)?;
    Some(!option.ends_with('!'))
}

/// The launcher that was asked for, if it is possible; else the default. A variable may be set for a whole site: if it
/// cannot be followed, or zlaunch does not know the command, the default is taken.
pub(crate) fn choose(
    asked: Option<&Sourced<Launcher>>,
    output: &OutputFlags,
    job: &Job,
    topology: &Topology,
) -> Result<Launcher, Problem> {
    let opaque = job.trainer.passes_through();
    let launcher = match asked {
        Some(asked) if asked.from.is_flag() => requested(asked, job, topology),
        Some(asked) if !opaque && !topology.ranks_exist() => requested(asked, job, topology)
            .and_then(|launcher| output.check(launcher).map(|()| launcher))
            .or_else(|_| default_launcher(output, job, topology)),
        _ => default_launcher(output, job, topology),
    }?;
    output.check(launcher).map(|()| launcher)
}

/// torchrun; none where one process is enough; zlaunch itself where there is no torchrun.
fn default_launcher(output: &OutputFlags, job: &Job, topology: &Topology) -> Result<Launcher, Problem> {
    let opaque = job.trainer.passes_through();
    if job.starts_ranks && !opaque {
        return Err(starts_ranks_itself(job));
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
        // A command that zlaunch does not know may be a launcher itself.
        Role::Starter if topology.is_one_process() && output.flag().is_none() || opaque => Launcher::Direct,
        Role::Starter if local::is_needed(job, topology) => Launcher::Local,
        Role::Starter => Launcher::Torchrun,
    })
}

fn requested(asked: &Sourced<Launcher>, job: &Job, topology: &Topology) -> Result<Launcher, Problem> {
    let opaque = job.trainer.passes_through();
    if job.starts_ranks && !(opaque && asked.value == Launcher::Direct) {
        return Err(starts_ranks_itself(job));
    }
    if topology.pool.is_some() && asked.value != Launcher::Deepspeed {
        return Err(report::hostfile_is_deepspeeds(asked));
    }
    match (&topology.role, asked.value) {
        // srun runs zlaunch on each node, which then starts the launcher that was asked for.
        (Role::Shell { .. }, Launcher::Srun | Launcher::Torchrun | Launcher::Deepspeed) => return Ok(Launcher::Srun),
        (_, Launcher::Srun) => return Err(report::srun_not_here(asked)),
        (Role::Shell { .. }, _) => return Err(report::not_in_a_job_shell(asked)),
        (Role::Rank { .. } | Role::Task(_), Launcher::Direct) => {}
        (Role::Rank { .. }, _) => return Err(report::ranks_exist(asked)),
        (Role::Task(task), _) => {
            return Err(report::tasks_have_no_launcher(asked, task.local_world_size.value));
        }
        (Role::Starter, Launcher::Direct) if !opaque => check_one_process(asked, topology)?,
        (Role::Starter, Launcher::Deepspeed) => deepspeed::check(asked, topology)?,
        (Role::Starter, Launcher::Local) => local::check(asked, topology)?,
        (Role::Starter, _) => {}
    }
    Ok(asked.value)
}

fn starts_ranks_itself(job: &Job) -> Problem {
    let console = job.trainer.consoles.first().filter(|_| !trainer::is_console(job.target.word()));
    match console {
        Some(console) => report::may_start_ranks_itself(job.target.name(), console),
        None => report::starts_ranks_itself(job.target.name()),
    }
}

fn check_one_process(asked: &Sourced<Launcher>, topology: &Topology) -> Result<(), Problem> {
    let several = topology.world_size.as_ref().filter(|world| world.value > 1);
    several.map_or(Ok(()), |world| Err(report::direct_is_one_process(asked, world)))
}

/// Everything in front of the trainer's arguments.
pub(crate) fn prefix(launcher: Launcher, context: &LaunchContext<'_>) -> Vec<OsString> {
    match launcher {
        Launcher::Torchrun => torchrun::prefix(context),
        Launcher::Deepspeed => deepspeed::prefix(context),
        Launcher::Local => local::prefix(context),
        Launcher::Direct | Launcher::Srun | Launcher::Existing(_) | Launcher::Prefix(_) => context.process_words(),
    }
}

/// The trainer's arguments, as the launcher must be given them so that they arrive as they are.
pub(crate) fn arguments(
    launcher: Launcher,
    context: &LaunchContext<'_>,
    words: Vec<OsString>,
) -> Result<Vec<OsString>, Vec<Problem>> {
    if launcher == Launcher::Deepspeed { deepspeed::arguments(context, &words) } else { Ok(words) }
}

/// Options for the launcher that state ranks: zlaunch must know those itself.
pub(crate) fn check_extra(launcher: Launcher, extra: &[OsString]) -> Vec<Problem> {
    let spec = existing::SPECS.iter().find(|spec| spec.launcher == launcher);
    let stated = spec.map(|spec| spec.topology_options(extra)).unwrap_or_default();
    stated.into_iter().map(|(ours, theirs)| report::say_it_to_us(&theirs, ours)).collect()
}
