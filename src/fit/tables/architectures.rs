//! The architectures whose parameters can be counted. A model type that is not here counts like llama.

use super::model_keys::{
    DENSE_INNER_SIZE, EXPERTS, HEAD_SIZE, HEADS, INNER_SIZE, KV_HEADS, Key, MAX_POSITIONS,
    N_POSITIONS, SHARED_EXPERTS, VOCABULARY,
};
use Presence::{Always, If, Never, Unless};

pub struct Row {
    /// Values of `model_type`.
    pub model_types: &'static [&'static str],
    pub architecture: Architecture,
    #[cfg_attr(not(feature = "testing"), expect(dead_code, reason = "for tests"))]
    pub examples: &'static [Example],
}

/// A config with the hidden size 256 and 2 layers, and besides with these keys.
#[cfg_attr(not(feature = "testing"), expect(dead_code, reason = "for tests"))]
pub struct Example {
    pub numbers: &'static [(&'static str, u64)],
    pub flags: &'static [(&'static str, bool)],
    pub params: u64,
    /// Bytes that a step with 512 tokens takes without gradient checkpointing, in bf16 and in fp32.
    pub bf16: u64,
    pub fp32: u64,
}

pub struct Architecture {
    pub projections: Projections,
    /// The module that computes queries, keys and values together.
    pub joined_qkv: Option<&'static str>,
    pub qkv_bias: Presence,
    pub out_bias: Presence,
    /// Queries and keys are normed once more.
    pub qk_norm: Presence,
    pub qk_norm_by: QkNorm,
    /// All heads share one key and one value.
    pub one_kv_head: Presence,
    /// Each head has a score that no token gets.
    pub sinks: bool,
    /// Instead of attention in all layers, or in those that the config names.
    pub recurrence: Option<Recurrence>,
    /// What is not counted of it.
    pub uncounted: Option<&'static str>,
    pub mlp: Mlp,
    pub mlp_bias: Presence,
    pub norm: Norm,
    /// Norms in each layer.
    pub norms: u64,
    /// Attention and MLP work side by side and share a norm.
    pub parallel: Presence,
    /// There is a norm behind the embedding.
    pub embedding_norm: bool,
    /// There is a norm before the head.
    pub final_norm: Presence,
    pub head_bias: Presence,
    /// Embedding and head are the same tensor, unless the config says otherwise.
    pub tied: bool,
    /// The logits and scores are capped, unless the config says that they are not (`final_logit_softcapping`,
    /// `attn_logit_softcapping`).
    pub softcapped: bool,
    pub positions: Option<Positions>,
    /// The shared expert of a mixture has a gate of its own.
    pub shared_gate: bool,
    /// Every token passes through all experts, and most of what comes out is multiplied by zero.
    pub runs_all_experts: bool,
    /// The experts and their router have biases.
    pub expert_bias: bool,
    /// Tensors of the hidden size that a layer keeps for the backward pass besides its projections, norms and MLP: copies by rotary
    /// embeddings of a part of each head, dropout masks, activation functions in several steps. As measured without gradient
    /// checkpointing (tests/data/memory-h200-more.jsonl).
    pub hidden_kept: u64,
    /// The same in tensors of the keys' size.
    pub key_kept: u64,
    /// The same in tensors of the MLP's size.
    pub inner_kept: i64,
    pub scores: Scores,
    /// What is added to the scores before their softmax keeps them once more.
    pub biased_scores: bool,
    /// What transformers' config class uses for keys that are missing.
    pub defaults: &'static [(Key, u64)],
}

/// Says if a model has something, such as a bias.
#[derive(Clone, Copy)]
pub enum Presence {
    Never,
    Always,
    /// If one of these keys of the config is true.
    If(&'static [&'static str]),
    /// Unless this key of the config is false.
    Unless(&'static str),
}

#[derive(Clone, Copy, PartialEq)]
pub enum Projections {
    /// Query, key, value and output, where several heads may share keys and values.
    Grouped,
    /// With a gate of the output besides.
    Gated,
    /// DeepSeek's multi-head latent attention, with low-rank projections.
    Latent,
}

#[derive(Clone, Copy)]
pub enum QkNorm {
    /// With the same weights for each head.
    Head,
    /// Each head has weights of its own.
    AllHeads,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Recurrence {
    Mamba2,
    GatedDelta,
}

#[derive(Clone, Copy)]
pub struct Mlp {
    /// Projections to the inner size.
    pub ups: u64,
    /// The modules that compute them, in equal parts.
    pub names: &'static [&'static str],
    /// Tensors of the inner size that are kept for the backward pass.
    pub kept: u64,
    /// As many more if autocast makes something fp32.
    pub in_autocast: u64,
}

