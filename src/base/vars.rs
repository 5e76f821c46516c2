//! The names of the environment variables that zlaunch reads or sets.

use std::borrow::Cow;
use std::fmt;

use super::tables::vars::VARS;

pub use super::tables::vars::Does;

/// Variables that one sentence is about.
#[derive(Clone)]
pub struct Var {
    pub names: Vec<Cow<'static, str>>,
    pub does: Does,
    pub about: &'static str,
}

impl Var {
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(Cow::as_ref)
    }

    pub fn is_called(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }
}

impl fmt::Display for Does {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Does::Reads => "reads",
            Does::Sets => "sets",
            Does::ReadsAndSets => "reads, sets",
        })
    }
}

/// The variables that are not only an engine's.
pub(crate) fn of_no_engine() -> Vec<Var> {
    let vars = VARS.iter().map(|row| Var {
        names: row.names.iter().copied().map(Cow::from).collect(),
        does: row.does,
        about: row.about,
    });
    vars.collect()
}

macro_rules! names {
    ($($name:ident)*) => {
        $(pub(crate) const $name: &str = stringify!($name);)*
        /// Those that the code names.
        #[cfg(feature = "testing")]
        pub const NAMES: &[&str] = &[$($name),*];
    };
}

names! {
    PATH HOME XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME PYTHONPATH TMPDIR ZLAUNCH_LANG LC_ALL LC_MESSAGES LANG
    NO_COLOR FORCE_COLOR
    ZLAUNCH_SHIM ZLAUNCH_SHIM_OF
    NPROC_PER_NODE NNODES NODE_RANK MASTER_ADDR MASTER_PORT PET_NPROC_PER_NODE PET_NNODES PET_NODE_RANK
    PET_MASTER_ADDR PET_MASTER_PORT PET_SIGNALS_TO_HANDLE TORCH_ELASTIC_SHUTDOWN_TIMEOUT RANK LOCAL_RANK WORLD_SIZE
    LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE ROLE_RANK ROLE_WORLD_SIZE ROLE_NAME TORCHELASTIC_USE_AGENT_STORE
    TORCHELASTIC_RUN_ID TORCHELASTIC_RESTART_COUNT TORCHELASTIC_MAX_RESTARTS TORCH_NCCL_ASYNC_ERROR_HANDLING
    NCCL_ASYNC_ERROR_HANDLING
    SLURM_JOB_ID SLURM_STEP_ID SLURM_STEP_NODELIST SLURM_STEP_NUM_NODES SLURM_STEP_TASKS_PER_NODE SLURM_NODEID
    SLURMD_NODENAME SLURM_LOCALID SLURM_PROCID SLURM_PTY_PORT SLURM_GPUS_ON_NODE SLURM_GPUS SLURM_GPUS_PER_NODE
    SLURM_JOB_NODELIST SLURM_JOB_NUM_NODES SLURM_NNODES SLURM_TASKS_PER_NODE SLURM_GPUS_PER_TASK
    SLURM_TRES_PER_TASK SLURM_JOB_CPUS_PER_NODE SLURM_HET_SIZE SLURM_STEP_RESV_PORTS SLURM_RESTART_COUNT
    PBS_NODEFILE PBS_JOBID LSB_DJOB_RANKFILE LSB_JOBID PMIX_NAMESPACE SM_HOSTS SM_CURRENT_HOST SM_NUM_GPUS
    CUDA_VISIBLE_DEVICES HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES ASCEND_RT_VISIBLE_DEVICES PYTORCH_CUDA_ALLOC_CONF
    PYTORCH_ALLOC_CONF OMP_NUM_THREADS
    TORCH_EXTENSIONS_DIR TRITON_CACHE_DIR CXX
    DS_ENV_FILE
    HF_HOME HF_HUB_CACHE HUGGINGFACE_HUB_CACHE MODELSCOPE_CACHE USE_RAY USE_HF USE_MODELSCOPE_HUB USE_MCA USE_V1
    ALLOW_EXTRA_ARGS OPTIM_TORCH ACCELERATE_DEEPSPEED_ZERO_STAGE ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE
    ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE
    ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL
    PL_DEEPSPEED_CONFIG_PATH
}

/// A word of the list that ends with `_` is a prefix.
pub(crate) fn lists(list: &str, name: &str) -> bool {
    list.split(' ')
        .any(|known| name == known || known.ends_with('_') && name.starts_with(known))
}

/// A name that a shell can `export`.
pub fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
