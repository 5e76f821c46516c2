//! Counts the parameters of a model from its config.json, and reads the sizes that decide what a training step keeps.
//! `tests/data/parameter-counts.jsonl` has the counts of transformers itself.

mod layers;

use serde_json::Value;

use super::tables::architectures::{ARCHITECTURES, Architecture, Norm, Presence, Scores};
use super::tables::model_keys::{KEYS, Key};

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

impl Architecture {
    /// `None` if the table does not have it.
    fn of(model_type: &str) -> Option<&'static Self> {
        let row = ARCHITECTURES
            .iter()
            .find(|row| row.model_types.contains(&model_type))?;
        Some(&row.architecture)
    }
}

/// A linear module of one layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Linear {
    pub(crate) name: &'static str,
    pub(crate) inputs: u64,
    pub(crate) outputs: u64,
}

impl Linear {
    pub(crate) fn weights(&self) -> u64 {
        self.inputs * self.outputs
    }
}

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

/// A number of parameters that is more reliable than one that is counted, and where it was read.
pub struct KnownSize {
    pub params: u64,
    pub from: String,
}

impl Weights {
    pub(super) fn with_params(self, known: KnownSize) -> Self {
        Weights {
            params: known.params,
            unquantised: self.unquantised.min(known.params),
            from: known.from,
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
        Weights {
            params: self.params.saturating_sub(head),
            unquantised: self.unquantised.saturating_sub(head),
            shape,
            ..self.clone()
        }
    }
}

/// `known`: by the headers of the checkpoint. `None` if the config lacks the basic sizes, or has impossible ones.
pub fn read<'a>(config: &'a Value, known: Option<KnownSize>) -> Option<Weights> {
    let mut text = config;
    while let Some(inner) = TEXT_SECTIONS
        .iter()
        .find_map(|name| text.get(name))
        .filter(|inner| inner.is_object())
    {
        text = inner;
    }
    let is_part = !std::ptr::eq(text, config);
    let type_of = |config: &'a Value| config.get("model_type").and_then(Value::as_str);
    let model_type = type_of(text).or(type_of(config)).unwrap_or_default();
    let architecture = Architecture::of(model_type);
    let model = ModelConfig {
        text,
        whole: config,
        architecture: architecture.or_else(|| Architecture::of("llama"))?,
    };
    let mut weights = model.count()?;
    let assumed = &mut weights.assumed;
    if architecture.is_none() {
        assumed.insert(
            0,
            format!("the architecture `{model_type}` is counted like llama"),
        );
    }
    if is_part && known.is_none() {
        let whole = type_of(config).unwrap_or("this model");
        assumed.push(format!("only the language model of {whole} is counted"));
    }
    if config.get("vision_config").is_some() {
        let images =
            "images as the tokens they become; the vision tower's own computation comes on top";
        assumed.push(images.to_string());
    }
    let dtype = [text, config].iter().find_map(|section| {
        section
            .get("dtype")
            .or(section.get("torch_dtype"))?
            .as_str()
    });
    weights.dtype = dtype.and_then(Dtype::named);
    Some(match known {
        Some(known) => weights.with_params(known),
        None => weights,
    })
}

struct ModelConfig<'a> {
    text: &'a Value,
    whole: &'a Value,
    architecture: &'static Architecture,
}

