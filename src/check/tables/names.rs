//! Names and limits that the rules compare with: keys, optimizers, schedulers, variables, file systems, kinds of files, packages.

use std::time::Duration;

use crate::report::Rule;

pub const STAGE: &str = "zero_optimization.stage";
pub const OFFLOAD: &str = "zero_optimization.offload_optimizer.device";

/// Keys by names of DeepSpeed's own code, and where they are in a config.
pub const ELSEWHERE: &[(&str, &str)] = &[
    ("load_universal_checkpoint", "checkpoint.load_universal"),
    ("zero_stage", STAGE),
    ("offload_optimizer_device", OFFLOAD),
];

pub const A_LOCAL_FOLDER: &str = "name a folder on a local disk, a separate one for every job: /local/nvme/$USER-$$, for example";

/// The key of a section that a value in place of the section means.
pub const KEYS_OF_SECTIONS: [&str; 4] = ["stage", "device", "enabled", "type"];

/// Keys that are meant as comments.
pub const COMMENTS: &[&str] = &["comment", "comments", "description"];

/// From this version on, `fp16` and `bf16` are pydantic models.
pub const PRECISION_MODELS: [u32; 3] = [0, 17, 1];

/// Their problems are only warnings where the installed DeepSpeed was not recorded.
pub const OF_RECORDED_VERSIONS: &[Rule] = &[
    Rule::UnknownKey,
    Rule::RemovedKey,
    Rule::WrongType,
    Rule::WrongValue,
    Rule::OptimizerType,
    Rule::OptimizerParameter,
    Rule::SchedulerType,
    Rule::SchedulerParameter,
];

/// DeepSpeed's optimizers, in lower case. Some releases lack the last ones.
pub const OPTIMIZERS: &[&str] = &[
    "adagrad",
    "adam",
    "adamw",
    "lamb",
    "muadam",
    "muadamw",
    "musgd",
    "lion",
    "muon",
    "onebitadam",
    "onebitlamb",
    "zerooneadam",
];

/// A class of `torch.optim`.
pub struct TorchOptimizer {
    pub name: &'static str,
    /// Its first release.
    pub since: [u32; 3],
}

/// Newer releases may have more.
pub const TORCH_OPTIMIZERS: &[TorchOptimizer] = &[
    TorchOptimizer {
        name: "ASGD",
        since: [0; 3],
    },
    TorchOptimizer {
        name: "Adadelta",
        since: [0; 3],
    },
    TorchOptimizer {
        name: "Adagrad",
        since: [0; 3],
    },
    TorchOptimizer {
        name: "Adam",
        since: [0; 3],
    },
    TorchOptimizer {
        name: "AdamW",
        since: [0; 3],
    },
    TorchOptimizer {
        name: "Adamax",
        since: [0; 3],
    },
    TorchOptimizer {
        name: "LBFGS",
        since: [0; 3],
    },
    TorchOptimizer {
        name: "NAdam",
        since: [0; 3],
    },
    TorchOptimizer {
        name: "RAdam",
        since: [0; 3],
    },
    TorchOptimizer {
        name: "RMSprop",
        since: [0; 3],
    },
    TorchOptimizer {
        name: "Rprop",
        since: [0; 3],
    },
    TorchOptimizer {
        name: "SGD",
        since: [0; 3],
    },
    TorchOptimizer {
        name: "SparseAdam",
        since: [0; 3],
    },
    TorchOptimizer {
        name: "Adafactor",
        since: [2, 5, 0],
    },
    TorchOptimizer {
        name: "Muon",
        since: [2, 9, 0],
    },
];

/// DeepSpeed's schedulers, in every release.
pub const SCHEDULERS: &[&str] = &[
    "LRRangeTest",
    "OneCycle",
    "WarmupLR",
    "WarmupDecayLR",
    "WarmupCosineLR",
];

/// Schedulers of transformers.
pub const HF_SCHEDULERS: &[&str] = &[
    "linear",
    "cosine",
    "constant_with_warmup",
    "constant",
    "cosine_with_restarts",
    "polynomial",
    "inverse_sqrt",
    "cosine_with_min_lr",
    "warmup_stable_decay",
];

/// Classes of `torch.optim.lr_scheduler`, up to torch 2.15.
pub const TORCH_SCHEDULERS: &[&str] = &[
    "LRScheduler",
    "LambdaLR",
    "MultiplicativeLR",
    "StepLR",
    "MultiStepLR",
    "ConstantLR",
    "LinearLR",
    "ExponentialLR",
    "SequentialLR",
    "PolynomialLR",
    "CosineAnnealingLR",
    "ChainedScheduler",
    "ReduceLROnPlateau",
    "CyclicLR",
    "CosineAnnealingWarmRestarts",
    "OneCycleLR",
];

