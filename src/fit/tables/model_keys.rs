//! Keys of a config.json with numbers, by the names that families of models have for them.

/// A number of a model's config.
#[derive(Clone, Copy, PartialEq)]
pub struct Key {
    /// The first one that the config has counts.
    pub names: &'static [&'static str],
    /// The largest number that a real model can have there. Below these, no sum can overflow.
    pub most: u64,
    /// What a missing number stands for, unless an architecture has a default of its own.
    pub usual: u64,
}

/// How many there are of something.
const COUNT: u64 = 2048;
/// How wide something is.
const SIZE: u64 = 1 << 18;
const TOKENS: u64 = 1 << 28;
/// For numbers that are not multiplied.
const ANY: u64 = u64::MAX;

pub const LAYERS: Key = Key {
    names: &["num_hidden_layers", "n_layer", "num_layers", "depth"],
    most: COUNT,
    usual: 0,
};

pub const WINDOW: Key = Key {
    names: &["sliding_window"],
    most: ANY,
    usual: 0,
};

pub const HEADS: Key = Key {
    names: &["num_attention_heads", "n_head"],
    most: COUNT,
    usual: 0,
};

pub const KV_HEADS: Key = Key {
    names: &[
        "num_key_value_heads",
        "multi_query_group_num",
        "num_kv_heads",
    ],
    most: COUNT,
    usual: 0,
};

pub const EXPERTS: Key = Key {
    names: &["num_experts", "num_local_experts", "n_routed_experts"],
    most: COUNT,
    usual: 0,
};

pub const SHARED_EXPERTS: Key = Key {
    names: &["n_shared_experts"],
    most: COUNT,
    usual: 0,
};

pub const EXPERTS_PER_TOKEN: Key = Key {
    names: &["num_experts_per_tok"],
    most: COUNT,
    usual: 2,
};

pub const PARALLEL_NORMS: Key = Key {
    names: &["num_ln_in_parallel_attn"],
    most: COUNT,
    usual: 0,
};

pub const MAMBA_HEADS: Key = Key {
    names: &["mamba_n_heads", "num_heads"],
    most: COUNT,
    usual: 128,
};

pub const MAMBA_GROUPS: Key = Key {
    names: &["mamba_n_groups", "n_groups"],
    most: COUNT,
    usual: 8,
};

pub const MAMBA_KERNEL: Key = Key {
    names: &["mamba_d_conv", "conv_kernel"],
    most: COUNT,
    usual: 4,
};

pub const MAMBA_EXPANSION: Key = Key {
    names: &["mamba_expand", "expand"],
    most: COUNT,
    usual: 2,
};

pub const LINEAR_KEY_HEADS: Key = Key {
    names: &["linear_num_key_heads"],
    most: COUNT,
    usual: 16,
};

pub const LINEAR_VALUE_HEADS: Key = Key {
    names: &["linear_num_value_heads"],
    most: COUNT,
    usual: 32,
};

pub const LINEAR_KERNEL: Key = Key {
    names: &["linear_conv_kernel_dim"],
    most: COUNT,
    usual: 4,
};

/// `hidden_size` of the tower of Qwen2-VL is that of the language model.
pub const HIDDEN_SIZE: Key = Key {
    names: &["embed_dim", "hidden_size", "n_embd", "d_model"],
    most: SIZE,
    usual: 0,
};

pub const INNER_SIZE: Key = Key {
    names: &["intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim"],
    most: SIZE,
    usual: 0,
};

pub const HEAD_SIZE: Key = Key {
    names: &["head_dim", "kv_channels"],
    most: SIZE,
    usual: 0,
};

pub const EXPERT_SIZE: Key = Key {
    names: &["moe_intermediate_size"],
    most: SIZE,
    usual: 0,
};

pub const SHARED_EXPERT_SIZE: Key = Key {
    names: &[
        "shared_expert_intermediate_size",
        "shared_intermediate_size",
    ],
    most: SIZE,
    usual: 0,
};

