//! What an optimizer takes on a GPU, as peaks on an H200 show it (tests/data/memory-h200-optimizers.jsonl; torch 2.11,
//! transformers 5.17, DeepSpeed 0.19.8, bitsandbytes, torchao). All numbers but those of the examples are hundredths of a byte for
//! each trained parameter.

pub struct OptimizerRow {
    /// Its names in transformers, then in other trainers.
    pub names: &'static [&'static str],
    /// Its names in DeepSpeed's own `optimizer` section.
    pub of_deepspeed: &'static [&'static str],
    pub memory: OptimizerMemory,
    #[cfg_attr(not(feature = "testing"), expect(dead_code, reason = "for tests"))]
    pub example: OptimizerExample,
}

/// The MB that a step of a llama with 24 layers takes on one GPU: by template and dtype, and without DeepSpeed.
#[cfg_attr(not(feature = "testing"), expect(dead_code, reason = "for tests"))]
pub struct OptimizerExample {
    pub zero2_in_fp32: u64,
    pub zero0_in_bf16: u64,
    pub none_in_bf16: u64,
}

#[derive(Clone, Copy, PartialEq)]
pub struct OptimizerMemory {
    /// On the flat fp32 tensors of ZeRO 1 to 3.
    pub flat: PerParameter,
    /// Where each tensor keeps its shape, at stage 0 and without DeepSpeed.
    pub shaped: PerParameter,
    /// There, what a step makes exists for all tensors at once (torch's foreach), not for one after another.
    pub all_at_once: bool,
    /// Without DeepSpeed the states have the dtype of the parameters.
    pub follows_dtype: bool,
    /// States of what lies outside the layers, embedding and head, where they differ.
    pub outside: Option<u64>,
    /// States of the embedding without DeepSpeed, where they differ: bitsandbytes keeps them in 32 bits.
    pub embedding: Option<u64>,
    /// Without DeepSpeed a 16-bit tensor and its gradient are cast to fp32 for the step.
    pub casts: bool,
}

#[derive(Clone, Copy, PartialEq)]
pub struct PerParameter {
    /// Kept from step to step.
    pub states: u64,
    /// Made during the step, beyond gradients and states.
    pub step: u64,
}

const NONE: PerParameter = PerParameter { states: 0, step: 0 };

const NOTHING: OptimizerMemory = OptimizerMemory {
    flat: NONE,
    shaped: NONE,
    all_at_once: false,
    follows_dtype: false,
    outside: None,
    embedding: None,
    casts: false,
};

const MOST: PerParameter = PerParameter {
    states: 800,
    step: 800,
};

#[derive(Clone, Copy, PartialEq)]
pub struct Optimizer {
    pub name: &'static str,
    pub memory: OptimizerMemory,
}

pub const NOT_MEASURED: &str = "an optimizer that was not measured";

/// One that is not in the table is taken to need as much as any.
pub const MOST_OF_ANY: Optimizer = Optimizer {
    name: NOT_MEASURED,
    memory: OptimizerMemory {
        flat: MOST,
        shaped: MOST,
        all_at_once: true,
        ..NOTHING
    },
};

