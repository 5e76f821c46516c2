//! The towers that turn pictures into tokens, and the projectors behind them. The elements that are kept were measured on an
//! H200 (tests/data/memory-h200-more.jsonl).

use super::{
    architectures::{Architecture, GPT, LLAMA, Presence},
    model_keys::VOCABULARY,
};

pub struct Encoder {
    /// Values of `model_type` in `vision_config`, or of the whole model.
    pub model_types: &'static [&'static str],
    pub architecture: Architecture,
    /// Pixels of a patch in a row, unless `patch_size` says it.
    pub patch: u64,
    /// Pictures of a film that a patch has a part of, unless `temporal_patch_size` says it.
    pub frames: u64,
    /// Tensors of the hidden size outside of the layers: the bias of the patches, a class token.
    pub vectors: u64,
    /// It has a position for each patch of a picture.
    pub grid: bool,
    /// Positions besides, or as many as `num_position_embeddings` says.
    pub positions: u64,
}

/// Attention and MLP with biases between layer norms.
const VIT: Architecture = Architecture {
    final_norm: Presence::Never,
    tied: true,
    defaults: &[(VOCABULARY, 0)],
    ..GPT
};

pub const ENCODERS: &[Encoder] = &[
    Encoder {
        model_types: &["qwen2_5_vl", "qwen2_5_vl_vision"],
        architecture: Architecture {
            joined_qkv: Some("qkv"),
            qkv_bias: Presence::Always,
            out_bias: Presence::Always,
            mlp_bias: Presence::Always,
            hidden_kept: 3,
            final_norm: Presence::Never,
            tied: true,
            defaults: &[(VOCABULARY, 0)],
            ..LLAMA
        },
        patch: 14,
        frames: 2,
        vectors: 0,
        grid: false,
        positions: 0,
    },
    Encoder {
        model_types: &["qwen2_vl", "qwen2_vl_vision"],
        architecture: Architecture {
            joined_qkv: Some("qkv"),
            hidden_kept: 3,
            inner_kept: 1,
            ..VIT
        },
        patch: 14,
        frames: 2,
        vectors: 0,
        grid: false,
        positions: 0,
    },
    Encoder {
        model_types: &[
            "qwen3_vl",
            "qwen3_vl_vision",
            "qwen3_vl_moe",
            "qwen3_vl_moe_vision",
            "qwen3_5",
            "qwen3_5_vision",
            "qwen3_5_moe",
            "qwen3_5_moe_vision",
        ],
        architecture: Architecture {
            joined_qkv: Some("qkv"),
            hidden_kept: 3,
            ..VIT
        },
        patch: 16,
        frames: 2,
        vectors: 1,
        grid: false,
        positions: 2304,
    },
    Encoder {
        model_types: &["clip_vision_model"],
        architecture: Architecture {
            embedding_norm: true,
            final_norm: Presence::Always,
            inner_kept: 1,
            ..VIT
        },
        patch: 14,
        frames: 1,
        vectors: 1,
        grid: true,
        positions: 1,
    },
    Encoder {
        model_types: &["siglip_vision_model"],
        architecture: Architecture {
            final_norm: Presence::Always,
            ..VIT
        },
        patch: 14,
        frames: 1,
        vectors: 1,
        grid: true,
        positions: 0,
    },
    Encoder {
        model_types: &["internvl_vision"],
        architecture: Architecture {
            qkv_bias: Presence::If(&["attention_bias"]),
            // Each of the two residuals has a weight besides.
            norms: 3,
            ..VIT
        },
        patch: 14,
        frames: 1,
        vectors: 2,
        grid: true,
        positions: 1,
    },
];

/// Its parameters are a sum of products of three sizes, each so many times: that of the tower, that of the patches that become
/// one token together, and that of the language model.
pub struct Projector {
    /// Values of `model_type` of the whole model.
    pub model_types: &'static [&'static str],
    /// Patches in a row that become one token, unless `spatial_merge_size` says it.
    pub side: u64,
    pub tower_to_text: u64,
    pub merged_to_merged: u64,
    pub merged_to_text: u64,
    pub text_to_text: u64,
    pub tower: u64,
    pub merged: u64,
    pub text: u64,
}

const MERGER: Projector = Projector {
    model_types: &[
        "qwen2_vl",
        "qwen3_vl",
        "qwen3_vl_moe",
        "qwen3_5",
        "qwen3_5_moe",
    ],
    side: 2,
    tower_to_text: 0,
    merged_to_merged: 1,
    merged_to_text: 1,
    text_to_text: 0,
    tower: 2,
    merged: 1,
    text: 1,
};

const TWO_LAYERS: Projector = Projector {
    model_types: &["llava"],
    side: 1,
    tower_to_text: 1,
    merged_to_merged: 0,
    merged_to_text: 0,
    text_to_text: 1,
    tower: 0,
    merged: 0,
    text: 2,
};

pub const PROJECTORS: &[Projector] = &[
    MERGER,
    Projector {
        model_types: &["qwen2_5_vl"],
        tower: 1,
        ..MERGER
    },
    TWO_LAYERS,
    Projector {
        model_types: &["llava_next", "llava_onevision"],
        text: 3,
        ..TWO_LAYERS
    },
    Projector {
        model_types: &["internvl"],
        side: 2,
        tower_to_text: 0,
        merged_to_text: 1,
        merged: 2,
        ..TWO_LAYERS
    },
    Projector {
        model_types: &["gemma3"],
        side: 4,
        text_to_text: 0,
        tower: 1,
        text: 0,
        ..TWO_LAYERS
    },
];