pub const ROPE_HEAD_SIZE: Key = Key {
    names: &["qk_rope_head_dim"],
    most: SIZE,
    usual: 0,
};

pub const NOPE_HEAD_SIZE: Key = Key {
    names: &["qk_nope_head_dim"],
    most: SIZE,
    usual: 0,
};

pub const VALUE_HEAD_SIZE: Key = Key {
    names: &["v_head_dim"],
    most: SIZE,
    usual: 0,
};

pub const KV_RANK: Key = Key {
    names: &["kv_lora_rank"],
    most: SIZE,
    usual: 0,
};

pub const QUERY_RANK: Key = Key {
    names: &["q_lora_rank"],
    most: SIZE,
    usual: 0,
};

pub const DENSE_INNER_SIZE: Key = Key {
    names: &["intermediate_size_mlp"],
    most: SIZE,
    usual: 0,
};

pub const EMBEDDING_SIZE: Key = Key {
    names: &["word_embed_proj_dim"],
    most: SIZE,
    usual: 0,
};

pub const STATE_SIZE: Key = Key {
    names: &["mamba_d_state", "state_size"],
    most: SIZE,
    usual: 128,
};

pub const LINEAR_KEY_SIZE: Key = Key {
    names: &["linear_key_head_dim"],
    most: SIZE,
    usual: 128,
};

pub const LINEAR_VALUE_SIZE: Key = Key {
    names: &["linear_value_head_dim"],
    most: SIZE,
    usual: 128,
};

pub const VOCABULARY: Key = Key {
    names: &["vocab_size", "padded_vocab_size"],
    most: TOKENS,
    usual: 0,
};

pub const MAX_POSITIONS: Key = Key {
    names: &["max_position_embeddings"],
    most: TOKENS,
    usual: 0,
};

pub const N_POSITIONS: Key = Key {
    names: &["n_positions"],
    most: TOKENS,
    usual: 0,
};

pub const SPARSE_STEP: Key = Key {
    names: &["decoder_sparse_step", "interleave_moe_layer_step"],
    most: ANY,
    usual: 1,
};

pub const FIRST_DENSE: Key = Key {
    names: &["first_k_dense_replace"],
    most: ANY,
    usual: 0,
};

pub const ATTENTION_INTERVAL: Key = Key {
    names: &["full_attention_interval"],
    most: ANY,
    usual: 4,
};

pub const KEYS: &[Key] = &[
    LAYERS,
    HEADS,
    KV_HEADS,
    EXPERTS,
    SHARED_EXPERTS,
    EXPERTS_PER_TOKEN,
    PARALLEL_NORMS,
    MAMBA_HEADS,
    MAMBA_GROUPS,
    MAMBA_KERNEL,
    MAMBA_EXPANSION,
    LINEAR_KEY_HEADS,
    LINEAR_VALUE_HEADS,
    LINEAR_KERNEL,
    HIDDEN_SIZE,
    INNER_SIZE,
    HEAD_SIZE,
    EXPERT_SIZE,
    SHARED_EXPERT_SIZE,
    ROPE_HEAD_SIZE,
    NOPE_HEAD_SIZE,
    VALUE_HEAD_SIZE,
    KV_RANK,
    QUERY_RANK,
    DENSE_INNER_SIZE,
    EMBEDDING_SIZE,
    STATE_SIZE,
    LINEAR_KEY_SIZE,
    LINEAR_VALUE_SIZE,
    VOCABULARY,
    MAX_POSITIONS,
    N_POSITIONS,
    SPARSE_STEP,
    FIRST_DENSE,
    ATTENTION_INTERVAL,
];

/// Sections that describe the language model inside a multimodal one.
pub const TEXT_SECTIONS: &[&str] = &[
    "text_config",
    "llm_config",
    "language_config",
    "thinker_config",
];