/// Gate, up, down.
const GATED: Mlp = Mlp {
    ups: 2,
    names: &["up_proj", "gate_proj"],
    kept: 4,
    in_autocast: 0,
};

/// Gate and up in one, down.
const JOINED: Mlp = Mlp {
    names: &["gate_up_proj"],
    ..GATED
};

/// Up, down.
const PLAIN: Mlp = Mlp {
    ups: 1,
    names: &["up_proj"],
    kept: 2,
    in_autocast: 0,
};

/// With a power between them.
const SQUARED: Mlp = Mlp {
    in_autocast: 2,
    ..PLAIN
};

#[derive(Clone, Copy, Default, PartialEq)]
pub struct Norm {
    /// Tensors of the size of its input.
    pub tensors: u64,
    /// Bytes kept for an element in 16 bits, input and output together.
    pub bytes: u64,
    /// The bytes among them that only the weight needs.
    pub factor: u64,
    /// As many more if autocast makes it fp32.
    pub in_autocast: u64,
}

/// A weight only, which transformers computes in fp32.
const RMS: Norm = Norm {
    tensors: 1,
    bytes: 8,
    factor: 2,
    in_autocast: 0,
};

/// The weight is applied in fp32 too.
const RMS_IN_FP32: Norm = Norm {
    tensors: 1,
    bytes: 10,
    factor: 4,
    in_autocast: 0,
};

/// One is added to the weight besides.
const RMS_PLUS_ONE: Norm = Norm {
    tensors: 1,
    bytes: 9,
    factor: 4,
    in_autocast: 0,
};

/// Weight and bias.
const LAYER_NORM: Norm = Norm {
    tensors: 2,
    bytes: 4,
    factor: 0,
    in_autocast: 2,
};

/// Learned position embeddings: as many as a key of the config says, and some more.
#[derive(Clone, Copy)]
pub struct Positions {
    pub key: Key,
    pub more: u64,
}

/// The cases in which attention stores the score of every pair of tokens, if `sdpa` computes it.
#[derive(Clone, Copy, Default, PartialEq)]
pub enum Scores {
    #[default]
    Never,
    /// In fp32, where several heads share keys and values: torch has no kernel for that.
    InFp32,
    Always,
    /// `sdpa` cannot compute it at all.
    Eager,
}

pub const LLAMA: Architecture = Architecture {
    projections: Projections::Grouped,
    joined_qkv: None,
    qkv_bias: If(&["attention_bias"]),
    out_bias: If(&["attention_bias"]),
    qk_norm: Never,
    qk_norm_by: QkNorm::Head,
    one_kv_head: Never,
    sinks: false,
    recurrence: None,
    uncounted: None,
    mlp: GATED,
    mlp_bias: If(&["mlp_bias"]),
    norm: RMS,
    norms: 2,
    parallel: Never,
    embedding_norm: false,
    final_norm: Always,
    head_bias: Never,
    tied: false,
    softcapped: false,
    positions: None,
    shared_gate: false,
    runs_all_experts: false,
    expert_bias: false,
    hidden_kept: 0,
    key_kept: 0,
    inner_kept: 0,
    biased_scores: false,
    scores: Scores::InFp32,
    defaults: &[(INNER_SIZE, 11_008), (HEADS, 32), (VOCABULARY, 32_000)],
};

const GEMMA: Architecture = Architecture {
    tied: true,
    defaults: &[(HEAD_SIZE, 256), (VOCABULARY, 256_000)],
    ..LLAMA
};

const GEMMA2: Architecture = Architecture {
    norm: RMS_PLUS_ONE,
    norms: 4,
    softcapped: true,
    ..GEMMA
};

/// The remote code of older models has another name for the bias.
const CHATGLM: Architecture = Architecture {
    qkv_bias: If(&["attention_bias", "add_qkv_bias"]),
    out_bias: Never,
    defaults: &[(HEAD_SIZE, 128)],
    ..LLAMA
};

const GLM: Architecture = Architecture {
    mlp: JOINED,
    qkv_bias: Unless("attention_bias"),
    ..CHATGLM
};

pub const GPT: Architecture = Architecture {
    qkv_bias: Always,
    out_bias: Always,
    mlp: PLAIN,
    mlp_bias: Always,
    norm: LAYER_NORM,
    defaults: &[],
    ..LLAMA
};

