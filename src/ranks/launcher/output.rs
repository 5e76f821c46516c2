//! What becomes of the output of the ranks: `--log-dir` and `--prefix`.

use std::path::PathBuf;

use super::kind::Launcher;
use crate::base::source::{Source, Sourced};
use crate::report::{self, Problem};

/// Our flags about the output of the ranks.
#[derive(Default)]
pub(crate) struct OutputFlags {
    pub(crate) log_dir: Option<Sourced<PathBuf>>,
    pub(crate) prefix: Option<Source>,
}

impl OutputFlags {
    /// zlaunch has the output only of ranks that it starts itself or tells torchrun to start; behind `srun` or a prefix it
    /// looks again. `wrapped`: the launcher is the command's own. A variable may be set for a whole site, so only flags are
    /// reported.
    pub(crate) fn without_effect(&self, launcher: Launcher, wrapped: bool) -> Vec<Problem> {
        let works =
            launcher == Launcher::Local || launcher == Launcher::Torchrun && !wrapped || launcher.runs_zlaunch();
        let given = self.log_dir.as_ref().map(|folder| &folder.from).into_iter().chain(&self.prefix);
        let flags = given.filter(|from| !works && matches!(from, Source::Flag(_)));
        flags.map(|from| report::output_without_effect(from, &launcher)).collect()
    }
}
