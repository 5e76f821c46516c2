//! Every environment variable that zlaunch reads or sets, each with one sentence. Not here: `ZLAUNCH_<OPTION>`, which exists
//! for every launch option, and those that only the table of engines names.

pub struct DocumentedVars {
    /// A name that ends with `*` stands for all that begin so; that is how the documents write it.
    pub names: &'static [&'static str],
    pub does: &'static str,
    pub about: &'static str,
}

// What zlaunch does with a variable.
pub const READS: &str = "reads";
const SETS: &str = "sets";
const READS_AND_SETS: &str = "reads, sets";

pub const VARS: &[DocumentedVars] = &[
    DocumentedVars {
        names: &["PATH"],
        does: READS,
        about: "where the trainer, its interpreter and the launchers are looked up",
    },
    DocumentedVars {
        names: &["HOME"],
        does: READS,
        about: "the default place of the cache and configuration folders",
    },
    DocumentedVars {
        names: &["XDG_CACHE_HOME"],
        does: READS,
        about: "resolved configs go to `zlaunch/configs` in it",
    },
    DocumentedVars {
        names: &["XDG_CONFIG_HOME"],
        does: READS,
        about: "templates are searched in `zlaunch/templates` in it",
    },
    DocumentedVars {
        names: &["XDG_DATA_HOME"],
        does: READS,
        about: "PATH shims go to `zlaunch/shims` in it",
    },
    DocumentedVars {
        names: &["PYTHONPATH"],
        does: READS_AND_SETS,
        about: "packages of the trainer may be there; set as `accelerate launch` sets it",
    },
    DocumentedVars {
        names: &["TMPDIR"],
        does: READS,
        about: "resolved configs go to a private folder in it when there is no usable home",
    },
    DocumentedVars {
        names: &["ZLAUNCH_LANG"],
        does: READS,
        about: "the language of the help, `explain`, `schema` and `templates`: en or zh",
    },
    DocumentedVars {
        names: &["LC_ALL"],
        does: READS,
        about: "the same, if ZLAUNCH_LANG is not set",
    },
    DocumentedVars {
        names: &["LC_MESSAGES"],
        does: READS,
        about: "the same, if LC_ALL is not set",
    },
    DocumentedVars {
        names: &["LANG"],
        does: READS,
        about: "the same, if LC_MESSAGES is not set",
    },
    DocumentedVars {
        names: &["NO_COLOR"],
        does: READS,
        about: "no colours",
    },
    DocumentedVars {
        names: &["ZLAUNCH_SHIM"],
        does: READS,
        about: "0: turns the PATH shims off; a shim sets it for what it starts",
    },
    DocumentedVars {
        names: &["ZLAUNCH_SHIM_OF"],
        does: READS,
        about: "set by a PATH shim: zlaunch runs the command unchanged unless it trains with a config",
    },
    DocumentedVars {
        names: &["NPROC_PER_NODE"],
        does: READS_AND_SETS,
        about: "ranks on this machine, as ms-swift reads it; set for megatron",
    },
    DocumentedVars {
        names: &["NNODES"],
        does: READS_AND_SETS,
        about: "number of machines; set for megatron",
    },
    DocumentedVars {
        names: &["NODE_RANK"],
        does: READS_AND_SETS,
        about: "number of this machine; set for megatron",
    },
    DocumentedVars {
        names: &["MASTER_ADDR"],
        does: READS_AND_SETS,
        about: "address of the first machine; `direct` and `local` set it to 127.0.0.1",
    },
    DocumentedVars {
        names: &["MASTER_PORT"],
        does: READS_AND_SETS,
        about: "port on the first machine; `direct` lets its one rank take any, `local` finds a free one",
    },
    DocumentedVars {
        names: &["PET_NPROC_PER_NODE"],
        does: READS,
        about: "torchrun's own default for --nproc_per_node",
    },
    DocumentedVars {
        names: &["PET_NNODES"],
        does: READS,
        about: "torchrun's own default for --nnodes",
    },
    DocumentedVars {
        names: &["PET_NODE_RANK"],
        does: READS,
        about: "torchrun's own default for --node_rank",
    },
    DocumentedVars {
        names: &["PET_MASTER_ADDR"],
        does: READS,
        about: "torchrun's own default for --master_addr",
    },
    DocumentedVars {
        names: &["PET_MASTER_PORT"],
        does: READS,
        about: "torchrun's own default for --master_port",
    },
    DocumentedVars {
        names: &["PET_SIGNALS_TO_HANDLE"],
        does: READS_AND_SETS,
        about: "the signals that torchrun (torch 2.10 and later) ends on after sending them to the ranks: with USR1 and USR2 under a scheduler, without HUP under nohup",
    },
    DocumentedVars {
        names: &["TORCH_ELASTIC_SHUTDOWN_TIMEOUT"],
        does: READS_AND_SETS,
        about: "seconds between the signal and KILL: read for `local` (30), set to 300 for torchrun (torch 2.12 and later) under a scheduler",
    },
    DocumentedVars {
        names: &["RANK"],
        does: READS_AND_SETS,
        about: "with LOCAL_RANK and WORLD_SIZE: a launcher already ran, so none is started; `direct` and `local` set it",
    },
    DocumentedVars {
        names: &["LOCAL_RANK"],
        does: READS_AND_SETS,
        about: "see RANK",
    },
    DocumentedVars {
        names: &["WORLD_SIZE"],
        does: READS_AND_SETS,
        about: "see RANK; the number of ranks",
    },
    DocumentedVars {
        names: &["LOCAL_WORLD_SIZE"],
        does: READS_AND_SETS,
        about: "see RANK; the number of ranks on this machine",
    },
    DocumentedVars {
        names: &["GROUP_RANK"],
        does: READS_AND_SETS,
        about: "set by torchrun: RANK is a real one; `local` sets it to 0, the number of this machine",
    },
    DocumentedVars {
        names: &["GROUP_WORLD_SIZE"],
        does: READS_AND_SETS,
        about: "set by torchrun: the number of machines; `local` sets it to 1",
    },
    DocumentedVars {
        names: &["ROLE_RANK"],
        does: SETS,
        about: "`local` sets it to RANK",
    },
    DocumentedVars {
        names: &["ROLE_WORLD_SIZE"],
        does: SETS,
        about: "`local` sets it to WORLD_SIZE",
    },
    DocumentedVars {
        names: &["ROLE_NAME"],
        does: SETS,
        about: "`local` sets it to `default`",
    },
    DocumentedVars {
        names: &["TORCHELASTIC_USE_AGENT_STORE"],
        does: SETS,
        about: "False for the ranks of `local`: there is no torchrun agent, rank 0 opens the store",
    },
    DocumentedVars {
        names: &["TORCHELASTIC_RUN_ID"],
        does: READS_AND_SETS,
        about: "set by torchrun: RANK is a real one; `local` sets it too",
    },
    DocumentedVars {
        names: &["TORCHELASTIC_RESTART_COUNT"],
        does: SETS,
        about: "0 for the ranks of `local`, as torchrun sets it",
    },
    DocumentedVars {
        names: &["TORCHELASTIC_MAX_RESTARTS"],
        does: SETS,
        about: "the same",
    },
    DocumentedVars {
        names: &["TORCH_NCCL_ASYNC_ERROR_HANDLING"],
        does: SETS,
        about: "1 for the ranks of `local` unless it is set, as torchrun does",
    },
    DocumentedVars {
        names: &["NCCL_ASYNC_ERROR_HANDLING"],
        does: SETS,
        about: "its name before torch 2.2",
    },
    DocumentedVars {
        names: &["SLURM_JOB_ID"],
        does: READS,
        about: "Slurm started this",
    },
    DocumentedVars {
        names: &["SLURM_STEP_ID"],
        does: READS,
        about: "`srun` started this task; without it this is a batch script or the shell of salloc",
    },
    DocumentedVars {
        names: &["SLURM_STEP_NODELIST"],
        does: READS,
        about: "the machines of the step; the first one is where the ranks meet",
    },
    DocumentedVars {
        names: &["SLURM_STEP_NUM_NODES"],
        does: READS,
        about: "number of machines of the step",
    },
    DocumentedVars {
        names: &["SLURM_STEP_TASKS_PER_NODE"],
        does: READS,
        about: "1: torchrun starts the ranks; more: each task is a rank",
    },
    DocumentedVars {
        names: &["SLURM_NODEID"],
        does: READS,
        about: "number of this machine",
    },
    DocumentedVars {
        names: &["SLURMD_NODENAME"],
        does: READS,
        about: "without it and SLURM_NODEID: the shell of salloc, which is outside the job's machines",
    },
    DocumentedVars {
        names: &["SLURM_LOCALID"],
        does: READS,
        about: "number of this task on its machine",
    },
    DocumentedVars {
        names: &["SLURM_PROCID"],
        does: READS,
        about: "compared with RANK, which the hook of enroot sets for every task",
    },
    DocumentedVars {
        names: &["SLURM_PTY_PORT"],
        does: READS,
        about: "`srun --pty`: a terminal on the first machine, not one of many tasks",
    },
    DocumentedVars {
        names: &["SLURM_GPUS_ON_NODE"],
        does: READS,
        about: "GPUs of the step on this machine, where CUDA_VISIBLE_DEVICES is not set",
    },
    DocumentedVars {
        names: &["SLURM_GPUS"],
        does: READS,
        about: "GPUs of the whole job: tells whether all machines have the same number",
    },
    DocumentedVars {
        names: &["SLURM_GPUS_PER_NODE"],
        does: READS,
        about: "every machine has this many",
    },
    DocumentedVars {
        names: &["SLURM_JOB_NODELIST"],
        does: READS,
        about: "the machines of the job, where no step says otherwise",
    },
    DocumentedVars {
        names: &["SLURM_JOB_NUM_NODES"],
        does: READS,
        about: "number of machines of the job: a batch script on several is started on each through srun",
    },
    DocumentedVars {
        names: &["SLURM_NNODES"],
        does: READS,
        about: "number of machines, where no step says otherwise",
    },
    DocumentedVars {
        names: &["SLURM_TASKS_PER_NODE"],
        does: READS,
        about: "tasks on each machine, where no step says otherwise",
    },
    DocumentedVars {
        names: &["SLURM_GPUS_PER_TASK"],
        does: READS_AND_SETS,
        about: "in a batch script: the one task on each machine gets all requested GPUs",
    },
    DocumentedVars {
        names: &["SLURM_TRES_PER_TASK"],
        does: READS_AND_SETS,
        about: "the same in newer versions",
    },
    DocumentedVars {
        names: &["SLURM_JOB_CPUS_PER_NODE"],
        does: READS,
        about: "machines that differ in CPUs may differ in GPUs",
    },
    DocumentedVars {
        names: &["SLURM_HET_SIZE"],
        does: READS,
        about: "groups of a heterogeneous job",
    },
    DocumentedVars {
        names: &["SLURM_STEP_RESV_PORTS"],
        does: READS,
        about: "the first of them is where the ranks meet",
    },
    DocumentedVars {
        names: &["SLURM_RESTART_COUNT"],
        does: READS,
        about: "another port after a requeue",
    },
    DocumentedVars {
        names: &["PBS_NODEFILE"],
        does: READS,
        about: "the machines of a PBS job",
    },
    DocumentedVars {
        names: &["PBS_JOBID"],
        does: READS,
        about: "a separate port for each job",
    },
    DocumentedVars {
        names: &["LSB_DJOB_RANKFILE"],
        does: READS,
        about: "the machines of an LSF job",
    },
    DocumentedVars {
        names: &["LSB_JOBID"],
        does: READS,
        about: "a separate port for each job",
    },
    DocumentedVars {
        names: &["PMIX_NAMESPACE"],
        does: READS,
        about: "a separate port for each start of Open MPI or PRRTE",
    },
    DocumentedVars {
        names: &["SM_HOSTS"],
        does: READS,
        about: "the machines of a SageMaker job",
    },
    DocumentedVars {
        names: &["SM_CURRENT_HOST"],
        does: READS,
        about: "this machine in SM_HOSTS",
    },
    DocumentedVars {
        names: &["SM_NUM_GPUS"],
        does: READS,
        about: "GPUs of this machine in a SageMaker job",
    },
    DocumentedVars {
        names: &["VC_TASK_INDEX"],
        does: READS,
        about: "number of this pod in a Volcano job",
    },
    DocumentedVars {
        names: &["CUDA_VISIBLE_DEVICES"],
        does: READS_AND_SETS,
        about: "its entries are counted; narrowed when ms-swift gets fewer ranks than GPUs",
    },
    DocumentedVars {
        names: &["HIP_VISIBLE_DEVICES"],
        does: READS,
        about: "counted like CUDA_VISIBLE_DEVICES (ROCm)",
    },
    DocumentedVars {
        names: &["ROCR_VISIBLE_DEVICES"],
        does: READS,
        about: "counted like CUDA_VISIBLE_DEVICES (ROCm)",
    },
    DocumentedVars {
        names: &["ASCEND_RT_VISIBLE_DEVICES"],
        does: READS,
        about: "counted like CUDA_VISIBLE_DEVICES (Ascend)",
    },
    DocumentedVars {
        names: &["PYTORCH_CUDA_ALLOC_CONF"],
        does: READS_AND_SETS,
        about: "expandable segments, where the memory needs them; or as llamafactory-cli and axolotl set it",
    },
    DocumentedVars {
        names: &["PYTORCH_ALLOC_CONF"],
        does: READS_AND_SETS,
        about: "the same, axolotl with newer torch",
    },
    DocumentedVars {
        names: &["OMP_NUM_THREADS"],
        does: READS_AND_SETS,
        about: "if unset: CPUs divided by ranks (torchrun alone would set 1)",
    },
    DocumentedVars {
        names: &["TORCH_EXTENSIONS_DIR"],
        does: READS,
        about: "where DeepSpeed's operators are compiled: a lock left there is reported",
    },
    DocumentedVars {
        names: &["TRITON_CACHE_DIR"],
        does: READS,
        about: "shown by `doctor`, with its file system",
    },
    DocumentedVars {
        names: &["CXX"],
        does: READS,
        about: "the compiler that `doctor` looks for",
    },
    DocumentedVars {
        names: &["DS_ENV_FILE"],
        does: READS_AND_SETS,
        about: "with a hostfile: the file of variables that DeepSpeed's runner passes on",
    },
    DocumentedVars {
        names: &["HF_HOME"],
        does: READS,
        about: "Hugging Face cache: `hub` in it is searched for the model's config.json",
    },
    DocumentedVars {
        names: &["HF_HUB_CACHE"],
        does: READS,
        about: "Hugging Face cache",
    },
    DocumentedVars {
        names: &["HUGGINGFACE_HUB_CACHE"],
        does: READS,
        about: "Hugging Face cache, old name",
    },
    DocumentedVars {
        names: &["MODELSCOPE_CACHE"],
        does: READS,
        about: "ModelScope cache, searched for the model's config.json",
    },
    DocumentedVars {
        names: &["USE_RAY"],
        does: READS,
        about: "LLaMA-Factory starts its ranks through Ray: left alone",
    },
    DocumentedVars {
        names: &["USE_HF"],
        does: READS,
        about: "ms-swift takes the model from Hugging Face",
    },
    DocumentedVars {
        names: &["USE_MODELSCOPE_HUB"],
        does: READS,
        about: "LLaMA-Factory takes the model from ModelScope",
    },
    DocumentedVars {
        names: &["USE_MCA"],
        does: READS,
        about: "1: LLaMA-Factory takes the arguments of its Megatron trainer",
    },
    DocumentedVars {
        names: &["USE_V1"],
        does: READS,
        about: "1: LLaMA-Factory starts its next generation, which has other arguments",
    },
    DocumentedVars {
        names: &["ALLOW_EXTRA_ARGS"],
        does: READS,
        about: "1: LLaMA-Factory tolerates unknown arguments",
    },
    DocumentedVars {
        names: &["OPTIM_TORCH"],
        does: READS,
        about: "0: LLaMA-Factory does not set its allocator variables",
    },
    DocumentedVars {
        names: &["ACCELERATE_DEEPSPEED_ZERO_STAGE"],
        does: READS_AND_SETS,
        about: "what accelerate makes of a stage that is \"auto\"",
    },
    DocumentedVars {
        names: &["ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE"],
        does: READS_AND_SETS,
        about: "what accelerate makes of an \"auto\" device",
    },
    DocumentedVars {
        names: &["ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE"],
        does: READS_AND_SETS,
        about: "what accelerate makes of an \"auto\" device",
    },
    DocumentedVars {
        names: &["ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_NVME_PATH"],
        does: READS,
        about: "what accelerate makes of an \"auto\" nvme_path",
    },
    DocumentedVars {
        names: &["ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_NVME_PATH"],
        does: READS,
        about: "what accelerate makes of an \"auto\" nvme_path",
    },
    DocumentedVars {
        names: &["ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL"],
        does: READS_AND_SETS,
        about: "what accelerate makes of an \"auto\" gather key",
    },
    DocumentedVars {
        names: &["PL_DEEPSPEED_CONFIG_PATH"],
        does: READS_AND_SETS,
        about: "passes the config to Lightning's `DeepSpeedStrategy`",
    },
    DocumentedVars {
        names: &["PYENV_VERSION"],
        does: READS,
        about: "the Python that a shim of pyenv stands for",
    },
    DocumentedVars {
        names: &["PYTHONHOME"],
        does: READS,
        about: "the interpreter's modules are elsewhere, and are not looked up",
    },
    DocumentedVars {
        names: &["PYTHONNOUSERSITE"],
        does: READS,
        about: "packages of the user's site are ignored",
    },
    DocumentedVars {
        names: &["PYTHONUSERBASE"],
        does: READS,
        about: "where the user's site is, if not in ~/.local",
    },
    DocumentedVars {
        names: &[
            "FLUX_ENCLOSING_ID",
            "RAY_JOB_CONFIG_JSON_ENV_VAR",
            "RAY_RAYLET_PID",
        ],
        does: READS,
        about: "the shell of a Flux job, the driver of a Ray job, a task of Ray: reported, since nothing counts the machines",
    },
    DocumentedVars {
        names: &["SLURM_OVERLAP"],
        does: READS,
        about: "an `srun` inside a step shares its machines, so it does not wait for them",
    },
    DocumentedVars {
        names: &[
            "SLURM_TRES_BIND",
            "SLURM_GPU_BIND",
            "SLURM_CPUS_PER_TASK",
            "SRUN_CPUS_PER_TASK",
        ],
        does: SETS,
        about: "removed for zlaunch's own `srun`: its one task gets the whole machine",
    },
    DocumentedVars {
        names: &[
            "PET_RDZV_BACKEND",
            "PET_RDZV_ENDPOINT",
            "PET_RDZV_ID",
            "PET_RDZV_CONF",
            "PET_STANDALONE",
            "PET_MODULE",
            "PET_NO_PYTHON",
            "PET_RUN_PATH",
        ],
        does: READS_AND_SETS,
        about: "torchrun's, for things that zlaunch decides: reported and removed",
    },
    DocumentedVars {
        names: &["SWIFT_CONFIG_FILE"],
        does: SETS,
        about: "the run file, as ms-swift sets it",
    },
    DocumentedVars {
        names: &[
            "XFORMERS_IGNORE_FLASH_VERSION_CHECK",
            "HF_HUB_ENABLE_HF_TRANSFER",
        ],
        does: SETS,
        about: "as axolotl sets them, by version",
    },
    DocumentedVars {
        names: &["TORCH_NCCL_AVOID_RECORD_STREAMS"],
        does: SETS,
        about: "as llamafactory-cli sets it",
    },
    DocumentedVars {
        names: &[
            "ACCELERATE_USE_DEEPSPEED",
            "ACCELERATE_DEEPSPEED_CONFIG_FILE",
        ],
        does: READS_AND_SETS,
        about: "pass the config to scripts with `Accelerator()`, and to those that build their `TrainingArguments` in code; set as `accelerate launch` sets them",
    },
    DocumentedVars {
        names: &[
            "ACCELERATE_MIXED_PRECISION",
            "ACCELERATE_CONFIG_DS_FIELDS",
            "ACCELERATE_GRADIENT_ACCUMULATION_STEPS",
            "ACCELERATE_GRADIENT_CLIPPING",
            "ACCELERATE_DEEPSPEED_ZERO3_INIT",
        ],
        does: SETS,
        about: "as `accelerate launch` sets them, where torchrun runs instead",
    },
    DocumentedVars {
        names: &["CUDA_DEVICE_MAX_CONNECTIONS"],
        does: READS_AND_SETS,
        about: "reported where 1 does harm; the template `zero3_lowmem` sets it",
    },
    DocumentedVars {
        names: &["CUDA_AUTO_BOOST", "TORCH_DISTRIBUTED_DEBUG"],
        does: SETS,
        about: "by the template `zero3_lowmem`",
    },
    DocumentedVars {
        names: &["GLOO_SOCKET_IFNAME"],
        does: READS,
        about: "`doctor` in a job of several machines looks whether there is such an interface",
    },
    DocumentedVars {
        names: &[
            "NCCL_NET",
            "NCCL_IB_DISABLE",
            "NCCL_IB_HCA",
            "NCCL_IB_GID_INDEX",
            "NCCL_P2P_DISABLE",
            "NCCL_P2P_LEVEL",
            "NCCL_NET_GDR_LEVEL",
            "NCCL_NET_GDR_READ",
            "NCCL_SOCKET_IFNAME",
        ],
        does: READS,
        about: "two that contradict each other are reported",
    },
    DocumentedVars {
        names: &[
            "DS_PIPE_RESERVE",
            "DS_SKIP_UNUSED_PARAMETERS",
            "DS_REUSE_BUFFERS",
            "DS_USE_CUDA_TILING",
        ],
        does: READS,
        about: "reported: nothing else reads them",
    },
    DocumentedVars {
        names: &["NCCL_DEBUG"],
        does: READS,
        about: "shown in every plan",
    },
    DocumentedVars {
        names: &["DS_ACCELERATOR"],
        does: READS,
        about: "shown in every plan; with `cpu`, ranks need no GPUs",
    },
    DocumentedVars {
        names: &["ACCELERATE_USE_CPU"],
        does: READS,
        about: "ranks need no GPUs",
    },
    DocumentedVars {
        names: &[
            "NCCL_*",
            "TORCH_NCCL_*",
            "CUDA_HOME",
            "CUDA_PATH",
            "DEEPSPEED_TIMEOUT",
            "HF_HUB_OFFLINE",
            "HF_ENDPOINT",
            "HTTPS_PROXY",
            "https_proxy",
        ],
        does: READS,
        about: "shown by `doctor`",
    },
    DocumentedVars {
        names: &["TRANSFORMERS_OFFLINE"],
        does: READS,
        about: "as HF_HUB_OFFLINE: a model that is not in the cache is reported",
    },
    DocumentedVars {
        names: &[
            "HF_TOKEN",
            "WANDB_API_KEY",
            "MODELSCOPE_API_TOKEN",
            "SWANLAB_API_KEY",
        ],
        does: READS,
        about: "`doctor` in a job of several machines: whether it is set on each; the value is not sent",
    },
];
