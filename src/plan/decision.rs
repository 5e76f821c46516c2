//! The plan itself.

use std::ffi::OsString;
use std::path::PathBuf;

use super::environment::Environment;
use super::file::PlannedConfig;
use super::record::Record;
use crate::base::source::Sourced;
use crate::ranks::launcher::Launcher;
use crate::ranks::launcher::local::LocalRanks;
use crate::ranks::topology::Topology;
use crate::report::Problem;

pub struct Plan {
    pub(crate) trainer: TrainerFacts,
    pub(crate) topology: Topology,
    pub(crate) launcher: Launcher,
    /// The ranks, where zlaunch starts them itself.
    pub(crate) local: Option<LocalRanks>,
    pub config: Option<PlannedConfig>,
    /// Why `auto` became this template.
    pub(crate) chosen: Option<String>,
    pub(crate) environment: Environment,
    pub(crate) argv: Vec<OsString>,
    pub diagnostics: Vec<Problem>,
    /// Why this cannot be started here, though it can be planned.
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
    pub(crate) version: Option<String>,
    /// Which recorded version stands in for one that is not recorded.
    pub(crate) stand_in: Option<String>,
    pub(crate) python: Option<PathBuf>,
    /// What the ranks run, in words for a person.
    pub(crate) runs: String,
    /// How the user's own script reads its arguments, where somebody reads the plan.
    pub(crate) reads: Option<String>,
}