impl ModelConfig<'_> {
    fn number(&self, key: Key) -> Option<u64> {
        let row = KEYS.iter().find(|row| row.key == key)?;
        let written = row
            .names
            .iter()
            .find_map(|name| self.text.get(name)?.as_u64());
        let default = || {
            let mut defaults = self.architecture.defaults.iter();
            defaults.find(|(known, _)| *known == key)
        };
        written.or_else(|| default().map(|(_, number)| *number))
    }

    fn flag(&self, name: &str) -> Option<bool> {
        self.text.get(name).and_then(Value::as_bool)
    }

    fn is_capped(&self, name: &str) -> bool {
        self.text
            .get(name)
            .map_or(self.architecture.softcapped, Value::is_number)
    }

    fn has(&self, part: Presence) -> bool {
        match part {
            Presence::Never => false,
            Presence::Always => true,
            Presence::If(keys) => keys.iter().any(|key| self.flag(key) == Some(true)),
            Presence::Unless(key) => self.flag(key) != Some(false),
        }
    }

    /// The size of a part, or 0 if the model does not have it.
    fn size_of(&self, part: Presence, size: u64) -> u64 {
        if self.has(part) { size } else { 0 }
    }

    fn norm(&self, size: u64) -> u64 {
        if self.architecture.norm == Norm::Layer {
            2 * size
        } else {
            size
        }
    }

    /// Norms in each layer. Where attention and MLP work side by side, they may share one.
    fn norms(&self) -> u64 {
        let is_new = self.flag("new_decoder_architecture") == Some(true);
        match self.number(Key::ParallelNorms) {
            _ if !self.has(self.architecture.parallel) => self.architecture.norms,
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

    /// No real model has such sizes.
    fn is_absurd(&self) -> bool {
        KEYS.iter()
            .any(|row| self.number(row.key).is_some_and(|number| number > row.most))
    }

    fn count(&self) -> Option<Weights> {
        if self.is_absurd() {
            return None;
        }
        let hidden = self.number(Key::HiddenSize).filter(|n| *n > 0)?;
        let layers = self.number(Key::Layers).filter(|n| *n > 0)?;
        let vocab = self.number(Key::Vocabulary)?;
        let heads = self
            .number(Key::Heads)
            .filter(|n| *n > 0)
            .unwrap_or(hidden.div_ceil(128));
        let mixers = self.mixers(hidden, layers, heads);
        let mlps = self.mlps(hidden, layers);
        let norms = layers * self.norms() * self.norm(hidden);
        let in_layers = mixers.params + norms + mlps.params;
        let embedding = vocab * self.number(Key::EmbeddingSize).unwrap_or(hidden);
        let outside = self.outside(hidden, vocab, embedding);
        let (norm_bytes, norm_factor) = match self.architecture.norm {
            Norm::Rms => (8, 2),
            Norm::RmsInFp32 => (10, 4),
            Norm::RmsPlusOne => (9, 4),
            Norm::Layer => (4, 0),
        };
        let is_grouped = self
            .number(Key::KvHeads)
            .is_some_and(|shared| shared < heads);
        let mixer = mixers.most;
        let shape = Shape {
            hidden,
            layers,
            vocab,
            heads,
            attention: mixer.activations,
            normed: mixer.normed,
            inner: mlps.inner,
            inner_copies: mlps.inner_copies,
            norms: self.norms(),
            norm_bytes,
            norm_factor,
            more_kept: hidden * self.architecture.hidden_kept + mlps.kept,
            kept_for_experts: mlps.kept_for_weights,
            scores: match self.architecture.scores {
                Scores::InFp32 if !is_grouped => Scores::Never,
                scores => scores,
            },
            embedding,
            tied: self.is_tied(),
            softcapped: self.is_capped("final_logit_softcapping"),
            scores_are_capped: self.is_capped("attn_logit_softcapping"),
            layer: in_layers / layers,
            linears: [mixer.linears, mlps.linears].concat(),
            routed: mlps.routed,
        };
        let mixed = "adapters and activations as if all layers were of the most common kind";
        Some(Weights {
            params: outside + in_layers,
            unquantised: outside + norms,
            shape,
            from: "config.json".to_string(),
            assumed: mixers
                .are_mixed
                .then(|| mixed.to_string())
                .into_iter()
                .collect(),
            dtype: None,
        })
    }

    /// Parameters of the embeddings, the head and the norms outside of the layers.
    fn outside(&self, hidden: u64, vocab: u64, embedding: u64) -> u64 {
        let positions = self
            .architecture
            .positions
            .and_then(|positions| Some(self.number(positions.key)? + positions.more));
        let head = if self.is_tied() { 0 } else { embedding };
        // An embedding of another width is projected to that of the layers and back.
        let narrow = self
            .number(Key::EmbeddingSize)
            .filter(|narrow| *narrow != hidden)
            .unwrap_or(0);
        let norm = self.norm(hidden);
        let embedding_norm = if self.architecture.embedding_norm {
            norm
        } else {
            0
        };
        embedding
            + positions.unwrap_or(0) * hidden
            + head
            + self.size_of(self.architecture.head_bias, vocab)
            + 2 * narrow * hidden
            + embedding_norm
            + self.size_of(self.architecture.final_norm, norm)
    }
}
