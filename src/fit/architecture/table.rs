//! The architectures whose parameters can be counted.

/// Whether a model has something, such as a bias.
#[derive(Clone, Copy)]
pub(super) enum Presence {
    Never,
    Always,
    /// If this key of the config is true.
    If(&'static str),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Projections {
    /// Query, key, value and output; several heads may share keys and values.
    Grouped,
    /// DeepSeek's multi-head latent attention, with low-rank projections.
    Latent,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mlp {
    /// gate, up, down.
    Gated,
    /// up, down.
    Plain,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Norm {
    /// A weight only; transformers computes it in fp32.
    Rms,
    /// Weight and bias.
    Layer,
}

pub(super) struct Architecture {
    /// The values of `model_type` it covers.
    pub(super) types: &'static [&'static str],
    pub(super) projections: Projections,
    pub(super) qkv_bias: Presence,
    pub(super) out_bias: Presence,
    /// Queries and keys are normed, each head by itself.
    pub(super) qk_norm: Presence,
    pub(super) mlp: Mlp,
    pub(super) mlp_bias: Presence,
    pub(super) norm: Norm,
    /// Norms in each layer.
    pub(super) norms: u64,
    /// Embedding and head are the same tensor, unless the config says otherwise.
    pub(super) tied: bool,
    /// The key with the number of learned position embeddings, if there are any.
    pub(super) positions: Option<&'static str>,
    /// The shared expert of a mixture has a gate of its own.
    pub(super) shared_gate: bool,
    /// What transformers' config class uses for a key that is missing.
    pub(super) defaults: &'static [(&'static str, u64)],
}

pub(super) const LLAMA: Architecture = Architecture {
    types: &["llama", "mistral3", "ministral", "phi3", "internlm2", "internlm3", "yi", "smollm3", "granite"],
    projections: Projections::Grouped,
    qkv_bias: Presence::If("attention_bias"),
    out_bias: Presence::If("attention_bias"),
    qk_norm: Presence::Never,
    mlp: Mlp::Gated,
    mlp_bias: Presence::If("mlp_bias"),
    norm: Norm::Rms,
    norms: 2,
    tied: false,
    positions: None,
    shared_gate: false,
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

pub(super) const ALL: &[Architecture] = &[
    LLAMA,
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
        qk_norm: Presence::Always,
        defaults: &[("head_dim", 128), ("vocab_size", 151_936)],
        ..LLAMA
    },
    Architecture { types: &["gemma"], tied: true, defaults: &[("head_dim", 256), ("vocab_size", 256_000)], ..LLAMA },
    Architecture {
        types: &["gemma2"],
        norms: 4,
        tied: true,
        defaults: &[("head_dim", 256), ("vocab_size", 256_000)],
        ..LLAMA
    },
    Architecture {
        types: &["gemma3_text"],
        norms: 4,
        tied: true,
        qk_norm: Presence::Always,
        defaults: &[("head_dim", 256), ("vocab_size", 262_208), ("num_attention_heads", 8), ("num_key_value_heads", 4)],
        ..LLAMA
    },
    Architecture { types: &["glm", "chatglm"], out_bias: Presence::Never, defaults: &[("head_dim", 128)], ..LLAMA },
    Architecture { types: &["glm4"], out_bias: Presence::Never, norms: 4, defaults: &[("head_dim", 128)], ..LLAMA },
    Architecture { types: &["glm4_moe"], out_bias: Presence::Never, qk_norm: Presence::If("use_qk_norm"), ..LLAMA },
    Architecture { types: &["deepseek_v2", "deepseek_v3", "kimi_k2"], projections: Projections::Latent, ..LLAMA },
    Architecture { types: &["gpt2"], tied: true, positions: Some("n_positions"), ..GPT },
    Architecture { types: &["gpt_neox"], ..GPT },
];

/// Keys that mean the same in different families, the usual one first.
pub(super) const SYNONYMS: &[&[&str]] = &[
    &["hidden_size", "n_embd", "d_model"],
    &["num_hidden_layers", "n_layer", "num_layers"],
    &["num_attention_heads", "n_head"],
    &["num_key_value_heads", "multi_query_group_num"],
    &["head_dim", "kv_channels"],
    &["intermediate_size", "n_inner", "ffn_hidden_size"],
    &["vocab_size", "padded_vocab_size"],
    &["num_experts", "num_local_experts", "n_routed_experts"],
];

/// Sections that describe the language model inside a multimodal one.
pub(super) const TEXT_SECTIONS: &[&str] = &["text_config", "llm_config", "language_config", "thinker_config"];
