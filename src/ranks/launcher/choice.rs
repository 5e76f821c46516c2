//! The choice between the launchers, and what is in front of the trainer's arguments then.

use std::ffi::OsString;

use super::{LaunchContext, Launcher, deepspeed, refused, torchrun};
use crate::{
    base::source::{Given, Sourced},
    command::{job::Job, target::Target},
    ranks::topology::{Role, Topology, alone, tasks_are_ranks},
    report::prelude::*,
};

/// The launcher that was asked for, if it is possible; else the default. A variable may be set for a whole site: if it
/// cannot be followed, or zlaunch does not know the command, the default is taken.
pub fn choose(
    asked: Option<&Sourced<Launcher>>,
    job: &Job,
    topology: &Topology,
) -> Result<Launcher, Problem> {
    match asked {
        Some(asked) if asked.from.is_flag() => requested(asked, job, topology),
        Some(asked) if !job.trainer.is_passthrough() && !topology.ranks_exist() => {
            requested(asked, job, topology).or_else(|_| default_launcher(job, topology))
        }
        _ => default_launcher(job, topology),
    }
}

fn default_launcher(job: &Job, topology: &Topology) -> Result<Launcher, Problem> {
    let opaque = job.trainer.is_passthrough();
    if job.starts_ranks && !opaque {
        return Err(starts_ranks_itself(job));
    }
    let is_one_process = topology.world_size.value() == Some(1);
    Ok(match &topology.role {
        Role::Task(task) if job.trainer.launch.has_own_launcher => {
            return Err(tasks_are_ranks(&task.local_world_size, job.target.name()));
        }
        _ if topology.pool.is_some() => Launcher::Deepspeed,
        Role::Shell { .. } => Launcher::Srun,
        Role::Rank { .. } | Role::Task(_) => Launcher::Direct,
        // A command that zlaunch does not know may be a launcher itself.
        Role::Starter if is_one_process || opaque => Launcher::Direct,
        Role::Starter if needs_local(job, topology) => Launcher::Local,
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
            drop_word("--launcher").into(),
        ),
        (Role::Shell { .. }, _) => (
            "this shell runs on only one machine of the job",
            drop_word("--launcher").or(alone()),
        ),
        (Role::Rank { .. } | Role::Task(_), Launcher::Direct) => return Ok(Launcher::Direct),
        (Role::Rank { .. }, _) => (
            "the ranks exist already (RANK, LOCAL_RANK, WORLD_SIZE), so no launcher is started",
            drop_word(&asked.from)
                .or(give("--nnodes", 1).remark("to start new ranks on this machine")),
        ),
        (Role::Task(task), _) => return Err(tasks_are_ranks(&task.local_world_size, asked)),
        (Role::Starter, launcher) => {
            match launcher {
                Launcher::Direct if !opaque => {
                    if let Some(world) =
                        topology.world_size.as_ref().filter(|world| world.value > 1)
                    {
                        return Err(refused(format!("`direct` starts one process, not {world}"))
                            .at(asked)
                            .at(&world.from)
                            .fix(give("--launcher", "torchrun").or(give("--nproc-per-node", 1))));
                    }
                }
                Launcher::Deepspeed => deepspeed::check(asked, topology)?,
                // Several machines need the rendezvous of torchrun.
                Launcher::Local if topology.has_several_nodes() => {
                    let machines = topology.machines();
                    let what = format!(
                        "`local` only starts the ranks of one machine; {machines} machines need torchrun"
                    );
                    return Err(topology
                        .nnodes
                        .iter()
                        .fold(refused(what).at(asked), Problem::at)
                        .fix(give("--launcher", "torchrun").remark("once on each machine")));
                }
                _ => {}
            }
            return Ok(launcher);
        }
    };
    Err(refused(what).at(asked).fix(fixes))
}

fn starts_ranks_itself(job: &Job) -> Problem {
    let program = job.target.name();
    let what = format!(
        "`{program}` starts ranks itself, or a program that does: another launcher would start them twice"
    );
    let fixes = drop_word("--launcher and --trainer")
        .remark("if it has no launcher options of its own, zlaunch runs its script")
        .or("put zlaunch before the trainer's command inside it");
    refused(what).at(program).fix(fixes)
}

/// Everything in front of the trainer's arguments.
pub fn prefix(launcher: Launcher, context: &LaunchContext) -> Vec<OsString> {
    match launcher {
        Launcher::Torchrun => torchrun::prefix(context),
        Launcher::Deepspeed => deepspeed::prefix(context),
        Launcher::Local => local_prefix(context),
        Launcher::Direct | Launcher::Srun | Launcher::Accelerate | Launcher::Prefix(_) => {
            context.process_words()
        }
    }
}

/// True if no torch is installed.
fn needs_local(job: &Job, topology: &Topology) -> bool {
    topology.is_one_machine()
        && job
            .python
            .as_ref()
            .is_some_and(|python| python.lacks("torch/distributed/run.py", "torch"))
}

/// Of `local`. Python is unbuffered, as under torchrun: otherwise a rank that is killed loses its last lines.
fn local_prefix(context: &LaunchContext) -> Vec<OsString> {
    let mut words = context.process_words();
    if let Target::Script { options, .. } | Target::Module { options, .. } = &context.job.target
        && !options.iter().any(|option| option == "-u")
    {
        words.insert(1, "-u".into());
    }
    words
}
