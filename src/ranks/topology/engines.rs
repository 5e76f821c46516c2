//! The engines: those that are a block of the table, and those that have a file here besides. The other files are what several
//! of them share.

mod hostlist;
mod job;
mod job_shell;
mod mpi;
mod nodes;
mod port;

use std::ffi::OsStr;
use std::ops::Bound;

use self::mpi::MpiVariables;
use self::nodes::NodeVariables;
use super::engine::{Allocation, Detected, Engine};
use crate::base::engines::{self, Block};
use crate::host::Host;
use crate::report::Problem;

/// Declares the modules and the list of their engines. `cargo fmt` does not look into such modules: `.ci/run` names their folder.
macro_rules! with_code {
    ($($name:ident)*) => {
        $(pub(crate) mod $name;)*
        const WITH_CODE: &[&Engine] = &[$(&$name::ENGINE),*];
    };
}

with_code! {
    aws_batch
    azure
    determined
    dlc
    dlrover
    flux
    gridengine
    kubernetes
    lepton
    lsf
    mpi_job
    oci
    open_pai
    pmi
    sagemaker
    saturn
    slurm
    taiji
    vertex
    volcano
    volcengine
}

/// The engine that started this process, by its name, and what it says.
pub(super) fn detect(host: &Host) -> Result<Option<(&'static str, Allocation)>, Vec<Problem>> {
    let mut asked = engines::all().filter(|block| block.env_prefixes().any(|prefix| is_set(prefix, host)));
    let detected = asked.find_map(|block| Some((block.name(), ask(&block, host)?)));
    detected.map(|(name, detected)| detected.map(|allocation| (name, allocation))).transpose()
}

fn ask(block: &Block, host: &Host) -> Option<Detected> {
    let with_code = WITH_CODE.iter().find(|engine| engine.name == block.name());
    match with_code {
        Some(engine) => (engine.detect)(block, host),
        None if block.field("manual").is_some() => job_shell::detect(block, host),
        None if !block.name_of("rank").is_empty() => MpiVariables::of(block).detect(host),
        None => NodeVariables::of(block).detect(host),
    }
}

/// Whether the name of any variable begins so.
fn is_set(prefix: &str, host: &Host) -> bool {
    let from = (Bound::Included(OsStr::new(prefix)), Bound::Unbounded);
    let next = host.env.range::<OsStr, _>(from).next();
    next.is_some_and(|(name, _)| name.as_encoded_bytes().starts_with(prefix.as_bytes()))
}

/// Whether a batch scheduler runs this process, be it on one machine.
pub(super) fn is_batch_job(host: &Host) -> bool {
    job::is_batch_job(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_a_block_and_every_block_without_a_file_says_it_all() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/ranks/topology/engines");
        let shared = ["hostlist", "job", "job_shell", "mpi", "nodes", "port"];
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), WITH_CODE.len() + shared.len());
        for engine in WITH_CODE {
            assert_eq!(engines::all().filter(|block| block.name() == engine.name).count(), 1, "{}", engine.name);
        }
        for block in engines::all().filter(|block| !WITH_CODE.iter().any(|it| it.name == block.name())) {
            let has = |roles: &[&str]| roles.iter().all(|role| !block.name_of(role).is_empty());
            let is_mpi = has(&["rank", "size", "local_rank", "local_size"]);
            let is_shell = block.field("manual").is_some() && has(&["file"]);
            assert!(is_mpi || is_shell || has(&["count", "index"]), "{}", block.name());
        }
    }
}
