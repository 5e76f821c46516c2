//! The rules about the config, by subject, in the order of the output.

use super::{
    names::{
        A_LOCAL_FOLDER, ACCUMULATION, BATCH_SIZE, MICRO_BATCH, OFFLOAD, OPTIMIZER_CLIPPING,
        PRECISION_MODELS, STAGE, TORCH_SCHEDULERS, WARMUP_STEPS,
    },
    types::{
        At,
        Condition::{self, *},
        KeyState::*,
        Remedy::{self, *},
        Row,
    },
};
use crate::{
    check::{batch, keys, optimizer, rows::Check},
    command::trainer::tables::front_ends::SWIFT,
    config::{
        schema::{SEQUENCE_DIVIDES, SEQUENCE_JUDGED},
        zero::Device::{self, Cpu, Nvme},
    },
    host::cards::{WITHOUT_BF16, WITHOUT_FP16},
    report::{
        Rule, Severity, When,
        fix::Owner::{Trainer, Zlaunch},
    },
};

const HOST: &[Device] = &[Cpu, Nvme];

pub const CONFIG: &[&[Check]] = &[
    KEYS,
    VALUES,
    BATCH,
    PRECISION,
    OFFLOADS,
    COMBINATIONS,
    OPTIMIZER,
    EFFECTS,
];

const KEYS: &[Check] = &[
    Check {
        rule: Rule::UnknownKey,
        about: "a key that DeepSpeed's version does not know, in a section that refuses such keys",
        severity: Severity::Error,
        noticed: When::Parse,
        rows: &[],
        code: Some(keys::unknown_keys),
    },
    Check {
        rule: Rule::IgnoredKey,
        about: "a key that DeepSpeed's version does not know, in a section that silently ignores such keys; an error with `--set`",
        severity: Severity::Warning,
        noticed: When::Silent,
        rows: &[],
        code: Some(keys::unknown_keys),
    },
    Check {
        rule: Rule::RemovedKey,
        about: "a key of a feature that was removed: newer versions refuse it, even with \"enabled\": false",
        severity: Severity::Error,
        noticed: When::Parse,
        rows: &[],
        code: Some(keys::removed_keys),
    },
    Check {
        rule: Rule::TwoNames,
        about: "a key together with its other name, or with the key that replaced it",
        severity: Severity::Error,
        noticed: When::Parse,
        rows: &[],
        code: Some(keys::two_names),
    },
    Check {
        rule: Rule::OldKey,
        about: "an old name that DeepSpeed still translates",
        severity: Severity::Warning,
        noticed: When::Silent,
        rows: &[],
        code: Some(keys::old_keys),
    },
];

const UNKNOWN_WARMUP: &str =
    "`{key}` is {value}, which DeepSpeed does not know: the warmup is logarithmic";
const NOT_EXPANDED: &str = "`{key}` is {value}, and DeepSpeed does not expand it as a shell does";
const PATH_ITSELF: &str =
    "write the path itself, or give it with --set, where the shell expands it";

const CLOCK: &str = "wall_clock_breakdown";
const FLOPS: &str = "flops_profiler.enabled";

const VALUES: &[Check] = &[
    Check {
        rule: Rule::WrongType,
        about: "a value of a type that DeepSpeed refuses when it reads the config",
        severity: Severity::Error,
        noticed: When::Parse,
        // Keys that DeepSpeed reads without a schema.
        rows: &[
            // `wall_clock_breakdown | flops_profiler.enabled` also works for two objects.
            Row {
                at: &[At::Key(CLOCK)],
                when: &[Key(CLOCK, Section), Not(&Key(FLOPS, Section))],
                says: "`{key}` is an object, but DeepSpeed expects true or false",
                fixes: &[Unset(CLOCK)],
            },
            Row {
                at: &[At::Key(FLOPS)],
                when: &[Key(FLOPS, Section), Not(&Key(CLOCK, Section))],
                says: "`{key}` is an object, but DeepSpeed expects true or false",
                fixes: &[Unset(FLOPS)],
            },
            Row {
                at: &[At::Key("optimizer.params")],
                when: &[
                    Not(&Key("optimizer.type", MissingOrNull)),
                    Not(&Key("optimizer.params", MissingOrNull)),
                    Not(&Key("optimizer.params", Section)),
                ],
                says: "`{key}` is {value}, but DeepSpeed expects an object",
                fixes: &[Say("write an object: {\"lr\": 1e-5, …}")],
            },
            Row {
                at: &[At::Key(OPTIMIZER_CLIPPING)],
                when: &[
                    Not(&Key("optimizer.type", MissingOrNull)),
                    Not(&Key(OPTIMIZER_CLIPPING, Missing)),
                    Not(&Key(OPTIMIZER_CLIPPING, Number)),
                ],
                says: "`{key}` is {value}, but DeepSpeed compares it with 0",
                fixes: &[Unset(OPTIMIZER_CLIPPING)],
            },
            Row {
                at: &[At::Key("bfloat16")],
                when: &[Key("bf16", MissingOrNull), Key("bfloat16", Auto)],
                says: "`{key}` is {value}, but DeepSpeed expects an object",
                fixes: &[Unset("bfloat16")],
            },
            Row {
                at: &[At::Key("vocabulary_size")],
                when: &[
                    Key("vocabulary_size", Truthy),
                    Not(&Key("vocabulary_size", Number)),
                ],
                says: "`{key}` is {value}, but DeepSpeed divides it",
                fixes: &[Unset("vocabulary_size")],
            },
            // With `"zero_optimization": true`, this key is ZeRO's bucket size.
            Row {
                at: &[At::Key("allgather_size")],
                when: &[
                    Key("zero_optimization", On),
                    Key("allgather_size", HasValue),
                    Any(&[
                        Not(&Key("allgather_size", Whole)),
                        Key("allgather_size", Below(0.0)),
                    ]),
                ],
                says: "`{key}` is {value}, but DeepSpeed expects a whole number, 0 or more",
                fixes: &[Unset("allgather_size")],
            },
        ],
        code: Some(keys::wrong_values),
    },
    Check {
        rule: Rule::WrongValue,
        about: "a number out of range, or a word that is not one of the choices",
        severity: Severity::Error,
        noticed: When::Parse,
        rows: &[],
        code: Some(keys::wrong_values),
    },
    Check {
        rule: Rule::OddValue,
        about: "a value of the wrong type that DeepSpeed does not check: the string \"false\" counts as true",
        severity: Severity::Warning,
        noticed: When::Silent,
        rows: &[
            Row {
                at: &[At::Key(WARMUP)],
                when: &[
                    Key(WARMUP, Word(&["linear"])),
                    Not(&Key(WARMUP, OneOf(&["linear"]))),
                ],
                says: UNKNOWN_WARMUP,
                fixes: &[Set(WARMUP, "linear")],
            },
            Row {
                at: &[At::Key(WARMUP)],
                when: &[
                    Key(WARMUP, HasValue),
                    Not(&Key(WARMUP, OneOf(&["log"]))),
                    Not(&Key(WARMUP, Word(&["linear"]))),
                ],
                says: UNKNOWN_WARMUP,
                fixes: &[Say("write \"log\" or \"linear\"")],
            },
            Row {
                at: &[At::Key(OPTIMIZER_PATH)],
                when: &[Key(OPTIMIZER_PATH, ForShell)],
                says: NOT_EXPANDED,
                fixes: &[Say(PATH_ITSELF)],
            },
            Row {
                at: &[At::Key(PARAMETERS_PATH)],
                when: &[Key(PARAMETERS_PATH, ForShell)],
                says: NOT_EXPANDED,
                fixes: &[Say(PATH_ITSELF)],
            },
        ],
        code: Some(keys::odd_values),
    },
];

const TENSOR_RANKS: &str = "tensor_parallel.autotp_size";
const INNER_TENSOR_RANKS: &str = "tensor_parallel.tp.tp_size";
const SEQUENCE_RANKS: &str = "sequence_parallel_size";

const NEITHER_SIZE: &str =
    "the config sets neither `train_batch_size` nor `train_micro_batch_size_per_gpu`";
/// Elastic training computes them itself.
const WITHOUT_SIZE: Condition = Not(&Any(&[
    Not(&Key(BATCH_SIZE, MissingOrNull)),
    Not(&Key(MICRO_BATCH, MissingOrNull)),
    Key("elasticity.enabled", Truthy),
]));

