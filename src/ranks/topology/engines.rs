//! Every engine, one file each. Those that are no engine are what several of them share.

mod dlc;
mod hostlist;
mod job;
mod kubernetes;
mod lsf;
mod mpi;
mod mpich;
mod mvapich;
mod openmpi;
mod pals;
mod sagemaker;
pub(crate) mod slurm;
mod volcano;

use super::engine::{Allocation, Engine};
use crate::host::Host;
use crate::report::Problem;

/// In the order they are asked: an MPI inside a Slurm job knows its ranks better than Slurm does.
const ALL: &[&Engine] = &[
    &openmpi::ENGINE,
    &mpich::ENGINE,
    &mvapich::ENGINE,
    &pals::ENGINE,
    &lsf::ENGINE,
    &slurm::ENGINE,
    &sagemaker::ENGINE,
    &volcano::ENGINE,
    &dlc::ENGINE,
    &kubernetes::ENGINE,
];

/// The engine that started this process, by its name, and what it says.
pub(super) fn detect(host: &Host) -> Result<Option<(&'static str, Allocation)>, Vec<Problem>> {
    let mut present = ALL.iter().filter(|engine| host.filled(engine.variable).is_some());
    let detected = present.find_map(|engine| Some((engine.name, (engine.detect)(host)?)));
    detected.map(|(name, detected)| detected.map(|allocation| (name, allocation))).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_in_the_list() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/ranks/topology/engines");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files: Vec<_> = files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_string()).collect();
        let engines = files.iter().filter(|name| !["hostlist", "job", "mpi"].contains(&name.as_str())).count();
        assert_eq!(engines, ALL.len(), "{files:?}");
    }
}
