//! The engines: those that are a block of the table, and those that have code besides. The other files are what several of
//! them share.

mod batch;
mod clouds;
pub mod hostlist;
mod job;
mod kubernetes;
mod mpi;
mod nodes;
pub mod port;
pub(crate) mod slurm;
pub mod table;

use std::ffi::OsStr;
use std::ops::Bound;

use super::engine::{Allocation, Detected};
use crate::host::Host;
use crate::report::Problem;
use table::Block;

pub(super) use job::is_batch_job;

/// Reads the variables of an engine. `None`: they say nothing of a larger job. What they say, but not completely, is a
/// problem: half a place is none.
type Detect = fn(&Block, &Host) -> Option<Detected>;

/// The engines with code, as their blocks are called.
const WITH_CODE: &[(&str, Detect)] = &[
    ("Slurm", slurm::detect),
    ("LSF", batch::detect_lsf),
    ("Grid Engine", batch::detect_grid_engine),
    ("Azure", batch::detect_azure),
    ("Determined", clouds::detect_determined),
    ("SageMaker", clouds::detect_sagemaker),
    ("Vertex AI", clouds::detect_vertex),
    ("OCI Data Science", clouds::detect_oci),
    ("OpenPAI", |block, host| Some(clouds::open_pai_task(block, host))),
    ("Volcano", kubernetes::detect_volcano),
    ("ClearML", kubernetes::detect_clearml),
    ("PAI-DLC", kubernetes::detect_dlc),
    ("Kubernetes", kubernetes::detect_pods),
    ("MPIJob", kubernetes::detect_mpi_job),
    ("PMI", mpi::detect_pmi),
];

/// The engine that started this process, by its name, and what it says.
pub(super) fn detect(host: &Host) -> Result<Option<(&'static str, Allocation)>, Vec<Problem>> {
    let mut asked = table::all().filter(|block| block.env_prefixes().any(|prefix| is_set(prefix, host)));
    let detected = asked.find_map(|block| Some((block.name(), reader_of(&block)(&block, host)?)));
    detected.map(|(name, detected)| detected.map(|allocation| (name, allocation))).transpose()
}

fn reader_of(block: &Block) -> Detect {
    match WITH_CODE.iter().find(|(name, _)| *name == block.name()) {
        Some((_, detect)) => *detect,
        None if block.field("manual").is_some() => batch::detect,
        None if !block.name_of("rank").is_empty() => mpi::detect,
        None => nodes::detect,
    }
}

/// The engines with code, by their names.
#[cfg(feature = "testing")]
pub fn with_code() -> impl Iterator<Item = &'static str> {
    WITH_CODE.iter().map(|(name, _)| *name)
}

/// Whether the name of any variable begins so.
fn is_set(prefix: &str, host: &Host) -> bool {
    let from = (Bound::Included(OsStr::new(prefix)), Bound::Unbounded);
    let next = host.env.range::<OsStr, _>(from).next();
    next.is_some_and(|(name, _)| name.as_encoded_bytes().starts_with(prefix.as_bytes()))
}
