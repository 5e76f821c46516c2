//! Where a trainer that fills in an "auto" itself reads the value from.

use Keys::{Section, These};

pub struct AutoSource {
    pub keys: Keys,
    pub source: &'static str,
}

pub enum Keys {
    These(&'static [&'static str]),
    /// All keys of this section. Rows above may name some of them.
    Section(&'static str),
}

/// `Accelerator._prepare_deepspeed`. It refuses any other key.
pub const ACCELERATE: &[AutoSource] = &[
    AutoSource {
        keys: These(&["train_micro_batch_size_per_gpu"]),
        source: "accelerate reads it from the dataloader",
    },
    AutoSource {
        keys: These(&["gradient_accumulation_steps"]),
        source: "accelerate reads it from Accelerator(gradient_accumulation_steps=…)",
    },
    AutoSource {
        keys: These(&["train_batch_size"]),
        source: "accelerate multiplies the others",
    },
    AutoSource {
        keys: These(&["gradient_clipping"]),
        source: "accelerate sets 1.0",
    },
    AutoSource {
        keys: These(&["fp16.enabled", "bf16.enabled"]),
        source: "accelerate reads it from Accelerator(mixed_precision=…)",
    },
    AutoSource {
        keys: These(&[
            "zero_optimization.reduce_bucket_size",
            "zero_optimization.stage3_prefetch_bucket_size",
            "zero_optimization.stage3_param_persistence_threshold",
        ]),
        source: "accelerate reads it from the hidden_size in model.config",
    },
    AutoSource {
        keys: These(&["optimizer.params.lr", "optimizer.params.weight_decay"]),
        source: "accelerate reads it from the script's DummyOptim",
    },
    AutoSource {
        keys: These(&[
            "scheduler.params.warmup_min_lr",
            "scheduler.params.warmup_max_lr",
            "scheduler.params.warmup_num_steps",
            "scheduler.params.total_num_steps",
        ]),
        source: "accelerate reads it from the script's DummyScheduler",
    },
    AutoSource {
        keys: These(&["zero_optimization.stage3_gather_16bit_weights_on_model_save"]),
        source: "accelerate sets false",
    },
    AutoSource {
        keys: Section("zero_optimization"),
        source: "accelerate reads it from its DeepSpeedPlugin",
    },
];

/// Set where the config does not have them (`strategies/deepspeed.py`).
pub const LIGHTNING: &[AutoSource] = &[
    AutoSource {
        keys: These(&["train_micro_batch_size_per_gpu"]),
        source: "Lightning reads it from the dataloader, Fabric uses 1",
    },
    AutoSource {
        keys: These(&["gradient_accumulation_steps"]),
        source: "Lightning sets it: accumulate_grad_batches of its Trainer",
    },
    AutoSource {
        keys: These(&["train_batch_size"]),
        source: "DeepSpeed infers it",
    },
    AutoSource {
        keys: These(&["gradient_clipping"]),
        source: "Lightning sets it: gradient_clip_val of its Trainer",
    },
    AutoSource {
        keys: These(&["fp16.enabled", "bf16.enabled"]),
        source: "Lightning sets it: precision of its Trainer",
    },
    AutoSource {
        keys: Section("zero_optimization"),
        source: "DeepSpeed uses its default",
    },
];

/// `tools/train.py`, and mmengine's `DeepSpeedStrategy`. DeepSpeed's models of the sections drop an "auto".
pub const XTUNER: &[AutoSource] = &[
    AutoSource {
        keys: These(&["train_micro_batch_size_per_gpu"]),
        source: "xtuner sets it: train_dataloader.batch_size of its config",
    },
    AutoSource {
        keys: These(&["gradient_accumulation_steps"]),
        source: "xtuner sets it: optim_wrapper.accumulative_counts of its config",
    },
    AutoSource {
        keys: These(&["gradient_clipping"]),
        source: "xtuner sets it: optim_wrapper.clip_grad.max_norm of its config, else 1.0",
    },
    AutoSource {
        keys: These(&["fp16.enabled", "bf16.enabled"]),
        source: "xtuner asks the GPU: bf16 where it can, else fp16",
    },
    AutoSource {
        keys: Section("optimizer.params"),
        source: "not used: xtuner uses the optimizer of its own config",
    },
    AutoSource {
        keys: Section("zero_optimization"),
        source: "DeepSpeed uses its default",
    },
];
