//! Counts the parameters of a model from its config.json, and reads the sizes that decide what a training step keeps.
//! `tests/data/parameter-counts.jsonl` has the counts of transformers itself.

mod layers;

use serde::Deserialize;
use serde_json::Value;

use crate::base::rows;

/// The architectures whose parameters can be counted; the file says what its cells mean.
pub const ARCHITECTURES: &str = include_str!("architecture/architectures.txt");

/// The keys of a config whose numbers are multiplied, with their other spellings and how large they can be.
pub const KEYS: &str = include_str!("architecture/keys.txt");

/// Sections that describe the language model inside a multimodal one.
const TEXT_SECTIONS: &[&str] = &[
    "text_config",
    "llm_config",
    "language_config",
    "thinker_config",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dtype {
    Bf16,
    Fp16,
    Fp32,
}

impl Dtype {
    pub const NAMES: &'static [(&'static str, Dtype)] = &[
        ("bf16", Dtype::Bf16),
        ("bfloat16", Dtype::Bf16),
        ("fp16", Dtype::Fp16),
        ("float16", Dtype::Fp16),
        ("fp32", Dtype::Fp32),
        ("float32", Dtype::Fp32),
    ];

    pub(crate) fn bytes(self) -> u64 {
        if self == Dtype::Fp32 { 4 } else { 2 }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, dtype)| *dtype)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::NAMES
            .iter()
            .find(|(_, dtype)| *dtype == self)
            .map_or("", |(name, _)| name)
    }
}

/// Says if a model has something, such as a bias: `never`, `always`, `if KEY` or `unless KEY`.
type Presence = String;

/// One of the words that the table lists for the cell.
type Kind = String;

/// The cases in which attention stores the score of every pair of tokens, if `sdpa` computes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scores {
    #[default]
    Never,
    InFp32,
    Always,
    Eager,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Architecture {
    projections: Kind,
    qkv_bias: Presence,
    out_bias: Presence,
    qk_norm: Presence,
    qk_norm_by: Kind,
    one_kv_head: Presence,
    sinks: Presence,
    recurrence: Option<Kind>,
    mlp: Kind,
    mlp_bias: Presence,
    norm: Kind,
    norms: u64,
    parallel: Presence,
    embedding_norm: Presence,
    final_norm: Presence,
    head_bias: Presence,
    tied: bool,
    softcapped: bool,
    positions: Option<String>,
    more_positions: u64,
    shared_gate: bool,
    expert_bias: Presence,
    hidden_kept: u64,
    inner_kept: i64,
    scores: Scores,
    defaults: String,
}

impl Architecture {
    /// `None` if the table does not have it.
    fn of(model_type: &str) -> Option<Self> {
        let mut cells = rows::find(ARCHITECTURES, model_type)?.cells();
        // A chain that leads back to itself has no end.
        for _ in 0..8 {
            let Some(parent) = cells.remove("like") else {
                break;
            };
            let mut inherited = rows::find(ARCHITECTURES, parent.as_str()?)?.cells();
            inherited.extend(cells);
            cells = inherited;
        }
        serde_json::from_value(cells.into()).ok()
    }

    /// The value that transformers uses for a key that is missing.
    fn default(&self, key: &str) -> Option<u64> {
        let mut words = self.defaults.split(' ');
        words.find(|word| *word == key)?;
        words.next()?.parse().ok()
    }
}

