//! Counts the parameters of a model from its config.json, and reads the sizes that decide what a training step keeps.
//! `src/recorded/parameter-counts.jsonl` has the counts of transformers itself.

mod tower;

use serde_json::Value;

pub use super::tables::dtypes::Dtype;
use super::{
    need::only_if,
    tables::{
        architectures::{
            ARCHITECTURES, Architecture, Norm, Presence, Projections, QkNorm, Recurrence, Scores,
        },
        model_keys::{
            ATTENTION_INTERVAL, DENSE_INNER_SIZE, EMBEDDING_SIZE, EXPERT_SIZE, EXPERTS,
            EXPERTS_PER_TOKEN, FIRST_DENSE, HEAD_SIZE, HEADS, HIDDEN_SIZE, INNER_SIZE, KEYS,
            KV_HEADS, KV_RANK, Key, LAYERS, LINEAR_KERNEL, LINEAR_KEY_HEADS, LINEAR_KEY_SIZE,
            LINEAR_VALUE_HEADS, LINEAR_VALUE_SIZE, MAMBA_EXPANSION, MAMBA_GROUPS, MAMBA_HEADS,
            MAMBA_KERNEL, NOPE_HEAD_SIZE, PARALLEL_NORMS, QUERY_RANK, ROPE_HEAD_SIZE,
            SHARED_EXPERT_SIZE, SHARED_EXPERTS, SPARSE_STEP, STATE_SIZE, TEXT_SECTIONS,
            VALUE_HEAD_SIZE, VOCABULARY, WINDOW,
        },
    },
};

impl Dtype {
    pub fn named(name: &str) -> Option<Self> {
        Some(Self::NAMES.iter().find(|(known, _)| *known == name)?.1)
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

    /// The model whose numbers are all defaults.
    pub fn typical(&'static self) -> Option<Weights> {
        let nothing = &Value::Null;
        let model = ModelConfig {
            text: nothing,
            whole: nothing,
            architecture: self,
        };
        model.count()
    }
}

/// A linear module of one layer.
#[derive(Clone)]
pub struct Linear {
    pub name: &'static str,
    pub inputs: u64,
    pub outputs: u64,
}

impl Linear {
    pub fn weights(&self) -> u64 {
        self.inputs * self.outputs
    }
}

#[derive(Clone, Default)]
pub struct Shape {
    pub hidden: u64,
    pub layers: u64,
    pub vocab: u64,
    pub heads: u64,
    /// Elements of queries, keys, values and the attention's output, for one token of one layer.
    pub attention: u64,
    /// Elements of them that generation keeps.
    pub cached: u64,
    /// Elements by which keys and values grow where transformers repeats them for every head.
    pub repeated: u64,
    /// The tokens that attention looks back at. For longer sequences it gets a mask, and sdpa repeated keys and values.
    pub window: Option<u64>,
    /// Elements of the queries and keys that are normed once more.
    pub normed: u64,
    pub inner: u64,
    /// Tensors of the intermediate size that are kept for the backward pass.
    pub inner_copies: u64,
    /// As many more under autocast.
    pub inner_in_autocast: u64,
    pub norms: u64,
    pub norm: Norm,
    /// Elements kept for one token of one layer besides.
    pub more_kept: u64,
    /// Elements of one patch that enter projectors.
    pub projected: u64,
    pub scores: Scores,
    pub embedding: u64,
    pub tied: bool,
    pub head_has_bias: bool,
    /// The logits are capped, which keeps them once more.
    pub softcapped: bool,
    /// The softmax over scores and sinks is in the dtype of the weights.
    pub has_sinks: bool,
    pub scores_are_capped: bool,
    pub layer: u64,
    pub linears: Vec<Linear>,
    /// Inputs and outputs of what LoRA adapts in the routed experts of all layers.
    pub routed: u64,
}

impl Shape {
    /// Parameters of the linear modules of one layer.
    pub fn linear_weights(&self) -> u64 {
        self.linears.iter().map(Linear::weights).sum()
    }
}

#[derive(Clone, Default)]
pub struct Weights {
    pub params: u64,
    /// By files, by the user, or by an architecture that the table has.
    pub params_are_known: bool,
    /// Parameters that a quantised model keeps in 16 bits: embedding, head, norms, and experts, which are no linear modules.
    pub unquantised: u64,
    pub shape: Shape,
    pub from: String,
    pub assumed: Vec<String>,
    /// The dtype of the stored weights by the model's config.
    pub dtype: Option<Dtype>,
    /// Its parameters are among those above.
    pub tower: Option<Box<Tower>>,
    /// What was not counted, so that nothing is said to fit.
    pub uncounted: Option<String>,
}

/// The tower that turns pictures into tokens.
#[derive(Clone)]
pub struct Tower {
    pub encoder: Weights,
    /// Parameters of what makes tokens of its output.
    pub projector: u64,
    /// Patches of a picture that become one token.
    pub patches: u64,
    /// Bytes of the pixels of a patch, in fp32.
    pub pixel_bytes: u64,
    /// Those and its share of the tokens it becomes, twice in 16 bits.
    pub patch_bytes: u64,
}

/// A number of parameters that is more reliable than one that is counted, and where it was read.
#[derive(Clone)]
pub struct KnownSize {
    pub params: u64,
    pub from: String,
}

impl Weights {
    pub fn with_params(self, KnownSize { params, from }: KnownSize) -> Self {
        Weights {
            params,
            params_are_known: true,
            unquantised: self.unquantised.min(params),
            from,
            ..self
        }
    }

