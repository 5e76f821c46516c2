//! No launcher: the ranks exist already, or one process is all.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{Launcher, python};
use crate::base::source::Sourced;
use crate::command::target::Target;
use crate::command::trainer::Job;
use crate::host::Host;
use crate::ranks::topology::Topology;
use crate::report::{self, Problem};

/// One process cannot be several ranks.
pub(super) fn possible(asked: &Sourced<Launcher>, topology: &Topology) -> Result<(), Problem> {
    match topology.world_size.as_ref().filter(|world| world.value > 1) {
        Some(world) => Err(report::direct_is_one_process(asked, world)),
        None => Ok(()),
    }
}

pub(super) fn head(job: &Job, host: &Host) -> Vec<OsString> {
    match &job.target {
        Target::Script { options, path } => {
            std::iter::once(python(job)).chain(options.iter().cloned()).chain([path.clone()]).collect()
        }
        Target::Module { options, name } => {
            std::iter::once(python(job)).chain(options.iter().cloned()).chain(["-m".into(), name.clone()]).collect()
        }
        Target::Program(word) => vec![host.find_program(word).map_or_else(|| word.clone(), PathBuf::into_os_string)],
    }
}
