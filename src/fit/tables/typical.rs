//! Dense models of all sizes, whose shape a model gets of which only the size is known. All have the vocabulary and the biases of
//! Qwen 2, whatever their name.

pub(crate) struct TypicalModel {
    pub(crate) name: &'static str,
    pub(crate) hidden: u64,
    pub(crate) layers: u64,
    /// The intermediate size of the MLP.
    pub(crate) inner: u64,
    pub(crate) heads: u64,
    pub(crate) key_value_heads: u64,
    /// Embedding and head are the same tensor.
    pub(crate) tied: bool,
}

pub(crate) const TYPICAL: &[TypicalModel] = &[
    TypicalModel {
        name: "Qwen2.5-0.5B",
        hidden: 896,
        layers: 24,
        inner: 4864,
        heads: 14,
        key_value_heads: 2,
        tied: true,
    },
    TypicalModel {
        name: "Qwen2.5-1.5B",
        hidden: 1536,
        layers: 28,
        inner: 8960,
        heads: 12,
        key_value_heads: 2,
        tied: true,
    },
    TypicalModel {
        name: "Qwen2.5-3B",
        hidden: 2048,
        layers: 36,
        inner: 11_008,
        heads: 16,
        key_value_heads: 2,
        tied: true,
    },
    TypicalModel {
        name: "Qwen3-8B",
        hidden: 4096,
        layers: 36,
        inner: 12_288,
        heads: 32,
        key_value_heads: 8,
        tied: false,
    },
    TypicalModel {
        name: "Qwen2.5-14B",
        hidden: 5120,
        layers: 48,
        inner: 13_824,
        heads: 40,
        key_value_heads: 8,
        tied: false,
    },
    TypicalModel {
        name: "Qwen2.5-32B",
        hidden: 5120,
        layers: 64,
        inner: 27_648,
        heads: 40,
        key_value_heads: 8,
        tied: false,
    },
    TypicalModel {
        name: "Qwen2.5-72B",
        hidden: 8192,
        layers: 80,
        inner: 29_568,
        heads: 64,
        key_value_heads: 8,
        tied: false,
    },
    TypicalModel {
        name: "Llama-3.1-405B",
        hidden: 16_384,
        layers: 126,
        inner: 53_248,
        heads: 128,
        key_value_heads: 8,
        tied: false,
    },
];
