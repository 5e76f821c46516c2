//! Every engine, one file each. Those that are no engine are what several of them share.

mod arnold;
mod aws_batch;
mod azure;
mod backend_ai;
mod base_command;
mod baseten;
mod beaker;
mod cobalt;
mod condor;
mod determined;
mod dlc;
mod dlrover;
mod dstack;
mod flux;
mod google_batch;
mod gridengine;
mod horovod;
mod hostlist;
mod indexed_job;
mod job;
mod job_shell;
mod kubernetes;
mod leader_worker_set;
mod lepton;
mod lsf;
mod metaflow;
mod modelarts;
mod mpi;
mod mpi_job;
mod mpich;
mod mvapich;
mod nodes;
mod oar;
mod oci;
mod open_pai;
mod openmpi;
mod paddle_cloud;
mod pals;
mod pbs;
mod pjm;
mod pmi;
mod port;
mod runpod;
mod sagemaker;
mod saturn;
mod sensecore;
mod skypilot;
pub(crate) mod slurm;
mod submitit;
mod taiji;
mod torchx;
mod vertex;
mod volcano;
mod volcengine;

use std::ffi::OsStr;

use super::engine::{Allocation, Engine};
use crate::host::Host;
use crate::report::Problem;

/// Every sign of a larger job: how names of variables begin, and the engine that is then asked. Sorted, so that a name is
/// found by its place, and none begins with another.
const SIGNS: &[(&str, &Engine)] = &[
    ("ARNOLD_", &arnold::ENGINE),
    ("AWS_BATCH_JOB_", &aws_batch::ENGINE),
    ("AZUREML_NODE_COUNT", &azure::ENGINE),
    ("AZ_BATCHAI_", &azure::ENGINE),
    ("AZ_BATCH_", &azure::ENGINE),
    ("BACKENDAI_CLUSTER_", &backend_ai::ENGINE),
    ("BATCH_MAIN_NODE_HOSTNAME", &google_batch::ENGINE),
    ("BATCH_NODE_", &google_batch::ENGINE),
    ("BEAKER_", &beaker::ENGINE),
    ("BT_", &baseten::ENGINE),
    ("CHIEF_IP", &taiji::ENGINE),
    ("CLUSTER_NODES_METADATA_FILE", &oci::ENGINE),
    ("CLUSTER_SPEC", &vertex::ENGINE),
    ("COBALT_", &cobalt::ENGINE),
    ("DET_", &determined::ENGINE),
    ("DLROVER_MASTER_ADDR", &dlrover::ENGINE),
    ("DSTACK_", &dstack::ENGINE),
    ("FLUX_", &flux::ENGINE),
    ("HOROVOD_", &horovod::ENGINE),
    ("HOST_NUM", &taiji::ENGINE),
    ("INITIAL_CLUSTER_SIZE", &oci::ENGINE),
    ("JOB_COMPLETION_INDEX", &indexed_job::ENGINE),
    ("JSM_NAMESPACE_", &lsf::ENGINE),
    ("KUBERNETES_SERVICE_HOST", &kubernetes::ENGINE),
    ("K_MPI_JOB_ROLE", &mpi_job::ENGINE),
    ("LEPTON_JOB_", &lepton::ENGINE),
    ("LSB_", &lsf::ENGINE),
    ("LWS_", &leader_worker_set::ENGINE),
    ("MASTER_ADDR", &dlc::ENGINE),
    ("MA_NUM_HOSTS", &modelarts::ENGINE),
    ("MF_PARALLEL_", &metaflow::ENGINE),
    ("MLP_", &volcengine::ENGINE),
    ("MPI_LOCALNRANKS", &mpich::ENGINE),
    ("MPI_LOCALRANKID", &mpich::ENGINE),
    ("MV2_COMM_WORLD_", &mvapich::ENGINE),
    ("MVP_COMM_WORLD_", &mvapich::ENGINE),
    ("NGC_", &base_command::ENGINE),
    ("NHOSTS", &gridengine::ENGINE),
    ("OAR_", &oar::ENGINE),
    ("OCI__WORKER_COUNT", &oci::ENGINE),
    ("OMPI_COMM_WORLD_", &openmpi::ENGINE),
    ("PADDLE_TRAINERS_NUM", &paddle_cloud::ENGINE),
    ("PADDLE_TRAINER_ID", &paddle_cloud::ENGINE),
    ("PAI_CURRENT_TASK_ROLE_", &open_pai::ENGINE),
    ("PAI_TASK_ROLE_", &open_pai::ENGINE),
    ("PALS_", &pals::ENGINE),
    ("PBS_", &pbs::ENGINE),
    ("PE_HOSTFILE", &gridengine::ENGINE),
    ("PJM_", &pjm::ENGINE),
    ("PMIX_", &pmi::ENGINE),
    ("PMI_", &pmi::ENGINE),
    ("PRIMARY_ADDR", &runpod::ENGINE),
    ("SATURN_JOB_", &saturn::ENGINE),
    ("SENSECORE_PYTORCH_", &sensecore::ENGINE),
    ("SKYPILOT_", &skypilot::ENGINE),
    ("SLURM_", &slurm::ENGINE),
    ("SM_", &sagemaker::ENGINE),
    ("SUBMITIT_LOCAL_", &submitit::ENGINE),
    ("TF_CONFIG", &vertex::ENGINE),
    ("TORCHX_RANK0_HOST", &torchx::ENGINE),
    ("TORCHX_REPLICA_IDX", &torchx::ENGINE),
    ("TRAINING_JOB_NAME", &sagemaker::ENGINE),
    ("VC_", &volcano::ENGINE),
    ("VK_TASK_INDEX", &volcano::ENGINE),
    ("_CONDOR_", &condor::ENGINE),
];

