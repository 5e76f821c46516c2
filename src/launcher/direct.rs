//! No launcher: the ranks exist already, or one process is all.

use std::ffi::OsString;

use super::{Kind, python};
use crate::error::{self, Problem};
use crate::host::Host;
use crate::said::Said;
use crate::topology::Topology;
use crate::trainer::{Family, Job, Target};

/// One process cannot be several ranks.
pub(super) fn refuse(asked: &Said<Kind>, job: &Job, topology: &Topology) -> Result<(), Problem> {
    let several = topology.nproc_per_node.as_ref().filter(|nproc| nproc.value > 1);
    match several {
        Some(nproc) if !topology.already && job.trainer.family != Family::Opaque => {
            Err(error::direct_is_one_process(asked, nproc))
        }
        _ => Ok(()),
    }
}

pub(super) fn argv(job: &Job, host: &Host) -> Vec<OsString> {
    match &job.target {
        Target::Script { options, path } => {
            std::iter::once(python(job)).chain(options.iter().cloned()).chain([path.clone()]).collect()
        }
        Target::Module { options, name } => {
            std::iter::once(python(job)).chain(options.iter().cloned()).chain(["-m".into(), name.clone()]).collect()
        }
        Target::Program(word) => {
            vec![host.find_program(word).map_or_else(|| word.clone(), std::path::PathBuf::into_os_string)]
        }
    }
}
