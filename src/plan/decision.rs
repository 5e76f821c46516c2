//! The plan as a value, and a plan in the making.

use std::ffi::OsString;

use super::{
    config::{LayeredConfig, PlannedConfig, PlannedFile},
    environment::{Environment, EnvironmentFile},
};
use crate::{
    base::{
        layout::plural,
        source::{Given, Sourced},
    },
    command::trainer,
    config::auto::Resolved,
    ranks::{
        launcher::{Launcher, LocalRanks},
        topology::{Role, Task, Topology},
    },
    report::Problem,
    request::understood::UnderstoodLaunch,
};

/// A complete plan. `exec` carries it out.
pub struct Plan<'a> {
    pub(crate) understood: UnderstoodLaunch<'a>,
    pub(crate) topology: Topology,
    pub(crate) launcher: Launcher,
    pub(crate) local: Option<LocalRanks>,
    pub config: Option<PlannedConfig>,
    pub(crate) environment: Environment,
    pub(crate) argv: Vec<OsString>,
    /// The reason why this can be planned but not started here.
    pub(crate) blocker: Option<Problem>,
    /// Files with variables for other machines.
    pub(crate) environment_files: Vec<EnvironmentFile>,
    /// The port of the rendezvous, if it is on this machine.
    pub(crate) opens: Option<Sourced<u16>>,
}

/// A plan in the making, which the judges read. Each decision needs those before it; what cannot be decided stays open, and a refusal says why.
pub(crate) struct Draft<'a> {
    pub(crate) understood: UnderstoodLaunch<'a>,
    pub(crate) topology: Option<Topology>,
    pub(crate) launcher: Option<Launcher>,
    pub(crate) asked_config: Option<Sourced<String>>,
    pub(crate) layered: Option<LayeredConfig>,
    pub(crate) resolved: Option<Resolved>,
    /// Everything was decided.
    pub(crate) handed_over: Option<HandOver>,
    pub(crate) refusals: Vec<Problem>,
}

/// How the config reaches the trainer, and what is started.
pub(crate) struct HandOver {
    pub(crate) file: Option<PlannedFile>,
    pub(super) run_file: Option<PlannedFile>,
    pub(super) environment: Environment,
    /// Files with variables for other machines.
    pub(crate) environment_files: Vec<EnvironmentFile>,
    pub(super) argv: Vec<OsString>,
}

impl Plan<'_> {
    /// The one line that a launch prints before it becomes the trainer: `zero3 · 8 ranks on this machine · torchrun`.
    /// `None` if zlaunch adds nothing to the command, another zlaunch follows and prints it, or this is not the first rank.
    pub(crate) fn headline(&self) -> Option<String> {
        let config = self.config.as_ref().map(PlannedConfig::title);
        let adds_nothing =
            config.is_none() && self.understood.job.trainer.name == trainer::PASSTHROUGH;
        if adds_nothing
            || self.launcher.runs_zlaunch()
            || self.blocker.is_some()
            || !self.topology.is_first()
        {
            return None;
        }
        let config = config.unwrap_or("no DeepSpeed config".to_string());
        let ranks = self.existing_rank().unwrap_or_else(|| {
            let world = self.topology.world_size.value();
            let ranks = world.map(|world| plural(world, "rank", "s"));
            let ranks = ranks.unwrap_or("ranks as the command says".to_string());
            match self.topology.nnodes.value() {
                Some(nodes) if nodes > 1 => format!("{ranks} on {nodes} machines"),
                _ if world.is_none() => ranks,
                _ => format!("{ranks} on this machine"),
            }
        });
        Some(match self.launcher {
            Launcher::Direct => format!("{config} · {ranks}"),
            launcher => format!("{config} · {ranks} · {launcher}"),
        })
    }

    /// `rank 3 of 8, started by Slurm`
    pub(super) fn existing_rank(&self) -> Option<String> {
        let topology = &self.topology;
        match &topology.role {
            Role::Rank { first } => {
                let rank = if *first { "rank 0" } else { "one" };
                let world = topology.world_size.value().unwrap_or_default();
                Some(format!("{rank} of {world}, already started"))
            }
            Role::Task(task) => {
                let by = topology.engine.unwrap_or("its engine");
                let Task {
                    rank, world_size, ..
                } = task;
                Some(format!("rank {rank} of {world_size}, started by {by}"))
            }
            Role::Starter | Role::Shell { .. } => None,
        }
    }
}
