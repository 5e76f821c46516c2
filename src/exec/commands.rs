//! What the supervisor starts.

use std::ffi::OsString;

use crate::ranks::launcher::each_host::EachHost;
use crate::ranks::launcher::local::PER_RANK;

pub(super) enum Commands<'a> {
    /// The same for every rank, which learns its number from variables.
    Ranks(&'a [OsString]),
    /// A process for each machine of a job. The first machine is this one; what runs on the others ends when the script is
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

    pub(super) fn is_remote(&self, at: u32) -> bool {
        matches!(self, Commands::Machines(_)) && at > 0
    }
}
