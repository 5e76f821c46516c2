//! Every environment variable that zlaunch reads or sets, each with one sentence. `ZLAUNCH_<OPTION>` exists for every
//! launch option besides (see `cli::OPTIONS`). The tables in the documents are made from this one.

/// What zlaunch does with a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Read,
    Set,
    ReadAndSet,
}

pub(crate) struct Var {
    pub(crate) name: &'static str,
    pub(crate) r#use: Use,
    pub(crate) about: &'static str,
}

impl Var {
    /// What zlaunch does with it, in words.
    pub(crate) fn does(&self) -> &'static str {
        match self.r#use {
            Use::Read => "reads",
            Use::Set => "sets",
            Use::ReadAndSet => "reads, sets",
        }
    }
}

macro_rules! vars {
    ($($name:ident $use:ident $about:literal;)*) => {
        $(#[doc = $about] pub(crate) const $name: &str = stringify!($name);)*
        pub(crate) const ALL: &[Var] = &[$(Var { name: stringify!($name), r#use: Use::$use, about: $about },)*];
    };
}

vars! {
    PATH Read "where the trainer, its interpreter and the launchers are looked up";
    HOME Read "the default place of the cache and configuration folders";
    XDG_CACHE_HOME Read "resolved configs go to `zlaunch/configs` in it";
    XDG_CONFIG_HOME Read "templates are searched in `zlaunch/templates` in it";
    XDG_DATA_HOME Read "PATH shims go to `zlaunch/shims` in it";
    PYTHONPATH Read "packages of the trainer may be there";
    TMPDIR Read "resolved configs go to a private folder in it when there is no usable home";
    ZLAUNCH_LANG Read "the language of `explain`: en or zh";
    LC_ALL Read "the language of `explain`, unless ZLAUNCH_LANG says it";
    LC_MESSAGES Read "the same, unless LC_ALL says it";
    LANG Read "the same, unless LC_MESSAGES says it";

    ZLAUNCH_SHIM Read "0: the PATH shims stand aside";
    ZLAUNCH_SHIM_OF Read "set by a PATH shim: a command that names no config is executed as it is";
    ZLAUNCH_SHIM_DEPTH Read "counts shims that found each other";

    NPROC_PER_NODE ReadAndSet "processes on this machine, as ms-swift reads it; set for megatron";
    NNODES ReadAndSet "number of machines; set for megatron";
    NODE_RANK ReadAndSet "number of this machine; set for megatron";
    MASTER_ADDR ReadAndSet "address of the first machine; `direct` and `local` set it to 127.0.0.1";
    MASTER_PORT ReadAndSet "port on the first machine; `direct` lets the one rank take any, `local` finds a free one";
    PET_NPROC_PER_NODE Read "torchrun's own default for --nproc_per_node";
    PET_NNODES Read "torchrun's own default for --nnodes";
    PET_NODE_RANK Read "torchrun's own default for --node_rank";
    PET_MASTER_ADDR Read "torchrun's own default for --master_addr";
    PET_MASTER_PORT Read "torchrun's own default for --master_port";
    PET_SIGNALS_TO_HANDLE ReadAndSet "under a scheduler: torchrun passes USR1 and USR2 on to the ranks";
    TORCH_ELASTIC_SHUTDOWN_TIMEOUT ReadAndSet "seconds between TERM and KILL: read for `local` (30), set to 300 for torchrun under a scheduler";
    RANK ReadAndSet "with LOCAL_RANK and WORLD_SIZE: a launcher already ran, so none is started; `direct` and `local` set it";
    LOCAL_RANK ReadAndSet "see RANK";
    WORLD_SIZE ReadAndSet "see RANK; the number of ranks";
    LOCAL_WORLD_SIZE ReadAndSet "see RANK; the number of ranks on this machine";
    GROUP_RANK ReadAndSet "set by torchrun: RANK is a real one; `local` sets it to 0, the number of this machine";
    GROUP_WORLD_SIZE Set "`local` sets it to 1: the number of machines";
    ROLE_RANK Set "`local` sets it to RANK";
    ROLE_WORLD_SIZE Set "`local` sets it to WORLD_SIZE";
    ROLE_NAME Set "`local` sets it to `default`";
    TORCHELASTIC_USE_AGENT_STORE Set "`local` removes it: there is no agent of torchrun";
    TORCHELASTIC_RUN_ID Read "set by torchrun: RANK is a real one";

    SLURM_JOB_ID Read "Slurm started this";
    SLURM_STEP_ID Read "`srun` started this task; without it this is a batch script or the shell of salloc";
    SLURM_STEP_NODELIST Read "the machines of the step; the first one is where the ranks meet";
    SLURM_STEP_NUM_NODES Read "number of machines of the step";
    SLURM_STEP_TASKS_PER_NODE Read "1: torchrun starts the ranks; more: each task is a rank";
    SLURM_NODEID Read "number of this machine";
    SLURMD_NODENAME Read "without it and SLURM_NODEID: the shell of salloc, which is on none of the machines";
    SLURM_LOCALID Read "number of this task on its machine";
    SLURM_PROCID Read "compared with RANK, which the hook of enroot sets for every task";
    SLURM_PTY_PORT Read "`srun --pty`: a terminal on the first machine, not one of many tasks";
    SLURM_GPUS_ON_NODE Read "GPUs of the step on this machine, where CUDA_VISIBLE_DEVICES is not set";
    SLURM_GPUS Read "GPUs of the whole job: tells whether the machines have equally many";
    SLURM_GPUS_PER_NODE Read "every machine has as many";
    SLURM_JOB_NODELIST Read "the machines of the job, where no step says otherwise";
    SLURM_JOB_NUM_NODES Read "number of machines of the job: a batch script on several is started on each through srun";
    SLURM_NNODES Read "number of machines, where no step says otherwise";
    SLURM_TASKS_PER_NODE Read "tasks on each machine, where no step says otherwise";
    SLURM_GPUS_PER_TASK Read "of a batch script: the one task on each machine gets the GPUs of all that were asked for";
    SLURM_TRES_PER_TASK Read "the same in newer versions";
    SLURM_JOB_CPUS_PER_NODE Read "machines that differ in CPUs may differ in GPUs";
    SLURM_HET_SIZE Read "groups of a heterogeneous job";
    SLURM_STEP_RESV_PORTS Read "the first of them is where the ranks meet";
    SLURM_RESTART_COUNT Read "another port after a requeue";
    PBS_NODEFILE Read "the machines of a PBS job";
    PBS_JOBID Read "a port of its own for each job";
    LSB_DJOB_RANKFILE Read "the machines of an LSF job";
    LSB_JOBID Read "a port of its own for each job";
    PMIX_NAMESPACE Read "a port of its own for each job of Open MPI";
    SM_HOSTS Read "the machines of a SageMaker job";
    SM_CURRENT_HOST Read "this machine in SM_HOSTS";
    SM_NUM_GPUS Read "GPUs of this machine in a SageMaker job";
    VC_TASK_INDEX Read "number of this pod in a Volcano job";

    CUDA_VISIBLE_DEVICES ReadAndSet "its entries are counted; narrowed when ms-swift gets fewer processes than GPUs";
    HIP_VISIBLE_DEVICES Read "counted like CUDA_VISIBLE_DEVICES (ROCm)";
    ROCR_VISIBLE_DEVICES Read "counted like CUDA_VISIBLE_DEVICES (ROCm)";
    ASCEND_RT_VISIBLE_DEVICES Read "counted like CUDA_VISIBLE_DEVICES (Ascend)";
    PYTORCH_CUDA_ALLOC_CONF ReadAndSet "set as llamafactory-cli and axolotl set it when they are launched without their own launcher";
    PYTORCH_ALLOC_CONF ReadAndSet "the same, axolotl with newer torch";
    OMP_NUM_THREADS ReadAndSet "if unset: CPUs divided by processes (torchrun alone would set 1)";

    TORCH_EXTENSIONS_DIR Read "where DeepSpeed's operations are compiled: a lock that was left there is told";
    TRITON_CACHE_DIR Read "shown by `doctor`, with its file system";
    CXX Read "the compiler that `doctor` looks for";

    DS_ENV_FILE ReadAndSet "with a hostfile: the file of variables that DeepSpeed's runner hands to the other machines";

    HF_HOME Read "Hugging Face cache: `hub` in it is searched for the model's config.json";
    HF_HUB_CACHE Read "Hugging Face cache";
    HUGGINGFACE_HUB_CACHE Read "Hugging Face cache, old name";
    MODELSCOPE_CACHE Read "ModelScope cache, searched for the model's config.json";
    USE_RAY Read "LLaMA-Factory starts its ranks through Ray: left alone";
    USE_HF Read "ms-swift takes the model from Hugging Face";
    USE_MODELSCOPE_HUB Read "LLaMA-Factory takes the model from ModelScope";
    OPTIM_TORCH Read "0: LLaMA-Factory does not set its allocator variables";
    ACCELERATE_DEEPSPEED_ZERO_STAGE Read "what accelerate makes of a stage that is \"auto\"";
    ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE Read "what accelerate makes of an \"auto\" device";
    ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE Read "what accelerate makes of an \"auto\" device";
    ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_NVME_PATH Read "what accelerate makes of an \"auto\" nvme_path";
    ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_NVME_PATH Read "what accelerate makes of an \"auto\" nvme_path";
    ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL Read "what accelerate makes of an \"auto\" gather key";
}

/// Variables that select accelerators, in the order they are looked at.
pub(crate) const VISIBLE_DEVICES: &[&str] =
    &[CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES, ASCEND_RT_VISIBLE_DEVICES];

/// torchrun's own variables for what zlaunch decides otherwise.
pub(crate) const PET_ELSEWHERE: &[&str] = &[
    "PET_RDZV_BACKEND",
    "PET_RDZV_ENDPOINT",
    "PET_RDZV_ID",
    "PET_RDZV_CONF",
    "PET_STANDALONE",
    "PET_MODULE",
    "PET_NO_PYTHON",
    "PET_RUN_PATH",
];

/// Shown in every plan when set, because they change how the ranks start.
pub(crate) const SHOWN_WHEN_SET: &[&str] = &[
    CUDA_VISIBLE_DEVICES,
    HIP_VISIBLE_DEVICES,
    ROCR_VISIBLE_DEVICES,
    ASCEND_RT_VISIBLE_DEVICES,
    OMP_NUM_THREADS,
    MASTER_ADDR,
    MASTER_PORT,
    PYTORCH_CUDA_ALLOC_CONF,
    PYTORCH_ALLOC_CONF,
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "NCCL_DEBUG",
    "DS_ACCELERATOR",
];

/// A template may not set these: they decide what is executed, or who takes part.
#[allow(clippy::too_many_lines, reason = "a list")]
pub(crate) fn changes_what_is_executed(name: &str) -> bool {
    const EXACT: &[&str] = &[
        PATH,
        HOME,
        "SHELL",
        "ENV",
        "BASH_ENV",
        "IFS",
        "SHELLOPTS",
        "BASHOPTS",
        "PS4",
        "PROMPT_COMMAND",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "GCONV_PATH",
        "GLIBC_TUNABLES",
        "TMPDIR",
        // Compilers, their options, and where what they made is loaded from.
        "CC",
        CXX,
        "CUDAHOSTCXX",
        "NVCC",
        "CUDA_HOME",
        "CUDA_PATH",
        "CFLAGS",
        "CXXFLAGS",
        "LDFLAGS",
        "LIBRARY_PATH",
        "CPATH",
        "CUDA_CACHE_PATH",
        "TORCHINDUCTOR_CACHE_DIR",
        TORCH_EXTENSIONS_DIR,
        // Libraries that are loaded by name.
        "NCCL_NET_PLUGIN",
        "NCCL_TUNER_PLUGIN",
        "NCCL_PROFILER_PLUGIN",
        "CUDA_INJECTION64_PATH",
        "NVTX_INJECTION64_PATH",
        "OMP_TOOL_LIBRARIES",
        "UCX_MODULE_DIR",
        // Models bring code of their own: where it comes from, and whom to believe.
        HF_HOME,
        HF_HUB_CACHE,
        HUGGINGFACE_HUB_CACHE,
        "HF_MODULES_CACHE",
        "HF_ENDPOINT",
        MODELSCOPE_CACHE,
        "MODELSCOPE_DOMAIN",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        RANK,
        LOCAL_RANK,
        WORLD_SIZE,
        LOCAL_WORLD_SIZE,
        MASTER_ADDR,
        MASTER_PORT,
        "CPPFLAGS",
        "CPLUS_INCLUDE_PATH",
        "C_INCLUDE_PATH",
        "GCC_EXEC_PREFIX",
        "COMPILER_PATH",
        "CCACHE_PREFIX",
        NNODES,
        NODE_RANK,
        "NVCC_PREPEND_FLAGS",
        "NVCC_APPEND_FLAGS",
        "NVCC_CCBIN",
        "PYTORCH_NVCC",
        "ROCM_HOME",
        "HIP_PATH",
        NPROC_PER_NODE,
        CUDA_VISIBLE_DEVICES,
        HIP_VISIBLE_DEVICES,
        ROCR_VISIBLE_DEVICES,
        ASCEND_RT_VISIBLE_DEVICES,
    ];
    const PREFIXES: &[&str] = &[
        "LD_",
        "DYLD_",
        "PYTHON",
        "BASH_FUNC_",
        "ZLAUNCH_",
        "PET_",
        "TORCHELASTIC_",
        "SLURM_",
        "GIT_",
        "PERL5",
        "XDG_",
        "FI_PROVIDER_PATH",
        // What other programs and languages read before their own work.
        DS_ENV_FILE,
        "NODE_OPTIONS",
        "RUBYOPT",
        "JAVA_TOOL_OPTIONS",
        "PERLLIB",
        "COVERAGE_PROCESS_START",
        "TRITON_",
        "OPENSSL_",
        "OMPI_",
        "PMI_",
        "PMIX_",
        "PDSH_",
        "PYENV_",
        "PIP_",
    ];
        "TRANSFORMERS_CACHE",
        "TORCH_HOME",
    EXACT.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// What a variable may be called; anything else cannot be set with `export`.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "no_proxy",
        GROUP_RANK,
        ROLE_RANK,
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_cannot_choose_the_program() {
        let forbidden = ["PATH", "LD_PRELOAD", "PYTHONPATH", "PYTHONSTARTUP", "BASH_ENV", "PET_NNODES", "MASTER_ADDR"];
        let others = ["TRITON_PTXAS_PATH", "NCCL_NET_PLUGIN", "HF_MODULES_CACHE", "DS_ENV_FILE", "NVCC_CCBIN"];
        let ranks = ["GROUP_RANK", "ROLE_RANK", "OMPI_COMM_WORLD_RANK", "PMI_SIZE", "PMIX_RANK", "https_proxy"];
        for name in forbidden.iter().chain(&others).chain(&ranks) {
            assert!(changes_what_is_executed(name), "{name}");
        }
        let recipe = "CUDA_DEVICE_MAX_CONNECTIONS CUDA_AUTO_BOOST DS_PIPE_RESERVE DS_SKIP_UNUSED_PARAMETERS \
            DS_REUSE_BUFFERS DS_USE_CUDA_TILING TORCH_DISTRIBUTED_DEBUG PYTORCH_CUDA_ALLOC_CONF";
        for name in recipe.split_whitespace().chain(["NCCL_DEBUG", "OMP_NUM_THREADS"]) {
            assert!(!changes_what_is_executed(name), "{name}");
        }
    }

    #[test]
    fn names_are_unique() {
        for (at, var) in ALL.iter().enumerate() {
            assert!(ALL[at + 1..].iter().all(|other| other.name != var.name), "{}", var.name);
        }
    }
}
