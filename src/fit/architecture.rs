//! How a config.json becomes a number of parameters and the sizes that decide what a training step keeps. One entry an
//! architecture in `ALL`; `tests/data/parameter-counts.jsonl` holds what the real transformers counts.

use serde_json::Value;

/// When the linear layers of a kind have a bias.
#[derive(Clone, Copy)]
enum Bias {
    Never,
    Always,
    /// If this key of the config is true.
    If(&'static str),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Attention {
    /// Query, key, value and output projections; keys and values may be shared by several heads.
    Grouped,
    /// DeepSeek's: queries, keys and values go through a narrow layer.
    Latent,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mlp {
    /// gate, up, down.
    Gated,
    /// up, down.
    Plain,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Norm {
    /// A weight only; transformers computes it in fp32.
    Rms,
    /// Weight and bias.
    Layer,
}

struct Architecture {
    /// The `model_type`s it stands for.
    types: &'static [&'static str],
    attention: Attention,
    qkv_bias: Bias,
    out_bias: Bias,
    /// The key that turns a norm of every query and key head on; empty: always.
    qk_norm: Option<&'static str>,
    mlp: Mlp,
    mlp_bias: Bias,
    norm: Norm,
    norms: u64,
    /// Embedding and head are one tensor, unless the config says otherwise.
    tied: bool,
    /// Positions are learned: the key that says how many.
    positions: Option<&'static str>,
    /// Beside the shared expert of a mixture stands a gate of its own.
    shared_gate: bool,
    /// What the class fills in for a key that is not written.
    defaults: &'static [(&'static str, u64)],
}

const LLAMA: Architecture = Architecture {
    types: &["llama", "mistral3", "ministral", "phi3", "internlm2", "internlm3", "yi", "smollm3", "granite"],
    attention: Attention::Grouped,
    qkv_bias: Bias::If("attention_bias"),
    out_bias: Bias::If("attention_bias"),
    qk_norm: None,
    mlp: Mlp::Gated,
    mlp_bias: Bias::If("mlp_bias"),
    norm: Norm::Rms,
    norms: 2,
    tied: false,
    positions: None,
    shared_gate: false,
    defaults: &[("intermediate_size", 11008), ("num_attention_heads", 32), ("vocab_size", 32000)],
};

const GPT: Architecture = Architecture {
    qkv_bias: Bias::Always,
    out_bias: Bias::Always,
    mlp: Mlp::Plain,
    mlp_bias: Bias::Always,
    norm: Norm::Layer,
    defaults: &[],
    ..LLAMA
};

const ALL: &[Architecture] = &[
    LLAMA,
    Architecture {
        types: &["mistral", "mixtral"],
        qkv_bias: Bias::Never,
        out_bias: Bias::Never,
        mlp_bias: Bias::Never,
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
        qkv_bias: Bias::Always,
        out_bias: Bias::Never,
        shared_gate: true,
        defaults: &[("vocab_size", 151_936)],
        ..LLAMA
    },
    Architecture {
        types: &["qwen3", "qwen3_moe", "qwen3_vl_text", "qwen3_vl_moe_text", "qwen3_omni_moe_text"],
        qk_norm: Some(""),
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
        qk_norm: Some(""),
        defaults: &[("head_dim", 256), ("vocab_size", 262_208), ("num_attention_heads", 8), ("num_key_value_heads", 4)],
        ..LLAMA
    },
    Architecture { types: &["glm", "chatglm"], out_bias: Bias::Never, defaults: &[("head_dim", 128)], ..LLAMA },
    Architecture { types: &["glm4"], out_bias: Bias::Never, norms: 4, defaults: &[("head_dim", 128)], ..LLAMA },
    Architecture { types: &["glm4_moe"], out_bias: Bias::Never, qk_norm: Some("use_qk_norm"), ..LLAMA },
    Architecture { types: &["deepseek_v2", "deepseek_v3", "kimi_k2"], attention: Attention::Latent, ..LLAMA },
    Architecture { types: &["gpt2"], tied: true, positions: Some("n_positions"), ..GPT },
    Architecture { types: &["gpt_neox"], ..GPT },
];

