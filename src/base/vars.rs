//! Every environment variable that zlaunch reads or sets, each with one sentence. Not here: `ZLAUNCH_<OPTION>`, which
//! exists for every launch option, and those that only the table of engines (`ranks/topology/engines`) names.

use std::borrow::Cow;

#[derive(Clone)]
pub struct Var {
    /// One name, or several with commas.
    pub name: Cow<'static, str>,
    /// `reads`, `sets` or both: this is what zlaunch does with it.
    pub does: &'static str,
    pub about: &'static str,
}

impl Var {
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.name.split(", ")
    }

    pub fn is_called(&self, name: &str) -> bool {
        self.names().any(|own| own == name)
    }
}

pub(crate) const READ: &str = "reads";
const SET: &str = "sets";
const READ_AND_SET: &str = "reads, sets";

/// Rows of which each makes a constant, then rows without one.
macro_rules! vars {
    ($($name:ident $does:ident $about:literal;)* $($names:literal $how:ident $for:literal;)*) => {
        $(#[doc = $about] pub(crate) const $name: &str = stringify!($name);)*
        pub(crate) const OF_NO_ENGINE: &[Var] = &[
            $(Var { name: Cow::Borrowed(stringify!($name)), does: $does, about: $about },)*
            $(Var { name: Cow::Borrowed($names), does: $how, about: $for },)*
        ];
    };
}

vars! {
    PATH READ "where the trainer, its interpreter and the launchers are looked up";
    HOME READ "the default place of the cache and configuration folders";
    XDG_CACHE_HOME READ "resolved configs go to `zlaunch/configs` in it";
    XDG_CONFIG_HOME READ "templates are searched in `zlaunch/templates` in it";
    XDG_DATA_HOME READ "PATH shims go to `zlaunch/shims` in it";
    PYTHONPATH READ_AND_SET "packages of the trainer may be there; set as `accelerate launch` sets it";
    TMPDIR READ "resolved configs go to a private folder in it when there is no usable home";
    ZLAUNCH_LANG READ "the language of the help, `explain` and `schema`: en or zh";
    LC_ALL READ "the same, if ZLAUNCH_LANG is not set";
    LC_MESSAGES READ "the same, if LC_ALL is not set";
    LANG READ "the same, if LC_MESSAGES is not set";

    NO_COLOR READ "no colours";
    FORCE_COLOR READ "colours even if the output is not a terminal, unless NO_COLOR says otherwise";

    ZLAUNCH_SHIM READ "0: turns the PATH shims off; a shim sets it for what it starts";
    ZLAUNCH_SHIM_OF READ "set by a PATH shim: zlaunch runs the command unchanged unless it trains with a config";

    NPROC_PER_NODE READ_AND_SET "ranks on this machine, as ms-swift reads it; set for megatron";
    NNODES READ_AND_SET "number of machines; set for megatron";
    NODE_RANK READ_AND_SET "number of this machine; set for megatron";
    MASTER_ADDR READ_AND_SET "address of the first machine; `direct` and `local` set it to 127.0.0.1";
    MASTER_PORT READ_AND_SET "port on the first machine; `direct` lets its one rank take any, `local` finds a free one";
    PET_NPROC_PER_NODE READ "torchrun's own default for --nproc_per_node";
    PET_NNODES READ "torchrun's own default for --nnodes";
    PET_NODE_RANK READ "torchrun's own default for --node_rank";
    PET_MASTER_ADDR READ "torchrun's own default for --master_addr";
    PET_MASTER_PORT READ "torchrun's own default for --master_port";
    PET_SIGNALS_TO_HANDLE READ_AND_SET "the signals that torchrun (torch 2.10 and later) ends on after sending them to the ranks: with USR1 and USR2 under a scheduler, without HUP under nohup";
    TORCH_ELASTIC_SHUTDOWN_TIMEOUT READ_AND_SET "seconds between the signal and KILL: read for `local` (30), set to 300 for torchrun (torch 2.12 and later) under a scheduler";
    RANK READ_AND_SET "with LOCAL_RANK and WORLD_SIZE: a launcher already ran, so none is started; `direct` and `local` set it";
    LOCAL_RANK READ_AND_SET "see RANK";
    WORLD_SIZE READ_AND_SET "see RANK; the number of ranks";
    LOCAL_WORLD_SIZE READ_AND_SET "see RANK; the number of ranks on this machine";
    GROUP_RANK READ_AND_SET "set by torchrun: RANK is a real one; `local` sets it to 0, the number of this machine";
    GROUP_WORLD_SIZE READ_AND_SET "set by torchrun: the number of machines; `local` sets it to 1";
    ROLE_RANK SET "`local` sets it to RANK";
    ROLE_WORLD_SIZE SET "`local` sets it to WORLD_SIZE";
    ROLE_NAME SET "`local` sets it to `default`";
    TORCHELASTIC_USE_AGENT_STORE SET "False for the ranks of `local`: there is no torchrun agent, rank 0 opens the store";
    TORCHELASTIC_RUN_ID READ_AND_SET "set by torchrun: RANK is a real one; `local` sets it too";
    TORCHELASTIC_RESTART_COUNT SET "0 for the ranks of `local`, as torchrun sets it";
    TORCHELASTIC_MAX_RESTARTS SET "the same";
    TORCH_NCCL_ASYNC_ERROR_HANDLING SET "1 for the ranks of `local` unless it is set, as torchrun does";
    NCCL_ASYNC_ERROR_HANDLING SET "its name before torch 2.2";

    SLURM_JOB_ID READ "Slurm started this";
    SLURM_STEP_ID READ "`srun` started this task; without it this is a batch script or the shell of salloc";
    SLURM_STEP_NODELIST READ "the machines of the step; the first one is where the ranks meet";
    SLURM_STEP_NUM_NODES READ "number of machines of the step";
    SLURM_STEP_TASKS_PER_NODE READ "1: torchrun starts the ranks; more: each task is a rank";
    SLURM_NODEID READ "number of this machine";
    SLURMD_NODENAME READ "without it and SLURM_NODEID: the shell of salloc, which is outside the job's machines";
    SLURM_LOCALID READ "number of this task on its machine";
    SLURM_PROCID READ "compared with RANK, which the hook of enroot sets for every task";
    SLURM_PTY_PORT READ "`srun --pty`: a terminal on the first machine, not one of many tasks";
    SLURM_GPUS_ON_NODE READ "GPUs of the step on this machine, where CUDA_VISIBLE_DEVICES is not set";
    SLURM_GPUS READ "GPUs of the whole job: tells whether all machines have the same number";
    SLURM_GPUS_PER_NODE READ "every machine has this many";
    SLURM_JOB_NODELIST READ "the machines of the job, where no step says otherwise";
    SLURM_JOB_NUM_NODES READ "number of machines of the job: a batch script on several is started on each through srun";
    SLURM_NNODES READ "number of machines, where no step says otherwise";
    SLURM_TASKS_PER_NODE READ "tasks on each machine, where no step says otherwise";
    SLURM_GPUS_PER_TASK READ_AND_SET "in a batch script: the one task on each machine gets all requested GPUs";
    SLURM_TRES_PER_TASK READ_AND_SET "the same in newer versions";
    SLURM_JOB_CPUS_PER_NODE READ "machines that differ in CPUs may differ in GPUs";
    SLURM_HET_SIZE READ "groups of a heterogeneous job";
    SLURM_STEP_RESV_PORTS READ "the first of them is where the ranks meet";
    SLURM_RESTART_COUNT READ "another port after a requeue";
    PBS_NODEFILE READ "the machines of a PBS job";
    PBS_JOBID READ "a separate port for each job";
    LSB_DJOB_RANKFILE READ "the machines of an LSF job";
    LSB_JOBID READ "a separate port for each job";
    PMIX_NAMESPACE READ "a separate port for each start of Open MPI or PRRTE";
    SM_HOSTS READ "the machines of a SageMaker job";
    SM_CURRENT_HOST READ "this machine in SM_HOSTS";
    SM_NUM_GPUS READ "GPUs of this machine in a SageMaker job";
    VC_TASK_INDEX READ "number of this pod in a Volcano job";

    CUDA_VISIBLE_DEVICES READ_AND_SET "its entries are counted; narrowed when ms-swift gets fewer ranks than GPUs";
    HIP_VISIBLE_DEVICES READ "counted like CUDA_VISIBLE_DEVICES (ROCm)";
    ROCR_VISIBLE_DEVICES READ "counted like CUDA_VISIBLE_DEVICES (ROCm)";
    ASCEND_RT_VISIBLE_DEVICES READ "counted like CUDA_VISIBLE_DEVICES (Ascend)";
    PYTORCH_CUDA_ALLOC_CONF READ_AND_SET "expandable segments, where the memory needs them; or as llamafactory-cli and axolotl set it";
    PYTORCH_ALLOC_CONF READ_AND_SET "the same, axolotl with newer torch";
    OMP_NUM_THREADS READ_AND_SET "if unset: CPUs divided by ranks (torchrun alone would set 1)";

    TORCH_EXTENSIONS_DIR READ "where DeepSpeed's operators are compiled: a lock left there is reported";
    TRITON_CACHE_DIR READ "shown by `doctor`, with its file system";
    CXX READ "the compiler that `doctor` looks for";

    DS_ENV_FILE READ_AND_SET "with a hostfile: the file of variables that DeepSpeed's runner passes on";

    HF_HOME READ "Hugging Face cache: `hub` in it is searched for the model's config.json";
    HF_HUB_CACHE READ "Hugging Face cache";
    HUGGINGFACE_HUB_CACHE READ "Hugging Face cache, old name";
    MODELSCOPE_CACHE READ "ModelScope cache, searched for the model's config.json";
    USE_RAY READ "LLaMA-Factory starts its ranks through Ray: left alone";
    USE_HF READ "ms-swift takes the model from Hugging Face";
    USE_MODELSCOPE_HUB READ "LLaMA-Factory takes the model from ModelScope";
    USE_MCA READ "1: LLaMA-Factory takes the arguments of its Megatron trainer";
    USE_V1 READ "1: LLaMA-Factory starts its next generation, which has other arguments";
    ALLOW_EXTRA_ARGS READ "1: LLaMA-Factory tolerates unknown arguments";
    OPTIM_TORCH READ "0: LLaMA-Factory does not set its allocator variables";
    ACCELERATE_DEEPSPEED_ZERO_STAGE READ_AND_SET "what accelerate makes of a stage that is \"auto\"";
    ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE READ_AND_SET "what accelerate makes of an \"auto\" device";
    ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE READ_AND_SET "what accelerate makes of an \"auto\" device";
    ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_NVME_PATH READ "what accelerate makes of an \"auto\" nvme_path";
    ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_NVME_PATH READ "what accelerate makes of an \"auto\" nvme_path";
    ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL READ_AND_SET "what accelerate makes of an \"auto\" gather key";
    PL_DEEPSPEED_CONFIG_PATH READ_AND_SET "passes the config to Lightning's `DeepSpeedStrategy`";

    // Without a constant.
    "PYENV_VERSION" READ "the Python that a shim of pyenv stands for";
    "PYTHONHOME" READ "the interpreter's modules are elsewhere, and are not looked up";
    "PYTHONNOUSERSITE" READ "packages of the user's site are ignored";
    "PYTHONUSERBASE" READ "where the user's site is, if not in ~/.local";
    "ADDR, PORT" READ "xtuner's names for MASTER_ADDR and MASTER_PORT";
    "FLUX_ENCLOSING_ID, RAY_JOB_CONFIG_JSON_ENV_VAR, RAY_RAYLET_PID" READ "the shell of a Flux job, the driver of a Ray job, a task of Ray: reported, since nothing counts the machines";
    "SLURM_OVERLAP" READ "an `srun` inside a step shares its machines, so it does not wait for them";
    "SLURM_TRES_BIND, SLURM_GPU_BIND, SLURM_CPUS_PER_TASK, SRUN_CPUS_PER_TASK" SET "removed for zlaunch's own `srun`: its one task gets the whole machine";
    "PET_RDZV_BACKEND, PET_RDZV_ENDPOINT, PET_RDZV_ID, PET_RDZV_CONF, PET_STANDALONE, PET_MODULE, PET_NO_PYTHON, PET_RUN_PATH" READ_AND_SET "torchrun's, for things that zlaunch decides: reported and removed";
    "SWIFT_CONFIG_FILE" SET "the run file, as ms-swift sets it";
    "XFORMERS_IGNORE_FLASH_VERSION_CHECK, HF_HUB_ENABLE_HF_TRANSFER" SET "as axolotl sets them, by version";
    "TORCH_NCCL_AVOID_RECORD_STREAMS" SET "as llamafactory-cli sets it";
    "ACCELERATE_USE_DEEPSPEED, ACCELERATE_DEEPSPEED_CONFIG_FILE" READ_AND_SET "pass the config to scripts with `Accelerator()`, and to those that build their `TrainingArguments` in code; set as `accelerate launch` sets them";
    "ACCELERATE_MIXED_PRECISION, ACCELERATE_CONFIG_DS_FIELDS, ACCELERATE_GRADIENT_ACCUMULATION_STEPS, ACCELERATE_GRADIENT_CLIPPING, ACCELERATE_DEEPSPEED_ZERO3_INIT" SET "as `accelerate launch` sets them, where torchrun runs instead";
    "CUDA_DEVICE_MAX_CONNECTIONS" READ_AND_SET "reported where 1 does harm; the template `zero3_lowmem` sets it";
    "CUDA_AUTO_BOOST, TORCH_DISTRIBUTED_DEBUG" SET "by the template `zero3_lowmem`";
    "NCCL_NET, NCCL_IB_DISABLE, NCCL_IB_HCA, NCCL_IB_GID_INDEX, NCCL_P2P_DISABLE, NCCL_P2P_LEVEL, NCCL_NET_GDR_LEVEL, NCCL_NET_GDR_READ, NCCL_SOCKET_IFNAME" READ "two that contradict each other are reported";
    "DS_PIPE_RESERVE, DS_SKIP_UNUSED_PARAMETERS, DS_REUSE_BUFFERS, DS_USE_CUDA_TILING" READ "reported: nothing else reads them";
    "NCCL_DEBUG" READ "shown in every plan";
    "DS_ACCELERATOR" READ "shown in every plan; with `cpu`, ranks need no GPUs";
    "ACCELERATE_USE_CPU" READ "ranks need no GPUs";
    "NCCL_*, TORCH_NCCL_*, CUDA_HOME, DEEPSPEED_TIMEOUT, HF_HUB_OFFLINE" READ "shown by `doctor`";
    "TRANSFORMERS_OFFLINE" READ "as HF_HUB_OFFLINE: a model that is not in the cache is reported";
}

/// A word of the list that ends with `_` is a prefix.
pub(crate) fn lists(list: &str, name: &str) -> bool {
    list.split(' ').any(|known| name == known || known.ends_with('_') && name.starts_with(known))
}

/// A name that a shell can `export`.
pub fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