    /// Without the head and its logits; the embedding is the only large tensor then, as if they were one.
    pub fn without_head(&self) -> Self {
        let head = only_if(!self.shape.tied, self.shape.embedding);
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

/// `None` if the config lacks the basic sizes, or has impossible ones.
pub fn read(config: &Value) -> Option<Weights> {
    let mut text = config;
    while let Some(inner) = TEXT_SECTIONS
        .iter()
        .find_map(|name| text.get(name))
        .filter(|inner| inner.is_object())
    {
        text = inner;
    }
    let is_part = !std::ptr::eq(text, config);
    let name = model_type(text).or(model_type(config)).unwrap_or_default();
    let architecture = Architecture::of(name);
    let model = ModelConfig {
        text,
        whole: config,
        architecture: architecture.or_else(|| Architecture::of("llama"))?,
    };
    let mut weights = model.count()?;
    weights.params_are_known = architecture.is_some();
    if !weights.params_are_known {
        weights.assumed.insert(
            0,
            format!("the architecture `{name}` is counted like llama"),
        );
    }
    if let Some(tower) = Tower::read(config, weights.shape.hidden) {
        weights.params += tower.params();
        // Trainers differ in what they quantise of it.
        weights.unquantised += tower.params();
        weights.tower = Some(Box::new(tower));
    } else if is_part || config.get("vision_config").is_some() {
        let whole = model_type(config).unwrap_or("this model");
        weights.uncounted = Some(format!("only the language model of {whole} is counted"));
    }
    let dtype = [text, config].into_iter().find_map(|section| {
        section
            .get("dtype")
            .or(section.get("torch_dtype"))?
            .as_str()
    });
    weights.dtype = dtype.and_then(Dtype::named);
    Some(weights)
}

fn model_type(config: &Value) -> Option<&str> {
    config.get("model_type")?.as_str()
}

struct ModelConfig<'a> {
    text: &'a Value,
    whole: &'a Value,
    architecture: &'static Architecture,
}

impl ModelConfig<'_> {
    fn number(&self, key: Key) -> Option<u64> {
        let mut names = key.names.iter();
        let mut defaults = self.architecture.defaults.iter();
        names
            .find_map(|name| self.text.get(name)?.as_u64())
            .or_else(|| Some(defaults.find(|(known, _)| *known == key)?.1))
    }

    /// Missing numbers are what they usually are.
    fn size(&self, key: Key) -> u64 {
        self.number(key).unwrap_or(key.usual)
    }

    fn flag(&self, name: &str) -> Option<bool> {
        self.text.get(name)?.as_bool()
    }

    fn is_on(&self, name: &str) -> bool {
        self.flag(name) == Some(true)
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
            Presence::If(keys) => keys.iter().any(|key| self.is_on(key)),
            Presence::Unless(key) => self.flag(key) != Some(false),
        }
    }

    /// The size of a part, or 0 if the model does not have it.
    fn if_has(&self, part: Presence, size: u64) -> u64 {
        only_if(self.has(part), size)
    }

    /// Norms in each layer. Where attention and MLP work side by side, they may share one.
    fn norms(&self) -> u64 {
        match self.number(PARALLEL_NORMS) {
            _ if !self.has(self.architecture.parallel) => self.architecture.norms,
            Some(norms) => norms,
            None if self.is_on("new_decoder_architecture") => 2,
            None => 1,
        }
    }

