//! The architectures whose parameters can be counted.

/// Whether a model has something, such as a bias.
#[derive(Clone, Copy)]
pub(super) enum Presence {
    Never,
    Always,
    /// If this key of the config is true.
    If(&'static str),
    /// The same, and also if the key is missing.
    Unless(&'static str),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Projections {
    /// Query, key, value and output; several heads may share keys and values.
    Grouped,
    /// The same, and a gate of the output.
    Gated,
    /// DeepSeek's multi-head latent attention, with low-rank projections.
    Latent,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mlp {
    /// gate, up, down.
    Gated,
    /// up, down.
    Plain,
    /// The layers have none.
    None,
}

/// What queries and keys are normed by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NormedBy {
    /// Each head by itself, with the same weights.
    Head,
    /// All heads, each with weights of its own.
    AllHeads,
}

/// What stands in the place of attention.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Recurrence {
    Mamba,
    Mamba2,
    GatedDelta,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Norm {
    /// A weight only; transformers computes it in fp32.
    Rms,
    /// The same, and the weight is applied in fp32 too.
    RmsInFp32,
    /// The same again, with one added to the weight.
    RmsPlusOne,
    /// Weight and bias.
    Layer,
}

/// What a layer keeps for the backward pass besides its projections, norms and MLP: copies by rotary embeddings of a part of
/// each head, dropout masks, activation functions in several steps. As measured without gradient checkpointing
/// (`tests/data/memory-h200-more.jsonl`).
#[derive(Clone, Copy)]
pub(super) struct MoreKept {
    /// Tensors of the hidden size.
    pub(super) hidden: u64,
    /// Tensors of the MLP's inner size, besides the usual ones.
    pub(super) inner: i64,
}

const NO_MORE: MoreKept = MoreKept { hidden: 0, inner: 0 };

/// When attention stores the score of every pair of tokens, if `sdpa` computes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scores {
    #[default]
    Never,
    /// Several heads share keys and values, for which torch has no kernel in fp32.
    InFp32,
    Always,
    /// `sdpa` cannot compute this attention at all.
    Eager,
}

pub(super) struct Architecture {
    /// The values of `model_type` it covers.
    pub(super) types: &'static [&'static str],
    pub(super) projections: Projections,
    pub(super) qkv_bias: Presence,
    pub(super) out_bias: Presence,
    /// Queries and keys are normed.
    pub(super) qk_norm: (Presence, NormedBy),
    /// All heads share one key and one value.
    pub(super) one_kv_head: Presence,
    /// Every head has a sink: a score that no token gets.
    pub(super) sinks: Presence,
    /// All layers, or those that the config names, have this instead of attention.
    pub(super) recurrence: Option<Recurrence>,
    pub(super) mlp: Mlp,
    pub(super) mlp_bias: Presence,
    pub(super) norm: Norm,
    /// Norms in each layer.
    pub(super) norms: u64,
    /// Attention and MLP work side by side and share a norm.
    pub(super) parallel: Presence,
    /// A norm behind the embedding.
    pub(super) embedding_norm: Presence,
    /// A norm before the head.
    pub(super) final_norm: Presence,
    pub(super) head_bias: Presence,
    /// Embedding and head are the same tensor, unless the config says otherwise.
    pub(super) tied: bool,
    /// The key with the number of learned position embeddings, if there are any, and how many there are more.
    pub(super) positions: Option<(&'static str, u64)>,
    /// The shared expert of a mixture has a gate of its own.
    pub(super) shared_gate: bool,
    /// Experts and their router have biases.
    pub(super) expert_bias: Presence,
    pub(super) more_kept: MoreKept,
    /// With `sdpa`, which never stores the scores of a usual model.
    pub(super) scores: Scores,
    /// What transformers' config class uses for a key that is missing.
    pub(super) defaults: &'static [(&'static str, u64)],
}

pub(super) const LLAMA: Architecture = Architecture {
    types: &[
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
    ],
    projections: Projections::Grouped,
    qkv_bias: Presence::If("attention_bias"),
    out_bias: Presence::If("attention_bias"),
    qk_norm: (Presence::Never, NormedBy::Head),
    one_kv_head: Presence::Never,
    sinks: Presence::Never,
    recurrence: None,
    mlp: Mlp::Gated,
    mlp_bias: Presence::If("mlp_bias"),
    norm: Norm::Rms,
    norms: 2,
    parallel: Presence::Never,
    embedding_norm: Presence::Never,
    final_norm: Presence::Always,
    head_bias: Presence::Never,
    tied: false,
    positions: None,
    shared_gate: false,
    expert_bias: Presence::Never,
    more_kept: NO_MORE,
    scores: Scores::InFp32,
    defaults: &[("intermediate_size", 11008), ("num_attention_heads", 32), ("vocab_size", 32000)],
};

