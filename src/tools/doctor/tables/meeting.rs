//! What is shown of a machine, and how long several wait for each other.

use std::time::Duration;

use crate::base::vars;

/// Variables that are shown besides those of every plan, as `vars::lists` reads them.
pub const SHOWN_VARIABLES: &str = "NCCL_ TORCH_NCCL_ CUDA_HOME CUDA_PATH DEEPSPEED_TIMEOUT HF_HUB_OFFLINE PYTHONNOUSERSITE \
    TORCH_DISTRIBUTED_DEBUG DS_ENV_FILE HF_HOME MODELSCOPE_CACHE NNODES NODE_RANK NPROC_PER_NODE TORCH_EXTENSIONS_DIR \
    TRITON_CACHE_DIR PYTHONPATH LD_LIBRARY_PATH SLURM_JOB_NUM_NODES SLURM_STEP_NODELIST SLURM_TASKS_PER_NODE SLURM_GPUS_ON_NODE USE_HF HF_ENDPOINT HTTPS_PROXY https_proxy";

/// Bytes that a machine may send.
pub const MOST: u64 = 1 << 20;
pub const PAUSE: Duration = Duration::from_millis(50);
pub const GRACE: Duration = Duration::from_secs(3);
/// In front of each part of an answer that `srun` brings.
pub const MARK: &str = "zlaunch-answer ";
/// So many machines try each other; of more, each tries those that follow.
pub const NEIGHBOURS: usize = 32;
/// One that fails must not end the others.
pub const QUIET_SRUN: [&str; 4] = [
    "--quiet",
    "--input=all",
    "--kill-on-bad-exit=0",
    "--quit-on-interrupt",
];
/// All processes of one start have these in common.
pub const JOB_IDS: [&str; 4] = [
    vars::PMIX_NAMESPACE,
    vars::SLURM_JOB_ID,
    vars::PBS_JOBID,
    vars::LSB_JOBID,
];

/// ssh as DeepSpeed's runner needs it: without a password.
pub const SSH_OPTIONS: &[&str] = &["-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "--"];