pub const OPTIMIZERS: &[OptimizerRow] = &[
    OptimizerRow {
        names: &[
            "adamw_torch_fused",
            "adamw",
            "adamw_apex_fused",
            "adamw_torch_npu_fused",
        ],
        of_deepspeed: &[],
        memory: OptimizerMemory {
            flat: PerParameter {
                states: 800,
                step: 0,
            },
            shaped: PerParameter {
                states: 800,
                step: 0,
            },
            follows_dtype: true,
            ..NOTHING
        },
        example: OptimizerExample {
            zero2_in_fp32: 23_535,
            zero0_in_bf16: 19_623,
            none_in_bf16: 7892,
        },
    },
    OptimizerRow {
        names: &["adamw_torch", "adamw_hf", "optimi_adamw"],
        of_deepspeed: &[],
        memory: OptimizerMemory {
            flat: PerParameter {
                states: 800,
                step: 400,
            },
            shaped: PerParameter {
                states: 800,
                step: 400,
            },
            all_at_once: true,
            follows_dtype: true,
            ..NOTHING
        },
        example: OptimizerExample {
            zero2_in_fp32: 27_446,
            zero0_in_bf16: 23_535,
            none_in_bf16: 9845,
        },
    },
    OptimizerRow {
        names: &["adafactor"],
        of_deepspeed: &[],
        memory: OptimizerMemory {
            flat: PerParameter {
                states: 400,
                step: 800,
            },
            shaped: PerParameter {
                states: 0,
                step: 800,
            },
            casts: true,
            ..NOTHING
        },
        example: OptimizerExample {
            zero2_in_fp32: 27_446,
            zero0_in_bf16: 12_063,
            none_in_bf16: 4502,
        },
    },
    OptimizerRow {
        names: &["sgd"],
        of_deepspeed: &["sgd"],
        memory: NOTHING,
        example: OptimizerExample {
            zero2_in_fp32: 15_712,
            zero0_in_bf16: 11_801,
            none_in_bf16: 3980,
        },
    },
    OptimizerRow {
        names: &["rmsprop"],
        of_deepspeed: &[],
        memory: OptimizerMemory {
            flat: PerParameter {
                states: 400,
                step: 400,
            },
            shaped: PerParameter {
                states: 400,
                step: 400,
            },
            all_at_once: true,
            follows_dtype: true,
            ..NOTHING
        },
        example: OptimizerExample {
            zero2_in_fp32: 23_535,
            zero0_in_bf16: 19_623,
            none_in_bf16: 7889,
        },
    },
    OptimizerRow {
        names: &["lion_32bit", "lion", "rmsprop_bnb", "rmsprop_bnb_32bit"],
        of_deepspeed: &["lion"],
        memory: OptimizerMemory {
            flat: PerParameter {
                states: 400,
                step: 0,
            },
            shaped: PerParameter {
                states: 400,
                step: 0,
            },
            ..NOTHING
        },
        example: OptimizerExample {
            zero2_in_fp32: 19_623,
            zero0_in_bf16: 15_712,
            none_in_bf16: 7892,
        },
    },
    OptimizerRow {
        names: &["adamw_8bit", "adamw_bnb_8bit"],
        of_deepspeed: &[],
        memory: OptimizerMemory {
            flat: PerParameter {
                states: 203,
                step: 0,
            },
            shaped: PerParameter {
                states: 203,
                step: 0,
            },
            embedding: Some(800),
            ..NOTHING
        },
        example: OptimizerExample {
            zero2_in_fp32: 17_697,
            zero0_in_bf16: 13_786,
            none_in_bf16: 6161,
        },
    },
    OptimizerRow {
        names: &["lion_8bit", "rmsprop_bnb_8bit"],
        of_deepspeed: &[],
        memory: OptimizerMemory {
            flat: PerParameter {
                states: 102,
                step: 0,
            },
            shaped: PerParameter {
                states: 102,
                step: 0,
            },
            embedding: Some(400),
            ..NOTHING
        },
        example: OptimizerExample {
            zero2_in_fp32: 16_709,
            zero0_in_bf16: 12_798,
            none_in_bf16: 5075,
        },
    },
    OptimizerRow {
        names: &["ademamix"],
        of_deepspeed: &[],
        memory: OptimizerMemory {
            flat: PerParameter {
                states: 1200,
                step: 0,
            },
            shaped: PerParameter {
                states: 1200,
                step: 0,
            },
            ..NOTHING
        },
        example: OptimizerExample {
            zero2_in_fp32: 27_446,
            zero0_in_bf16: 23_535,
            none_in_bf16: 15_715,
        },
    },
    OptimizerRow {
        names: &["ademamix_8bit"],
        of_deepspeed: &[],
        memory: OptimizerMemory {
            flat: PerParameter {
                states: 305,
                step: 0,
            },
            shaped: PerParameter {
                states: 305,
                step: 0,
            },
            embedding: Some(1200),
            ..NOTHING
        },
        example: OptimizerExample {
            zero2_in_fp32: 18_694,
            zero0_in_bf16: 14_783,
            none_in_bf16: 7256,
        },
    },
    OptimizerRow {
        names: &[
            "paged_adamw_32bit",
            "paged_lion_32bit",
            "paged_ademamix_32bit",
        ],
        of_deepspeed: &[],
        memory: NOTHING,
        example: OptimizerExample {
            zero2_in_fp32: 15_712,
            zero0_in_bf16: 11_801,
            none_in_bf16: 3980,
        },
    },
    OptimizerRow {
        names: &["paged_adamw_8bit", "paged_lion_8bit", "paged_ademamix_8bit"],
        of_deepspeed: &[],
        memory: OptimizerMemory {
            flat: PerParameter { states: 3, step: 0 },
            shaped: PerParameter { states: 3, step: 0 },
            ..NOTHING
        },
        example: OptimizerExample {
            zero2_in_fp32: 15_741,
            zero0_in_bf16: 11_830,
            none_in_bf16: 4010,
        },
    },
    OptimizerRow {
        names: &["adamw_torch_8bit", "ao_adamw_8bit"],
        of_deepspeed: &[],
        memory: OptimizerMemory {
            flat: PerParameter {
                states: 203,
                step: 810,
            },
            shaped: PerParameter {
                states: 203,
                step: 810,
            },
            ..NOTHING
        },
        example: OptimizerExample {
            zero2_in_fp32: 25_618,
            zero0_in_bf16: 14_051,
            none_in_bf16: 6228,
        },
    },
    OptimizerRow {
        names: &["adamw_torch_4bit", "ao_adamw_4bit"],
        of_deepspeed: &[],
        memory: OptimizerMemory {
            flat: PerParameter {
                states: 103,
                step: 2410,
            },
            shaped: PerParameter {
                states: 103,
                step: 2410,
            },
            ..NOTHING
        },
        example: OptimizerExample {
            zero2_in_fp32: 40_285,
            zero0_in_bf16: 13_598,
            none_in_bf16: 5775,
        },
    },
    OptimizerRow {
        names: &["grokadamw"],
        of_deepspeed: &[],
        memory: OptimizerMemory {
            flat: PerParameter {
                states: 0,
                step: 2000,
            },
            shaped: PerParameter {
                states: 0,
                step: 2000,
            },
            ..NOTHING
        },
        example: OptimizerExample {
            zero2_in_fp32: 35_269,
            zero0_in_bf16: 12_456,
            none_in_bf16: 4633,
        },
    },
    OptimizerRow {
        names: &["schedule_free_adamw", "schedule_free_radam"],
        of_deepspeed: &[],
        memory: OptimizerMemory {
            flat: PerParameter {
                states: 800,
                step: 400,
            },
            shaped: PerParameter {
                states: 800,
                step: 400,
            },
            all_at_once: true,
            follows_dtype: true,
            ..NOTHING
        },
        example: OptimizerExample {
            zero2_in_fp32: 27_446,
            zero0_in_bf16: 23_535,
            none_in_bf16: 9845,
        },
    },
    OptimizerRow {
        names: &["schedule_free_sgd"],
        of_deepspeed: &[],
        memory: OptimizerMemory {
            flat: PerParameter {
                states: 400,
                step: 0,
            },
            shaped: PerParameter {
                states: 400,
                step: 0,
            },
            follows_dtype: true,
            ..NOTHING
        },
        example: OptimizerExample {
            zero2_in_fp32: 19_623,
            zero0_in_bf16: 15_712,
            none_in_bf16: 5936,
        },
    },
    OptimizerRow {
        names: &["stable_adamw"],
        of_deepspeed: &[],
        memory: OptimizerMemory {
            flat: PerParameter {
                states: 800,
                step: 0,
            },
            shaped: PerParameter {
                states: 800,
                step: 0,
            },
            follows_dtype: true,
            ..NOTHING
        },
        example: OptimizerExample {
            zero2_in_fp32: 23_535,
            zero0_in_bf16: 19_623,
            none_in_bf16: 7892,
        },
    },
    OptimizerRow {
        names: &[],
        of_deepspeed: &["adam", "adamw"],
        memory: OptimizerMemory {
            flat: PerParameter {
                states: 800,
                step: 0,
            },
            shaped: PerParameter {
                states: 800,
                step: 400,
            },
            all_at_once: true,
            ..NOTHING
        },
        example: OptimizerExample {
            zero2_in_fp32: 23_535,
            zero0_in_bf16: 23_535,
            none_in_bf16: 15_712,
        },
    },
    OptimizerRow {
        names: &[],
        of_deepspeed: &["lamb"],
        memory: OptimizerMemory {
            flat: PerParameter {
                states: 800,
                step: 0,
            },
            shaped: PerParameter {
                states: 800,
                step: 0,
            },
            ..NOTHING
        },
        example: OptimizerExample {
            zero2_in_fp32: 23_535,
            zero0_in_bf16: 19_623,
            none_in_bf16: 11_803,
        },
    },
    OptimizerRow {
        names: &[],
        of_deepspeed: &["adagrad"],
        memory: OptimizerMemory {
            flat: PerParameter {
                states: 600,
                step: 600,
            },
            shaped: PerParameter {
                states: 600,
                step: 600,
            },
            all_at_once: true,
            ..NOTHING
        },
        example: OptimizerExample {
            zero2_in_fp32: 27_446,
            zero0_in_bf16: 23_535,
            none_in_bf16: 15_712,
        },
    },
    OptimizerRow {
        names: &["muon"],
        of_deepspeed: &["muon"],
        memory: OptimizerMemory {
            flat: PerParameter {
                states: 420,
                step: 0,
            },
            shaped: PerParameter {
                states: 420,
                step: 0,
            },
            outside: Some(800),
            ..NOTHING
        },
        example: OptimizerExample {
            zero2_in_fp32: 20_068,
            zero0_in_bf16: 16_157,
            none_in_bf16: 8336,
        },
    },
];