/// A linear module: name, inputs, outputs.
pub(crate) type Linear = (&'static str, u64, u64);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    pub hidden: u64,
    pub(crate) layers: u64,
    pub(crate) vocab: u64,
    pub(crate) heads: u64,
    /// Elements of queries, keys, values and the attention's output, for one token of one layer.
    pub(crate) attention: u64,
    /// Elements of the queries and keys that are normed once more.
    pub(crate) normed: u64,
    pub(crate) inner: u64,
    /// Tensors of the intermediate size that are kept for the backward pass.
    pub(crate) inner_copies: u64,
    pub(crate) norms: u64,
    /// Bytes kept for an element of a norm in 16 bits, input and output together.
    pub(crate) norm_bytes: u64,
    /// The bytes among them that only the weight of the norm needs.
    pub(crate) norm_factor: u64,
    /// Elements kept for one token of one layer besides.
    pub(crate) more_kept: u64,
    /// The elements among them that are not kept if the weights of the experts are frozen.
    pub(crate) kept_for_experts: u64,
    pub(crate) scores: Scores,
    pub(crate) embedding: u64,
    pub(crate) tied: bool,
    /// The logits are capped, which keeps them once more.
    pub(crate) softcapped: bool,
    pub(crate) scores_are_capped: bool,
    pub(crate) layer: u64,
    pub(crate) linears: Vec<Linear>,
    /// Inputs and outputs of what LoRA adapts in the routed experts of all layers.
    pub(crate) routed: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Weights {
    pub params: u64,
    /// Parameters that a quantised model keeps in 16 bits: embedding, head and norms.
    pub unquantised: u64,
    pub shape: Shape,
    pub from: String,
    pub assumed: Vec<String>,
    /// The dtype of the stored weights by the model's config.
    pub dtype: Option<Dtype>,
}

impl Weights {
    /// For a number that is more reliable.
    pub(super) fn with_params(self, params: u64, from: String) -> Self {
        Weights {
            params,
            unquantised: self.unquantised.min(params),
            from,
            ..self
        }
    }

    /// Without the head and its logits; the embedding is the only large tensor then, as if they were one.
    pub fn without_head(&self) -> Self {
        let head = if self.shape.tied {
            0
        } else {
            self.shape.embedding
        };
        let shape = Shape {
            tied: true,
            vocab: 0,
            ..self.shape.clone()
        };
        let (params, unquantised) = (
            self.params.saturating_sub(head),
            self.unquantised.saturating_sub(head),
        );
        Weights {
            params,
            unquantised,
            shape,
            ..self.clone()
        }
    }
}

/// `params`: by the headers of the checkpoint. `None` if the config lacks the basic sizes, or has impossible ones.
pub fn read(config: &Value, params: Option<(u64, String)>) -> Option<Weights> {
    let mut text = config;
    while let Some(inner) = TEXT_SECTIONS
        .iter()
        .find_map(|name| text.get(name))
        .filter(|inner| inner.is_object())
    {
        text = inner;
    }
    let is_part = !std::ptr::eq(text, config);
    let model_type = text
        .get("model_type")
        .or(config.get("model_type"))
        .and_then(Value::as_str)
        .unwrap_or_default();
    let mut assumed = Vec::new();
    let architecture = Architecture::of(model_type).or_else(|| {
        assumed.push(format!(
            "the architecture `{model_type}` is counted like llama"
        ));
        Architecture::of("llama")
    })?;
    let (weights, is_mixed) = ModelConfig {
        text,
        whole: config,
        architecture,
    }
    .count()?;
    if is_mixed {
        assumed.push(
            "adapters and activations as if all layers were of the most common kind".to_string(),
        );
    }
    if is_part && params.is_none() {
        let whole = config
            .get("model_type")
            .and_then(Value::as_str)
            .unwrap_or("this model");
        assumed.push(format!("only the language model of {whole} is counted"));
    }
    if config.get("vision_config").is_some() {
        assumed.push(
            "images as the tokens they become; the vision tower's own computation comes on top"
                .to_string(),
        );
    }
    let dtype = [text, config].iter().find_map(|section| {
        section
            .get("dtype")
            .or(section.get("torch_dtype"))?
            .as_str()
    });
    let weights = Weights {
        assumed,
        dtype: dtype.and_then(Dtype::named),
        ..weights
    };
    Some(if let Some((params, from)) = params {
        weights.with_params(params, from)
    } else {
        weights
    })
}

struct ModelConfig<'a> {
    text: &'a Value,
    whole: &'a Value,
    architecture: Architecture,
}

