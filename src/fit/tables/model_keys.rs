//! Keys of a config.json with numbers, by the names that families of models have for them.

/// A number of a model's config.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Layers,
    Heads,
    KvHeads,
    Experts,
    SharedExperts,
    ExpertsPerToken,
    ParallelNorms,
    MambaHeads,
    MambaGroups,
    MambaKernel,
    MambaExpansion,
    LinearKeyHeads,
    LinearValueHeads,
    LinearKernel,
    HiddenSize,
    InnerSize,
    HeadSize,
    ExpertSize,
    SharedExpertSize,
    RopeHeadSize,
    NopeHeadSize,
    ValueHeadSize,
    KvRank,
    QueryRank,
    DenseInnerSize,
    EmbeddingSize,
    TimeStepRank,
    StateSize,
    LinearKeySize,
    LinearValueSize,
    Vocabulary,
    MaxPositions,
    NPositions,
    SparseStep,
    FirstDense,
    AttentionInterval,
}

pub struct KeyRow {
    pub key: Key,
    /// The first one that the config has counts.
    pub names: &'static [&'static str],
    /// The largest number that a real model can have there. Below these, no sum can overflow.
    pub most: u64,
}

/// How many there are of something.
const COUNT: u64 = 2048;
/// How wide something is.
const SIZE: u64 = 1 << 18;
const TOKENS: u64 = 1 << 28;
/// For numbers that are not multiplied.
const ANY: u64 = u64::MAX;

pub const KEYS: &[KeyRow] = &[
    KeyRow {
        key: Key::Layers,
        names: &["num_hidden_layers", "n_layer", "num_layers"],
        most: COUNT,
    },
    KeyRow {
        key: Key::Heads,
        names: &["num_attention_heads", "n_head"],
        most: COUNT,
    },
    KeyRow {
        key: Key::KvHeads,
        names: &[
            "num_key_value_heads",
            "multi_query_group_num",
            "num_kv_heads",
        ],
        most: COUNT,
    },
    KeyRow {
        key: Key::Experts,
        names: &["num_experts", "num_local_experts", "n_routed_experts"],
        most: COUNT,
    },
    KeyRow {
        key: Key::SharedExperts,
        names: &["n_shared_experts"],
        most: COUNT,
    },
    KeyRow {
        key: Key::ExpertsPerToken,
        names: &["num_experts_per_tok"],
        most: COUNT,
    },
    KeyRow {
        key: Key::ParallelNorms,
        names: &["num_ln_in_parallel_attn"],
        most: COUNT,
    },
    KeyRow {
        key: Key::MambaHeads,
        names: &["mamba_n_heads", "num_heads"],
        most: COUNT,
    },
    KeyRow {
        key: Key::MambaGroups,
        names: &["mamba_n_groups", "n_groups"],
        most: COUNT,
    },
    KeyRow {
        key: Key::MambaKernel,
        names: &["mamba_d_conv", "conv_kernel"],
        most: COUNT,
    },
    KeyRow {
        key: Key::MambaExpansion,
        names: &["mamba_expand", "expand"],
        most: COUNT,
    },
    KeyRow {
        key: Key::LinearKeyHeads,
        names: &["linear_num_key_heads"],
        most: COUNT,
    },
    KeyRow {
        key: Key::LinearValueHeads,
        names: &["linear_num_value_heads"],
        most: COUNT,
    },
    KeyRow {
        key: Key::LinearKernel,
        names: &["linear_conv_kernel_dim"],
        most: COUNT,
    },
    KeyRow {
        key: Key::HiddenSize,
        names: &["hidden_size", "n_embd", "d_model"],
        most: SIZE,
    },
    KeyRow {
        key: Key::InnerSize,
        names: &["intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim"],
        most: SIZE,
    },
    KeyRow {
        key: Key::HeadSize,
        names: &["head_dim", "kv_channels"],
        most: SIZE,
    },
    KeyRow {
        key: Key::ExpertSize,
        names: &["moe_intermediate_size"],
        most: SIZE,
    },
    KeyRow {
        key: Key::SharedExpertSize,
        names: &[
            "shared_expert_intermediate_size",
            "shared_intermediate_size",
        ],
        most: SIZE,
    },
    KeyRow {
        key: Key::RopeHeadSize,
        names: &["qk_rope_head_dim"],
        most: SIZE,
    },
    KeyRow {
        key: Key::NopeHeadSize,
        names: &["qk_nope_head_dim"],
        most: SIZE,
    },
    KeyRow {
        key: Key::ValueHeadSize,
        names: &["v_head_dim"],
        most: SIZE,
    },
    KeyRow {
        key: Key::KvRank,
        names: &["kv_lora_rank"],
        most: SIZE,
    },
    KeyRow {
        key: Key::QueryRank,
        names: &["q_lora_rank"],
        most: SIZE,
    },
    KeyRow {
        key: Key::DenseInnerSize,
        names: &["intermediate_size_mlp"],
        most: SIZE,
    },
    KeyRow {
        key: Key::EmbeddingSize,
        names: &["word_embed_proj_dim"],
        most: SIZE,
    },
    KeyRow {
        key: Key::TimeStepRank,
        names: &["time_step_rank"],
        most: SIZE,
    },
    KeyRow {
        key: Key::StateSize,
        names: &["mamba_d_state", "state_size"],
        most: SIZE,
    },
    KeyRow {
        key: Key::LinearKeySize,
        names: &["linear_key_head_dim"],
        most: SIZE,
    },
    KeyRow {
        key: Key::LinearValueSize,
        names: &["linear_value_head_dim"],
        most: SIZE,
    },
    KeyRow {
        key: Key::Vocabulary,
        names: &["vocab_size", "padded_vocab_size"],
        most: TOKENS,
    },
    KeyRow {
        key: Key::MaxPositions,
        names: &["max_position_embeddings"],
        most: TOKENS,
    },
    KeyRow {
        key: Key::NPositions,
        names: &["n_positions"],
        most: TOKENS,
    },
    KeyRow {
        key: Key::SparseStep,
        names: &["decoder_sparse_step", "interleave_moe_layer_step"],
        most: ANY,
    },
    KeyRow {
        key: Key::FirstDense,
        names: &["first_k_dense_replace"],
        most: ANY,
    },
    KeyRow {
        key: Key::AttentionInterval,
        names: &["full_attention_interval"],
        most: ANY,
    },
];
