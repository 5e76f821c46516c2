//! What becomes of the output of the ranks: `--log-dir` and `--prefix`.

use std::path::PathBuf;

use super::kind::Launcher;
use crate::base::source::{Source, Sourced};
use crate::report::fix::{drop_word, give};
use crate::report::{Problem, Rule};

/// Our flags about the output of the ranks.
#[derive(Default)]
pub(crate) struct OutputFlags {
    pub(crate) log_dir: Option<Sourced<PathBuf>>,
    pub(crate) prefix: Option<Source>,
}

impl OutputFlags {
    /// The first that was given as a flag. A variable may be set for a whole site, and gives way.
    pub(super) fn flag(&self) -> Option<&Source> {
        self.flags().next()
    }

    fn flags(&self) -> impl Iterator<Item = &Source> {
        let given = self.log_dir.as_ref().map(|folder| &folder.from).into_iter().chain(&self.prefix);
        given.filter(|from| matches!(from, Source::Flag(_)))
    }

    pub(super) fn check(&self, launcher: Launcher) -> Result<(), Problem> {
        match self.flag().filter(|_| launcher == Launcher::Local) {
            Some(from) => {
                let what = "`local` keeps no output of the ranks: log folders and prefixes are torchrun's";
                let torchrun = give("--launcher", "torchrun").remark("where torch is installed");
                Err(Problem::error(Rule::Launcher, what).at(from).fix(torchrun.or(drop_word(from))))
            }
            None => Ok(()),
        }
    }

    /// zlaunch has the output only of ranks that it tells torchrun to start; behind `srun` or a prefix it looks again.
    /// `in_command`: the launcher is the command's own.
    pub(crate) fn without_effect(&self, launcher: Launcher, in_command: bool) -> Vec<Problem> {
        let works = launcher == Launcher::Torchrun && !in_command || launcher.runs_zlaunch();
        let problem = |from: &Source| {
            let what =
                format!("{from} has no effect: the ranks are started by `{launcher}`, not by a torchrun of zlaunch's");
            let help = "let zlaunch start the ranks, or use the launcher's own option";
            Problem::warning(Rule::OutputWithoutEffect, what).at(from).fix(help)
        };
        self.flags().filter(|_| !works).map(problem).collect()
    }
}
