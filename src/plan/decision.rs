//! The plan as a value, and a plan in the making.

use std::ffi::OsString;

use super::{
    config::{LayeredConfig, PlannedConfig, PlannedFile},
    environment::Environment,
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
    report::{Problem, Problems},
    request::understood::UnderstoodLaunch,
};

/// A complete plan. `exec` carries it out.
pub struct Plan<'a> {
    pub understood: UnderstoodLaunch<'a>,
    pub topology: Topology,
    pub launcher: Launcher,
    pub local: Option<LocalRanks>,
    pub config: Option<PlannedConfig>,
    pub environment: Environment,
    pub argv: Vec<OsString>,
    /// The reason why this can be planned but not started here.
    pub blocker: Option<Problem>,
    /// The file with variables for other machines.
    pub environment_file: Option<PlannedFile>,
    /// The port of the rendezvous, if it is on this machine.
    pub opens: Option<Sourced<u16>>,
}

/// A plan in the making, which the judges read. Each decision needs those before it; what cannot be decided stays open, and a refusal says why.
pub struct Draft<'a> {
    pub understood: UnderstoodLaunch<'a>,
    pub topology: Option<Topology>,
    pub launcher: Option<Launcher>,
    pub asked_config: Option<Sourced<String>>,
    pub layered: Option<LayeredConfig>,
    pub resolved: Option<Resolved>,
    /// Everything was decided.
    pub handed_over: Option<HandOver>,
    pub refusals: Problems,
}

/// How the config reaches the trainer, and what is started.
pub struct HandOver {
    pub file: Option<PlannedFile>,
    pub run_file: Option<PlannedFile>,
    pub environment: Environment,
    /// The file with variables for other machines.
    pub environment_file: Option<PlannedFile>,
    pub argv: Vec<OsString>,
}

impl Plan<'_> {
    /// The one line that a launch prints before it becomes the trainer: `zero3 · 8 ranks on this machine · torchrun`.
    /// `None` if zlaunch adds nothing to the command, another zlaunch follows and prints it, or this is not the first rank.
    pub fn headline(&self) -> Option<String> {
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
            let ranks = world.map_or("ranks as the command says".to_string(), |world| {
                plural(world, "rank", "s")
            });
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
    pub fn existing_rank(&self) -> Option<String> {
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
