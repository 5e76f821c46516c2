//! Cray PALS, the `mpiexec` of PBS machines. PBS lists the job's machines in a file, one line for each slot.

use std::path::Path;

use super::engine::{Engine, Tasks};
use crate::host::Host;
use crate::json;
use crate::said::{Said, Source};
use crate::vars;

pub(super) const ENGINE: Engine = Engine { name: "PALS", mark: "PALS_LOCAL_SIZE", look: |host| TASKS.look(host) };

const TASKS: Tasks =
    Tasks { rank: "PALS_RANKID", size: "PMI_SIZE", local_rank: "PALS_LOCAL_RANKID", local_size: "PALS_LOCAL_SIZE" };

/// The machines in the list, each once.
pub(super) fn machines(host: &Host) -> Option<u32> {
    let text = node_file(host)?;
    let names: std::collections::BTreeSet<&str> = text.split_whitespace().collect();
    u32::try_from(names.len()).ok().filter(|count| *count > 0)
}

pub(super) fn first_host(host: &Host) -> Option<Said<String>> {
    let text = node_file(host)?;
    let first = text.split_whitespace().next()?;
    Some(Said::new(first.to_string(), Source::Variable(vars::PBS_NODEFILE.to_string())))
}

fn node_file(host: &Host) -> Option<String> {
    json::read_text(Path::new(host.filled(vars::PBS_NODEFILE)?)).ok()
}
