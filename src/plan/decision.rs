//! The plan as a value, and a plan in the making.

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::Value;

use super::forwarded_env::EnvironmentFile;
use super::launch_env::Environment;
use super::planned_config::{AskedConfig, LayeredConfig, PlannedConfig};
use crate::base::layout::plural;
use crate::base::source::Sourced;
use crate::command::trainer;
use crate::config::auto::Resolved;
use crate::ranks::launcher::Launcher;
use crate::ranks::launcher::local::LocalRanks;
use crate::ranks::topology::{Role, Topology};
use crate::report::Problem;
use crate::request::understood::UnderstoodLaunch;

/// A complete plan. `exec` carries it out.
pub struct Plan<'a> {
    pub(crate) understood: UnderstoodLaunch<'a>,
    pub(crate) trainer: TrainerFacts,
    pub(crate) topology: Topology,
    /// The samples of a step and the factors, if the plan is shown.
    pub(crate) batch: Option<(Value, String)>,
    pub(crate) launcher: Launcher,
    pub(crate) local: Option<LocalRanks>,
    pub(crate) asked_config: Option<AskedConfig>,
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

/// A plan in the making. Each decision needs those before it; what cannot be decided stays open, and a refusal says why.
pub(crate) struct Draft<'a> {
    pub(crate) understood: UnderstoodLaunch<'a>,
    pub(crate) topology: Option<Topology>,
    pub(crate) launcher: Option<Launcher>,
    pub(crate) asked_config: Option<AskedConfig>,
    pub(crate) layered: Option<LayeredConfig>,
    pub(crate) resolved: Option<Resolved>,
    pub(crate) refusals: Vec<Problem>,
}

/// What the judges read: all of a plan, or what there is of one.
#[derive(Clone, Copy)]
pub(crate) struct Parts<'p> {
    pub(crate) understood: &'p UnderstoodLaunch<'p>,
    pub(crate) topology: Option<&'p Topology>,
    pub(crate) launcher: Option<Launcher>,
    pub(crate) asked_config: Option<&'p AskedConfig>,
    pub(crate) layered: Option<&'p LayeredConfig>,
    pub(crate) resolved: Option<&'p Resolved>,
    /// Everything was decided.
    pub(crate) plan: Option<&'p Plan<'p>>,
    pub(crate) refusals: &'p [Problem],
}

impl Plan<'_> {
    pub(crate) fn parts(&self) -> Parts<'_> {
        Parts {
            understood: &self.understood,
            topology: Some(&self.topology),
            launcher: Some(self.launcher),
            asked_config: self.asked_config.as_ref(),
            layered: self.config.as_ref().map(|config| &config.layered),
            resolved: self.config.as_ref().map(|config| &config.resolved),
            plan: Some(self),
            refusals: &[],
        }
    }
}

impl Draft<'_> {
    pub(crate) fn parts(&self) -> Parts<'_> {
        Parts {
            understood: &self.understood,
            topology: self.topology.as_ref(),
            launcher: self.launcher,
            asked_config: self.asked_config.as_ref(),
            layered: self.layered.as_ref(),
            resolved: self.resolved.as_ref(),
            plan: None,
            refusals: &self.refusals,
        }
    }
}

pub(crate) struct TrainerFacts {
    pub(crate) name: &'static str,
    pub(crate) package: Option<&'static str>,
    pub(crate) version: Option<String>,
    /// Names the recorded version that stands in for one that is not recorded.
    pub(crate) stand_in: Option<String>,
    pub(crate) python: Option<PathBuf>,
    /// `swift sft`, `train.py`.
    pub(crate) runs: String,
    /// Says how the user's own script reads its arguments, if the plan is shown.
    pub(crate) reads: Option<String>,
}

impl Plan<'_> {
    /// The one line that a launch prints before it becomes the trainer: `zero3 · 8 ranks on this machine · torchrun`.
    /// `None` if zlaunch adds nothing to the command, another zlaunch follows and prints it, or this is not the first rank.
    pub(crate) fn headline(&self) -> Option<String> {
        let config = self.config.as_ref().map(PlannedConfig::title);
        let adds_nothing = config.is_none() && self.trainer.name == trainer::PASSTHROUGH;
        if adds_nothing
            || self.launcher.runs_zlaunch()
            || self.blocker.is_some()
            || !self.topology.is_first()
        {
            return None;
        }
        let config = config.unwrap_or("no DeepSpeed config".to_string());
        let topology = &self.topology;
        let world = topology.world_size.as_ref().map(|world| world.value);
        let ranks = match &topology.role {
            Role::Rank { .. } => {
                format!("rank 0 of {}, already started", world.unwrap_or_default())
            }
            Role::Task(task) => {
                let by = topology.engine.unwrap_or("its engine");
                format!(
                    "rank {} of {}, started by {by}",
                    task.rank.value, task.world_size.value
                )
            }
            Role::Starter | Role::Shell { .. } => {
                let ranks = world.map_or("ranks as the command says".to_string(), |world| {
                    plural(world, "rank", "s")
                });
                match &topology.nnodes {
                    Some(nodes) if nodes.value > 1 => {
                        format!("{ranks} on {} machines", nodes.value)
                    }
                    _ if world.is_none() => ranks,
                    _ => format!("{ranks} on this machine"),
                }
            }
        };
        Some(match self.launcher {
            Launcher::Direct => format!("{config} · {ranks}"),
            launcher => format!("{config} · {ranks} · {launcher}"),
        })
    }
}