    fn count(&self) -> Option<Weights> {
        // No real model has such sizes.
        if KEYS.iter().any(|key| self.number(*key) > Some(key.most)) {
            return None;
        }
        let of = self.architecture;
        let positive = |key| self.number(key).filter(|number| *number > 0);
        let hidden = positive(HIDDEN_SIZE)?;
        let layers = positive(LAYERS)?;
        let vocab = self.number(VOCABULARY)?;
        let heads = positive(HEADS).unwrap_or(hidden.div_ceil(128));
        let width = self.number(EMBEDDING_SIZE).unwrap_or(hidden);
        let mut shape = Shape {
            hidden,
            layers,
            vocab,
            heads,
            norms: self.norms(),
            norm: of.norm,
            scores: match of.scores {
                Scores::InFp32 if self.number(KV_HEADS).unwrap_or(heads) >= heads => Scores::Never,
                scores => scores,
            },
            embedding: vocab * width,
            window: self
                .number(WINDOW)
                .filter(|_| self.flag("use_sliding_window") != Some(false)),
            tied: self.is_tied(),
            head_has_bias: self.has(of.head_bias),
            softcapped: self.is_capped("final_logit_softcapping"),
            has_sinks: of.sinks,
            scores_are_capped: of.biased_scores || self.is_capped("attn_logit_softcapping"),
            ..Shape::default()
        };
        let norm = of.norm.tensors * hidden;
        let in_norms = layers * shape.norms * norm;
        let in_layers = in_norms + self.add_mixers(&mut shape) + self.add_mlps(&mut shape);
        shape.layer = in_layers / layers;
        let positions = of
            .positions
            .and_then(|positions| Some(self.number(positions.key)? + positions.more));
        let outside = shape.embedding
            + only_if(!shape.tied, shape.embedding)
            + positions.unwrap_or(0) * hidden
            + only_if(shape.head_has_bias, vocab)
            // An embedding of another width is projected to that of the layers and back.
            + only_if(width != hidden, 2 * width * hidden)
            + only_if(of.embedding_norm, norm)
            + self.if_has(of.final_norm, norm);
        let is_recurrent = self.recurrent_layers(layers) > 0;
        Some(Weights {
            params: outside + in_layers,
            unquantised: (outside + in_layers).saturating_sub(layers * shape.linear_weights()),
            shape,
            from: "config.json".to_string(),
            assumed: is_recurrent
                .then(|| {
                    "adapters and activations as if all layers were of the most common kind"
                        .to_string()
                })
                .into_iter()
                .collect(),
            uncounted: of.uncounted.filter(|_| is_recurrent).map(str::to_string),
            ..Weights::default()
        })
    }

    fn is_tied(&self) -> bool {
        let tied = |config: &Value| config.get("tie_word_embeddings")?.as_bool();
        // transformers asks the model that is built, not its part.
        tied(self.whole)
            .or(tied(self.text))
            .unwrap_or(self.architecture.tied)
    }
}

/// The attention of one layer, or its recurrence.
#[derive(Default)]
struct Mixer {
    linears: Vec<Linear>,
    /// Parameters outside of the linear modules.
    others: u64,
    /// Elements of the queries and keys that are normed once more.
    normed: u64,
    /// Elements kept for each token.
    activations: u64,
    /// Keys and values among them, or all if they cannot be told apart.
    cached: u64,
    /// Elements by which keys and values grow if each head gets its own.
    repeated: u64,
}

impl Mixer {
    fn params(&self) -> u64 {
        self.linears.iter().map(Linear::weights).sum::<u64>() + self.others
    }
}

fn linear(name: &'static str, inputs: u64, outputs: u64) -> Linear {
    Linear {
        name,
        inputs,
        outputs,
    }
}

