//! Variables of torch, of its launchers and of the GPUs' drivers.

use crate::base::vars;

// The variables of ms-swift and torchrun that mean the same as our flags.
pub const NNODES: [&str; 2] = [vars::NNODES, vars::PET_NNODES];
pub const NODE_RANK: [&str; 2] = [vars::NODE_RANK, vars::PET_NODE_RANK];
pub const NPROC_PER_NODE: [&str; 2] = [vars::NPROC_PER_NODE, vars::PET_NPROC_PER_NODE];
pub const MASTER_ADDR: [&str; 2] = [vars::MASTER_ADDR, vars::PET_MASTER_ADDR];
pub const MASTER_PORT: [&str; 2] = [vars::MASTER_PORT, vars::PET_MASTER_PORT];

/// Every launcher sets these for each rank.
pub const RANK_VARIABLES: [&str; 3] = [vars::RANK, vars::LOCAL_RANK, vars::WORLD_SIZE];

/// Variables whose value is the rank. On one machine these are the same number.
pub const PER_RANK: &[&str] = &[vars::RANK, vars::LOCAL_RANK, vars::ROLE_RANK];

/// torchrun sets these for each rank, and no engine does.
pub const STARTED_BY_TORCHRUN: [&str; 3] = [
    vars::LOCAL_WORLD_SIZE,
    vars::GROUP_RANK,
    vars::TORCHELASTIC_RUN_ID,
];

/// torchrun's own variables for what zlaunch decides otherwise.
pub const PET_ELSEWHERE: &[&str] = &[
    "PET_RDZV_BACKEND",
    "PET_RDZV_ENDPOINT",
    "PET_RDZV_ID",
    "PET_RDZV_CONF",
    "PET_STANDALONE",
    "PET_MODULE",
    "PET_NO_PYTHON",
    "PET_RUN_PATH",
];

/// Variables that select accelerators, in the order they are looked at.
pub const VISIBLE_DEVICES: [&str; 4] = [
    vars::CUDA_VISIBLE_DEVICES,
    vars::HIP_VISIBLE_DEVICES,
    vars::ROCR_VISIBLE_DEVICES,
    vars::ASCEND_RT_VISIBLE_DEVICES,
];

/// Batch jobs whose scheduler may send signals, also to the only machine of a job.
pub const SCHEDULED_JOBS: &[&str] = &[
    vars::PBS_JOBID,
    vars::LSB_JOBID,
    "SGE_TASK_ID",
    "OAR_JOB_ID",
    "COBALT_JOBID",
    "FLUX_JOB_ID",
];

/// The ids of jobs, some together with the number of a task in an array.
pub const JOB_IDS: &[(&str, Option<&str>)] = &[
    (vars::PMIX_NAMESPACE, None),
    (vars::SLURM_JOB_ID, None),
    (vars::PBS_JOBID, None),
    (vars::LSB_JOBID, Some("LSB_JOBINDEX")),
    ("JOB_ID", Some("SGE_TASK_ID")),
    (vars::LSB_JOBID, None),
];

/// Words with which a whole list of GPUs says that none is wanted, in any case.
pub const NO_GPUS: &[&str] = &["nodevfiles", "none", "void"];