pub const BATCH: &[Check] = &[
    Check {
        rule: Rule::BatchSize,
        about: "a batch size that is missing, or not a number above 0",
        severity: Severity::Error,
        noticed: When::Parse,
        rows: &[
            Row {
                at: &[At::Key(SEQUENCE_RANKS)],
                when: &[
                    Not(&Before("deepspeed", SEQUENCE_JUDGED)),
                    Not(&Key(SEQUENCE_RANKS, Missing)),
                    Not(&Key(SEQUENCE_RANKS, Auto)),
                    Any(&[
                        Not(&Key(SEQUENCE_RANKS, Number)),
                        Key(SEQUENCE_RANKS, Equals(0.0)),
                    ]),
                ],
                says: "`{key}` is {value}, but DeepSpeed divides the ranks by it",
                fixes: &[Set(SEQUENCE_RANKS, "1")],
            },
            Row {
                at: &[At::Key(BATCH_SIZE), At::Key(MICRO_BATCH)],
                when: &[UsesTransformers, WITHOUT_SIZE],
                says: NEITHER_SIZE,
                fixes: &[Set(MICRO_BATCH, "auto")],
            },
            Row {
                at: &[At::Key(BATCH_SIZE), At::Key(MICRO_BATCH)],
                when: &[
                    Any(&[PlainDeepSpeed, UsesAccelerate]),
                    Not(&UsesTransformers),
                    WITHOUT_SIZE,
                ],
                says: NEITHER_SIZE,
                fixes: &[Set(MICRO_BATCH, "1")],
            },
        ],
        code: Some(batch::sizes),
    },
    Check {
        rule: Rule::BatchProduct,
        about: "",
        severity: Severity::Warning,
        noticed: When::Parse,
        rows: &[Row {
            at: &[At::Key(BATCH_SIZE)],
            when: &[Sets(MICRO_BATCH), Key(BATCH_SIZE, Number)],
            says: "`{key}` must be the ranks × the values in the trainer's own config",
            fixes: &[With {
                remark: "it is inferred",
                remedy: &Unset(BATCH_SIZE),
            }],
        }],
        code: None,
    },
    Check {
        rule: Rule::BatchProduct,
        about: "train_batch_size is not micro batch × accumulation steps × data-parallel ranks",
        severity: Severity::Error,
        noticed: When::Parse,
        rows: &[],
        code: Some(batch::product),
    },
    Check {
        rule: Rule::BatchSequence,
        about: "sequence_parallel_size does not divide the ranks: DeepSpeed continues with a fraction of a rank",
        severity: Severity::Warning,
        noticed: When::Silent,
        rows: &[Row {
            at: &[At::Key(SEQUENCE_RANKS)],
            when: &[
                Not(&Before("deepspeed", SEQUENCE_DIVIDES)),
                DoesNotDivideRanks(SEQUENCE_RANKS),
            ],
            says: "`{key}` does not divide the ranks: DeepSpeed continues with a fraction of a rank",
            fixes: &[Say("set sequence_parallel_size to a divisor of the ranks")],
        }],
        code: None,
    },
    Check {
        rule: Rule::BatchTensor,
        about: "with AutoTP every rank counts in train_batch_size, although a tensor-parallel group reads the same samples",
        severity: Severity::Note,
        noticed: When::Silent,
        rows: &[Row {
            at: &[At::Key(TENSOR_RANKS)],
            when: &[Key(TENSOR_RANKS, Above(1.0))],
            says: "`train_batch_size` counts every rank, although groups of {value} read the same samples",
            fixes: &[Say("a step has train_batch_size ÷ autotp_size samples")],
        }],
        code: None,
    },
    Check {
        rule: Rule::LightningAccumulation,
        about: "gradient_accumulation_steps for Lightning's Trainer, which sets it from accumulate_grad_batches and refuses it in the config",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[Row {
            at: &[At::Key("gradient_accumulation_steps")],
            // Fabric does not touch it.
            when: &[
                SetsWhatIsAbsent,
                Not(&Key("gradient_accumulation_steps", Missing)),
                Not(&ScriptSays("Fabric(")),
            ],
            says: "Lightning's Trainer refuses `{key}` in the config: it comes from accumulate_grad_batches",
            fixes: &[Unset("gradient_accumulation_steps")],
        }],
        code: None,
    },
];

const SCALE_POWER: &str = "fp16.initial_scale_power";
const SCALE_WINDOW: &str = "fp16.loss_scale_window";
const LEAST_SCALE: &str = "fp16.min_loss_scale";
const FP16_MASTERS: &str = "fp16.fp16_master_weights_and_grads";
const BF16_MASTERS: &str = "bf16.bf16_master_weights_and_grads";
const BF16_STATES: &str = "bf16.bf16_optimizer_states";
/// Since then stages 1 and 3 can keep 16-bit master weights, too.
const ANY_STAGE: [u32; 3] = [0, 18, 3];
const ACCUMULATED: &str = "data_types.grad_accum_dtype";
const DYNAMIC_SCALE: Condition = Any(&[
    Key("fp16.loss_scale", Missing),
    Key("fp16.loss_scale", Auto),
    Key("fp16.loss_scale", Equals(0.0)),
]);