const GPT: Architecture = Architecture {
    qkv_bias: Presence::Always,
    out_bias: Presence::Always,
    mlp: Mlp::Plain,
    mlp_bias: Presence::Always,
    norm: Norm::Layer,
    defaults: &[],
    ..LLAMA
};

const FALCON: Architecture = Architecture {
    types: &["falcon"],
    qkv_bias: Presence::If("bias"),
    out_bias: Presence::If("bias"),
    mlp_bias: Presence::If("bias"),
    one_kv_head: Presence::Unless("multi_query"),
    parallel: Presence::Unless("parallel_attn"),
    tied: true,
    more_kept: MoreKept { hidden: 2, inner: 1 },
    scores: Scores::Always,
    ..GPT
};

const GLM: Architecture = Architecture {
    types: &["glm"],
    qkv_bias: Presence::Unless("attention_bias"),
    out_bias: Presence::Never,
    defaults: &[("head_dim", 128)],
    ..LLAMA
};

const MAMBA: Architecture = Architecture { types: &[], mlp: Mlp::None, norms: 1, tied: true, ..LLAMA };

pub(super) const ALL: &[Architecture] = &[
    LLAMA,
    Architecture { types: &["phi3"], more_kept: MoreKept { hidden: 0, inner: 1 }, ..LLAMA },
    Architecture {
        types: &["mistral", "mixtral"],
        qkv_bias: Presence::Never,
        out_bias: Presence::Never,
        mlp_bias: Presence::Never,
        defaults: &[("num_key_value_heads", 8)],
        ..LLAMA
    },
    Architecture {
        types: &[
            "qwen2",
            "qwen2_moe",
            "qwen2_vl",
            "qwen2_vl_text",
            "qwen2_5_vl",
            "qwen2_5_vl_text",
            "qwen2_5_omni_text",
        ],
        qkv_bias: Presence::Always,
        out_bias: Presence::Never,
        shared_gate: true,
        defaults: &[("vocab_size", 151_936)],
        ..LLAMA
    },
    Architecture {
        types: &["qwen3", "qwen3_moe", "qwen3_vl_text", "qwen3_vl_moe_text", "qwen3_omni_moe_text"],
        qk_norm: (Presence::Always, NormedBy::Head),
        defaults: &[("head_dim", 128), ("vocab_size", 151_936)],
        ..LLAMA
    },
    Architecture { types: &["gemma"], tied: true, defaults: &[("head_dim", 256), ("vocab_size", 256_000)], ..LLAMA },
    Architecture {
        types: &["gemma2"],
        norm: Norm::RmsPlusOne,
        norms: 4,
        tied: true,
        defaults: &[("head_dim", 256), ("vocab_size", 256_000)],
        ..LLAMA
    },
    Architecture {
        types: &["gemma3_text"],
        norm: Norm::RmsPlusOne,
        norms: 4,
        tied: true,
        qk_norm: (Presence::Always, NormedBy::Head),
        defaults: &[("head_dim", 256), ("vocab_size", 262_208), ("num_attention_heads", 8), ("num_key_value_heads", 4)],
        ..LLAMA
    },
    Architecture { types: &["chatglm"], out_bias: Presence::Never, defaults: &[("head_dim", 128)], ..LLAMA },
    GLM,
    Architecture { types: &["glm4"], norms: 4, ..GLM },
    Architecture {
        types: &["glm4_moe"],
        out_bias: Presence::Never,
        qk_norm: (Presence::If("use_qk_norm"), NormedBy::Head),
        ..LLAMA
    },
    Architecture { types: &["deepseek_v2", "deepseek_v3", "kimi_k2"], projections: Projections::Latent, ..LLAMA },
    Architecture {
        types: &["qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"],
        projections: Projections::Gated,
        qk_norm: (Presence::Always, NormedBy::Head),
        recurrence: Some(Recurrence::GatedDelta),
        shared_gate: true,
        defaults: &[("head_dim", 256)],
        ..LLAMA
    },
    Architecture {
        types: &["llama4_text"],
        qkv_bias: Presence::If("attention_bias"),
        defaults: &[
            ("num_key_value_heads", 8),
            ("head_dim", 128),
            ("intermediate_size_mlp", 16384),
            ("n_shared_experts", 1),
            ("num_experts", 16),
            ("vocab_size", 202_048),
        ],
        ..LLAMA
    },
    Architecture {
        types: &["gpt_oss"],
        qkv_bias: Presence::Unless("attention_bias"),
        out_bias: Presence::Unless("attention_bias"),
        sinks: Presence::Always,
        expert_bias: Presence::Always,
        scores: Scores::Eager,
        defaults: &[("head_dim", 64), ("num_key_value_heads", 8)],
        ..LLAMA
    },
    Architecture { types: &["granitemoehybrid", "granitemoeshared"], recurrence: Some(Recurrence::Mamba2), ..LLAMA },
    Architecture {
        types: &["cohere"],
        qk_norm: (Presence::If("use_qk_norm"), NormedBy::AllHeads),
        norms: 1,
        tied: true,
        more_kept: MoreKept { hidden: 3, inner: 0 },
        ..LLAMA
    },
    Architecture { types: &["cohere2"], norms: 1, tied: true, more_kept: MoreKept { hidden: 3, inner: 0 }, ..LLAMA },
    Architecture {
        types: &["olmo2", "olmo3", "olmoe"],
        norm: Norm::RmsInFp32,
        qk_norm: (Presence::Always, NormedBy::AllHeads),
        ..LLAMA
    },
    Architecture { types: &["exaone4", "hunyuan_v1_dense"], qk_norm: (Presence::Always, NormedBy::Head), ..LLAMA },
    Architecture {
        types: &["seed_oss"],
        out_bias: Presence::If("attention_out_bias"),
        more_kept: MoreKept { hidden: 1, inner: 0 },
        ..LLAMA
    },
    // These are not in transformers; they follow the code of their repositories.
    Architecture { types: &["minicpm"], tied: true, ..LLAMA },
    Architecture {
        types: &["internlm"],
        qkv_bias: Presence::Unless("bias"),
        out_bias: Presence::Unless("bias"),
        ..LLAMA
    },
    Architecture {
        types: &["ernie4_5"],
        qkv_bias: Presence::If("use_bias"),
        out_bias: Presence::If("use_bias"),
        mlp_bias: Presence::If("use_bias"),
        tied: true,
        more_kept: MoreKept { hidden: 3, inner: 0 },
        ..LLAMA
    },
    Architecture { types: &["minicpm3"], projections: Projections::Latent, tied: true, ..LLAMA },
    Architecture { types: &["phimoe"], norm: Norm::Layer, head_bias: Presence::If("lm_head_bias"), ..LLAMA },
    Architecture {
        types: &["stablelm"],
        qkv_bias: Presence::If("use_qkv_bias"),
        out_bias: Presence::Never,
        norm: Norm::Layer,
        parallel: Presence::If("use_parallel_residual"),
        more_kept: MoreKept { hidden: 1, inner: 0 },
        ..LLAMA
    },
    Architecture {
        types: &["phi"],
        norms: 1,
        head_bias: Presence::Always,
        more_kept: MoreKept { hidden: 2, inner: 3 },
        ..GPT
    },
    Architecture {
        types: &["gptj"],
        qkv_bias: Presence::Never,
        out_bias: Presence::Never,
        norms: 1,
        head_bias: Presence::Always,
        more_kept: MoreKept { hidden: 2, inner: 3 },
        scores: Scores::Eager,
        ..GPT
    },
    Architecture {
        types: &["gpt_bigcode"],
        one_kv_head: Presence::Unless("multi_query"),
        tied: true,
        more_kept: MoreKept { hidden: 2, inner: 0 },
        positions: Some(("n_positions", 0)),
        ..GPT
    },
    Architecture {
        types: &["starcoder2"],
        qkv_bias: Presence::Unless("use_bias"),
        out_bias: Presence::Unless("use_bias"),
        mlp_bias: Presence::Unless("use_bias"),
        tied: true,
        ..GPT
    },
    Architecture { types: &["bloom"], embedding_norm: Presence::Always, tied: true, scores: Scores::Eager, ..GPT },
    Architecture {
        types: &["opt"],
        final_norm: Presence::Unless("do_layer_norm_before"),
        tied: true,
        positions: Some(("max_position_embeddings", 2)),
        more_kept: MoreKept { hidden: 1, inner: -1 },
        ..GPT
    },
    FALCON,
    Architecture { types: &["mamba", "falcon_mamba"], recurrence: Some(Recurrence::Mamba), ..MAMBA },
    Architecture { types: &["mamba2"], recurrence: Some(Recurrence::Mamba2), ..MAMBA },
    Architecture {
        types: &["gpt2"],
        tied: true,
        positions: Some(("n_positions", 0)),
        more_kept: MoreKept { hidden: 2, inner: 3 },
        ..GPT
    },
    Architecture { types: &["gpt_neox"], more_kept: MoreKept { hidden: 2, inner: 0 }, ..GPT },
];

/// Keys that mean the same in different families, the usual one first.
pub(super) const SYNONYMS: &[&[&str]] = &[
    &["hidden_size", "n_embd", "d_model"],
    &["num_hidden_layers", "n_layer", "num_layers"],
    &["num_attention_heads", "n_head"],
    &["num_key_value_heads", "multi_query_group_num", "num_kv_heads"],
    &["head_dim", "kv_channels"],
    &["intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim"],
    &["vocab_size", "padded_vocab_size"],
    &["num_experts", "num_local_experts", "n_routed_experts"],
    &["shared_expert_intermediate_size", "shared_intermediate_size"],
    &["decoder_sparse_step", "interleave_moe_layer_step"],
];

/// Sections that describe the language model inside a multimodal one.
pub(super) const TEXT_SECTIONS: &[&str] = &["text_config", "llm_config", "language_config", "thinker_config"];
