//! The parts of the layers: attention or a recurrence, and an MLP or a mixture of experts.

use serde_json::Value;

use super::{Linear, ModelConfig};
use crate::fit::tables::architectures::{Mlp, Projections, QkNorm, Recurrence};
use crate::fit::tables::model_keys::Key;

/// The attention of one layer, or its recurrence.
pub(super) struct Mixer {
    pub(super) params: u64,
    /// Elements of the queries and keys that are normed once more.
    pub(super) normed: u64,
    pub(super) linears: Vec<Linear>,
    /// Elements kept for each token.
    pub(super) activations: u64,
}

pub(super) struct Mixers {
    /// In all layers.
    pub(super) params: u64,
    /// Layers of two kinds are taken to be like most of them.
    pub(super) most: Mixer,
    pub(super) are_mixed: bool,
}

pub(super) struct Mlps {
    /// In all layers.
    pub(super) params: u64,
    /// Intermediate size that one token goes through in a layer.
    pub(super) inner: u64,
    /// Tensors of that size that are kept for the backward pass.
    pub(super) inner_copies: u64,
    /// What every token goes through.
    pub(super) linears: Vec<Linear>,
    /// Elements kept for each token on its way to the experts and back.
    pub(super) kept: u64,
    /// The elements among them that only the gradients of the experts' weights need.
    pub(super) kept_for_weights: u64,
    /// Inputs and outputs of what LoRA adapts in the routed experts of all layers.
    pub(super) routed: u64,
}

/// The mixture of experts of one layer.
#[derive(Default)]
struct Experts {
    params: u64,
    /// Intermediate size of the expert that every token goes through.
    shared: u64,
    /// Intermediate size of all experts that one token goes through.
    active: u64,
    adapted: u64,
    kept: u64,
    kept_for_weights: u64,
}

fn linear(name: &'static str, inputs: u64, outputs: u64) -> Linear {
    Linear {
        name,
        inputs,
        outputs,
    }
}

fn weights(linears: &[Linear]) -> u64 {
    linears.iter().map(Linear::weights).sum()
}

