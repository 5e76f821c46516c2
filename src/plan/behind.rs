//! A launch whose command has something in front of it, behind which zlaunch runs again.

use std::ffi::OsString;

use crate::command::prefix::Prefix;
use crate::command::trainer;
use crate::host::{self, Host};
use crate::ranks::launcher::Launcher;
use crate::report::Problem;
use crate::request::draft::Draft;

impl Draft<'_> {
    /// The same launch with zlaunch behind what the command starts with.
    pub(super) fn behind(&self, prefix: &Prefix, seen: &Host) -> Vec<OsString> {
        let zlaunch = [host::this_program().into_os_string()];
        let options = self.launch.forwarded_options();
        let mut argv = prefix.in_front_of([&zlaunch[..], &options, &["--".into()], &prefix.command].concat());
        if let Some(path) = seen.find_program(&argv[0]) {
            argv[0] = path.into_os_string();
        }
        argv
    }

    /// What is missing to start this, as far as it must be here.
    pub(super) fn blocker(&self, kind: Option<Launcher>, seen: &Host) -> Option<Problem> {
        let mut programs = self.prefix().into_iter().flat_map(Prefix::programs);
        let elsewhere = kind == Some(Launcher::Srun) || self.runs_elsewhere();
        programs
            .find_map(|program| trainer::missing_program(program, seen))
            .or_else(|| self.job.blocker.clone().filter(|_| !elsewhere))
    }
}