pub struct VariableFamily {
    /// What all of its names begin with.
    pub prefix: &'static str,
    pub names: &'static [&'static str],
}

/// Variables that people set by hand. No other variable that a program reads is within two slips of one of them.
pub const TYPED_VARIABLES: &[VariableFamily] = &[
    VariableFamily {
        prefix: "ASCEND_",
        names: &["ASCEND_RT_VISIBLE_DEVICES"],
    },
    VariableFamily {
        prefix: "CUDA_",
        names: &[
            "CUDA_VISIBLE_DEVICES",
            "CUDA_LAUNCH_BLOCKING",
            "CUDA_DEVICE_MAX_CONNECTIONS",
        ],
    },
    VariableFamily {
        prefix: "DEEPSPEED_",
        names: &["DEEPSPEED_TIMEOUT"],
    },
    VariableFamily {
        prefix: "GLOO_",
        names: &["GLOO_SOCKET_IFNAME"],
    },
    VariableFamily {
        prefix: "HF_",
        names: &["HF_HUB_OFFLINE", "HF_HUB_CACHE", "HF_HOME"],
    },
    VariableFamily {
        prefix: "HIP_",
        names: &["HIP_VISIBLE_DEVICES"],
    },
    VariableFamily {
        prefix: "MASTER_",
        names: &["MASTER_ADDR", "MASTER_PORT"],
    },
    VariableFamily {
        prefix: "MODELSCOPE_",
        names: &["MODELSCOPE_CACHE"],
    },
    VariableFamily {
        prefix: "NCCL_",
        names: &[
            "NCCL_DEBUG",
            "NCCL_DEBUG_SUBSYS",
            "NCCL_SOCKET_IFNAME",
            "NCCL_IB_DISABLE",
            "NCCL_IB_HCA",
            "NCCL_IB_GID_INDEX",
            "NCCL_IB_TIMEOUT",
            "NCCL_P2P_DISABLE",
            "NCCL_P2P_LEVEL",
            "NCCL_SHM_DISABLE",
            "NCCL_NET_GDR_LEVEL",
            "NCCL_NET_GDR_READ",
            "NCCL_ASYNC_ERROR_HANDLING",
        ],
    },
    VariableFamily {
        prefix: "OMP_",
        names: &["OMP_NUM_THREADS"],
    },
    VariableFamily {
        prefix: "PYTORCH_",
        names: &[
            "PYTORCH_CUDA_ALLOC_CONF",
            "PYTORCH_ALLOC_CONF",
            "PYTORCH_MUSA_ALLOC_CONF",
        ],
    },
    VariableFamily {
        prefix: "ROCR_",
        names: &["ROCR_VISIBLE_DEVICES"],
    },
    VariableFamily {
        prefix: "TOKENIZERS_",
        names: &["TOKENIZERS_PARALLELISM"],
    },
    VariableFamily {
        prefix: "TORCH_",
        names: &[
            "TORCH_NCCL_ASYNC_ERROR_HANDLING",
            "TORCH_NCCL_BLOCKING_WAIT",
            "TORCH_NCCL_AVOID_RECORD_STREAMS",
            "TORCH_DISTRIBUTED_DEBUG",
            "TORCH_EXTENSIONS_DIR",
            "TORCH_CUDA_ARCH_LIST",
        ],
    },
    VariableFamily {
        prefix: "TRANSFORMERS_",
        names: &["TRANSFORMERS_OFFLINE"],
    },
    VariableFamily {
        prefix: "TRITON_",
        names: &["TRITON_CACHE_DIR"],
    },
];

/// File systems whose locks and renames are slow or wrong for many ranks at once.
pub const WITHOUT_GOOD_LOCKS: &[&str] = &[
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "fuse.sshfs",
    "fuse.glusterfs",
    "9p",
];
/// Other file systems that several machines see.
pub const SHARED_FILE_SYSTEMS: &[&str] = &[
    "lustre",
    "gpfs",
    "beegfs",
    "ceph",
    "wekafs",
    "panfs",
    "fuse.juicefs",
    "afs",
];