impl ModelConfig<'_> {
    fn number_or(&self, key: Key, default: u64) -> u64 {
        self.number(key).unwrap_or(default)
    }

    pub(super) fn mixers(&self, hidden: u64, layers: u64, heads: u64) -> Mixers {
        let attention = self.attention(hidden, heads);
        let Some(recurrence) = self.architecture.recurrence else {
            return Mixers {
                params: layers * attention.params,
                most: attention,
                are_mixed: false,
            };
        };
        let recurrent = match recurrence {
            Recurrence::Mamba => self.mamba(hidden),
            Recurrence::Mamba2 => self.mamba2(hidden),
            Recurrence::GatedDelta => self.gated_delta(hidden),
        };
        let count = match self.text.get("layer_types").and_then(Value::as_array) {
            Some(kinds) => kinds
                .iter()
                .filter(|kind| *kind == "mamba" || *kind == "linear_attention")
                .count() as u64,
            // Every fourth layer has attention, or none.
            None if recurrence == Recurrence::GatedDelta => {
                layers - layers / self.number_or(Key::AttentionInterval, 4).max(1)
            }
            None => layers,
        };
        let count = count.min(layers);
        Mixers {
            params: (layers - count) * attention.params + count * recurrent.params,
            most: if 2 * count > layers {
                recurrent
            } else {
                attention
            },
            are_mixed: (1..layers).contains(&count),
        }
    }

    fn attention(&self, hidden: u64, heads: u64) -> Mixer {
        let of = self.architecture;
        if of.projections == Projections::Latent {
            return self.latent_attention(hidden, heads);
        }
        let head = self.number_or(Key::HeadSize, hidden / heads);
        let is_shared_by_all =
            self.has(of.one_kv_head) && self.flag("new_decoder_architecture") != Some(true);
        let shared = if is_shared_by_all {
            1
        } else {
            self.number_or(Key::KvHeads, heads)
        };
        let query = heads * head;
        let key = shared * head;
        // A gate of the output is as wide as the queries, and computed with them.
        let queries = if of.projections == Projections::Gated {
            2 * query
        } else {
            query
        };
        let linears = vec![
            linear("q_proj", hidden, queries),
            linear("k_proj", hidden, key),
            linear("v_proj", hidden, key),
            linear("o_proj", query, hidden),
        ];
        let norm = match of.qk_norm_by {
            QkNorm::Head => 2 * head,
            QkNorm::AllHeads => query + key,
        };
        let sinks = if of.sinks { heads } else { 0 };
        Mixer {
            params: weights(&linears)
                + self.size_of(of.qkv_bias, queries + 2 * key)
                + self.size_of(of.out_bias, hidden)
                + self.size_of(of.qk_norm, norm)
                + sinks,
            normed: self.size_of(of.qk_norm, query + key),
            linears,
            activations: query + queries + 2 * key,
        }
    }

    fn latent_attention(&self, hidden: u64, heads: u64) -> Mixer {
        let rope = self.number_or(Key::RopeHeadSize, 0);
        let nope = self.number_or(Key::NopeHeadSize, 0);
        let value = self
            .number(Key::ValueHeadSize)
            .filter(|value| *value > 0)
            .unwrap_or(hidden / heads);
        let narrow = self.number_or(Key::KvRank, 0);
        let query = heads * (rope + nope);
        let query_rank = self.number(Key::QueryRank);
        let mut linears = match query_rank {
            Some(rank) => vec![
                linear("q_a_proj", hidden, rank),
                linear("q_b_proj", rank, query),
            ],
            None => vec![linear("q_proj", hidden, query)],
        };
        linears.extend([
            linear("kv_a_proj_with_mqa", hidden, narrow + rope),
            linear("kv_b_proj", narrow, heads * (nope + value)),
            linear("o_proj", heads * value, hidden),
        ]);
        let normed = narrow + query_rank.unwrap_or(0);
        Mixer {
            params: weights(&linears) + normed,
            normed,
            linears,
            activations: 2 * query + 2 * heads * value + 2 * narrow,
        }
    }

    /// The inputs and outputs of every module are kept for the backward pass. `others`: parameters outside of the modules.
    fn recurrent(linears: Vec<Linear>, others: u64) -> Mixer {
        Mixer {
            params: weights(&linears) + others,
            normed: 0,
            activations: linears.iter().map(|linear| 2 * linear.outputs).sum(),
            linears,
        }
    }

    fn mamba(&self, hidden: u64) -> Mixer {
        let inner = self.number_or(Key::MambaExpansion, 2) * hidden;
        let state = self.number_or(Key::StateSize, 16);
        let rank = self.number_or(Key::TimeStepRank, hidden.div_ceil(16));
        let linears = vec![
            linear("in_proj", hidden, 2 * inner),
            linear("x_proj", inner, rank + 2 * state),
            linear("dt_proj", rank, inner),
            linear("out_proj", inner, hidden),
        ];
        let biases = if self.flag("use_bias") == Some(true) {
            3 * inner + hidden
        } else {
            inner
        };
        let has_bias = self.flag("use_conv_bias") != Some(false);
        // The decay of each state, and the skip connection.
        let own = inner * state + inner;
        Self::recurrent(linears, biases + self.convolution(inner, has_bias) + own)
    }

    fn mamba2(&self, hidden: u64) -> Mixer {
        let inner = self.number_or(Key::MambaExpansion, 2) * hidden;
        let state = self.number_or(Key::StateSize, 128);
        let groups = self.number_or(Key::MambaGroups, 8);
        let heads = self.number_or(Key::MambaHeads, 128);
        // A hybrid and a model of its own have different names for it.
        let flag = |hybrid: &str, alone: &str| self.flag(hybrid).or_else(|| self.flag(alone));
        let mixed = inner + 2 * groups * state;
        let linears = vec![
            linear("in_proj", hidden, inner + mixed + heads),
            linear("out_proj", inner, hidden),
        ];
        let biases = if flag("mamba_proj_bias", "use_bias") == Some(true) {
            inner + mixed + heads + hidden
        } else {
            0
        };
        let has_bias = flag("mamba_conv_bias", "use_conv_bias") != Some(false);
        let convolution = self.convolution(mixed, has_bias);
        Self::recurrent(linears, biases + convolution + 3 * heads + inner)
    }

    fn convolution(&self, channels: u64, has_bias: bool) -> u64 {
        let bias = if has_bias { channels } else { 0 };
        channels * self.number_or(Key::MambaKernel, 4) + bias
    }

    fn gated_delta(&self, hidden: u64) -> Mixer {
        let heads = self.number_or(Key::LinearValueHeads, 32);
        let head = self.number_or(Key::LinearValueSize, 128);
        let key = self.number_or(Key::LinearKeyHeads, 16) * self.number_or(Key::LinearKeySize, 128);
        let value = heads * head;
        let linears = vec![
            linear("in_proj_qkvz", hidden, 2 * key + 2 * value),
            linear("in_proj_ba", hidden, 2 * heads),
            linear("out_proj", value, hidden),
        ];
        let convolution = (2 * key + value) * self.number_or(Key::LinearKernel, 4);
        Self::recurrent(linears, convolution + 2 * heads + head)
    }

    pub(super) fn mlps(&self, hidden: u64, layers: u64) -> Mlps {
        // Granite 4 without experts has only the expert that others share.
        let only_shared = if self.number(Key::Experts) == Some(0) {
            self.number(Key::SharedExpertSize)
        } else {
            None
        };
        let intermediate = only_shared
            .or_else(|| self.number(Key::InnerSize))
            .unwrap_or(4 * hidden);
        let dense_inner = self.number_or(Key::DenseInnerSize, intermediate);
        let kind = self.architecture.mlp;
        let ups = match kind {
            Mlp::None => 0,
            Mlp::Plain => 1,
            Mlp::Gated => 2,
        };
        let bias = |size| self.size_of(self.architecture.mlp_bias, size);
        let dense = if kind == Mlp::None {
            0
        } else {
            ups * (hidden * dense_inner + bias(dense_inner)) + dense_inner * hidden + bias(hidden)
        };
        let experts = self.experts(hidden, intermediate);
        let sparse = self.sparse_layers(layers);
        let (inner, adapted) = match kind {
            Mlp::None => (0, 0),
            _ if sparse == 0 => (dense_inner, dense_inner),
            _ => (experts.active, experts.shared),
        };
        let mut linears = Vec::new();
        if adapted > 0 {
            if kind == Mlp::Gated {
                linears.push(linear("gate_proj", hidden, adapted));
            }
            linears.push(linear("up_proj", hidden, adapted));
            linears.push(linear("down_proj", adapted, hidden));
        }
        let copies: u64 = if kind == Mlp::Plain { 2 } else { 4 };
        Mlps {
            params: (layers - sparse) * dense + sparse * experts.params,
            inner,
            inner_copies: copies.saturating_add_signed(self.architecture.inner_kept),
            linears,
            kept: experts.kept,
            kept_for_weights: experts.kept_for_weights,
            routed: sparse * experts.adapted,
        }
    }

    fn experts(&self, hidden: u64, intermediate: u64) -> Experts {
        let Some(count) = self.number(Key::Experts) else {
            return Experts::default();
        };
        let inner = self.number_or(Key::ExpertSize, intermediate);
        let shared = self
            .number(Key::SharedExpertSize)
            .or_else(|| Some(self.number(Key::SharedExperts)? * inner))
            .unwrap_or(0);
        let has_gate = self.architecture.shared_gate && shared > 0;
        let gate = if has_gate { hidden } else { 0 };
        let biases = if self.architecture.expert_bias {
            count * (1 + 2 * inner + hidden)
        } else {
            0
        };
        let router = count * hidden;
        let chosen = self.number_or(Key::ExpertsPerToken, 2);
        Experts {
            params: 3 * hidden * (count * inner + shared) + biases + gate + router,
            shared,
            active: chosen * inner + shared,
            // transformers 5 joins gate and up, and PEFT adapts the joined tensor once for each of them.
            adapted: count * (2 * (hidden + 2 * inner) + inner + hidden) + hidden + count,
            // A token is copied for each of its experts on its way there and back, and the joined gate and up is split.
            kept: chosen * (5 * hidden / 2 + 3 * inner / 4),
            kept_for_weights: chosen * (hidden / 2 + 3 * inner / 4),
        }
    }

    /// The number of layers with a mixture of experts.
    fn sparse_layers(&self, layers: u64) -> u64 {
        if self.number(Key::Experts).is_none_or(|count| count == 0) {
            return 0;
        }
        let first = self.number_or(Key::FirstDense, 0);
        let step = self.number_or(Key::SparseStep, 1).max(1);
        let dense = self.text.get("mlp_only_layers").and_then(Value::as_array);
        let is_dense = |layer: u64| {
            dense.is_some_and(|dense| dense.iter().any(|it| it.as_u64() == Some(layer)))
        };
        (first..layers)
            .filter(|layer| (layer + 1).is_multiple_of(step) && !is_dense(*layer))
            .count() as u64
    }
}
