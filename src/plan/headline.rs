//! The one line that a launch says before it becomes the trainer: config, ranks, launcher.

use super::decision::Plan;
use crate::command::trainer;
use crate::ranks::launcher::Launcher;
use crate::ranks::topology::Role;

impl Plan {
    /// `zero3 · 8 ranks on this machine · torchrun`. `None` where zlaunch says nothing: it adds nothing to the command, another
    /// zlaunch follows and says it, or this is not the first rank.
    pub(crate) fn headline(&self) -> Option<String> {
        let config = self.config.as_ref().map(|config| config.template.name.as_str());
        let adds_nothing = config.is_none() && self.trainer.name == trainer::PASSTHROUGH;
        if adds_nothing || self.launcher.runs_zlaunch() || self.blocker.is_some() || !self.topology.is_first() {
            return None;
        }
        let config = config.unwrap_or("no DeepSpeed config");
        Some(match self.launcher {
            Launcher::Direct => format!("{config} · {}", self.ranks_in_short()),
            launcher => format!("{config} · {} · {launcher}", self.ranks_in_short()),
        })
    }

    fn ranks_in_short(&self) -> String {
        let topology = &self.topology;
        let world = topology.world_size.as_ref().map(|world| world.value);
        match &topology.role {
            Role::Rank { .. } => format!("rank 0 of {}, already started", world.unwrap_or_default()),
            Role::Task(task) => {
                let by = topology.engine.unwrap_or("its engine");
                format!("rank {} of {}, started by {by}", task.rank.value, task.world_size.value)
            }
            Role::Starter | Role::Shell { .. } => {
                let ranks = match world {
                    Some(1) => "1 rank".to_string(),
                    Some(world) => format!("{world} ranks"),
                    None => "ranks as the command says".to_string(),
                };
                match &topology.nnodes {
                    Some(nodes) if nodes.value > 1 => format!("{ranks} on {} machines", nodes.value),
                    _ if world.is_none() => ranks,
                    _ => format!("{ranks} on this machine"),
                }
            }
        }
    }
}
