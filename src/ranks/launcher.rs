//! The launchers. `launcher/` has one file for each with a command line of its own; here is the choice between them. A
//! command that starts with a launcher already is an `ExistingLauncher`.

pub(crate) mod accelerate;
mod context;
pub(crate) mod deepspeed;
mod existing;
pub(crate) mod local;
mod spec;
pub(crate) mod srun;
mod tables;
mod torchrun;

use std::ffi::OsString;

use crate::base::source::Sourced;
use crate::command::argv::option_name;
use crate::command::job::Job;
use crate::command::trainer;
use crate::ranks::topology::{Role, Topology, alone, tasks_are_ranks};
use crate::report::fix::{Fixes, drop_word, give, run};
use crate::report::{Place, Problem};

use context::refused;
pub(crate) use context::{LaunchContext, OutputFlags};
pub(crate) use spec::ExistingLauncher;
pub(crate) use tables::launchers::Launcher;
use tables::launchers::{SPECS, TORCHRUN};

/// True if this option of torchrun, by its name with `_`, takes a value; `None` if torchrun has no such option.
pub(crate) fn torchrun_option(name: &str) -> Option<bool> {
    let mut options = TORCHRUN.options.lines();
    let option = options.find(|option| option_name(option) == name)?;
    Some(!spec::is_switch(option))
}

/// The launcher that was asked for, if it is possible; else the default. A variable may be set for a whole site: if it
/// cannot be followed, or zlaunch does not know the command, the default is taken.
pub(crate) fn choose(
    asked: Option<&Sourced<Launcher>>,
    output: &OutputFlags,
    job: &Job,
    topology: &Topology,
) -> Result<Launcher, Problem> {
    let launcher = match asked {
        Some(asked) if asked.from.is_flag() => requested(asked, job, topology),
        Some(asked) if !job.trainer.is_passthrough() && !topology.ranks_exist() => {
            requested(asked, job, topology)
                .and_then(|launcher| output.check(launcher).map(|()| launcher))
                .or_else(|_| default_launcher(output, job, topology))
        }
        _ => default_launcher(output, job, topology),
    }?;
    output.check(launcher).map(|()| launcher)
}

fn default_launcher(
    output: &OutputFlags,
    job: &Job,
    topology: &Topology,
) -> Result<Launcher, Problem> {
    let opaque = job.trainer.is_passthrough();
    if job.starts_ranks && !opaque {
        return Err(starts_ranks_itself(job));
    }
    let is_one_process = topology
        .world_size
        .as_ref()
        .is_some_and(|world| world.value == 1);
    Ok(match &topology.role {
        Role::Task(task) if job.trainer.launch.has_own_launcher => {
            return Err(tasks_are_ranks(
                &task.local_world_size,
                job.target.name().into(),
            ));
        }
        _ if topology.pool.is_some() => Launcher::Deepspeed,
        Role::Shell { .. } => Launcher::Srun,
        Role::Rank { .. } | Role::Task(_) => Launcher::Direct,
        // A command that zlaunch does not know may be a launcher itself.
        Role::Starter if is_one_process && output.flags().next().is_none() || opaque => {
            Launcher::Direct
        }
        Role::Starter if local::is_needed(job, topology) => Launcher::Local,
        Role::Starter => Launcher::Torchrun,
    })
}

