//! Dense models of all sizes, whose shape a model gets of which only the size is known. All have the vocabulary and the biases of
//! Qwen 2, whatever their name.

use super::{
    architectures::{Architecture, LLAMA, Presence},
    model_keys::{HEADS, HIDDEN_SIZE, INNER_SIZE, KV_HEADS, LAYERS, VOCABULARY},
};

pub struct TypicalModel {
    pub name: &'static str,
    /// Its defaults are all its numbers.
    pub architecture: Architecture,
}

const QWEN2: Architecture = Architecture {
    qkv_bias: Presence::Always,
    out_bias: Presence::Never,
    ..LLAMA
};

pub const TYPICAL: &[TypicalModel] = &[
    TypicalModel {
        name: "Qwen2.5-0.5B",
        architecture: Architecture {
            tied: true,
            defaults: &[
                (HIDDEN_SIZE, 896),
                (LAYERS, 24),
                (INNER_SIZE, 4864),
                (HEADS, 14),
                (KV_HEADS, 2),
                (VOCABULARY, 151_936),
            ],
            ..QWEN2
        },
    },
    TypicalModel {
        name: "Qwen2.5-1.5B",
        architecture: Architecture {
            tied: true,
            defaults: &[
                (HIDDEN_SIZE, 1536),
                (LAYERS, 28),
                (INNER_SIZE, 8960),
                (HEADS, 12),
                (KV_HEADS, 2),
                (VOCABULARY, 151_936),
            ],
            ..QWEN2
        },
    },
    TypicalModel {
        name: "Qwen2.5-3B",
        architecture: Architecture {
            tied: true,
            defaults: &[
                (HIDDEN_SIZE, 2048),
                (LAYERS, 36),
                (INNER_SIZE, 11_008),
                (HEADS, 16),
                (KV_HEADS, 2),
                (VOCABULARY, 151_936),
            ],
            ..QWEN2
        },
    },
    TypicalModel {
        name: "Qwen3-8B",
        architecture: Architecture {
            tied: false,
            defaults: &[
                (HIDDEN_SIZE, 4096),
                (LAYERS, 36),
                (INNER_SIZE, 12_288),
                (HEADS, 32),
                (KV_HEADS, 8),
                (VOCABULARY, 151_936),
            ],
            ..QWEN2
        },
    },
    TypicalModel {
        name: "Qwen2.5-14B",
        architecture: Architecture {
            tied: false,
            defaults: &[
                (HIDDEN_SIZE, 5120),
                (LAYERS, 48),
                (INNER_SIZE, 13_824),
                (HEADS, 40),
                (KV_HEADS, 8),
                (VOCABULARY, 151_936),
            ],
            ..QWEN2
        },
    },
    TypicalModel {
        name: "Qwen2.5-32B",
        architecture: Architecture {
            tied: false,
            defaults: &[
                (HIDDEN_SIZE, 5120),
                (LAYERS, 64),
                (INNER_SIZE, 27_648),
                (HEADS, 40),
                (KV_HEADS, 8),
                (VOCABULARY, 151_936),
            ],
            ..QWEN2
        },
    },
    TypicalModel {
        name: "Qwen2.5-72B",
        architecture: Architecture {
            tied: false,
            defaults: &[
                (HIDDEN_SIZE, 8192),
                (LAYERS, 80),
                (INNER_SIZE, 29_568),
                (HEADS, 64),
                (KV_HEADS, 8),
                (VOCABULARY, 151_936),
            ],
            ..QWEN2
        },
    },
    TypicalModel {
        name: "Llama-3.1-405B",
        architecture: Architecture {
            tied: false,
            defaults: &[
                (HIDDEN_SIZE, 16_384),
                (LAYERS, 126),
                (INNER_SIZE, 53_248),
                (HEADS, 128),
                (KV_HEADS, 8),
                (VOCABULARY, 151_936),
            ],
            ..QWEN2
        },
    },
];