/// Names of one size in different families, the usual one first.
const NAMES: &[&[&str]] = &[
    &["hidden_size", "n_embd", "d_model"],
    &["num_hidden_layers", "n_layer", "num_layers"],
    &["num_attention_heads", "n_head"],
    &["num_key_value_heads", "multi_query_group_num"],
    &["head_dim", "kv_channels"],
    &["intermediate_size", "n_inner", "ffn_hidden_size"],
    &["vocab_size", "padded_vocab_size"],
    &["num_experts", "num_local_experts", "n_routed_experts"],
];

/// Sections that hold the language model of a config of several parts.
const TEXT_SECTIONS: &[&str] = &["text_config", "llm_config", "language_config", "thinker_config"];

/// The sizes of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) hidden: u64,
    pub(crate) layers: u64,
    pub(crate) vocab: u64,
    pub(crate) heads: u64,
    /// Elements of queries, keys, values and the attention's output, for one token of one layer.
    pub(crate) attention: u64,
    /// Of these, queries and keys that are normed once more.
    pub(crate) normed: u64,
    /// Elements between the two halves of the MLPs one token goes through.
    pub(crate) inner: u64,
    /// Tensors of that width that are kept for the backward pass.
    pub(crate) inner_copies: u64,
    pub(crate) norms: u64,
    /// Bytes a normed element is kept in, input and output together.
    pub(crate) norm_bytes: u64,
    /// Elements of the embedding: the largest tensor.
    pub(crate) embedding: u64,
    /// Parameters of one layer.
    pub(crate) layer: u64,
    /// Linear layers of one layer that LoRA can adapt: name, inputs, outputs.
    pub(crate) linears: Vec<(&'static str, u64, u64)>,
}

/// What a config.json says about the model.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Model {
    pub(crate) shape: Shape,
    pub(crate) params: u64,
    /// The parameters that a quantised copy keeps in 16 bits: embedding, head and norms.
    pub(crate) unquantised: u64,
    /// The `model_type`, and whether it is one of the table.
    pub(crate) kind: String,
    pub(crate) known: bool,
    /// Only the language model of several parts was counted.
    pub(crate) is_part: bool,
}

/// Counts. `None`: the config does not even say how wide and how deep the model is, or says what cannot be.
pub(crate) fn read(config: &Value) -> Option<Model> {
    let (text, is_part) = text_model(config);
    let model_type = text.get("model_type").or(config.get("model_type")).and_then(Value::as_str).unwrap_or_default();
    let found = ALL.iter().find(|architecture| architecture.types.contains(&model_type));
    let reader = Reader { config: text, outer: config, of: found.unwrap_or(&LLAMA) };
    let (shape, params, unquantised) = reader.count()?;
    Some(Model { shape, params, unquantised, kind: model_type.to_string(), known: found.is_some(), is_part })
}

fn text_model(config: &Value) -> (&Value, bool) {
    let mut node = config;
    while let Some(inner) = TEXT_SECTIONS.iter().find_map(|name| node.get(name)).filter(|inner| inner.is_object()) {
        node = inner;
    }
    (node, !std::ptr::eq(node, config))
}

struct Reader<'a> {
    config: &'a Value,
    outer: &'a Value,
    of: &'a Architecture,
}