impl ModelConfig<'_> {
    /// Returns the parameters of the attention and the recurrences of all layers.
    fn add_mixers(&self, shape: &mut Shape) -> u64 {
        let attention = self.attention(shape.hidden, shape.heads);
        let recurrent = match self.architecture.recurrence {
            Some(Recurrence::Mamba2) => self.mamba2(shape.hidden),
            Some(Recurrence::GatedDelta) => self.gated_delta(shape.hidden),
            None => Mixer::default(),
        };
        let count = self.recurrent_layers(shape.layers);
        let params = (shape.layers - count) * attention.params() + count * recurrent.params();
        // Layers of two kinds are taken to be like most of them.
        let most = if 2 * count > shape.layers {
            recurrent
        } else {
            attention
        };
        shape.attention = most.activations;
        shape.cached = most.cached;
        shape.repeated = most.repeated;
        shape.normed = most.normed;
        shape.linears = most.linears;
        params
    }

    /// Returns the parameters of the MLPs and the mixtures of experts of all layers.
    fn add_mlps(&self, shape: &mut Shape) -> u64 {
        let of = self.architecture;
        let hidden = shape.hidden;
        // Granite 4 without experts has only the expert that others share.
        let only_shared = match self.number(EXPERTS) {
            Some(0) => self.number(SHARED_EXPERT_SIZE),
            _ => None,
        };
        let intermediate = only_shared
            .or(self.number(INNER_SIZE))
            .unwrap_or(4 * hidden);
        let inner = self.number(DENSE_INNER_SIZE).unwrap_or(intermediate);
        let bias = |size| self.if_has(of.mlp_bias, size);
        let up = hidden * inner + bias(inner);
        let dense = of.mlp.ups * up + inner * hidden + bias(hidden);
        shape.inner = inner;
        shape.inner_copies = of.mlp.kept.saturating_add_signed(of.inner_kept);
        shape.inner_in_autocast = of.mlp.in_autocast;
        shape.more_kept = hidden * of.hidden_kept;
        let sparse = self.sparse_layers(shape.layers);
        let mut adapted = inner;
        let mut params = (shape.layers - sparse) * dense;
        if sparse > 0 {
            let inner = self.number(EXPERT_SIZE).unwrap_or(intermediate);
            let shared = self.number(SHARED_EXPERT_SIZE);
            adapted = shared.unwrap_or(self.size(SHARED_EXPERTS) * inner);
            params += sparse * self.add_experts(shape, inner, adapted);
            shape.routed *= sparse;
        }
        // Every token goes through these.
        if adapted > 0 {
            let names = of.mlp.names;
            let outputs = of.mlp.ups * adapted / names.len() as u64;
            shape
                .linears
                .extend(names.iter().map(|name| linear(name, hidden, outputs)));
            shape.linears.push(linear("down_proj", adapted, hidden));
        }
        params
    }

    /// Returns the parameters of the mixture of experts of one layer. `shared`: the size of the expert that all tokens share.
    fn add_experts(&self, shape: &mut Shape, inner: u64, shared: u64) -> u64 {
        let of = self.architecture;
        let hidden = shape.hidden;
        let count = self.size(EXPERTS);
        let chosen = if of.runs_all_experts {
            count
        } else {
            self.size(EXPERTS_PER_TOKEN)
        };
        shape.inner = chosen * inner + shared;
        // A token is copied for each of its experts on its way there and back.
        shape.more_kept += chosen * 2 * hidden;
        // transformers 5 joins gate and up, and PEFT adapts the joined tensor once for each of them.
        shape.routed = count * (2 * (hidden + 2 * inner) + inner + hidden) + hidden + count;
        let router = count * hidden;
        let biases = count * (1 + 2 * inner + hidden);
        3 * hidden * (count * inner + shared)
            + router
            + only_if(of.expert_bias, biases)
            + only_if(of.shared_gate && shared > 0, hidden)
    }

    fn attention(&self, hidden: u64, heads: u64) -> Mixer {
        let of = self.architecture;
        if of.projections == Projections::Latent {
            return self.latent_attention(hidden, heads);
        }
        let head = self.number(HEAD_SIZE).unwrap_or(hidden / heads);
        let is_one = self.has(of.one_kv_head) && !self.is_on("new_decoder_architecture");
        let own = self.number(KV_HEADS).unwrap_or(heads);
        let query = heads * head;
        let key = if is_one { head } else { own * head };
        // A gate of the output is as wide as the queries, and computed with them.
        let queries = query + only_if(of.projections == Projections::Gated, query);
        let norm = match of.qk_norm_by {
            QkNorm::Head => 2 * head,
            QkNorm::AllHeads => query + key,
        };
        let mut linears = match of.joined_qkv {
            Some(name) => vec![linear(name, hidden, queries + 2 * key)],
            None => vec![
                linear("q_proj", hidden, queries),
                linear("k_proj", hidden, key),
                linear("v_proj", hidden, key),
            ],
        };
        linears.push(linear("o_proj", query, hidden));
        Mixer {
            linears,
            others: self.if_has(of.qkv_bias, queries + 2 * key)
                + self.if_has(of.out_bias, hidden)
                + self.if_has(of.qk_norm, norm)
                + only_if(of.sinks, heads),
            normed: self.if_has(of.qk_norm, query + key),
            activations: query + queries + (2 + of.key_kept) * key,
            cached: 2 * key,
            repeated: 2 * query.saturating_sub(key),
        }
    }

    fn latent_attention(&self, hidden: u64, heads: u64) -> Mixer {
        let rope = self.size(ROPE_HEAD_SIZE);
        let nope = self.size(NOPE_HEAD_SIZE);
        let value = match self.size(VALUE_HEAD_SIZE) {
            0 => hidden / heads,
            size => size,
        };
        let narrow = self.size(KV_RANK);
        let query = heads * (rope + nope);
        let rank = self.size(QUERY_RANK);
        let mut linears = if rank > 0 {
            vec![
                linear("q_a_proj", hidden, rank),
                linear("q_b_proj", rank, query),
            ]
        } else {
            vec![linear("q_proj", hidden, query)]
        };
        linears.extend([
            linear("kv_a_proj_with_mqa", hidden, narrow + rope),
            linear("kv_b_proj", narrow, heads * (nope + value)),
            linear("o_proj", heads * value, hidden),
        ]);
        Mixer {
            linears,
            others: narrow + rank,
            normed: narrow + rank,
            // Where heads of two sizes meet, the output is copied. Values are a part of what computes them.
            activations: 2 * query + heads * (nope + 3 * value) + 2 * narrow,
            cached: query + heads * value,
            repeated: 0,
        }
    }

    /// The layers with a recurrence instead of attention.
    fn recurrent_layers(&self, layers: u64) -> u64 {
        let Some(recurrence) = self.architecture.recurrence else {
            return 0;
        };
        let is_recurrent = |kind: &&Value| **kind == "mamba" || **kind == "linear_attention";
        let count = match self.text.get("layer_types").and_then(Value::as_array) {
            Some(kinds) => kinds.iter().filter(is_recurrent).count() as u64,
            None if recurrence == Recurrence::GatedDelta => {
                layers - layers / self.size(ATTENTION_INTERVAL).max(1)
            }
            None => layers,
        };
        count.min(layers)
    }

    fn mamba2(&self, hidden: u64) -> Mixer {
        let inner = self.size(MAMBA_EXPANSION) * hidden;
        let heads = self.size(MAMBA_HEADS);
        let mixed = inner + 2 * self.size(MAMBA_GROUPS) * self.size(STATE_SIZE);
        let entering = inner + mixed + heads;
        let biases = self.if_has(Presence::If(&["mamba_proj_bias"]), entering + hidden)
            + self.if_has(Presence::Unless("mamba_conv_bias"), mixed);
        let convolution = mixed * self.size(MAMBA_KERNEL);
        Mixer {
            linears: vec![
                linear("in_proj", hidden, entering),
                linear("out_proj", inner, hidden),
            ],
            others: biases + convolution + 3 * heads + inner,
            ..Mixer::default()
        }
    }

    fn gated_delta(&self, hidden: u64) -> Mixer {
        let heads = self.size(LINEAR_VALUE_HEADS);
        let head = self.size(LINEAR_VALUE_SIZE);
        let key = self.size(LINEAR_KEY_HEADS) * self.size(LINEAR_KEY_SIZE);
        let value = heads * head;
        let convolution = (2 * key + value) * self.size(LINEAR_KERNEL);
        Mixer {
            linears: vec![
                linear("in_proj_qkvz", hidden, 2 * key + 2 * value),
                linear("in_proj_ba", hidden, 2 * heads),
                linear("out_proj", value, hidden),
            ],
            others: convolution + 2 * heads + head,
            // As torch computes it, without flash-linear-attention.
            activations: 46 * value,
            cached: 8 * value,
            ..Mixer::default()
        }
    }

    /// The number of layers with a mixture of experts.
    fn sparse_layers(&self, layers: u64) -> u64 {
        let step = self.size(SPARSE_STEP).max(1);
        let dense = self.text.get("mlp_only_layers").and_then(Value::as_array);
        let is_dense = |layer: u64| dense.is_some_and(|dense| dense.contains(&layer.into()));
        let sparse = (self.size(FIRST_DENSE)..layers)
            .filter(|layer| (layer + 1).is_multiple_of(step) && !is_dense(*layer));
        only_if(self.size(EXPERTS) > 0, sparse.count() as u64)
    }
}
