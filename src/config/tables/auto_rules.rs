//! One rule for each key that may be "auto": how the value is computed, and the same for people.

use Formula::{
    Accelerate, Apex, Batch, Betas, Float, GlobalBatch, LeftOpen, PersistenceThreshold, Precision,
    PrefetchBucket, ReduceBucket, TotalSteps, WarmupSteps, Zero,
};

use crate::command::tables::front_end::{BF16, FP16, HalfPrecision};

pub struct AutoRule {
    pub key: &'static str,
    /// How the value is found, for a table in the documents.
    pub doc: &'static str,
    /// transformers compares a concrete value with its own and refuses a difference.
    pub compared: bool,
    /// A value to paste for a plain DeepSpeed script; `None` where zlaunch fills none for such a script.
    pub plain: Option<&'static str>,
    pub how: Formula,
}

pub enum Formula {
    /// The integer argument of this name, which something may change later.
    Batch(&'static str),
    /// The float argument of this name.
    Float(&'static str),
    Precision(HalfPrecision),
    /// The value that accelerate takes, as JSON, unless the variable is set.
    Accelerate {
        variable: &'static str,
        default: &'static str,
    },
    Zero,
    /// Left to the trainer, for this reason.
    LeftOpen(&'static str),
    GlobalBatch,
    Betas,
    TotalSteps,
    WarmupSteps,
    ReduceBucket,
    PrefetchBucket,
    PersistenceThreshold,
    /// A section of Apex, which only old versions of transformers fill in.
    Apex,
}

pub const RULES: &[AutoRule] = &[
    AutoRule {
        key: "train_micro_batch_size_per_gpu",
        doc: "per_device_train_batch_size",
        compared: true,
        plain: Some("1"),
        how: Batch("per_device_train_batch_size"),
    },
    AutoRule {
        key: "gradient_accumulation_steps",
        doc: "gradient_accumulation_steps",
        compared: true,
        plain: Some("1"),
        how: Batch("gradient_accumulation_steps"),
    },
    AutoRule {
        key: "train_batch_size",
        doc: "world size × per_device_train_batch_size × gradient_accumulation_steps",
        compared: true,
        plain: None,
        how: GlobalBatch,
    },
    AutoRule {
        key: "gradient_clipping",
        doc: "max_grad_norm",
        compared: true,
        plain: Some("1.0"),
        how: Float("max_grad_norm"),
    },
    AutoRule {
        key: "optimizer.params.lr",
        doc: "learning_rate",
        compared: true,
        plain: Some("1e-5"),
        how: Float("learning_rate"),
    },
    AutoRule {
        key: "optimizer.params.betas",
        doc: "[adam_beta1, adam_beta2]",
        compared: true,
        plain: Some("[0.9,0.999]"),
        how: Betas,
    },
    AutoRule {
        key: "optimizer.params.eps",
        doc: "adam_epsilon",
        compared: true,
        plain: Some("1e-8"),
        how: Float("adam_epsilon"),
    },
    AutoRule {
        key: "optimizer.params.weight_decay",
        doc: "weight_decay",
        compared: true,
        plain: Some("0.0"),
        how: Float("weight_decay"),
    },
    AutoRule {
        key: "scheduler.params.warmup_min_lr",
        doc: "always 0",
        compared: false,
        plain: Some("0"),
        how: Zero,
    },
    AutoRule {
        key: "scheduler.params.warmup_max_lr",
        doc: "learning_rate",
        compared: true,
        plain: Some("1e-5"),
        how: Float("learning_rate"),
    },
    AutoRule {
        key: "scheduler.params.total_num_steps",
        doc: "max_steps, else the length of the dataset",
        compared: true,
        plain: Some("1000"),
        how: TotalSteps,
    },
    AutoRule {
        key: "scheduler.params.warmup_num_steps",
        doc: "warmup_steps from 1 on; a ratio needs the length of the dataset",
        compared: true,
        plain: Some("100"),
        how: WarmupSteps,
    },
    AutoRule {
        key: "fp16.enabled",
        doc: "fp16 or fp16_full_eval; in ms-swift also --torch_dtype float16 or float32",
        compared: true,
        plain: Some("false"),
        how: Precision(FP16),
    },
    AutoRule {
        key: "bf16.enabled",
        doc: "bf16 or bf16_full_eval; in ms-swift also --torch_dtype bfloat16",
        compared: true,
        plain: Some("true"),
        how: Precision(BF16),
    },
    AutoRule {
        key: "zero_optimization.reduce_bucket_size",
        doc: "hidden_size²",
        compared: false,
        plain: Some("500000000"),
        how: ReduceBucket,
    },
    AutoRule {
        key: "zero_optimization.stage3_prefetch_bucket_size",
        doc: "⌊0.9 · hidden_size²⌋ (not rounded at stage 3 before transformers 4.45, below before accelerate 0.31); ms-swift's GRPO sets 0",
        compared: false,
        plain: Some("50000000"),
        how: PrefetchBucket,
    },
    AutoRule {
        key: "zero_optimization.stage3_param_persistence_threshold",
        doc: "10 · hidden_size",
        compared: false,
        plain: Some("100000"),
        how: PersistenceThreshold,
    },
    AutoRule {
        key: "zero_optimization.stage",
        doc: "2, as accelerate fills it in",
        compared: false,
        plain: None,
        how: Accelerate {
            variable: "ACCELERATE_DEEPSPEED_ZERO_STAGE",
            default: "2",
        },
    },
    AutoRule {
        key: "zero_optimization.offload_optimizer.device",
        doc: "\"none\", as accelerate fills it in",
        compared: false,
        plain: None,
        how: Accelerate {
            variable: "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE",
            default: "\"none\"",
        },
    },
    AutoRule {
        key: "zero_optimization.offload_param.device",
        doc: "\"none\", as accelerate fills it in",
        compared: false,
        plain: None,
        how: Accelerate {
            variable: "ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE",
            default: "\"none\"",
        },
    },
    AutoRule {
        key: "zero_optimization.offload_optimizer.nvme_path",
        doc: "the string \"none\", as accelerate fills it in",
        compared: false,
        plain: None,
        how: Accelerate {
            variable: "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_NVME_PATH",
            default: "\"none\"",
        },
    },
    AutoRule {
        key: "zero_optimization.offload_param.nvme_path",
        doc: "the string \"none\", as accelerate fills it in",
        compared: false,
        plain: None,
        how: Accelerate {
            variable: "ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_NVME_PATH",
            default: "\"none\"",
        },
    },
    AutoRule {
        key: "zero_optimization.stage3_gather_16bit_weights_on_model_save",
        doc: "false, as accelerate fills it in",
        compared: false,
        plain: None,
        how: Accelerate {
            variable: "ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL",
            default: "false",
        },
    },
    AutoRule {
        key: "amp.enabled",
        doc: "filled in by transformers before 5.0, and by nothing after that",
        compared: false,
        plain: None,
        how: Apex,
    },
    AutoRule {
        key: "amp.opt_level",
        doc: "the same",
        compared: false,
        plain: None,
        how: Apex,
    },
    AutoRule {
        key: "steps_per_print",
        doc: "accelerate overwrites it with infinity, whatever it is",
        compared: false,
        plain: None,
        how: LeftOpen("accelerate overwrites it with infinity"),
    },
];

/// The arguments that decide the precision.
pub const PRECISION_ARGUMENTS: &[&str] = &["fp16", "fp16_full_eval", "bf16", "bf16_full_eval"];