const PRECISION: &[Check] = &[
    Check {
        rule: Rule::TwoPrecisions,
        about: "fp16 and bf16 are both enabled",
        severity: Severity::Error,
        noticed: When::Parse,
        rows: &[Row {
            at: &[At::Key("fp16.enabled"), At::Key("bf16.enabled")],
            when: &[
                PrecisionOn("fp16"),
                PrecisionOn("bf16"),
                Not(&Sets("fp16.enabled")),
            ],
            says: "`fp16` and `bf16` are both enabled",
            fixes: &[Set("fp16.enabled", "false"), Set("bf16.enabled", "false")],
        }],
        code: None,
    },
    Check {
        rule: Rule::LossScale,
        about: "dynamic loss scaling with a window or minimum scale not above 0, or a power that is not a number",
        severity: Severity::Error,
        noticed: When::Parse,
        rows: &[
            // Old versions compute `2 ** initial_scale_power` without checking it.
            Row {
                at: &[At::Key(SCALE_POWER)],
                when: &[
                    Before("deepspeed", PRECISION_MODELS),
                    PrecisionOn("fp16"),
                    Not(&Key(SCALE_POWER, Missing)),
                    Not(&Key(SCALE_POWER, Number)),
                    Any(&[Not(&Key(SCALE_POWER, Auto)), PlainDeepSpeed]),
                ],
                says: "`{key}` is {value}, but DeepSpeed expects a number",
                fixes: &[Unquote(SCALE_POWER)],
            },
            // Python's largest float is below 2 ** 1024.
            Row {
                at: &[At::Key(SCALE_POWER)],
                when: &[
                    Before("deepspeed", PRECISION_MODELS),
                    PrecisionOn("fp16"),
                    Key(SCALE_POWER, Number),
                    Not(&Key(SCALE_POWER, Whole)),
                    Not(&Key(SCALE_POWER, Below(1024.0))),
                ],
                says: "`{key}` is {value}, but DeepSpeed expects a number",
                fixes: &[Unquote(SCALE_POWER)],
            },
            Row {
                at: &[At::Key(SCALE_WINDOW)],
                when: &[
                    Not(&Before("deepspeed", [0, 19, 3])),
                    Key("fp16.enabled", On),
                    DYNAMIC_SCALE,
                    Key(SCALE_WINDOW, Whole),
                    Not(&Key(SCALE_WINDOW, Above(0.0))),
                ],
                says: "`{key}` is {value}: with dynamic loss scaling it must be above 0",
                fixes: &[Set(SCALE_WINDOW, "1000")],
            },
            Row {
                at: &[At::Key(LEAST_SCALE)],
                when: &[
                    Not(&Before("deepspeed", [0, 19, 3])),
                    Key("fp16.enabled", On),
                    DYNAMIC_SCALE,
                    Key(LEAST_SCALE, Whole),
                    Not(&Key(LEAST_SCALE, Above(0.0))),
                ],
                says: "`{key}` is {value}: with dynamic loss scaling it must be above 0",
                fixes: &[Set(LEAST_SCALE, "1")],
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::MasterWeights,
        about: "master weights or optimizer states in 16 bits at stage 0, or at any stage but 2 before 0.18.3",
        severity: Severity::Error,
        noticed: When::Parse,
        rows: &[
            Row {
                at: &[At::Key(FP16_MASTERS), At::Key(STAGE)],
                when: &[
                    PrecisionSetting(FP16_MASTERS),
                    Not(&Before("deepspeed", ANY_STAGE)),
                    Stage(&[0]),
                ],
                says: "`{key}` is on, and ZeRO is off: it needs stage 1, 2 or 3",
                fixes: &[Set(FP16_MASTERS, "false")],
            },
            Row {
                at: &[At::Key(FP16_MASTERS), At::Key(STAGE)],
                when: &[
                    PrecisionSetting(FP16_MASTERS),
                    Before("deepspeed", ANY_STAGE),
                    Stage(&[0, 1, 3]),
                ],
                says: "`{key}` is on: before DeepSpeed 0.18.3 it needs stage 2",
                fixes: &[Set(FP16_MASTERS, "false")],
            },
            Row {
                at: &[At::Key(BF16_MASTERS), At::Key(STAGE)],
                when: &[
                    PrecisionSetting(BF16_MASTERS),
                    Not(&Before("deepspeed", ANY_STAGE)),
                    Stage(&[0]),
                ],
                says: "`{key}` is on, and ZeRO is off: it needs stage 1, 2 or 3",
                fixes: &[Set(BF16_MASTERS, "false")],
            },
            Row {
                at: &[At::Key(BF16_MASTERS), At::Key(STAGE)],
                when: &[
                    PrecisionSetting(BF16_MASTERS),
                    Before("deepspeed", ANY_STAGE),
                    Stage(&[0, 1, 3]),
                ],
                says: "`{key}` is on: before DeepSpeed 0.18.3 it needs stage 2",
                fixes: &[Set(BF16_MASTERS, "false")],
            },
            Row {
                at: &[At::Key(BF16_STATES), At::Key(STAGE)],
                when: &[
                    PrecisionSetting(BF16_STATES),
                    Not(&Before("deepspeed", ANY_STAGE)),
                    Stage(&[0]),
                ],
                says: "`{key}` is on, and ZeRO is off: it needs stage 1, 2 or 3",
                fixes: &[Set(BF16_STATES, "false")],
            },
            Row {
                at: &[At::Key(BF16_STATES), At::Key(STAGE)],
                when: &[
                    PrecisionSetting(BF16_STATES),
                    Before("deepspeed", ANY_STAGE),
                    Stage(&[0, 1, 3]),
                ],
                says: "`{key}` is on: before DeepSpeed 0.18.3 it needs stage 2",
                fixes: &[Set(BF16_STATES, "false")],
            },
            Row {
                at: &[At::Key(BF16_STATES)],
                when: &[
                    PrecisionSetting(BF16_STATES),
                    Not(&PrecisionSetting(BF16_MASTERS)),
                ],
                says: "`{key}` needs `bf16.bf16_master_weights_and_grads`",
                fixes: &[Set(BF16_MASTERS, "true")],
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::MasterWeightsOffload,
        about: "master weights in 16 bits without the optimizer in host memory",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[
            Row {
                at: &[At::Key(FP16_MASTERS)],
                when: &[
                    PrecisionSetting(FP16_MASTERS),
                    Stage(&[1, 2, 3]),
                    Not(&OptimizerOn(HOST)),
                ],
                says: "`{key}` needs the optimizer in host memory (DeepSpeedCPUAdam)",
                fixes: &[Set(OFFLOAD, "cpu")],
            },
            Row {
                at: &[At::Key(BF16_MASTERS)],
                when: &[
                    PrecisionSetting(BF16_MASTERS),
                    Stage(&[1, 2, 3]),
                    Not(&OptimizerOn(HOST)),
                    Not(&PrecisionSetting(BF16_STATES)),
                ],
                says: "`{key}` needs the optimizer in host memory (DeepSpeedCPUAdam)",
                fixes: &[Set(OFFLOAD, "cpu")],
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::AccumulationDtype,
        about: "bf16 with gradients accumulated in fp32 needs ZeRO: stage 0 has no such optimizer",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[Row {
            at: &[At::Key(ACCUMULATED), At::Key(STAGE)],
            when: &[
                Stage(&[0]),
                PrecisionOn("bf16"),
                Key(
                    ACCUMULATED,
                    Word(&["fp32", "float32", "float", "torch.float32"]),
                ),
            ],
            says: "bf16 with gradients accumulated in fp32 is not implemented at stage 0",
            fixes: &[Set(STAGE, "1"), Unset(ACCUMULATED)],
        }],
        code: None,
    },
    Check {
        rule: Rule::NoNvcc,
        about: "an optimizer of the config that DeepSpeed compiles at the start, where nvcc is missing",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[
            Row {
                at: &[At::Key("optimizer.type")],
                when: &[
                    Key("optimizer.type", Word(FUSED)),
                    UsesTransformers,
                    GpuIs(NVIDIA),
                    Not(&Key(TORCH_ADAM, Truthy)),
                    Not(&OptimizerOn(HOST)),
                    Not(&INSTALLED_FUSED),
                    OF_CUDA,
                    NoNvcc,
                ],
                says: WITHOUT_NVCC,
                fixes: WITH_NVCC,
            },
            Row {
                at: &[At::Key("optimizer.type")],
                when: &[
                    Key("optimizer.type", Word(FUSED)),
                    // Not one of the script.
                    ScriptSays("deepspeed.initialize"),
                    Not(&ScriptSays("optimizer=")),
                    GpuIs(NVIDIA),
                    Not(&Key(TORCH_ADAM, Truthy)),
                    Not(&OptimizerOn(HOST)),
                    Not(&INSTALLED_FUSED),
                    OF_CUDA,
                    NoNvcc,
                ],
                says: WITHOUT_NVCC,
                fixes: WITH_NVCC,
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::PrecisionOfGpu,
        about: "bf16 on a GPU that only emulates it, or fp16 on one that DeepSpeed does not support",
        severity: Severity::Warning,
        noticed: When::Start,
        rows: &[
            Row {
                at: &[At::Key("bf16.enabled")],
                when: &[
                    Key("bf16.enabled", On),
                    Any(&[GpuIs(WITHOUT_BF16), GpuIs(WITHOUT_FP16)]),
                ],
                says: "`{key}` is true, but a GPU of this machine only emulates bf16",
                fixes: &[Set("bf16.enabled", "false")],
            },
            Row {
                at: &[At::Key("fp16.enabled")],
                when: &[Key("fp16.enabled", On), GpuIs(WITHOUT_FP16)],
                says: "`{key}` is true, but a GPU of this machine is too old for DeepSpeed's fp16",
                fixes: &[Set("fp16.enabled", "false")],
            },
        ],
        code: None,
    },
];

const FUSED: &[&str] = &["adam", "adamw"];
const NVIDIA: &[&str] = &["NVIDIA"];
const TORCH_ADAM: &str = "optimizer.params.torch_adam";
const INSTALLED_FUSED: Condition = FileSays {
    files: &["deepspeed/git_version_info_installed.py"],
    text: "'fused_adam': True",
};
const OF_CUDA: Condition = FileSays {
    files: &["torch/version.py"],
    text: "cuda: Optional[str] = '",
};
const WITHOUT_NVCC: &str =
    "DeepSpeed compiles `{name}` at the start, and there is no nvcc in CUDA_HOME or on PATH";
const WITH_NVCC: &[Remedy] = &[
    Set(TORCH_ADAM, "true"),
    Say("load the CUDA toolkit that torch was built for (module load cuda)"),
];

const PARAMETERS: &str = "zero_optimization.offload_param.device";
const OPTIMIZER_PATH: &str = "zero_optimization.offload_optimizer.nvme_path";
const PARAMETERS_PATH: &str = "zero_optimization.offload_param.nvme_path";
const RATIO: &str = "zero_optimization.offload_optimizer.ratio";
const ASYNC_IO: &[Remedy] = &[Both(
    &Set("aio.queue_depth", "32"),
    &Set("aio.intra_op_parallelism", "8"),
)];

const OFFLOADS: &[Check] = &[
    Check {
        rule: Rule::OffloadAtStage0,
        about: "the optimizer in host memory without ZeRO: DeepSpeed uses its CPU optimizer and stops at the first step",
        severity: Severity::Error,
        noticed: When::Step,
        rows: &[Row {
            at: &[
                At::Key("zero_optimization.offload_optimizer"),
                At::Key(STAGE),
            ],
            when: &[Stage(&[0]), OptimizerOn(HOST)],
            says: "the optimizer is offloaded, but ZeRO is off: the first step fails with \"param is on cuda and must be cpu\"",
            fixes: &[Set(STAGE, "2")],
        }],
        code: None,
    },
    Check {
        rule: Rule::NvmePath,
        about: "offload to nvme without nvme_path",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[
            Row {
                at: &[At::Key(OFFLOAD)],
                when: &[
                    Stage(&[3]),
                    OptimizerOn(&[Nvme]),
                    Key(OPTIMIZER_PATH, MissingOrNull),
                ],
                says: "the device is nvme, but `zero_optimization.offload_optimizer.nvme_path` is not set",
                fixes: &[Say(A_LOCAL_FOLDER)],
            },
            Row {
                at: &[At::Key(PARAMETERS)],
                when: &[
                    Stage(&[3]),
                    ParametersOn(&[Nvme]),
                    Key(PARAMETERS_PATH, MissingOrNull),
                ],
                says: "the device is nvme, but `zero_optimization.offload_param.nvme_path` is not set",
                fixes: &[Say(A_LOCAL_FOLDER)],
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::NvmeShared,
        about: "the folder on NVMe is emptied when a job starts: two jobs must not share an nvme_path",
        severity: Severity::Note,
        noticed: When::Silent,
        rows: &[
            Row {
                at: &[At::Key(OPTIMIZER_PATH)],
                when: &[
                    Stage(&[3]),
                    OptimizerOn(&[Nvme]),
                    Key(OPTIMIZER_PATH, HasValue),
                    Not(&Key(OPTIMIZER_PATH, EndsInNumber)),
                ],
                says: "DeepSpeed empties its folder in {value} at start: two jobs must not share it",
                fixes: &[Say(A_LOCAL_FOLDER)],
            },
            Row {
                at: &[At::Key(PARAMETERS_PATH)],
                when: &[
                    Stage(&[3]),
                    ParametersOn(&[Nvme]),
                    Key(PARAMETERS_PATH, HasValue),
                    Not(&Key(PARAMETERS_PATH, EndsInNumber)),
                ],
                says: "DeepSpeed empties its folder in {value} at start: two jobs must not share it",
                fixes: &[Say(A_LOCAL_FOLDER)],
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::NvmeDefaults,
        about: "NVMe without an aio section: 1 MiB blocks, queue depth 8, one thread",
        severity: Severity::Note,
        noticed: When::Silent,
        rows: &[
            Row {
                at: &[At::Key(OFFLOAD)],
                when: &[Key("aio", MissingOrNull), Stage(&[3]), OptimizerOn(&[Nvme])],
                says: "NVMe is used without an `aio` section: 1 MiB blocks, queue depth 8, one thread",
                fixes: ASYNC_IO,
            },
            Row {
                at: &[At::Key(PARAMETERS)],
                when: &[
                    Key("aio", MissingOrNull),
                    Stage(&[3]),
                    Not(&OptimizerOn(&[Nvme])),
                    ParametersOn(&[Nvme]),
                ],
                says: "NVMe is used without an `aio` section: 1 MiB blocks, queue depth 8, one thread",
                fixes: ASYNC_IO,
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::PartialOffload,
        about: "offload_optimizer.ratio below 1 only works at stage 3",
        severity: Severity::Error,
        noticed: When::Parse,
        rows: &[Row {
            at: &[At::Key(RATIO), At::Key(STAGE)],
            when: &[
                Key(RATIO, Below(1.0)),
                Stage(&[0, 1, 2]),
                // With pydantic 1, DeepSpeed's check had no effect.
                Not(&Before("deepspeed", [0, 15, 0])),
            ],
            says: "`{key}` is {value}: the optimizer can only be offloaded in part at stage 3",
            fixes: &[Set(RATIO, "1")],
        }],
        code: None,
    },
];

const SUM: &str = "gradient_allreduce_op";
const GRADIENT_NORM: &str = "zero_optimization.compute_grad_norm";
const GATHER_BUCKET: &str = "zero_optimization.allgather_bucket_size";
const REDUCE_BUCKET: &str = "zero_optimization.reduce_bucket_size";
const PREFETCH_BUCKET: &str = "zero_optimization.stage3_prefetch_bucket_size";
const REDUCE_SCATTER: &str = "zero_optimization.reduce_scatter";
const QUANTIZED_GRADIENTS: &str = "zero_optimization.zero_quantized_gradients";
const PREDIVIDED: &str = "gradient_predivide_factor";
const PRESCALED: &str = "prescale_gradients";
const FIND_BATCH: &str = "auto_find_batch_size";

const NO_SECTION: &str = "the config has no `zero_optimization` section, and accelerate refuses it";
const STAGE_1: Remedy = Remedy::Set("zero_optimization", r#"{"stage": 1}"#);
const STAGE_0: Remedy = Remedy::Set("zero_optimization", r#"{"stage": 0}"#);

const COMBINATIONS: &[Check] = &[
    Check {
        rule: Rule::NoZeroSection,
        about: "accelerate refuses a config without zero_optimization: stage 0 must be spelled out",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[
            Row {
                at: &[At::Key("zero_optimization")],
                when: &[
                    UsesAccelerate,
                    Key("zero_optimization", Missing),
                    Key("stage", Equals(1.0)),
                ],
                says: NO_SECTION,
                fixes: &[Both(&Unset("stage"), &Set(STAGE, "1"))],
            },
            Row {
                at: &[At::Key("zero_optimization")],
                when: &[
                    UsesAccelerate,
                    Key("zero_optimization", Missing),
                    Key("stage", Equals(2.0)),
                ],
                says: NO_SECTION,
                fixes: &[Both(&Unset("stage"), &Set(STAGE, "2"))],
            },
            Row {
                at: &[At::Key("zero_optimization")],
                when: &[
                    UsesAccelerate,
                    Key("zero_optimization", Missing),
                    Key("stage", Equals(3.0)),
                ],
                says: NO_SECTION,
                fixes: &[Both(&Unset("stage"), &Set(STAGE, "3"))],
            },
            Row {
                at: &[At::Key("zero_optimization")],
                when: &[
                    UsesAccelerate,
                    Key("zero_optimization", Missing),
                    Not(&Any(&[
                        Key("stage", Equals(1.0)),
                        Key("stage", Equals(2.0)),
                        Key("stage", Equals(3.0)),
                    ])),
                ],
                says: NO_SECTION,
                fixes: &[Set(STAGE, "0")],
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::ZeroIsNoSection,
        about: "zero_optimization that is true or false, which accelerate refuses (elsewhere a warning)",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[
            Row {
                at: &[At::Key("zero_optimization")],
                when: &[UsesAccelerate, Key("zero_optimization", On)],
                says: "`{key}` is true, but accelerate expects an object",
                fixes: &[STAGE_1],
            },
            Row {
                at: &[At::Key("zero_optimization")],
                when: &[UsesAccelerate, Key("zero_optimization", Off)],
                says: "`{key}` is false, but accelerate expects an object",
                fixes: &[STAGE_0],
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::ZeroIsNoSection,
        about: "",
        severity: Severity::Warning,
        noticed: When::Silent,
        rows: &[
            Row {
                at: &[At::Key("zero_optimization")],
                when: &[Not(&UsesAccelerate), Key("zero_optimization", On)],
                says: "`{key}` is true, the old form, by which DeepSpeed means stage 1",
                fixes: &[STAGE_1],
            },
            Row {
                at: &[At::Key("zero_optimization")],
                when: &[Not(&UsesAccelerate), Key("zero_optimization", Off)],
                says: "`{key}` is false, the old form, by which DeepSpeed means stage 0",
                fixes: &[STAGE_0],
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::NoStage,
        about: "zero_optimization without a stage: accelerate stops with a KeyError when it saves the model",
        severity: Severity::Warning,
        noticed: When::Step,
        rows: &[Row {
            at: &[At::Key("zero_optimization")],
            when: &[
                UsesTransformers,
                Key("zero_optimization", Section),
                Key(STAGE, Missing),
            ],
            says: "`zero_optimization` has no `stage`: DeepSpeed takes 0, and accelerate fails when it saves",
            fixes: &[Set(STAGE, "0"), Say("choose stage 1, 2 or 3")],
        }],
        code: None,
    },
    Check {
        rule: Rule::GradientNorm,
        about: "compute_grad_norm false outside stages 1 and 2",
        severity: Severity::Error,
        noticed: When::Parse,
        rows: &[Row {
            at: &[At::Key(GRADIENT_NORM), At::Key(STAGE)],
            when: &[Key(GRADIENT_NORM, Off), Stage(&[0, 3])],
            says: "`{key}` is false, which only stages 1 and 2 allow",
            fixes: &[Set(GRADIENT_NORM, "true")],
        }],
        code: None,
    },
    Check {
        rule: Rule::SumOfGradients,
        about: "gradient_allreduce_op sum with stage 3, ZenFlow or DeepCompile",
        severity: Severity::Error,
        noticed: When::Parse,
        rows: &[
            Row {
                at: &[At::Key(SUM)],
                when: &[
                    Key(SUM, Word(&["sum"])),
                    Not(&Before("deepspeed", [0, 19, 6])),
                    Stage(&[3]),
                ],
                says: "`{key}` is \"sum\", which cannot be combined with ZeRO stage 3",
                fixes: &[Set(SUM, "mean")],
            },
            Row {
                at: &[At::Key(SUM)],
                when: &[
                    Key(SUM, Word(&["sum"])),
                    Not(&Before("deepspeed", [0, 19, 6])),
                    Key("zero_optimization.zenflow", HasValue),
                ],
                says: "`{key}` is \"sum\", which cannot be combined with ZenFlow",
                fixes: &[Set(SUM, "mean")],
            },
            Row {
                at: &[At::Key(SUM)],
                when: &[
                    Key(SUM, Word(&["sum"])),
                    Not(&Before("deepspeed", [0, 19, 6])),
                    Key("compile.deepcompile", On),
                ],
                says: "`{key}` is \"sum\", which cannot be combined with DeepCompile",
                fixes: &[Set(SUM, "mean")],
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::PrescaledGradients,
        about: "prescale_gradients or a predivide factor with stage 2 or 3 and reduce_scatter",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[
            Row {
                at: &[At::Key(PRESCALED), At::Key(REDUCE_SCATTER)],
                when: &[
                    Key(PRESCALED, Truthy),
                    Stage(&[2, 3]),
                    Not(&Key(REDUCE_SCATTER, Off)),
                ],
                says: "`{key}` is {value}, which stages 2 and 3 do not allow with reduce_scatter",
                fixes: &[Unset(PRESCALED)],
            },
            Row {
                at: &[At::Key(PREDIVIDED), At::Key(REDUCE_SCATTER)],
                when: &[
                    Not(&Key(PRESCALED, Truthy)),
                    Key(PREDIVIDED, Number),
                    Not(&Key(PREDIVIDED, Equals(1.0))),
                    Stage(&[2, 3]),
                    Not(&Key(REDUCE_SCATTER, Off)),
                ],
                says: "`{key}` is {value}, which stages 2 and 3 do not allow with reduce_scatter",
                fixes: &[Unset(PREDIVIDED)],
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::ReduceScatter,
        about: "at stage 3, Muon with reduce_scatter, or quantized gradients without it",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[
            Row {
                at: &[At::Key(REDUCE_SCATTER), At::Key(QUANTIZED_GRADIENTS)],
                when: &[
                    Stage(&[3]),
                    Key(QUANTIZED_GRADIENTS, Truthy),
                    Key(REDUCE_SCATTER, Off),
                ],
                says: "`{key}` is {value}, and stage 3 quantizes gradients only with it",
                fixes: &[Set(REDUCE_SCATTER, "true")],
            },
            Row {
                at: &[At::Key("optimizer.type")],
                when: &[
                    Stage(&[3]),
                    Key("optimizer.type", Word(&["muon"])),
                    Not(&Key(REDUCE_SCATTER, Off)),
                    Not(&Before("deepspeed", [0, 18, 9])),
                ],
                says: "`{name}` needs whole gradients, and stage 3 scatters them unless `reduce_scatter` is false",
                fixes: &[Set(REDUCE_SCATTER, "false")],
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::OddBucket,
        about: "an allgather_bucket_size that is not even, at stage 1 or 2",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[Row {
            at: &[At::Key(GATHER_BUCKET)],
            when: &[Stage(&[1, 2]), Key(GATHER_BUCKET, Odd)],
            says: "`{key}` is {value}: stages 1 and 2 need an even number",
            fixes: &[Set(GATHER_BUCKET, "200000000")],
        }],
        code: None,
    },
    Check {
        rule: Rule::PartitionSize,
        about: "zero_hpz_partition_size does not divide the number of ranks",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[Row {
            at: &[At::Key(PARTITION_SIZE)],
            when: &[
                Stage(&[3]),
                Key(PARTITION_SIZE, Above(1.0)),
                DoesNotDivideRanks(PARTITION_SIZE),
                // DeepSpeed reduces a larger one.
                Not(&AboveRanks(PARTITION_SIZE)),
            ],
            says: "`{key}` is {value}, which does not divide the number of ranks",
            fixes: &[Set(PARTITION_SIZE, "1")],
        }],
        code: None,
    },
    Check {
        rule: Rule::TensorParallelSize,
        about: "tensor_parallel.tp.tp_size is neither 1 nor autotp_size, or there are fewer ranks than autotp_size",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[
            Row {
                at: &[At::Key(TENSOR_RANKS)],
                when: &[
                    AboveRanks(TENSOR_RANKS),
                    Not(&Before("deepspeed", [0, 16, 4])),
                ],
                says: "`{key}` is {value}, and there are fewer ranks",
                fixes: &[Unset(TENSOR_RANKS)],
            },
            Row {
                at: &[At::Key(INNER_TENSOR_RANKS), At::Key(TENSOR_RANKS)],
                when: &[
                    Key(TENSOR_RANKS, Above(1.0)),
                    Not(&Key(INNER_TENSOR_RANKS, Equals(1.0))),
                    SizesDiffer(INNER_TENSOR_RANKS, TENSOR_RANKS),
                ],
                says: "`{key}` is {value}, but `tensor_parallel.autotp_size` is another size: they must agree",
                fixes: &[Unset(INNER_TENSOR_RANKS)],
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::HfArguments,
        about: "arguments that transformers refuses together with DeepSpeed: auto_find_batch_size at stage 3, fsdp, save_only_model with load_best_model_at_end",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[
            // It came with 4.38 for every stage; since 4.45 it is for stage 3 alone.
            Row {
                at: &[At::Argument(FIND_BATCH)],
                when: &[
                    UsesTransformers,
                    True(FIND_BATCH),
                    Before("transformers", [4, 45, 0]),
                    Not(&Before("transformers", [4, 38, 0])),
                ],
                says: "transformers 4.38 to 4.44 refuses `auto_find_batch_size` with DeepSpeed",
                fixes: &[DropArgument(FIND_BATCH)],
            },
            Row {
                at: &[At::Argument(FIND_BATCH), At::Key(STAGE)],
                when: &[
                    UsesTransformers,
                    True(FIND_BATCH),
                    Stage(&[3]),
                    Not(&Before("transformers", [4, 45, 0])),
                ],
                says: "transformers refuses `auto_find_batch_size` at stage 3",
                fixes: &[
                    DropArgument(FIND_BATCH),
                    With {
                        remark: "use stage 2",
                        remedy: &Give {
                            owner: Zlaunch,
                            option: "--deepspeed",
                            value: "zero2",
                        },
                    },
                ],
            },
            Row {
                at: &[At::Argument("fsdp")],
                when: &[
                    UsesTransformers,
                    Given("fsdp"),
                    Not(&Any(&[
                        Is("fsdp", ""),
                        Is("fsdp", "false"),
                        Is("fsdp", "False"),
                        Is("fsdp", "none"),
                        Is("fsdp", "0"),
                        Is("fsdp", "[]"),
                    ])),
                ],
                says: "transformers refuses `fsdp` together with DeepSpeed",
                fixes: &[DropArgument("fsdp")],
            },
            Row {
                at: &[
                    At::Argument("save_only_model"),
                    At::Argument("load_best_model_at_end"),
                ],
                when: &[
                    UsesTransformers,
                    True("save_only_model"),
                    True("load_best_model_at_end"),
                    Not(&Before("transformers", [4, 38, 0])),
                ],
                says: "transformers refuses `save_only_model` with `load_best_model_at_end` under DeepSpeed",
                fixes: &[DropArgument("save_only_model")],
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::MonitorPackage,
        about: "a monitor (wandb, comet, tensorboard) whose package is not installed: DeepSpeed stops on the first rank",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[
            Row {
                at: &[At::Key("wandb.enabled")],
                when: &[Key("wandb.enabled", On), NotInstalled(&["wandb"])],
                says: "`{key}` is true, but the package wandb is not installed for this Python",
                fixes: &[Set("wandb.enabled", "false"), Run("pip install wandb")],
            },
            Row {
                at: &[At::Key("comet.enabled")],
                when: &[Key("comet.enabled", On), NotInstalled(&["comet_ml"])],
                says: "`{key}` is true, but the package comet_ml is not installed for this Python",
                fixes: &[Set("comet.enabled", "false"), Run("pip install comet_ml")],
            },
            Row {
                at: &[At::Key("tensorboard.enabled")],
                when: &[
                    Key("tensorboard.enabled", On),
                    NotInstalled(&["tensorboard"]),
                ],
                says: "`{key}` is true, but the package tensorboard is not installed for this Python",
                fixes: &[
                    Set("tensorboard.enabled", "false"),
                    Run("pip install tensorboard"),
                ],
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::ExpertsAtStage3,
        about: "a script with DeepSpeed's own MoE layer at stage 3, which DeepSpeed refuses",
        severity: Severity::Warning,
        noticed: When::Start,
        rows: &[Row {
            at: &[At::Key(STAGE)],
            when: &[PlainDeepSpeed, Stage(&[3]), ScriptSays("deepspeed.moe")],
            says: "the script uses DeepSpeed's MoE layer, which does not work with stage 3",
            fixes: &[
                Set(STAGE, "2"),
                Say("use an `expert_parallel` section (AutoEP)"),
            ],
        }],
        code: None,
    },
    Check {
        rule: Rule::NoSync,
        about: "a script that calls no_sync() at stage 2 or 3, which DeepSpeed refuses",
        severity: Severity::Warning,
        noticed: When::Step,
        rows: &[Row {
            at: &[At::Key(STAGE)],
            when: &[PlainDeepSpeed, Stage(&[2, 3]), ScriptSays(".no_sync(")],
            says: "the script calls no_sync(), which DeepSpeed refuses at stages 2 and 3",
            fixes: &[Set(STAGE, "1"), Say("leave accumulation to the engine")],
        }],
        code: None,
    },
];

const LEARNING_RATE: &str = "optimizer.params.lr";
const DECAY: &str = "optimizer.params.weight_decay";
const BETAS: &str = "optimizer.params.betas";
const EPSILON: &str = "optimizer.params.eps";
const WITHOUT_BETAS: &[&str] = &["SGD", "ASGD", "Adadelta", "RMSprop", "Rprop", "LBFGS"];
const WITHOUT_EPSILON: &[&str] = &["SGD", "ASGD", "Rprop", "LBFGS"];
const ADAMS: &[&str] = &["adam", "adamw"];
const NOT_IN_OPTIMIZER: &str =
    "{key} has no effect: the config's `optimizer` section does not take it from there";
const ALLOWS_UNTESTED: &str = "zero_allow_untested_optimizer";
const UNTESTED: &str = "`{name}` is not tested with ZeRO: DeepSpeed refuses it";
/// Of every torch. DeepSpeed takes its own by any spelling, such as `Adam`.
const ONLY_IN_TORCH: &[&str] = &[
    "ASGD",
    "Adadelta",
    "Adamax",
    "LBFGS",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "SparseAdam",
];
const MS_SWIFT: &str = match SWIFT.distribution {
    Some(name) => name,
    None => "",
};
const FAILS_UNDER_SWIFT: &str = "ms-swift 4.2.0 to 4.6.0 fails with an `optimizer` section, once model and data are loaded: 'DummyOptim' object has no attribute 'param_groups'";
const FORCED: &str = "zero_force_ds_cpu_optimizer";
const ADAM_MODE: &str = "optimizer.params.adam_w_mode";
/// Schedulers of the trainer that nearly are the one of the config.
const SAME_SCHEDULER: &[Condition] = &[
    Is("lr_scheduler_type", "linear"),
    Is("lr_scheduler_type", "constant_with_warmup"),
    Key("scheduler.type", OneOf(&["WarmupCosineLR"])),
];
const SCHEDULERS_WITH_WARMUP: &[&str] = &["WarmupLR", "WarmupDecayLR", "WarmupCosineLR"];
const WARMUP: &str = "scheduler.params.warmup_type";

const OPTIMIZER: &[Check] = &[
    Check {
        rule: Rule::OptimizerType,
        about: "an optimizer that neither DeepSpeed nor torch.optim has",
        severity: Severity::Error,
        noticed: When::Start,
        // Those that another version of DeepSpeed has.
        rows: &[
            Row {
                at: &[At::Key("optimizer.type")],
                when: &[
                    Key(
                        "optimizer.type",
                        Word(&["onebitadam", "onebitlamb", "zerooneadam"]),
                    ),
                    Not(&Before("deepspeed", [0, 19, 7])),
                ],
                says: "{deepspeed} has no optimizer `{name}`",
                fixes: &[
                    Say("install DeepSpeed 0.19.6, which has it"),
                    Set("optimizer.type", "AdamW"),
                ],
            },
            Row {
                at: &[At::Key("optimizer.type")],
                when: &[
                    Key("optimizer.type", Word(&["muon"])),
                    Before("deepspeed", [0, 17, 6]),
                    Any(&[
                        Not(&Key("optimizer.type", OneOf(&["Muon"]))),
                        Before("torch", [2, 9, 0]),
                    ]),
                ],
                says: "{deepspeed} has no optimizer `{name}`",
                fixes: &[
                    Say("install DeepSpeed 0.17.6 or later, which has it"),
                    Set("optimizer.type", "AdamW"),
                ],
            },
        ],
        code: Some(optimizer::unknown_optimizer),
    },
    Check {
        rule: Rule::OptimizerParameter,
        about: "a parameter that the optimizer does not take, or text where it calculates",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[
            Row {
                at: &[At::Key(BETAS)],
                when: &[
                    Any(&[
                        Key("optimizer.type", Word(&["adagrad"])),
                        Key("optimizer.type", OneOf(WITHOUT_BETAS)),
                    ]),
                    Not(&Key(BETAS, Missing)),
                ],
                says: "torch's optimizer takes no `betas`",
                fixes: &[Unset(BETAS)],
            },
            Row {
                at: &[At::Key(EPSILON)],
                when: &[
                    Key("optimizer.type", OneOf(WITHOUT_EPSILON)),
                    Not(&Key(EPSILON, Missing)),
                ],
                says: "torch's optimizer takes no `eps`",
                fixes: &[Unset(EPSILON)],
            },
        ],
        code: Some(optimizer::optimizer_parameters),
    },
    Check {
        rule: Rule::UntestedOptimizer,
        about: "an optimizer that DeepSpeed calls untested with ZeRO, without zero_allow_untested_optimizer",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[
            Row {
                at: &[At::Key("optimizer.type")],
                when: &[
                    Stage(&[1, 2, 3]),
                    Not(&Key(ALLOWS_UNTESTED, Truthy)),
                    Any(&[
                        Key("optimizer.type", Word(&["lamb", "musgd"])),
                        Key("optimizer.type", OneOf(ONLY_IN_TORCH)),
                    ]),
                ],
                says: UNTESTED,
                fixes: &[Set(ALLOWS_UNTESTED, "true")],
            },
            Row {
                at: &[At::Key("optimizer.type")],
                when: &[
                    Stage(&[1, 2, 3]),
                    Not(&Key(ALLOWS_UNTESTED, Truthy)),
                    Key("optimizer.type", OneOf(&["Adafactor"])),
                    Not(&Before("torch", [2, 5, 0])),
                ],
                says: UNTESTED,
                fixes: &[Set(ALLOWS_UNTESTED, "true")],
            },
            Row {
                at: &[At::Key("optimizer.type")],
                when: &[
                    Stage(&[1, 2, 3]),
                    Not(&Key(ALLOWS_UNTESTED, Truthy)),
                    Key("optimizer.type", OneOf(&["Muon"])),
                    Not(&Before("torch", [2, 9, 0])),
                    // Since then DeepSpeed has it.
                    Before("deepspeed", [0, 17, 6]),
                ],
                says: UNTESTED,
                fixes: &[Set(ALLOWS_UNTESTED, "true")],
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::OptimizerReplaced,
        about: "arguments that the config's `optimizer` or `scheduler` decides; with the optimizer in host memory accelerate replaces --optim with DeepSpeed's CPU Adam",
        severity: Severity::Warning,
        noticed: When::Silent,
        rows: &[
            Row {
                at: &[At::Argument("optim"), At::Key("optimizer")],
                when: &[UsesTransformers, Given("optim"), Key("optimizer", Section)],
                says: "the config has an `optimizer` section: {key} has no effect",
                fixes: &[Unset("optimizer"), DropArgument("optim")],
            },
            Row {
                at: &[At::Argument("learning_rate"), At::Key("optimizer")],
                when: &[
                    UsesTransformers,
                    Given("learning_rate"),
                    Not(&Key("optimizer.type", MissingOrNull)),
                    Key(LEARNING_RATE, Missing),
                ],
                says: NOT_IN_OPTIMIZER,
                fixes: &[Set(LEARNING_RATE, "auto")],
            },
            Row {
                at: &[At::Argument("weight_decay"), At::Key("optimizer")],
                when: &[
                    UsesTransformers,
                    Given("weight_decay"),
                    Not(&Any(&[Is("weight_decay", "0"), Is("weight_decay", "0.0")])),
                    Key("optimizer.type", Word(ADAMS)),
                    Key(DECAY, Missing),
                ],
                says: NOT_IN_OPTIMIZER,
                fixes: &[Set(DECAY, "auto")],
            },
            Row {
                at: &[At::Argument("adam_beta1"), At::Key("optimizer")],
                when: &[
                    UsesTransformers,
                    Given("adam_beta1"),
                    Not(&Any(&[Is("adam_beta1", "0.9")])),
                    Key("optimizer.type", Word(ADAMS)),
                    Key(BETAS, Missing),
                ],
                says: NOT_IN_OPTIMIZER,
                fixes: &[Set(BETAS, "auto")],
            },
            Row {
                at: &[At::Argument("adam_beta2"), At::Key("optimizer")],
                when: &[
                    UsesTransformers,
                    Given("adam_beta2"),
                    Not(&Any(&[Is("adam_beta2", "0.999")])),
                    Key("optimizer.type", Word(ADAMS)),
                    Key(BETAS, Missing),
                ],
                says: NOT_IN_OPTIMIZER,
                fixes: &[Set(BETAS, "auto")],
            },
            Row {
                at: &[At::Argument("adam_epsilon"), At::Key("optimizer")],
                when: &[
                    UsesTransformers,
                    Given("adam_epsilon"),
                    Not(&Any(&[
                        Is("adam_epsilon", "1e-8"),
                        Is("adam_epsilon", "1e-08"),
                    ])),
                    Key("optimizer.type", Word(ADAMS)),
                    Key(EPSILON, Missing),
                ],
                says: NOT_IN_OPTIMIZER,
                fixes: &[Set(EPSILON, "auto")],
            },
            Row {
                at: &[At::Argument("lr_scheduler_type"), At::Key("scheduler.type")],
                when: &[
                    UsesTransformers,
                    Given("lr_scheduler_type"),
                    Not(&Key("scheduler.type", MissingOrNull)),
                    Not(&Any(SAME_SCHEDULER)),
                ],
                says: "the config has a `scheduler` section: {key} has no effect",
                fixes: &[DropArgument("lr_scheduler_type"), Unset("scheduler")],
            },
            // accelerate's CPU Adam is an AdamW; Adagrad and 32-bit Lion have CPU versions.
            Row {
                at: &[At::Argument("optim"), At::Key(OFFLOAD)],
                when: &[
                    UsesTransformers,
                    Given("optim"),
                    Not(&Key("optimizer", Section)),
                    OptimizerOn(HOST),
                    Not(&Key(FORCED, Falsy)),
                    Any(&[
                        Not(&StartsWith("optim", "adamw")),
                        Contains("optim", "8bit"),
                        Contains("optim", "4bit"),
                    ]),
                    Not(&Any(&[
                        Is("optim", "adagrad"),
                        Is("optim", "lion_32bit"),
                        Is("optim", "paged_lion_32bit"),
                        Is("optim", "paged_adamw_32bit"),
                    ])),
                ],
                says: "the optimizer is offloaded: accelerate silently replaces `{value}` with DeepSpeed's CPU Adam",
                fixes: &[
                    Give {
                        owner: Trainer,
                        option: "--optim",
                        value: "adamw_torch",
                    },
                    Set(OFFLOAD, "none"),
                ],
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::SwiftOptimizer,
        about: "an optimizer section under ms-swift 4.2 to 4.6, whose trainer fails once model and data are loaded (a warning where the version is not known, or newer)",
        severity: Severity::Error,
        noticed: When::Start,
        // It fails even if the section is empty or null.
        rows: &[Row {
            at: &[At::Key("optimizer")],
            when: &[
                TrainerIs(SWIFT.name),
                Not(&Key("optimizer", Missing)),
                Not(&Before(MS_SWIFT, [4, 2, 0])),
                Before(MS_SWIFT, [4, 7, 0]),
            ],
            says: FAILS_UNDER_SWIFT,
            fixes: &[GiveParameters("optimizer")],
        }],
        code: None,
    },
    Check {
        rule: Rule::SwiftOptimizer,
        about: "",
        severity: Severity::Warning,
        noticed: When::Start,
        // A later release may fail too.
        rows: &[Row {
            at: &[At::Key("optimizer")],
            when: &[
                TrainerIs(SWIFT.name),
                Not(&Key("optimizer", Missing)),
                Not(&Before(MS_SWIFT, [4, 7, 0])),
            ],
            says: FAILS_UNDER_SWIFT,
            fixes: &[GiveParameters("optimizer")],
        }],
        code: None,
    },
    Check {
        rule: Rule::TrainerOptimizer,
        about: "a trainer with its own optimizer (xtuner), offloaded to host memory: DeepSpeed refuses all but its own",
        severity: Severity::Warning,
        noticed: When::Start,
        rows: &[Row {
            at: &[At::Key(OFFLOAD)],
            when: &[
                Sets("optimizer.params.lr"),
                OptimizerOn(HOST),
                Not(&Key(FORCED, Falsy)),
            ],
            says: "the trainer's own optimizer is refused unless it is DeepSpeedCPUAdam",
            fixes: &[Set(FORCED, "false")],
        }],
        code: None,
    },
    Check {
        rule: Rule::ClientOptimizer,
        about: "a script's own optimizer must be DeepSpeedCPUAdam or DeepSpeedCPULion once it is offloaded",
        severity: Severity::Note,
        noticed: When::Start,
        rows: &[Row {
            at: &[At::Key(OFFLOAD)],
            when: &[
                PlainDeepSpeed,
                OptimizerOn(HOST),
                Not(&Key(FORCED, Falsy)),
                Key("optimizer", Missing),
            ],
            says: "the script's own optimizer must be DeepSpeedCPUAdam or DeepSpeedCPULion: others are refused",
            fixes: &[Set("optimizer.type", "AdamW"), Set(FORCED, "false")],
        }],
        code: None,
    },
    Check {
        rule: Rule::NoOptimizer,
        about: "stages 1 and 2 need an optimizer: from the config, or from the script",
        severity: Severity::Note,
        noticed: When::Start,
        rows: &[Row {
            at: &[At::Key(STAGE)],
            when: &[
                PlainDeepSpeed,
                Stage(&[1, 2]),
                Not(&Key("optimizer.type", HasValue)),
            ],
            says: "the config has no optimizer: stages 1 and 2 need one from the script",
            fixes: &[Both(
                &Set("optimizer.type", "AdamW"),
                &Set("optimizer.params.lr", "1e-5"),
            )],
        }],
        code: None,
    },
    Check {
        rule: Rule::AdamIsAdamw,
        about: "type Adam means AdamW (decoupled weight decay) unless adam_w_mode is false",
        severity: Severity::Note,
        noticed: When::Silent,
        rows: &[Row {
            at: &[At::Key("optimizer.type")],
            when: &[
                Key("optimizer.type", Word(&["adam"])),
                Key(ADAM_MODE, Missing),
            ],
            says: "`Adam` decouples the weight decay here: it is AdamW",
            fixes: &[Set(ADAM_MODE, "false")],
        }],
        code: None,
    },
    Check {
        rule: Rule::SchedulerType,
        about: "a scheduler that neither DeepSpeed nor torch.optim.lr_scheduler has (case matters)",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[Row {
            at: &[At::Key("scheduler.type")],
            when: &[
                Key("scheduler.type", OneOf(TORCH_SCHEDULERS)),
                Stage(&[1, 2, 3]),
            ],
            says: "torch's `{name}` needs an optimizer of torch, and ZeRO's is none",
            fixes: &[Unset("scheduler")],
        }],
        code: Some(optimizer::unknown_scheduler),
    },
    Check {
        rule: Rule::SchedulerParameter,
        about: "a scheduler parameter that is unknown, missing, or must be a whole number above 0",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[Row {
            at: &[At::Key(WARMUP_STEPS)],
            when: &[
                Not(&Before("deepspeed", [0, 19, 3])),
                Key("scheduler.type", Word(SCHEDULERS_WITH_WARMUP)),
                Key(WARMUP_STEPS, HasValue),
                Any(&[
                    Not(&Key(WARMUP_STEPS, Number)),
                    Not(&Key(WARMUP_STEPS, Whole)),
                    Key(WARMUP_STEPS, Below(1.0)),
                ]),
            ],
            says: "`{key}` is {value}, but the scheduler expects a whole number above 0",
            fixes: &[Unquote(WARMUP_STEPS)],
        }],
        code: Some(optimizer::scheduler_parameters),
    },
    Check {
        rule: Rule::LogarithmicWarmup,
        about: "DeepSpeed's warmup is logarithmic unless warmup_type is set",
        severity: Severity::Note,
        noticed: When::Silent,
        rows: &[Row {
            at: &[At::Key("scheduler.type")],
            when: &[
                Key("scheduler.type", OneOf(SCHEDULERS_WITH_WARMUP)),
                Key(WARMUP, Missing),
            ],
            says: "the warmup is logarithmic because `warmup_type` is not set",
            fixes: &[Set(WARMUP, "linear")],
        }],
        code: None,
    },
    Check {
        rule: Rule::OptimizerWithoutType,
        about: "an optimizer section without a type, with transformers and ZeRO (from DeepSpeed 0.19.8 on, stage 3 is not refused)",
        severity: Severity::Error,
        noticed: When::Start,
        // For transformers the section is an optimizer, for DeepSpeed it is not.
        rows: &[
            Row {
                at: &[At::Key("optimizer")],
                when: &[
                    UsesTransformers,
                    Stage(&[1, 2]),
                    Key("optimizer", Section),
                    Key("optimizer.type", MissingOrNull),
                ],
                says: "`optimizer` has no `type`, and ZeRO needs an optimizer",
                fixes: &[Set("optimizer.type", "AdamW"), Unset("optimizer")],
            },
            Row {
                at: &[At::Key("optimizer")],
                when: &[
                    UsesTransformers,
                    Stage(&[3]),
                    Before("deepspeed", [0, 19, 8]),
                    Key("optimizer", Section),
                    Key("optimizer.type", MissingOrNull),
                ],
                says: "`optimizer` has no `type`, and ZeRO needs an optimizer",
                fixes: &[Set("optimizer.type", "AdamW"), Unset("optimizer")],
            },
        ],
        code: None,
    },
];

const SCALE_TOO_LARGE: &str =
    "`{key}` is {value}: the loss scale begins at 2 to this power, which is beyond any float";
const ROUND_ROBIN: &str = "zero_optimization.round_robin_gradients";
const CONTIGUOUS: &str = "zero_optimization.contiguous_gradients";
const GATHERED_PARTITIONS: &str = "zero_optimization.allgather_partitions";
const ZENFLOW: &str = "zero_optimization.zenflow";
const PARTITION_SIZE: &str = "zero_optimization.zero_hpz_partition_size";
const QUANTIZED_WEIGHTS: &str = "zero_optimization.zero_quantized_weights";
const FAST_START: &str = "zero_optimization.offload_optimizer.fast_init";
const BUFFER_SIZE: &str = "zero_optimization.offload_param.buffer_size";
const PINNED_OPTIMIZER: &str = "zero_optimization.offload_optimizer.pin_memory";
const PINNED_PARAMETERS: &str = "zero_optimization.offload_param.pin_memory";

const GATHERED: &str = "zero_optimization.stage3_gather_16bit_weights_on_model_save";
const GATHERED_BEFORE: &str = "zero_optimization.stage3_gather_fp16_weights_on_model_save";
const SAVED_AS_SHARDS: &str = "a full model is saved as ZeRO's shards (zero_to_fp32.py turns them into weights): `stage3_gather_16bit_weights_on_model_save` is off";
const TRAINS_ALL_WEIGHTS: Condition = Any(&[
    Is("tuner_type", "full"),
    Is("tuner_type", "freeze"),
    Is("train_type", "full"),
    Is("train_type", "freeze"),
    Is("finetuning_type", "full"),
    Is("finetuning_type", "freeze"),
]);

const NOBODY_CLIPS: Condition = Not(&Any(&[
    Not(&Key("gradient_clipping", Missing)),
    Given("max_grad_norm"),
    Sets("gradient_clipping"),
    SetsWhatIsAbsent,
]));

const EFFECTS: &[Check] = &[
    Check {
        rule: Rule::KnownFailure,
        about: "a combination that is reported to fail",
        severity: Severity::Warning,
        noticed: When::Step,
        rows: &[
            // deepspeedai/DeepSpeed#6926.
            Row {
                at: &[At::Key(PARTITION_SIZE), At::Key(PARAMETERS)],
                when: &[
                    Stage(&[3]),
                    Key(PARTITION_SIZE, Above(1.0)),
                    Any(&[ParametersOn(HOST), OptimizerOn(HOST)]),
                ],
                says: "`{key}` keeps a second copy of the weights on the GPUs, and is reported to fail together with offload",
                fixes: &[Set(PARTITION_SIZE, "1")],
            },
            // deepspeedai/DeepSpeed#7686.
            Row {
                at: &[At::Key(ZENFLOW), At::Key(OFFLOAD)],
                when: &[
                    Stage(&[3]),
                    Key(ZENFLOW, SectionInUse),
                    OptimizerOn(&[Nvme]),
                ],
                says: "ZenFlow is reported to fail at stage 3 with an optimizer on an NVMe (nvme): the tensors are not in memory",
                fixes: &[Unset(ZENFLOW)],
            },
            // huggingface/transformers#28468.
            Row {
                at: &[At::Argument("modules_to_save")],
                when: &[UsesTransformers, Stage(&[3]), Given("modules_to_save")],
                says: "modules_to_save copies modules that ZeRO-3 has split, which is reported to fail in the first step",
                fixes: &[
                    Give {
                        owner: Zlaunch,
                        option: "--deepspeed",
                        value: "zero2",
                    },
                    Say("name these modules in target_modules instead"),
                ],
            },
            // The step is divided by it.
            Row {
                at: &[At::Key("steps_per_print")],
                when: &[PlainDeepSpeed, Key("steps_per_print", Equals(0.0))],
                says: "`{key}` is 0, and DeepSpeed divides the number of the step by it",
                fixes: &[With {
                    remark: "to print nothing",
                    remedy: &Set("steps_per_print", "1000000000"),
                }],
            },
            // fp32 ends at 2 ** 128.
            Row {
                at: &[At::Key(SCALE_POWER)],
                when: &[PrecisionOn("fp16"), Key(SCALE_POWER, Equals(65536.0))],
                says: SCALE_TOO_LARGE,
                fixes: &[With {
                    remark: "2 to the power of 16 is 65536",
                    remedy: &Set(SCALE_POWER, "16"),
                }],
            },
            Row {
                at: &[At::Key(SCALE_POWER)],
                when: &[
                    PrecisionOn("fp16"),
                    Key(SCALE_POWER, Whole),
                    Key(SCALE_POWER, Above(127.0)),
                    Not(&Key(SCALE_POWER, Equals(65536.0))),
                ],
                says: SCALE_TOO_LARGE,
                fixes: &[Say("write the power alone: 16 for a scale of 65536")],
            },
            // deepspeedai/DeepSpeed#7718.
            Row {
                at: &[At::Key(STAGE), At::Key(ACCUMULATION)],
                when: &[
                    Stage(&[2]),
                    Key(ACCUMULATION, Above(1.0)),
                    Not(&Before("deepspeed", [0, 17, 6])),
                    Before("deepspeed", [0, 18, 3]),
                ],
                says: "DeepSpeed 0.17.6 to 0.18.2 computes wrong gradients at stage 2 with accumulation",
                fixes: &[
                    Say("pip install --upgrade 'deepspeed>=0.18.3'"),
                    Set(STAGE, "1"),
                ],
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::NoEffect,
        about: "a key that does nothing here: offload_param below stage 3, activation_checkpointing under transformers, round_robin_gradients at stage 3, …",
        severity: Severity::Warning,
        noticed: When::Silent,
        rows: &[
            Row {
                at: &[At::Key("scheduler")],
                when: &[
                    Key("scheduler", SectionInUse),
                    Key("scheduler.type", MissingOrNull),
                ],
                says: "`{key}` has no effect here: it has no `type`",
                fixes: &[Say("set scheduler.type, such as WarmupLR or WarmupDecayLR")],
            },
            Row {
                at: &[At::Key(PARAMETERS)],
                when: &[
                    Key(PARAMETERS, HasValue),
                    Stage(&[0, 1, 2]),
                    ParametersOn(HOST),
                ],
                says: "`{key}` has no effect here: parameters are only offloaded at stage 3",
                fixes: &[Unset("zero_optimization.offload_param"), Set(STAGE, "3")],
            },
            Row {
                at: &[At::Key(OFFLOAD)],
                when: &[Key(OFFLOAD, HasValue), Stage(&[1, 2]), OptimizerOn(&[Nvme])],
                says: "`{key}` has no effect here: below stage 3 \"nvme\" means cpu: the NVMe disk is never used",
                fixes: &[Set(OFFLOAD, "cpu"), Set(STAGE, "3")],
            },
            Row {
                at: &[At::Key(ROUND_ROBIN)],
                when: &[Stage(&[0, 3]), Key(ROUND_ROBIN, On)],
                says: "`{key}` has no effect here: it only acts at stages 1 and 2",
                fixes: &[Unset(ROUND_ROBIN)],
            },
            Row {
                at: &[At::Key("activation_checkpointing")],
                when: &[
                    UsesTransformers,
                    Key("activation_checkpointing", SectionInUse),
                ],
                says: "`{key}` has no effect here: only scripts that call deepspeed.checkpointing.configure() read it; transformers does not",
                fixes: &[Both(
                    &Give {
                        owner: Trainer,
                        option: "--gradient_checkpointing",
                        value: "true",
                    },
                    &Unset("activation_checkpointing"),
                )],
            },
            Row {
                at: &[At::Key(MICRO_BATCH)],
                when: &[Sets(MICRO_BATCH), Key(MICRO_BATCH, HasValue)],
                says: "`{key}` has no effect here: the trainer overwrites it with the batch size of its own config",
                fixes: &[Set(MICRO_BATCH, "auto")],
            },
            Row {
                at: &[At::Key(ACCUMULATION)],
                when: &[Sets(ACCUMULATION), Key(ACCUMULATION, HasValue)],
                says: "`{key}` has no effect here: the trainer overwrites it with the accumulation steps of its own config",
                fixes: &[Set(ACCUMULATION, "auto")],
            },
            Row {
                at: &[At::Key("gradient_clipping")],
                when: &[
                    Sets("gradient_clipping"),
                    Key("gradient_clipping", HasValue),
                ],
                says: "`{key}` has no effect here: the trainer overwrites it with the norm of its own config",
                fixes: &[Set("gradient_clipping", "auto")],
            },
            Row {
                at: &[At::Key("optimizer")],
                when: &[Sets("optimizer.params.lr"), Key("optimizer", HasValue)],
                says: "`{key}` has no effect here: the trainer uses the optimizer of its own config",
                fixes: &[Unset("optimizer")],
            },
            Row {
                at: &[At::Key(CONTIGUOUS)],
                when: &[Stage(&[1, 2]), OptimizerOn(HOST), Key(CONTIGUOUS, Off)],
                says: "`{key}` has no effect here: with the optimizer in host memory it is always on at stages 1 and 2",
                fixes: &[Set(CONTIGUOUS, "true")],
            },
            Row {
                at: &[At::Key(GATHERED_PARTITIONS)],
                when: &[Key(GATHERED_PARTITIONS, Off)],
                says: "`{key}` has no effect here: DeepSpeed reads it but never uses it",
                fixes: &[Unset(GATHERED_PARTITIONS)],
            },
            Row {
                at: &[At::Key("disable_allgather")],
                when: &[Key("disable_allgather", Truthy)],
                says: "`{key}` has no effect here: DeepSpeed reads it but never uses it",
                fixes: &[Unset("disable_allgather")],
            },
            Row {
                at: &[At::Key(PARTITION_SIZE)],
                when: &[Stage(&[0, 1, 2]), Key(PARTITION_SIZE, Above(1.0))],
                says: "`{key}` has no effect here: it only acts at stage 3",
                fixes: &[Unset(PARTITION_SIZE), Set(STAGE, "3")],
            },
            Row {
                at: &[At::Key(QUANTIZED_WEIGHTS)],
                when: &[Stage(&[0, 1, 2]), Key(QUANTIZED_WEIGHTS, On)],
                says: "`{key}` has no effect here: it only acts at stage 3",
                fixes: &[Unset(QUANTIZED_WEIGHTS), Set(STAGE, "3")],
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::IdleKey,
        about: "a key that does nothing until another one is set: aio and buffers without nvme",
        severity: Severity::Note,
        noticed: When::Silent,
        rows: &[
            Row {
                at: &[At::Key(FAST_START)],
                when: &[
                    Key(FAST_START, On),
                    Any(&[Not(&OptimizerOn(&[Nvme])), Not(&ParametersOn(&[Nvme]))]),
                ],
                says: "`{key}` has no effect here: it only acts with the optimizer and the parameters on nvme",
                fixes: &[Unset(FAST_START)],
            },
            Row {
                at: &[At::Key(BUFFER_SIZE)],
                when: &[Key(BUFFER_SIZE, HasValue), Not(&ParametersOn(&[Nvme]))],
                says: "`{key}` has no effect here: buffer_count, buffer_size and max_in_cpu only act with the parameters on nvme",
                fixes: &[Say("ignore this"), Set(PARAMETERS, "nvme")],
            },
            Row {
                at: &[At::Key("aio")],
                when: &[
                    Key("aio", HasValue),
                    Not(&OptimizerOn(&[Nvme])),
                    Not(&ParametersOn(&[Nvme])),
                    Key("checkpoint.writer", Missing),
                ],
                says: "`{key}` has no effect here: nothing is on nvme",
                fixes: &[Unset("aio")],
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::ClippingIgnored,
        about: "--max_grad_norm is set, but a config without gradient_clipping clips at DeepSpeed's own default",
        severity: Severity::Warning,
        noticed: When::Silent,
        rows: &[Row {
            at: &[At::Argument("max_grad_norm"), At::Key("gradient_clipping")],
            when: &[
                UsesTransformers,
                Key("gradient_clipping", Missing),
                Given("max_grad_norm"),
            ],
            says: "{key} has no effect: the config has no `gradient_clipping`, so DeepSpeed clips at its own default",
            fixes: &[Set("gradient_clipping", "auto")],
        }],
        code: None,
    },
    Check {
        rule: Rule::DefaultClipping,
        about: "without gradient_clipping, DeepSpeed clips at 1.0 from 0.19.3 on, and not at all before",
        severity: Severity::Note,
        noticed: When::Silent,
        rows: &[
            Row {
                at: &[At::Key("gradient_clipping")],
                when: &[
                    NOBODY_CLIPS,
                    Before("deepspeed", [0, 19, 3]),
                    UsesTransformers,
                ],
                says: "without `{key}` {deepspeed} does not clip",
                fixes: &[Set("gradient_clipping", "auto")],
            },
            Row {
                at: &[At::Key("gradient_clipping")],
                when: &[
                    NOBODY_CLIPS,
                    Before("deepspeed", [0, 19, 3]),
                    Not(&UsesTransformers),
                ],
                says: "without `{key}` {deepspeed} does not clip",
                fixes: &[Set("gradient_clipping", "1.0")],
            },
            Row {
                at: &[At::Key("gradient_clipping")],
                when: &[
                    NOBODY_CLIPS,
                    Not(&Before("deepspeed", [0, 19, 3])),
                    UsesTransformers,
                ],
                says: "without `{key}` {deepspeed} clips at 1.0",
                fixes: &[Set("gradient_clipping", "auto")],
            },
            Row {
                at: &[At::Key("gradient_clipping")],
                when: &[
                    NOBODY_CLIPS,
                    Not(&Before("deepspeed", [0, 19, 3])),
                    Not(&UsesTransformers),
                ],
                says: "without `{key}` {deepspeed} clips at 1.0",
                fixes: &[Set("gradient_clipping", "1.0")],
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::NoZero,
        about: "without zero_optimization nothing is sharded: ZeRO is off",
        severity: Severity::Note,
        noticed: When::Silent,
        rows: &[Row {
            at: &[At::Key("zero_optimization")],
            when: &[Not(&UsesAccelerate), Key("zero_optimization", Missing)],
            says: "the config has no `zero_optimization` section: nothing is sharded",
            fixes: &[Set(STAGE, "2")],
        }],
        code: None,
    },
    Check {
        rule: Rule::GatheredWeights,
        about: "stage 3 without stage3_gather_16bit_weights_on_model_save: transformers saves ZeRO's shards instead of a model",
        severity: Severity::Warning,
        noticed: When::Step,
        rows: &[Row {
            at: &[At::Key(GATHERED)],
            when: &[
                UsesTransformers,
                Stage(&[3]),
                Not(&Key(GATHERED, On)),
                Not(&Key(GATHERED, Auto)),
                Any(&[Key(GATHERED, Off), Not(&Key(GATHERED_BEFORE, On))]),
                TRAINS_ALL_WEIGHTS,
            ],
            says: SAVED_AS_SHARDS,
            fixes: &[Set(GATHERED, "true")],
        }],
        code: None,
    },
    Check {
        rule: Rule::GatheredWeights,
        about: "",
        severity: Severity::Note,
        noticed: When::Step,
        // Adapters are always gathered.
        rows: &[Row {
            at: &[At::Key(GATHERED)],
            when: &[
                UsesTransformers,
                Stage(&[3]),
                Not(&Key(GATHERED, On)),
                Not(&Key(GATHERED, Auto)),
                Any(&[Key(GATHERED, Off), Not(&Key(GATHERED_BEFORE, On))]),
                Not(&TRAINS_ALL_WEIGHTS),
            ],
            says: SAVED_AS_SHARDS,
            fixes: &[Set(GATHERED, "true")],
        }],
        code: None,
    },
    Check {
        rule: Rule::LargeBucket,
        about: "buckets above DeepSpeed's default of 500,000,000 elements, and the memory they take",
        severity: Severity::Note,
        noticed: When::Silent,
        rows: &[
            Row {
                at: &[At::Key(REDUCE_BUCKET)],
                when: &[Key(REDUCE_BUCKET, Above(5e8))],
                says: "`{key}` is {value} elements of 2 bytes on every GPU, twice that with overlap_comm",
                fixes: &[Set(REDUCE_BUCKET, "200000000")],
            },
            Row {
                at: &[At::Key(GATHER_BUCKET)],
                when: &[Key(GATHER_BUCKET, Above(5e8))],
                says: "`{key}` is {value} elements of 2 bytes on every GPU, twice that with overlap_comm",
                fixes: &[Set(GATHER_BUCKET, "200000000")],
            },
            Row {
                at: &[At::Key(PREFETCH_BUCKET)],
                when: &[Key(PREFETCH_BUCKET, Above(5e8))],
                says: "`{key}` is {value} elements of 2 bytes on every GPU, twice that with overlap_comm",
                fixes: &[Set(PREFETCH_BUCKET, "200000000")],
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::PinnedMemory,
        about: "since 0.19.5, offload locks its host memory by default: ulimit -l must allow it",
        severity: Severity::Note,
        noticed: When::Silent,
        rows: &[
            Row {
                at: &[At::Key("zero_optimization.offload_optimizer")],
                when: &[
                    Not(&Before("deepspeed", [0, 19, 5])),
                    Key("zero_optimization.offload_optimizer", Section),
                    OptimizerOn(HOST),
                    Key(PINNED_OPTIMIZER, Missing),
                ],
                says: "`offload_optimizer` locks its host memory by default: `ulimit -l` must allow it",
                fixes: &[Set(PINNED_OPTIMIZER, "false")],
            },
            Row {
                at: &[At::Key("zero_optimization.offload_param")],
                when: &[
                    Not(&Before("deepspeed", [0, 19, 5])),
                    Key("zero_optimization.offload_param", Section),
                    Stage(&[3]),
                    ParametersOn(HOST),
                    Key(PINNED_PARAMETERS, Missing),
                ],
                says: "`offload_param` locks its host memory by default: `ulimit -l` must allow it",
                fixes: &[Set(PINNED_PARAMETERS, "false")],
            },
        ],
        code: None,
    },
];