fn requested(
    asked: &Sourced<Launcher>,
    job: &Job,
    topology: &Topology,
) -> Result<Launcher, Problem> {
    let opaque = job.trainer.is_passthrough();
    if job.starts_ranks && !(opaque && asked.value == Launcher::Direct) {
        return Err(starts_ranks_itself(job));
    }
    let drop_launcher = |why: &str| drop_word("--launcher").remark(why);
    let (what, fixes): (&str, Fixes) = match (&topology.role, asked.value) {
        (_, launcher) if topology.pool.is_some() && launcher != Launcher::Deepspeed => (
            "only DeepSpeed's own launcher reads a hostfile",
            give("--launcher", "deepspeed").or("start zlaunch on every machine without --hostfile"),
        ),
        // srun runs zlaunch on each machine, which then starts the launcher that was asked for.
        (Role::Shell { .. }, Launcher::Srun | Launcher::Torchrun | Launcher::Deepspeed) => {
            return Ok(Launcher::Srun);
        }
        (_, Launcher::Srun) => (
            "srun can only start from the shell of a job on several machines",
            drop_launcher("inside a step, zlaunch works out its place itself").into(),
        ),
        (Role::Shell { .. }, _) => (
            "this shell runs on only one machine of the job",
            drop_launcher("zlaunch starts itself on each of them").or(alone()),
        ),
        (Role::Rank { .. } | Role::Task(_), Launcher::Direct) => return Ok(Launcher::Direct),
        (Role::Rank { .. }, _) => (
            "the ranks exist already (RANK, LOCAL_RANK, WORLD_SIZE), so no launcher is started",
            drop_word(&asked.from)
                .or(give("--nnodes", 1).remark("to start new ranks on this machine")),
        ),
        (Role::Task(task), _) => (
            &format!(
                "{} tasks run on this machine, each of them a rank already",
                task.local_world_size.value
            ),
            run("srun --ntasks-per-node=1")
                .remark("one task on each machine")
                .or(run("mpirun --map-by ppr:1:node")),
        ),
        (Role::Starter, launcher) => {
            match launcher {
                Launcher::Direct if !opaque => {
                    if let Some(world) =
                        topology.world_size.as_ref().filter(|world| world.value > 1)
                    {
                        let what = format!("`direct` starts one process, not {world}");
                        let fixes = give("--launcher", "torchrun").or(give("--nproc-per-node", 1));
                        return Err(refused(what).at(asked).at(&world.from).fix(fixes));
                    }
                }
                Launcher::Deepspeed => deepspeed::check(asked, topology)?,
                Launcher::Local => local::check(asked, topology)?,
                _ => {}
            }
            return Ok(launcher);
        }
    };
    Err(refused(what).at(asked).fix(fixes))
}

fn starts_ranks_itself(job: &Job) -> Problem {
    let program = job.target.name();
    let (starts, fix) = match job.trainer.launch.consoles.first() {
        // `--trainer` names it, so the program probably runs that trainer's console script.
        Some(console) if !trainer::is_console(job.target.word()) => (
            format!("may run `{console}`, which starts ranks itself"),
            run(format!("zlaunch … -- {console} …"))
                .remark(format!("put zlaunch before `{console}` inside it")),
        ),
        _ => (
            "starts ranks itself".to_string(),
            drop_word("--launcher and --trainer")
                .remark("if it has no launcher options of its own, zlaunch runs its script"),
        ),
    };
    let what = format!("`{program}` {starts}: another launcher would start them twice");
    refused(what).at(program).fix(fix)
}

/// Everything in front of the trainer's arguments.
pub(crate) fn prefix(launcher: Launcher, context: &LaunchContext<'_>) -> Vec<OsString> {
    match launcher {
        Launcher::Torchrun => torchrun::prefix(context),
        Launcher::Deepspeed => deepspeed::prefix(context),
        Launcher::Local => local::prefix(context),
        Launcher::Direct | Launcher::Srun | Launcher::Accelerate | Launcher::Prefix(_) => {
            context.process_words()
        }
    }
}

/// Refuses options for the launcher that state ranks: zlaunch must know those itself.
pub(crate) fn check_extra(launcher: Launcher, extra: &[OsString]) -> Vec<Problem> {
    let Some(spec) = SPECS.iter().find(|spec| spec.launcher == launcher) else {
        return Vec::new();
    };
    let args = spec.parse(extra);
    let mut problems = Vec::new();
    for (ours, theirs) in spec.rank_options.pairs() {
        if let Some(theirs) = args.text(theirs) {
            let what = format!(
                "`{}` changes the ranks, so it must be an option of zlaunch",
                theirs.from
            );
            let place = Place::option("--launcher-arg", theirs.spelling());
            let problem = refused(what).at(place);
            problems.push(problem.fix(give(format!("--{ours}"), &theirs.value)));
        }
    }
    problems
}