/// How the files with a model's weights end.
pub const WEIGHTS: &[&str] = &[
    "safetensors",
    "bin",
    "pt",
    "pth",
    "gguf",
    "h5",
    "msgpack",
    "index",
];
/// How files with data end.
pub const DATA: &[&str] = &["jsonl", "json", "csv", "parquet", "txt", "arrow"];
/// Datasets of LLaMA-Factory with one of these keys are downloaded.
pub const DOWNLOADED: &[&str] = &[
    "hf_hub_url",
    "ms_hub_url",
    "om_hub_url",
    "script_url",
    "cloud_file_name",
];

/// Arguments of ms-swift whose files may register any dataset.
pub const REGISTERED_BY: &[&str] = &[
    "external_plugins",
    "custom_register_path",
    "custom_dataset_info",
];

/// A text in one of these arguments was seen to end every run.
pub const ALWAYS_NUMBERS: &[&str] = &[
    "learning_rate",
    "weight_decay",
    "max_grad_norm",
    "num_train_epochs",
    "max_steps",
    "warmup_steps",
    "gradient_accumulation_steps",
    "per_device_train_batch_size",
    "seed",
];

pub const BATCH_SIZE: &str = "train_batch_size";
pub const MICRO_BATCH: &str = "train_micro_batch_size_per_gpu";
pub const ACCUMULATION: &str = "gradient_accumulation_steps";
pub const BATCH_SIZES: [&str; 3] = [BATCH_SIZE, MICRO_BATCH, ACCUMULATION];

/// What a script has that splits the model over ranks.
pub const MODEL_SPLITS: [&str; 3] = ["mpu", "PipelineModule", "mesh_device"];

/// The first release whose classes are not in the tables.
pub const NEXT_TORCH: [u32; 3] = [2, 16, 0];

/// Names of types that `data_types` takes besides the short ones.
pub const DTYPES: &[&str] = &[
    "float16",
    "half",
    "torch.float16",
    "bfloat16",
    "torch.bfloat16",
    "float32",
    "float",
    "torch.float32",
];

pub const WARMUP_STEPS: &str = "scheduler.params.warmup_num_steps";
pub const OPTIMIZER_CLIPPING: &str = "optimizer.params.max_grad_norm";

/// Settings of torch's allocator that are `True` or `False`, as the sources of torch 2.1 to 2.15 have them.
pub const ALLOCATOR_SWITCHES: &[&str] = &[
    "expandable_segments",
    "graph_capture_record_stream_reuse",
    "pinned_free_catch_all",
    "pinned_use_background_threads",
    "pinned_use_cuda_host_register",
    "pinned_use_hip_host_register",
    "release_lock_on_cudamalloc",
    "release_lock_on_hipmalloc",
    "throw_on_cudamalloc_oom",
];

/// Those with another value.
pub const ALLOCATOR_NUMBERS: &[&str] = &[
    "backend",
    "expandable_segments_reserve",
    "expandable_segments_reserve_by_class",
    "garbage_collection_threshold",
    "max_non_split_rounding_mb",
    "max_split_size_mb",
    "per_process_memory_fraction",
    "pinned_max_cached_size_mb",
    "pinned_max_round_threshold_mb",
    "pinned_num_register_threads",
    "pinned_reserve_segment_size_mb",
    "roundup_bypass_threshold_mb",
    "roundup_power2_divisions",
];

/// Since then torch reads PYTORCH_ALLOC_CONF, if PYTORCH_CUDA_ALLOC_CONF is not set.
pub const NEW_ALLOCATOR_CONF: [u32; 3] = [2, 9, 0];

/// A folder with this file is an adapter; the model is elsewhere.
pub const ADAPTER_CONFIG: &str = "adapter_config.json";
/// With these the Hugging Face hub is not asked, if they are one of the words.
pub const OFFLINE_VARIABLES: &[&str] = &["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"];
pub const OFFLINE_WORDS: &[&str] = &["1", "ON", "YES", "TRUE"];

/// With these keys the number of files in a checkpoint is another one, or does not matter.
pub const DIVIDES_OTHERWISE: &[&str] = &["checkpoint", "sequence_parallel_size", "tensor_parallel"];

/// The arguments by which scripts choose the backend of torch.distributed.
pub const BACKEND_ARGUMENTS: &[&str] = &["ddp_backend", "backend", "dist_backend"];

/// LLaMA-Factory's list of datasets.
pub const DATASET_INFO: &str = "dataset_info.json";

pub const NAME_MODEL_FOLDER: &str = "name the folder that has the model's config.json";

/// No compilation takes this long: the compiler was killed and left its lock.
pub const OLDEST_LOCK: Duration = Duration::from_secs(15 * 60);

/// Only transformers' Trainer needs the last one.
pub const NEEDED_PACKAGES: [&str; 3] = ["torch", "deepspeed", "transformers"];
