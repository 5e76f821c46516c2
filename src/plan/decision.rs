//! The plan itself.

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::Value;

use super::launch_env::Environment;
use super::planned_config::PlannedConfig;
use crate::base::layout::plural;
use crate::base::source::Sourced;
use crate::command::trainer;
use crate::ranks::launcher::Launcher;
use crate::ranks::launcher::local::LocalRanks;
use crate::ranks::topology::{Role, Topology};
use crate::report::Problem;

pub struct Plan {
    pub(crate) trainer: TrainerFacts,
    pub(crate) topology: Topology,
    /// The samples of a step and the factors, if the plan is shown.
    pub(crate) batch: Option<(Value, String)>,
    pub(crate) launcher: Launcher,
    pub(crate) local: Option<LocalRanks>,
    pub config: Option<PlannedConfig>,
    pub(crate) environment: Environment,
    pub(crate) argv: Vec<OsString>,
    pub diagnostics: Vec<Problem>,
    /// The reason why this can be planned but not started here.
    pub(crate) blocker: Option<Problem>,
    /// Files with variables for other machines, and their texts.
    pub(crate) environment_files: Vec<(PathBuf, String)>,
    /// The port of the rendezvous, if it is on this machine.
    pub(crate) opens: Option<Sourced<u16>>,
    pub(crate) record: Option<Record>,
    pub(super) home: Option<PathBuf>,
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

/// The launch record: its folder and its files. The time is added when it is written.
pub(crate) struct Record {
    pub(crate) folder: PathBuf,
    pub(crate) content: Value,
    pub(crate) config: Option<String>,
    pub(crate) script: Vec<u8>,
}

impl Plan {
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
