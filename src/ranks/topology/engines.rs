//! The engines: those that are a block of the table, and those that have code besides.

mod batch;
mod clouds;
pub mod hostlist;
pub mod job;
mod machines;
mod mpi;
pub(crate) mod slurm;
pub mod table;

use super::allocation::Allocation;
use crate::host::Host;
use crate::report::Problem;
use table::Block;

/// `None`: its variables say nothing of a larger job. It is a problem if they say it only in part.
pub(super) type Answer = Result<Option<Allocation>, Vec<Problem>>;

type Detect = fn(&Block, &Host) -> Answer;

const WITH_CODE: &[(&str, Detect)] = &[
    ("Slurm", slurm::detect),
    ("LSF", batch::detect_lsf),
    ("Grid Engine", batch::detect_grid_engine),
    ("Azure", batch::detect_azure),
    ("Determined", clouds::detect_determined),
    ("SageMaker", clouds::detect_sagemaker),
    ("Vertex AI", clouds::detect_vertex),
    ("OCI Data Science", clouds::detect_oci),
    ("ClearML", clouds::detect_clearml),
    ("MPIJob", clouds::detect_mpi_job),
];

/// What every engine says whose variables are there.
pub(super) fn answers(host: &Host) -> impl Iterator<Item = (Block, Answer)> {
    let present =
        table::all().filter(|block| block.env_prefixes().any(|prefix| is_set(prefix, host)));
    present.map(|block| {
        let detect = match WITH_CODE.iter().find(|(name, _)| *name == block.name()) {
            Some((_, detect)) => *detect,
            None if block.field("manual").is_some() => batch::detect,
            None if !block.name_of("rank").is_empty() => mpi::detect,
            None => machines::detect,
        };
        (block, detect(&block, host))
    })
}

#[cfg(feature = "testing")]
pub fn with_code() -> impl Iterator<Item = &'static str> {
    WITH_CODE.iter().map(|(name, _)| *name)
}

fn is_set(prefix: &str, host: &Host) -> bool {
    host.vars_from(prefix).next().is_some()
}