/// In the order they are asked: an MPI inside a Slurm job knows its ranks better than Slurm does, and what others build on
/// comes last.
const ALL: &[&Engine] = &[
    &openmpi::ENGINE,
    &mpich::ENGINE,
    &mvapich::ENGINE,
    &pals::ENGINE,
    &flux::ENGINE,
    &horovod::ENGINE,
    &submitit::ENGINE,
    &skypilot::ENGINE,
    &dstack::ENGINE,
    &metaflow::ENGINE,
    &slurm::ENGINE,
    &lsf::ENGINE,
    &pbs::ENGINE,
    &gridengine::ENGINE,
    &oar::ENGINE,
    &cobalt::ENGINE,
    &pjm::ENGINE,
    &condor::ENGINE,
    &determined::ENGINE,
    &sagemaker::ENGINE,
    &aws_batch::ENGINE,
    &azure::ENGINE,
    &backend_ai::ENGINE,
    &vertex::ENGINE,
    &google_batch::ENGINE,
    &oci::ENGINE,
    &volcengine::ENGINE,
    &taiji::ENGINE,
    &modelarts::ENGINE,
    &lepton::ENGINE,
    &beaker::ENGINE,
    &base_command::ENGINE,
    &runpod::ENGINE,
    &baseten::ENGINE,
    &saturn::ENGINE,
    &arnold::ENGINE,
    &sensecore::ENGINE,
    &open_pai::ENGINE,
    &paddle_cloud::ENGINE,
    &dlrover::ENGINE,
    &leader_worker_set::ENGINE,
    &volcano::ENGINE,
    &dlc::ENGINE,
    &kubernetes::ENGINE,
    &mpi_job::ENGINE,
    &torchx::ENGINE,
    &indexed_job::ENGINE,
    &pmi::ENGINE,
];

/// Whether an engine may have set this variable.
pub(crate) fn is_sign(variable: &str) -> bool {
    engine_of(OsStr::new(variable)).is_some()
}

/// The engine that started this process, by its name, and what it says.
pub(super) fn detect(host: &Host) -> Result<Option<(&'static str, Allocation)>, Vec<Problem>> {
    let present: Vec<&str> = host.env.keys().filter_map(|name| engine_of(name)).collect();
    let mut asked = ALL.iter().filter(|engine| present.contains(&engine.name));
    let detected = asked.find_map(|engine| Some((engine.name, (engine.detect)(host)?)));
    detected.map(|(name, detected)| detected.map(|allocation| (name, allocation))).transpose()
}

/// Whether a batch scheduler runs this process, be it on one machine.
pub(super) fn is_batch_job(host: &Host) -> bool {
    job::is_batch_job(host)
}

/// The engine of which a variable is a sign.
fn engine_of(variable: &OsStr) -> Option<&'static str> {
    let name = variable.as_encoded_bytes();
    let after = SIGNS.partition_point(|(sign, _)| sign.as_bytes() <= name);
    let (sign, engine) = SIGNS.get(after.checked_sub(1)?)?;
    name.starts_with(sign.as_bytes()).then_some(engine.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_in_the_list() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/ranks/topology/engines");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files: Vec<_> = files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_string()).collect();
        let shared = ["hostlist", "job", "job_shell", "mpi", "nodes", "port"];
        let engines = files.iter().filter(|name| !shared.contains(&name.as_str())).count();
        assert_eq!(engines, ALL.len(), "{files:?}");
    }

    #[test]
    fn every_engine_has_signs_of_its_own() {
        for pair in SIGNS.windows(2) {
            assert!(pair[0].0 < pair[1].0 && !pair[1].0.starts_with(pair[0].0), "{} and {}", pair[0].0, pair[1].0);
        }
        for engine in ALL {
            assert_eq!(ALL.iter().filter(|other| other.name == engine.name).count(), 1, "{}", engine.name);
            assert!(SIGNS.iter().any(|(_, signs)| signs.name == engine.name), "{} has no sign", engine.name);
        }
        // `tests/library/engines.rs` takes every subset of these.
        let environments = include_str!("../../../tests/data/engines.txt");
        for (sign, engine) in SIGNS {
            let tried = environments.lines().any(|line| line.trim_start_matches('?').starts_with(sign));
            assert!(tried, "{sign} of {} is in no environment of tests/data/engines.txt", engine.name);
        }
        assert_eq!(engine_of(OsStr::new("PMIX_RANK")), Some("PMI"));
        assert_eq!(engine_of(OsStr::new("PATH")), None);
    }
}