impl Reader<'_> {
    fn number(&self, name: &str) -> Option<u64> {
        let names = NAMES.iter().find(|names| names[0] == name);
        let written = names.map_or(std::slice::from_ref(&name), |names| *names).iter();
        let written = written.filter_map(|name| self.config.get(name)).find_map(Value::as_u64);
        written.or_else(|| self.of.defaults.iter().find(|(key, _)| *key == name).map(|(_, value)| *value))
    }

    fn flag(&self, name: &str) -> Option<bool> {
        self.config.get(name).and_then(Value::as_bool)
    }

    fn bias(&self, bias: Bias, size: u64) -> u64 {
        let has = match bias {
            Bias::Never => false,
            Bias::Always => true,
            // The remote code of the older GLM spells it this way.
            Bias::If(key) => self.flag(key).or(self.flag("add_qkv_bias")).unwrap_or(false),
        };
        if has { size } else { 0 }
    }

    fn norm(&self, size: u64) -> u64 {
        if self.of.norm == Norm::Layer { 2 * size } else { size }
    }

    fn tied(&self) -> bool {
        let sourced = |config: &Value| config.get("tie_word_embeddings").and_then(Value::as_bool);
        sourced(self.config).or(sourced(self.outer)).unwrap_or(self.of.tied)
    }

    /// Nothing real comes near, and no sum of such numbers is too large for one.
    fn is_absurd(&self) -> bool {
        const COUNTS: &[&str] = &[
            "num_hidden_layers",
            "num_attention_heads",
            "num_key_value_heads",
            "num_experts",
            "n_shared_experts",
            "num_experts_per_tok",
        ];
        const WIDTHS: &[&str] = &[
            "hidden_size",
            "intermediate_size",
            "head_dim",
            "moe_intermediate_size",
            "shared_expert_intermediate_size",
            "qk_rope_head_dim",
            "qk_nope_head_dim",
            "v_head_dim",
            "kv_lora_rank",
            "q_lora_rank",
        ];
        let above = |names: &[&str], most: u64| names.iter().any(|name| self.number(name).is_some_and(|n| n > most));
        above(COUNTS, 1 << 11)
            || above(WIDTHS, 1 << 18)
            || above(&["vocab_size", self.of.positions.unwrap_or("vocab_size")], 1 << 28)
    }

    fn count(&self) -> Option<(Shape, u64, u64)> {
        if self.is_absurd() {
            return None;
        }
        let hidden = self.number("hidden_size").filter(|n| *n > 0)?;
        let layers = self.number("num_hidden_layers").filter(|n| *n > 0)?;
        let vocab = self.number("vocab_size")?;
        let heads = self.number("num_attention_heads").filter(|n| *n > 0).unwrap_or(hidden.div_ceil(128));
        let (attention, mut linears, widths) = self.attention(hidden, heads);
        let (dense, sparse) = self.mixture_layers(layers);
        let intermediate = self.number("intermediate_size").unwrap_or(4 * hidden);
        let dense_mlp = self.mlp(hidden, intermediate);
        let experts = self.experts(hidden, intermediate);
        let norms = self.of.norms * self.norm(hidden);
        let positions = self.of.positions.and_then(|key| self.number(key)).unwrap_or(0) * hidden;
        let embedding = vocab * hidden;
        let head = if self.tied() { 0 } else { embedding };
        let per_layers = layers * (attention.params + norms) + dense * dense_mlp;
        let params = embedding + positions + head + self.norm(hidden) + per_layers + sparse * experts.params;
        let unquantised = embedding + positions + head + (layers * self.of.norms + 1) * self.norm(hidden);
        // The experts are one tensor in newer releases of transformers, and LoRA leaves them alone.
        let shared = if sparse == 0 { intermediate } else { experts.shared };
        let gated = self.of.mlp == Mlp::Gated;
        if shared > 0 {
            linears.extend(gated.then_some(("gate_proj", hidden, shared)));
            linears.extend([("up_proj", hidden, shared), ("down_proj", shared, hidden)]);
        }
        let inner = if sparse == 0 { intermediate } else { experts.active };
        let shape = Shape {
            hidden,
            layers,
            vocab,
            heads,
            attention: widths,
            normed: attention.normed,
            inner,
            inner_copies: if gated { 4 } else { 2 },
            norms: self.of.norms,
            norm_bytes: if self.of.norm == Norm::Rms { 8 } else { 4 },
            embedding,
            layer: (per_layers + sparse * experts.params) / layers,
            linears,
        };
        Some((shape, params, unquantised))
    }

    /// Parameters, what LoRA can adapt, and the width of what one token leaves behind.
    fn attention(&self, hidden: u64, heads: u64) -> (Counted, Vec<(&'static str, u64, u64)>, u64) {
        if self.of.attention == Attention::Latent {
            return self.latent_attention(hidden, heads);
        }
        let head = self.number("head_dim").unwrap_or(hidden / heads);
        let shared = self.number("num_key_value_heads").unwrap_or(heads);
        let (query, key) = (heads * head, shared * head);
        let has_norm = self.of.qk_norm.is_some_and(|name| name.is_empty() || self.flag(name).unwrap_or(false));
        let params = hidden * (query + 2 * key)
            + self.bias(self.of.qkv_bias, query + 2 * key)
            + query * hidden
            + self.bias(self.of.out_bias, hidden)
            + if has_norm { 2 * head } else { 0 };
        let normed = if has_norm { query + key } else { 0 };
        let linears =
            [("q_proj", hidden, query), ("k_proj", hidden, key), ("v_proj", hidden, key), ("o_proj", query, hidden)];
        (Counted { params, normed }, linears.to_vec(), 2 * query + 2 * key)
    }

    fn latent_attention(&self, hidden: u64, heads: u64) -> (Counted, Vec<(&'static str, u64, u64)>, u64) {
        let size = |name| self.number(name).unwrap_or(0);
        let (rope, nope, value) = (size("qk_rope_head_dim"), size("qk_nope_head_dim"), size("v_head_dim"));
        let (narrow, query) = (size("kv_lora_rank"), heads * (rope + nope));
        let mut linears = match self.number("q_lora_rank") {
            Some(rank) => vec![("q_a_proj", hidden, rank), ("q_b_proj", rank, query)],
            None => vec![("q_proj", hidden, query)],
        };
        linears.extend([
            ("kv_a_proj_with_mqa", hidden, narrow + rope),
            ("kv_b_proj", narrow, heads * (nope + value)),
            ("o_proj", heads * value, hidden),
        ]);
        let norms = narrow + self.number("q_lora_rank").unwrap_or(0);
        let params = linears.iter().map(|(_, inputs, outputs)| inputs * outputs).sum::<u64>() + norms;
        (Counted { params, normed: norms }, linears, 2 * query + 2 * heads * value + 2 * narrow)
    }

    fn mlp(&self, hidden: u64, inner: u64) -> u64 {
        let (up, down) = (self.bias(self.of.mlp_bias, inner), self.bias(self.of.mlp_bias, hidden));
        let ups = if self.of.mlp == Mlp::Gated { 2 } else { 1 };
        ups * (hidden * inner + up) + inner * hidden + down
    }

    /// A layer whose MLP is a mixture of experts.
    fn experts(&self, hidden: u64, intermediate: u64) -> Experts {
        let Some(count) = self.number("num_experts") else { return Experts::default() };
        let inner = self.number("moe_intermediate_size").unwrap_or(intermediate);
        let shared = self
            .number("shared_expert_intermediate_size")
            .or_else(|| Some(self.number("n_shared_experts")? * inner))
            .unwrap_or(0);
        let gate = if self.of.shared_gate && shared > 0 { hidden } else { 0 };
        let router = hidden * count;
        let each = 3 * hidden * inner;
        let active = self.number("num_experts_per_tok").unwrap_or(2) * inner + shared;
        Experts { params: count * each + 3 * hidden * shared + gate + router, shared, active }
    }

    /// How many layers have a plain MLP, and how many a mixture.
    fn mixture_layers(&self, layers: u64) -> (u64, u64) {
        if self.number("num_experts").is_none_or(|count| count == 0) {
            return (layers, 0);
        }
        let first = self.number("first_k_dense_replace").unwrap_or(0);
        let step = self.number("decoder_sparse_step").unwrap_or(1).max(1);
        let named = self.config.get("mlp_only_layers").and_then(Value::as_array);
        let is_named = |layer: u64| named.is_some_and(|list| list.iter().any(|it| it.as_u64() == Some(layer)));
        let is_sparse = |layer: &u64| *layer >= first && (*layer + 1).is_multiple_of(step) && !is_named(*layer);
        let sparse = (0..layers).filter(is_sparse).count() as u64;
        (layers - sparse, sparse)
    }
}

struct Counted {
    params: u64,
    normed: u64,
}

#[derive(Default)]
struct Experts {
    params: u64,
    /// Width of the expert that every token goes through.
    shared: u64,
    /// Width of all experts one token goes through.
    active: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_transformers() {
        let lines = include_str!("../../tests/data/parameter-counts.jsonl").lines();
        let mut seen = 0;
        for line in lines {
            let line: Value = serde_json::from_str(line).unwrap();
            let model = read(&line["config"]).unwrap();
            assert_eq!(Some(model.params), line["params"].as_u64(), "{}", line["name"]);
            assert!(model.known, "{}", line["name"]);
            seen += 1;
        }
        assert!(seen > 30);
    }

    #[test]
    fn what_is_not_said_is_not_counted() {
        let tiny = serde_json::json!({"hidden_size": 8, "num_hidden_layers": 1, "vocab_size": 16});
        let model = read(&tiny).unwrap();
        assert!(!model.known && model.params > 0);
        for config in [serde_json::json!({"hidden_size": 8}), serde_json::json!([]), serde_json::json!({})] {
            assert_eq!(read(&config), None);
        }
    }
}
