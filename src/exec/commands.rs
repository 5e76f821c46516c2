//! What the supervisor starts.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use crate::ranks::launcher::each_host::EachHost;
use crate::ranks::launcher::local::PER_RANK;

pub(super) enum Commands<'a> {
    /// The same for every rank, which learns its number from variables.
    Ranks(&'a [OsString]),
    /// A process for each machine of a job. The first machine is this one; what runs on another ends when its script is
    /// gone.
    Machines(&'a EachHost),
}

impl Commands<'_> {
    pub(super) fn argv(&self, at: u32) -> &[OsString] {
        match self {
            Commands::Ranks(argv) => argv,
            Commands::Machines(each) => &each.machines[at as usize].argv,
        }
    }

    pub(super) fn variables(&self) -> &'static [&'static str] {
        match self {
            Commands::Ranks(_) => PER_RANK,
            Commands::Machines(_) => &[],
        }
    }

    pub(super) fn scripts(&self) -> Scripts {
        match self {
            Commands::Ranks(_) => Scripts::default(),
            Commands::Machines(each) => Scripts(each.scripts().map(|(path, _)| path.clone()).collect()),
        }
    }

    pub(super) fn is_remote(&self, at: u32) -> bool {
        matches!(self, Commands::Machines(_)) && at > 0
    }
}

/// What the machines of a job run for as long as it is there. Dropped, it is gone.
#[derive(Default)]
pub(super) struct Scripts(pub(super) Vec<PathBuf>);

impl Drop for Scripts {
    fn drop(&mut self) {
        for script in &self.0 {
            // If that fails, the engine ends what is on the other machines together with the job.
            let _ = fs::remove_file(script);
        }
    }
}