impl ModelConfig<'_> {
    fn number(&self, name: &str) -> Option<u64> {
        let spellings = rows::find(KEYS, name)
            .map_or(name, |row| row.names)
            .split(", ");
        let written = spellings
            .filter_map(|spelling| self.text.get(spelling))
            .find_map(Value::as_u64);
        written.or_else(|| self.architecture.default(name))
    }

    fn flag(&self, name: &str) -> Option<bool> {
        self.text.get(name).and_then(Value::as_bool)
    }

    fn is_capped(&self, name: &str) -> bool {
        self.text
            .get(name)
            .map_or(self.architecture.softcapped, Value::is_number)
    }

    fn holds(&self, presence: &str) -> bool {
        match presence.split_once(' ') {
            Some(("if", key)) => self.flag(key) == Some(true),
            Some(("unless", key)) => self.flag(key) != Some(false),
            _ => presence == "always",
        }
    }

    fn bias(&self, presence: &str, size: u64) -> u64 {
        // The remote code of older GLM models has another name for it.
        let of_glm = presence == "if attention_bias" && self.flag("add_qkv_bias") == Some(true);
        if of_glm || self.holds(presence) {
            size
        } else {
            0
        }
    }

    fn norm(&self, size: u64) -> u64 {
        if self.architecture.norm == "layer" {
            2 * size
        } else {
            size
        }
    }

    /// Norms in each layer. Where attention and MLP work side by side, they may share one.
    fn norms(&self) -> u64 {
        let is_new = self.flag("new_decoder_architecture") == Some(true);
        match self.number("num_ln_in_parallel_attn") {
            _ if !self.holds(&self.architecture.parallel) => self.architecture.norms,
            Some(norms) => norms,
            None if is_new => 2,
            None => 1,
        }
    }

    fn is_tied(&self) -> bool {
        let tied = |config: &Value| config.get("tie_word_embeddings").and_then(Value::as_bool);
        // transformers asks the model that is built, not its part.
        tied(self.whole)
            .or(tied(self.text))
            .unwrap_or(self.architecture.tied)
    }

    /// No real model has such sizes. Below them, none of the sums can overflow.
    fn is_absurd(&self) -> bool {
        let is_above = |key: &str, most: u64| self.number(key).is_some_and(|number| number > most);
        let positions = self.architecture.positions.as_deref();
        positions.is_some_and(|key| is_above(key, 1 << 28))
            || rows::rows(KEYS).any(|row| {
                let most = row.cells().get("most").and_then(Value::as_u64);
                row.names()
                    .next()
                    .zip(most)
                    .is_some_and(|(key, most)| is_above(key, most))
            })
    }

    /// Also tells if some layers have attention and others do not.
    #[expect(clippy::too_many_lines, reason = "it is split next")]
    fn count(&self) -> Option<(Weights, bool)> {
        if self.is_absurd() {
            return None;
        }
        let hidden = self.number("hidden_size").filter(|n| *n > 0)?;
        let layers = self.number("num_hidden_layers").filter(|n| *n > 0)?;
        let vocab = self.number("vocab_size")?;
        let heads = self
            .number("num_attention_heads")
            .filter(|n| *n > 0)
            .unwrap_or(hidden.div_ceil(128));
        // Granite 4 without experts has only the expert that others share.
        let has_only_shared = self.number("num_experts") == Some(0);
        let shared = if has_only_shared {
            self.number("shared_expert_intermediate_size")
        } else {
            None
        };
        let intermediate = shared
            .or_else(|| self.number("intermediate_size"))
            .unwrap_or(4 * hidden);
        let attention = self.attention(hidden, heads);
        let recurrent = self.recurrent(hidden, layers);
        let (recurrent_layers, each) = recurrent
            .as_ref()
            .map_or((0, 0), |(count, mixer)| (*count, mixer.params));
        let experts = self.experts(hidden, intermediate);
        let (dense, sparse) = self.mixture_layers(layers);
        let norms = layers * self.norms() * self.norm(hidden);
        let dense_inner = self.number("intermediate_size_mlp").unwrap_or(intermediate);
        let mlps = dense * self.mlp(hidden, dense_inner) + sparse * experts.params;
        let mixers = (layers - recurrent_layers) * attention.params + recurrent_layers * each;
        let in_layers = mixers + norms + mlps;
        let embedding = vocab * self.number("word_embed_proj_dim").unwrap_or(hidden);
        let outside = self.outside(hidden, vocab, embedding);
        // Layers of two kinds are taken to be like most of them.
        let mixer = match recurrent {
            Some((count, mixer)) if 2 * count > layers => mixer,
            _ => attention,
        };
        let (inner, adapted) = match self.architecture.mlp.as_str() {
            "none" => (0, 0),
            _ if sparse == 0 => (dense_inner, dense_inner),
            _ => (experts.active, experts.shared),
        };
        let (norm_bytes, norm_factor) = match self.architecture.norm.as_str() {
            "rms_in_fp32" => (10, 4),
            "rms_plus_one" => (9, 4),
            "layer" => (4, 0),
            _ => (8, 2),
        };
        let inner_copies: u64 = if self.architecture.mlp == "plain" {
            2
        } else {
            4
        };
        let is_grouped = self
            .number("num_key_value_heads")
            .is_some_and(|shared| shared < heads);
        let mut linears = mixer.linears;
        if adapted > 0 {
            if self.architecture.mlp != "plain" {
                linears.push(("gate_proj", hidden, adapted));
            }
            linears.extend([("up_proj", hidden, adapted), ("down_proj", adapted, hidden)]);
        }
        let shape = Shape {
            hidden,
            layers,
            vocab,
            heads,
            attention: mixer.activations,
            normed: mixer.normed,
            inner,
            inner_copies: inner_copies.saturating_add_signed(self.architecture.inner_kept),
            norms: self.norms(),
            norm_bytes,
            norm_factor,
            more_kept: hidden * self.architecture.hidden_kept + experts.kept,
            kept_for_experts: experts.kept_for_weights,
            scores: match self.architecture.scores {
                Scores::InFp32 if !is_grouped => Scores::Never,
                scores => scores,
            },
            embedding,
            tied: self.is_tied(),
            softcapped: self.is_capped("final_logit_softcapping"),
            scores_are_capped: self.is_capped("attn_logit_softcapping"),
            layer: in_layers / layers,
            linears,
            routed: sparse * experts.adapted,
        };
        let (params, unquantised) = (outside + in_layers, outside + norms);
        let from = "config.json".to_string();
        let is_mixed = (1..layers).contains(&recurrent_layers);
        Some((
            Weights {
                params,
                unquantised,
                shape,
                from,
                ..Weights::default()
            },
            is_mixed,
        ))
    }

    /// Parameters of the embeddings, the head and the norms outside of the layers.
    fn outside(&self, hidden: u64, vocab: u64, embedding: u64) -> u64 {
        let positions = self
            .architecture
            .positions
            .as_deref()
            .and_then(|key| self.number(key));
        let positions =
            positions.map_or(0, |positions| positions + self.architecture.more_positions);
        let head = if self.is_tied() { 0 } else { embedding };
        let head_bias = if self.holds(&self.architecture.head_bias) {
            vocab
        } else {
            0
        };
        // An embedding of another width is projected to that of the layers and back.
        let narrow = self
            .number("word_embed_proj_dim")
            .filter(|narrow| *narrow != hidden)
            .unwrap_or(0);
        let norms = u64::from(self.holds(&self.architecture.embedding_norm))
            + u64::from(self.holds(&self.architecture.final_norm));
        embedding
            + positions * hidden
            + head
            + head_bias
            + 2 * narrow * hidden
            + norms * self.norm(hidden)
    }
}
