//! What starts the ranks. `launcher/` has one file for each launcher with a command line of its own; here is the choice
//! between them. A command that starts with a launcher already is an `ExistingLauncher`.

mod accelerate;
mod context;
mod deepspeed;
mod existing;
mod kind;
pub(crate) mod local;
mod output;
pub(crate) mod remote_runner;
mod spec;
pub(crate) mod srun;
mod torchrun;

use std::ffi::OsString;

use crate::base::source::Sourced;
use crate::command::argv::option_name;
use crate::command::job::Job;
use crate::command::trainer;
use crate::ranks::topology::{Role, Topology, alone, tasks_are_ranks};
use crate::report::fix::{Fixes, drop_word, give, run};
use crate::report::{Place, Problem, Rule};

pub(crate) use context::LaunchContext;
pub(crate) use deepspeed::{options, remote_runner};
pub(crate) use existing::ExistingLauncher;
pub(crate) use kind::Launcher;
pub(crate) use output::OutputFlags;

/// Whether an option of torchrun, by its name with `_`, takes a value; `None` where torchrun has no such option.
pub(crate) fn torchrun_option(name: &str) -> Option<bool> {
    let option = torchrun::SPEC.options.lines().find(|option| option_name(option) == name)?;
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
    let opaque = job.trainer.is_passthrough();
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
    let opaque = job.trainer.is_passthrough();
    if job.starts_ranks && !opaque {
        return Err(starts_ranks_itself(job));
    }
    if let Role::Task(task) = &topology.role
        && job.trainer.launch.has_own_launcher
    {
        return Err(tasks_are_ranks(&task.local_world_size, job.target.name().into()));
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
    let opaque = job.trainer.is_passthrough();
    if job.starts_ranks && !(opaque && asked.value == Launcher::Direct) {
        return Err(starts_ranks_itself(job));
    }
    let refused = |what: &str, fixes: Fixes| Err(Problem::error(Rule::Launcher, what).at(asked).fix(fixes));
    let drop_launcher = |why: &str| drop_word("--launcher").remark(why);
    if topology.pool.is_some() && asked.value != Launcher::Deepspeed {
        let fixes = give("--launcher", "deepspeed").or("start zlaunch on every machine without --hostfile");
        return refused("only deepspeed's runner reads a hostfile", fixes);
    }
    match (&topology.role, asked.value) {
        // srun runs zlaunch on each node, which then starts the launcher that was asked for.
        (Role::Shell { .. }, Launcher::Srun | Launcher::Torchrun | Launcher::Deepspeed) => return Ok(Launcher::Srun),
        (_, Launcher::Srun) => {
            return refused(
                "this is not the shell of a job on several machines, from which srun could start",
                drop_launcher("inside a step zlaunch finds its place itself").into(),
            );
        }
        (Role::Shell { .. }, _) => {
            return refused(
                "this shell runs on one machine of the job only",
                drop_launcher("zlaunch starts itself on each of them").or(alone()),
            );
        }
        (Role::Rank { .. } | Role::Task(_), Launcher::Direct) => {}
        (Role::Rank { .. }, _) => {
            return refused(
                "the ranks exist already (RANK, LOCAL_RANK, WORLD_SIZE), so no launcher is started",
                drop_word(&asked.from).or(give("--nnodes", 1).remark("to start new ranks on this machine")),
            );
        }
        (Role::Task(task), _) => {
            return refused(
                &format!("{} tasks run on this machine, each of them a rank already", task.local_world_size.value),
                run("srun --ntasks-per-node=1")
                    .remark("one task on each machine")
                    .or(run("mpirun --map-by ppr:1:node")),
            );
        }
        (Role::Starter, Launcher::Direct) if !opaque => check_one_process(asked, topology)?,
        (Role::Starter, Launcher::Deepspeed) => deepspeed::check(asked, topology)?,
        (Role::Starter, Launcher::Local) => local::check(asked, topology)?,
        (Role::Starter, _) => {}
    }
    Ok(asked.value)
}

fn starts_ranks_itself(job: &Job) -> Problem {
    let program = job.target.name();
    let console = job.trainer.launch.consoles.first().filter(|_| !trainer::is_console(job.target.word()));
    let (starts, help) = match console {
        // Said to be a trainer, by the name of which it may go.
        Some(console) => (
            format!("may run `{console}`, which starts ranks itself"),
            run(format!("zlaunch … -- {console} …")).remark(format!("put zlaunch before `{console}` inside it")),
        ),
        None => (
            "starts ranks itself".to_string(),
            drop_word("--launcher and --trainer")
                .remark("without launcher options of its own, zlaunch runs the script inside"),
        ),
    };
    let what = format!("`{program}` {starts}: a launcher in front would start them twice");
    Problem::error(Rule::Launcher, what).at(program).fix(help)
}

fn check_one_process(asked: &Sourced<Launcher>, topology: &Topology) -> Result<(), Problem> {
    let several = topology.world_size.as_ref().filter(|world| world.value > 1);
    several.map_or(Ok(()), |world| {
        Err(Problem::error(Rule::Launcher, format!("`direct` starts one process, not {}", world.value))
            .at(asked)
            .at(&world.from)
            .fix(give("--launcher", "torchrun").or(give("--nproc-per-node", 1))))
    })
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

/// What the launcher cannot hand to the ranks, with these arguments of the trainer.
pub(crate) fn check_words(launcher: Launcher, context: &LaunchContext<'_>, arguments: &[OsString]) -> Vec<Problem> {
    if launcher == Launcher::Deepspeed { deepspeed::check_words(context, arguments) } else { Vec::new() }
}

/// Options for the launcher that state ranks: zlaunch must know those itself.
pub(crate) fn check_extra(launcher: Launcher, extra: &[OsString]) -> Vec<Problem> {
    let spec = existing::SPECS.iter().find(|spec| spec.launcher == launcher);
    let stated = spec.map(|spec| spec.topology_options(extra)).unwrap_or_default();
    let say_it_to_us = |(ours, theirs): (&str, Sourced<String>)| {
        let what = format!("`{}` changes the ranks, so zlaunch itself must be given it", theirs.from);
        Problem::error(Rule::Launcher, what)
            .at(Place::option("--launcher-arg", theirs.spelling()))
            .fix(give(format!("--{ours}"), &theirs.value))
    };
    stated.into_iter().map(say_it_to_us).collect()
}