const PHI: Architecture = Architecture {
    norms: 1,
    head_bias: Always,
    hidden_kept: 2,
    inner_kept: 3,
    ..GPT
};

// Numbers and flags of the examples.
const SMALL: &[(&str, u64)] = &[("vocab_size", 1000)];
const GROUPED: &[(&str, u64)] = &[
    ("vocab_size", 1000),
    ("num_attention_heads", 16),
    ("num_key_value_heads", 4),
];
const FEW_HEADS: &[(&str, u64)] = &[
    ("vocab_size", 1000),
    ("num_attention_heads", 4),
    ("num_key_value_heads", 2),
];
const BIASES: &[(&str, bool)] = &[("attention_bias", true), ("mlp_bias", true)];

pub const ARCHITECTURES: &[Row] = &[
    Row {
        model_types: &[
            "llama",
            "mistral3",
            "ministral",
            "ministral3",
            "internlm2",
            "internlm3",
            "baichuan",
            "yi",
            "smollm3",
            "granite",
            "granitemoe",
            "granitemoeshared",
        ],
        architecture: LLAMA,
        examples: &[
            Example {
                numbers: &[],
                flags: &[],
                params: 33_817_856,
                bf16: 564_032_704,
                fp32: 861_835_968,
            },
            Example {
                numbers: GROUPED,
                flags: BIASES,
                params: 17_795_072,
                bf16: 291_997_376,
                fp32: 586_200_768,
            },
        ],
    },
    Row {
        model_types: &["arcee"],
        architecture: Architecture {
            mlp: SQUARED,
            ..LLAMA
        },
        examples: &[
            Example {
                numbers: &[],
                flags: &[],
                params: 28_181_760,
                bf16: 530_216_128,
                fp32: 704_025_280,
            },
            Example {
                numbers: GROUPED,
                flags: BIASES,
                params: 12_136_960,
                bf16: 258_048_704,
                fp32: 428_125_888,
            },
        ],
    },
    Row {
        model_types: &["nemotron"],
        architecture: Architecture {
            qkv_bias: If(&["attention_bias"]),
            out_bias: If(&["attention_bias"]),
            mlp: SQUARED,
            mlp_bias: If(&["mlp_bias"]),
            norm: Norm {
                in_autocast: 0,
                ..LAYER_NORM
            },
            hidden_kept: 1,
            defaults: &[(INNER_SIZE, 24_576), (HEADS, 48), (VOCABULARY, 256_000)],
            ..GPT
        },
        examples: &[
            Example {
                numbers: SMALL,
                flags: &[],
                params: 26_171_904,
                bf16: 480_277_184,
                fp32: 692_227_776,
            },
            Example {
                numbers: GROUPED,
                flags: BIASES,
                params: 26_059_008,
                bf16: 478_944_448,
                fp32: 760_865_472,
            },
        ],
    },
    Row {
        model_types: &["phi3"],
        architecture: Architecture {
            joined_qkv: Some("qkv_proj"),
            mlp: JOINED,
            hidden_kept: 2,
            key_kept: 1,
            ..LLAMA
        },
        examples: &[
            Example {
                numbers: &[],
                flags: &[],
                params: 33_817_856,
                bf16: 565_605_568,
                fp32: 864_981_696,
            },
            Example {
                numbers: GROUPED,
                flags: BIASES,
                params: 17_795_072,
                bf16: 293_177_024,
                fp32: 588_560_064,
            },
        ],
    },
    Row {
        model_types: &["mistral", "mixtral"],
        architecture: Architecture {
            qkv_bias: Never,
            out_bias: Never,
            mlp_bias: Never,
            defaults: &[(KV_HEADS, 8)],
            ..LLAMA
        },
        examples: &[
            Example {
                numbers: SMALL,
                flags: &[],
                params: 3_396_864,
                bf16: 112_399_552,
                fp32: 149_033_664,
            },
            Example {
                numbers: FEW_HEADS,
                flags: &[],
                params: 2_479_360,
                bf16: 103_224_512,
                fp32: 148_132_544,
            },
        ],
    },
    Row {
        model_types: &[
            "qwen2",
            "qwen2_moe",
            "qwen2_vl",
            "qwen2_vl_text",
            "qwen2_5_vl",
            "qwen2_5_vl_text",
            "qwen2_5_omni_text",
        ],
        architecture: Architecture {
            qkv_bias: Always,
            out_bias: Never,
            shared_gate: true,
            defaults: &[(VOCABULARY, 151_936)],
            ..LLAMA
        },
        examples: &[
            Example {
                numbers: &[
                    ("num_experts", 4),
                    ("shared_expert_intermediate_size", 48),
                    ("moe_intermediate_size", 64),
                ],
                flags: &[],
                params: 78_787_840,
                bf16: 1_484_100_800,
                fp32: 1_965_085_376,
            },
            Example {
                numbers: GROUPED,
                flags: &[("mlp_bias", true)],
                params: 2_419_200,
                bf16: 102_601_408,
                fp32: 197_217_984,
            },
        ],
    },
    Row {
        model_types: &[
            "qwen3",
            "qwen3_moe",
            "qwen3_vl_text",
            "qwen3_vl_moe_text",
            "qwen3_omni_moe_text",
        ],
        architecture: Architecture {
            qk_norm: Always,
            defaults: &[(HEAD_SIZE, 128), (VOCABULARY, 151_936)],
            ..LLAMA
        },
        examples: &[
            Example {
                numbers: &[],
                flags: &[],
                params: 79_890_176,
                bf16: 1_498_710_208,
                fp32: 1_992_207_040,
            },
            Example {
                numbers: GROUPED,
                flags: BIASES,
                params: 4_719_360,
                bf16: 141_306_048,
                fp32: 264_141_504,
            },
        ],
    },
    Row {
        model_types: &["gemma"],
        architecture: GEMMA,
        examples: &[
            Example {
                numbers: &[],
                flags: &[],
                params: 68_158_720,
                bf16: 2_066_642_112,
                fp32: 2_490_798_784,
            },
            Example {
                numbers: GROUPED,
                flags: BIASES,
                params: 7_090_432,
                bf16: 150_289_600,
                fp32: 292_594_368,
            },
        ],
    },
    Row {
        model_types: &["gemma2"],
        architecture: GEMMA2,
        examples: &[
            Example {
                numbers: &[],
                flags: &[],
                params: 68_159_744,
                bf16: 2_334_166_208,
                fp32: 3_021_390_528,
            },
            Example {
                numbers: GROUPED,
                flags: BIASES,
                params: 7_091_456,
                bf16: 156_693_696,
                fp32: 298_898_112,
            },
        ],
    },
    Row {
        model_types: &["gemma3_text"],
        architecture: Architecture {
            qk_norm: Always,
            softcapped: false,
            defaults: &[
                (HEAD_SIZE, 256),
                (VOCABULARY, 262_208),
                (HEADS, 8),
                (KV_HEADS, 4),
            ],
            ..GEMMA2
        },
        examples: &[
            Example {
                numbers: &[],
                flags: &[],
                params: 71_847_168,
                bf16: 2_165_843_136,
                fp32: 2_640_310_976,
            },
            Example {
                numbers: GROUPED,
                flags: BIASES,
                params: 7_092_480,
                bf16: 197_618_880,
                fp32: 340_853_440,
            },
        ],
    },
    Row {
        model_types: &["chatglm"],
        architecture: Architecture {
            joined_qkv: Some("query_key_value"),
            mlp: Mlp {
                names: &["dense_h_to_4h"],
                ..GATED
            },
            ..CHATGLM
        },
        examples: &[
            Example {
                numbers: SMALL,
                flags: &[],
                params: 2_610_432,
                bf16: 104_535_232,
                fp32: 133_305_024,
            },
            Example {
                numbers: GROUPED,
                flags: BIASES,
                params: 4_718_336,
                bf16: 125_571_264,
                fp32: 243_157_696,
            },
        ],
    },
    Row {
        model_types: &["glm"],
        architecture: GLM,
        examples: &[
            Example {
                numbers: SMALL,
                flags: &[],
                params: 2_611_968,
                bf16: 104_544_448,
                fp32: 133_323_456,
            },
            Example {
                numbers: GROUPED,
                flags: &[("attention_bias", false), ("mlp_bias", true)],
                params: 4_712_192,
                bf16: 125_534_400,
                fp32: 243_083_968,
            },
        ],
    },
    Row {
        model_types: &["glm4"],
        architecture: Architecture { norms: 4, ..GLM },
        examples: &[
            Example {
                numbers: SMALL,
                flags: &[],
                params: 2_612_992,
                bf16: 108_744_896,
                fp32: 139_627_200,
            },
            Example {
                numbers: GROUPED,
                flags: &[("attention_bias", false), ("mlp_bias", true)],
                params: 4_713_216,
                bf16: 129_734_848,
                fp32: 249_387_712,
            },
        ],
    },
    Row {
        model_types: &["glm4_moe"],
        architecture: Architecture {
            out_bias: Never,
            qk_norm: If(&["use_qk_norm"]),
            ..LLAMA
        },
        examples: &[
            Example {
                numbers: &[],
                flags: &[],
                params: 33_817_856,
                bf16: 564_032_704,
                fp32: 861_835_968,
            },
            Example {
                numbers: GROUPED,
                flags: &[
                    ("attention_bias", true),
                    ("mlp_bias", true),
                    ("use_qk_norm", true),
                ],
                params: 17_794_624,
                bf16: 293_960_768,
                fp32: 588_816_832,
            },
        ],
    },
    Row {
        model_types: &["deepseek_v2", "deepseek_v3", "kimi_k2"],
        architecture: Architecture {
            projections: Projections::Latent,
            ..LLAMA
        },
        examples: &[
            Example {
                numbers: &[
                    ("kv_lora_rank", 32),
                    ("qk_rope_head_dim", 16),
                    ("qk_nope_head_dim", 48),
                ],
                flags: &[],
                params: 34_612_544,
                bf16: 580_138_560,
                fp32: 893_916_608,
            },
            Example {
                numbers: GROUPED,
                flags: BIASES,
                params: 17_597_184,
                bf16: 291_072_192,
                fp32: 584_350_400,
            },
        ],
    },
    Row {
        model_types: &["qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"],
        architecture: Architecture {
            projections: Projections::Gated,
            qk_norm: Always,
            recurrence: Some(Recurrence::GatedDelta),
            shared_gate: true,
            defaults: &[(HEAD_SIZE, 256)],
            ..LLAMA
        },
        examples: &[
            Example {
                numbers: &[
                    ("vocab_size", 1000),
                    ("num_experts", 4),
                    ("shared_expert_intermediate_size", 48),
                    ("moe_intermediate_size", 64),
                ],
                flags: &[],
                params: 9_470_080,
                bf16: 524_622_272,
                fp32: 973_479_104,
            },
            Example {
                numbers: GROUPED,
                flags: BIASES,
                params: 10_578_048,
                bf16: 536_119_744,
                fp32: 1_064_254_656,
            },
        ],
    },
    Row {
        model_types: &["llama4_text"],
        architecture: Architecture {
            runs_all_experts: true,
            defaults: &[
                (KV_HEADS, 8),
                (HEAD_SIZE, 128),
                (DENSE_INNER_SIZE, 16_384),
                (SHARED_EXPERTS, 1),
                (EXPERTS, 16),
                (VOCABULARY, 202_048),
            ],
            ..LLAMA
        },
        examples: &[
            Example {
                numbers: &[],
                flags: &[],
                params: 131_507_456,
                bf16: 2_267_296_960,
                fp32: 3_223_589_568,
            },
            Example {
                numbers: GROUPED,
                flags: BIASES,
                params: 29_888_256,
                bf16: 456_044_736,
                fp32: 914_295_488,
            },
        ],
    },
    Row {
        model_types: &["gpt_oss"],
        architecture: Architecture {
            qkv_bias: Unless("attention_bias"),
            out_bias: Unless("attention_bias"),
            sinks: true,
            expert_bias: true,
            inner_kept: 3,
            scores: Scores::Eager,
            defaults: &[(HEAD_SIZE, 64), (KV_HEADS, 8)],
            ..LLAMA
        },
        examples: &[
            Example {
                numbers: &[
                    ("vocab_size", 1000),
                    ("num_experts", 4),
                    ("shared_expert_intermediate_size", 48),
                    ("moe_intermediate_size", 64),
                ],
                flags: &[],
                params: 1_643_532,
                bf16: 97_586_952,
                fp32: 119_408_464,
            },
            Example {
                numbers: GROUPED,
                flags: &[("attention_bias", false), ("mlp_bias", true)],
                params: 3_401_504,
                bf16: 155_566_464,
                fp32: 242_035_776,
            },
        ],
    },
    Row {
        model_types: &["granitemoehybrid"],
        architecture: Architecture {
            recurrence: Some(Recurrence::Mamba2),
            // On an H200, seven times as much as said without mamba-ssm.
            uncounted: Some("what Mamba layers keep, which depends on mamba-ssm, is not counted"),
            ..LLAMA
        },
        examples: &[
            Example {
                numbers: &[],
                flags: &[],
                params: 35_221_504,
                bf16: 570_357_440,
                fp32: 874_485_440,
            },
            Example {
                numbers: GROUPED,
                flags: BIASES,
                params: 19_394_048,
                bf16: 300_280_512,
                fp32: 602_767_040,
            },
        ],
    },
    Row {
        model_types: &["cohere"],
        architecture: Architecture {
            qk_norm: If(&["use_qk_norm"]),
            qk_norm_by: QkNorm::AllHeads,
            norms: 1,
            tied: true,
            hidden_kept: 3,
            ..LLAMA
        },
        examples: &[
            Example {
                numbers: &[],
                flags: &[],
                params: 25_625_344,
                bf16: 514_353_344,
                fp32: 763_525_824,
            },
            Example {
                numbers: GROUPED,
                flags: &[
                    ("attention_bias", true),
                    ("mlp_bias", true),
                    ("use_qk_norm", true),
                ],
                params: 17_539_200,
                bf16: 291_903_936,
                fp32: 585_751_744,
            },
        ],
    },
    Row {
        model_types: &["cohere2"],
        architecture: Architecture {
            norms: 1,
            tied: true,
            hidden_kept: 3,
            ..LLAMA
        },
        examples: &[
            Example {
                numbers: &[],
                flags: &[],
                params: 25_625_344,
                bf16: 514_353_344,
                fp32: 763_525_824,
            },
            Example {
                numbers: GROUPED,
                flags: BIASES,
                params: 17_538_560,
                bf16: 289_934_016,
                fp32: 583_122_624,
            },
        ],
    },
    Row {
        model_types: &["olmo2", "olmo3", "olmoe"],
        architecture: Architecture {
            norm: RMS_IN_FP32,
            qk_norm: Always,
            qk_norm_by: QkNorm::AllHeads,
            ..LLAMA
        },
        examples: &[
            Example {
                numbers: &[],
                flags: &[],
                params: 33_818_880,
                bf16: 569_543_872,
                fp32: 866_042_560,
            },
            Example {
                numbers: GROUPED,
                flags: BIASES,
                params: 17_795_712,
                bf16: 295_671_232,
                fp32: 588_829_888,
            },
        ],
    },
    Row {
        model_types: &["exaone4", "hunyuan_v1_dense"],
        architecture: Architecture {
            qk_norm: Always,
            ..LLAMA
        },
        examples: &[
            Example {
                numbers: &[],
                flags: &[],
                params: 33_817_888,
                bf16: 567_178_624,
                fp32: 866_030_656,
            },
            Example {
                numbers: GROUPED,
                flags: BIASES,
                params: 17_795_136,
                bf16: 293_963_840,
                fp32: 588_822_976,
            },
        ],
    },
    Row {
        model_types: &["seed_oss"],
        architecture: Architecture {
            out_bias: If(&["attention_out_bias"]),
            hidden_kept: 1,
            ..LLAMA
        },
        examples: &[
            Example {
                numbers: &[],
                flags: &[],
                params: 33_817_856,
                bf16: 564_556_992,
                fp32: 862_884_544,
            },
            Example {
                numbers: GROUPED,
                flags: &[
                    ("attention_bias", true),
                    ("attention_out_bias", true),
                    ("mlp_bias", true),
                ],
                params: 17_795_072,
                bf16: 292_521_664,
                fp32: 587_249_344,
            },
        ],
    },
    // These three are not in transformers; they follow the code of their repositories.
    Row {
        model_types: &["minicpm"],
        architecture: Architecture {
            tied: true,
            ..LLAMA
        },
        examples: &[
            Example {
                numbers: &[],
                flags: &[],
                params: 25_625_856,
                bf16: 514_880_704,
                fp32: 763_531_968,
            },
            Example {
                numbers: GROUPED,
                flags: BIASES,
                params: 17_539_072,
                bf16: 290_461_376,
                fp32: 583_128_768,
            },
        ],
    },
    Row {
        model_types: &["internlm"],
        architecture: Architecture {
            qkv_bias: Unless("bias"),
            out_bias: Unless("bias"),
            ..LLAMA
        },
        examples: &[
            Example {
                numbers: &[],
                flags: &[],
                params: 33_819_904,
                bf16: 564_044_992,
                fp32: 861_860_544,
            },
            Example {
                numbers: GROUPED,
                flags: &[("bias", false), ("mlp_bias", true)],
                params: 17_793_792,
                bf16: 291_989_696,
                fp32: 586_185_408,
            },
        ],
    },
    Row {
        model_types: &["ernie4_5"],
        architecture: Architecture {
            qkv_bias: If(&["use_bias"]),
            out_bias: If(&["use_bias"]),
            mlp_bias: If(&["use_bias"]),
            tied: true,
            defaults: &[
                (HEAD_SIZE, 128),
                (INNER_SIZE, 3072),
                (HEADS, 16),
                (KV_HEADS, 2),
                (VOCABULARY, 103_424),
            ],
            ..LLAMA
        },
        examples: &[
            Example {
                numbers: &[],
                flags: &[],
                params: 33_555_712,
                bf16: 943_617_216,
                fp32: 1_217_827_520,
            },
            Example {
                numbers: GROUPED,
                flags: &[("use_bias", true)],
                params: 7_616_768,
                bf16: 159_739_072,
                fp32: 319_881_920,
            },
        ],
    },
    Row {
        model_types: &["minicpm3"],
        architecture: Architecture {
            projections: Projections::Latent,
            tied: true,
            ..LLAMA
        },
        examples: &[
            Example {
                numbers: &[
                    ("kv_lora_rank", 32),
                    ("qk_rope_head_dim", 16),
                    ("qk_nope_head_dim", 48),
                ],
                flags: &[],
                params: 26_420_544,
                bf16: 530_986_560,
                fp32: 795_612_608,
            },
            Example {
                numbers: GROUPED,
                flags: BIASES,
                params: 17_341_184,
                bf16: 289_536_192,
                fp32: 581_278_400,
            },
        ],
    },
    Row {
        model_types: &["phimoe"],
        architecture: Architecture {
            norm: LAYER_NORM,
            head_bias: If(&["lm_head_bias"]),
            ..LLAMA
        },
        examples: &[
            Example {
                numbers: &[],
                flags: &[],
                params: 33_819_136,
                bf16: 562_729_664,
                fp32: 859_229_888,
            },
            Example {
                numbers: GROUPED,
                flags: &[
                    ("attention_bias", true),
                    ("mlp_bias", true),
                    ("lm_head_bias", true),
                ],
                params: 17_797_352,
                bf16: 290_962_480,
                fp32: 584_130_976,
            },
        ],
    },
    Row {
        model_types: &["stablelm"],
        architecture: Architecture {
            qkv_bias: If(&["use_qkv_bias"]),
            out_bias: Never,
            norm: LAYER_NORM,
            parallel: If(&["use_parallel_residual"]),
            hidden_kept: 1,
            ..LLAMA
        },
        examples: &[
            Example {
                numbers: &[],
                flags: &[],
                params: 33_819_136,
                bf16: 563_253_952,
                fp32: 860_278_464,
            },
            Example {
                numbers: GROUPED,
                flags: &[
                    ("use_qkv_bias", true),
                    ("mlp_bias", true),
                    ("use_parallel_residual", true),
                ],
                params: 17_794_816,
                bf16: 289_898_688,
                fp32: 583_051_968,
            },
        ],
    },
    Row {
        model_types: &["phi"],
        architecture: PHI,
        examples: &[
            Example {
                numbers: SMALL,
                flags: &[],
                params: 2_092_008,
                bf16: 101_686_832,
                fp32: 128_656_800,
            },
            Example {
                numbers: FEW_HEADS,
                flags: &[],
                params: 1_960_424,
                bf16: 100_373_040,
                fp32: 144_002_464,
            },
        ],
    },
    Row {
        model_types: &["gptj"],
        architecture: Architecture {
            qkv_bias: Never,
            out_bias: Never,
            scores: Scores::Eager,
            ..PHI
        },
        examples: &[Example {
            numbers: SMALL,
            flags: &[],
            params: 2_089_960,
            bf16: 108_375_600,
            fp32: 140_314_016,
        }],
    },
    Row {
        model_types: &["gpt_bigcode"],
        architecture: Architecture {
            joined_qkv: Some("c_attn"),
            one_kv_head: Unless("multi_query"),
            tied: true,
            hidden_kept: 2,
            positions: Some(Positions {
                key: N_POSITIONS,
                more: 0,
            }),
            ..GPT
        },
        examples: &[
            Example {
                numbers: &[("vocab_size", 1000), ("n_positions", 100)],
                flags: &[],
                params: 1_730_048,
                bf16: 94_272_192,
                fp32: 112_778_944,
            },
            Example {
                numbers: GROUPED,
                flags: &[("multi_query", false)],
                params: 1_638_656,
                bf16: 93_461_696,
                fp32: 179_462_848,
            },
        ],
    },
    Row {
        model_types: &["starcoder2"],
        architecture: Architecture {
            qkv_bias: Unless("use_bias"),
            out_bias: Unless("use_bias"),
            mlp_bias: Unless("use_bias"),
            tied: true,
            ..GPT
        },
        examples: &[
            Example {
                numbers: SMALL,
                flags: &[],
                params: 1_836_032,
                bf16: 94_383_808,
                fp32: 113_002_176,
            },
            Example {
                numbers: GROUPED,
                flags: &[("use_bias", false)],
                params: 1_634_816,
                bf16: 92_390_080,
                fp32: 177_319_616,
            },
        ],
    },
    Row {
        model_types: &["bloom"],
        architecture: Architecture {
            joined_qkv: Some("query_key_value"),
            embedding_norm: true,
            tied: true,
            scores: Scores::Eager,
            biased_scores: true,
            ..GPT
        },
        examples: &[Example {
            numbers: SMALL,
            flags: &[],
            params: 1_836_544,
            bf16: 103_185_088,
            fp32: 128_884_416,
        }],
    },
    Row {
        model_types: &["opt"],
        architecture: Architecture {
            final_norm: Unless("do_layer_norm_before"),
            tied: true,
            hidden_kept: 1,
            inner_kept: -1,
            positions: Some(Positions {
                key: MAX_POSITIONS,
                more: 2,
            }),
            ..GPT
        },
        examples: &[
            Example {
                numbers: &[("vocab_size", 1000), ("max_position_embeddings", 100)],
                flags: &[],
                params: 1_862_144,
                bf16: 92_967_616,
                fp32: 110_169_792,
            },
            Example {
                numbers: GROUPED,
                flags: &[("do_layer_norm_before", false)],
                params: 1_638_144,
                bf16: 90_837_184,
                fp32: 174_213_824,
            },
        ],
    },
    Row {
        model_types: &["falcon"],
        architecture: Architecture {
            joined_qkv: Some("query_key_value"),
            qkv_bias: If(&["bias"]),
            out_bias: If(&["bias"]),
            mlp_bias: If(&["bias"]),
            one_kv_head: Unless("multi_query"),
            parallel: Unless("parallel_attn"),
            tied: true,
            hidden_kept: 2,
            inner_kept: 1,
            scores: Scores::Always,
            ..GPT
        },
        examples: &[
            Example {
                numbers: SMALL,
                flags: &[],
                params: 1_699_328,
                bf16: 102_361_792,
                fp32: 124_092_096,
            },
            Example {
                numbers: GROUPED,
                flags: &[
                    ("bias", true),
                    ("multi_query", false),
                    ("parallel_attn", false),
                ],
                params: 1_638_656,
                bf16: 162_028_736,
                fp32: 183_657_152,
            },
        ],
    },
    Row {
        model_types: &["gpt2"],
        architecture: Architecture {
            joined_qkv: Some("c_attn"),
            tied: true,
            hidden_kept: 2,
            inner_kept: 3,
            positions: Some(Positions {
                key: N_POSITIONS,
                more: 0,
            }),
            ..GPT
        },
        examples: &[
            Example {
                numbers: &[("vocab_size", 1000), ("n_positions", 100)],
                flags: &[],
                params: 1_861_632,
                bf16: 101_877_440,
                fp32: 127_989_440,
            },
            Example {
                numbers: &[
                    ("vocab_size", 1000),
                    ("n_positions", 100),
                    ("num_attention_heads", 4),
                    ("num_key_value_heads", 2),
                ],
                flags: &[],
                params: 1_730_048,
                bf16: 100_563_648,
                fp32: 143_335_104,
            },
        ],
    },
    Row {
        model_types: &["gpt_neox"],
        architecture: Architecture {
            joined_qkv: Some("query_key_value"),
            hidden_kept: 2,
            ..GPT
        },
        examples: &[
            Example {
                numbers: SMALL,
                flags: &[],
                params: 2_092_032,
                bf16: 96_968_384,
                fp32: 118_171_328,
            },
            Example {
                numbers: FEW_HEADS,
                flags: &[],
                params: 1_960_448,
                bf16: 95_654_592,
                fp32: 133_516_992,
            },
        ],
    },
];
