//! The parts of one layer: attention or a recurrence, and an MLP or a mixture of experts.

use serde_json::Value;

use super::{Linear, ModelConfig};

/// The attention of one layer, or its recurrence.
pub(super) struct Mixer {
    pub(super) params: u64,
    pub(super) normed: u64,
    pub(super) linears: Vec<Linear>,
    /// Elements kept for each token.
    pub(super) activations: u64,
}

impl Mixer {
    /// The inputs and outputs of every module are kept for the backward pass.
    fn recurrent(linears: Vec<Linear>, others: u64) -> Self {
        let weights: u64 = linears
            .iter()
            .map(|(_, inputs, outputs)| inputs * outputs)
            .sum();
        let activations = linears.iter().map(|(_, _, outputs)| 2 * outputs).sum();
        Mixer {
            params: weights + others,
            normed: 0,
            linears,
            activations,
        }
    }
}

#[derive(Default)]
pub(super) struct Experts {
    pub(super) params: u64,
    /// Intermediate size of the expert that every token goes through.
    pub(super) shared: u64,
    /// Intermediate size of all experts that one token goes through.
    pub(super) active: u64,
    pub(super) adapted: u64,
    pub(super) kept: u64,
    pub(super) kept_for_weights: u64,
}

impl ModelConfig<'_> {
    pub(super) fn attention(&self, hidden: u64, heads: u64) -> Mixer {
        if self.architecture.projections == "latent" {
            return self.latent_attention(hidden, heads);
        }
        let head = self.number("head_dim").unwrap_or(hidden / heads);
        let is_shared_by_all = self.holds(&self.architecture.one_kv_head)
            && self.flag("new_decoder_architecture") != Some(true);
        let shared = if is_shared_by_all {
            1
        } else {
            self.number("num_key_value_heads").unwrap_or(heads)
        };
        let (query, key) = (heads * head, shared * head);
        // A gate of the output is as wide as the queries, and computed with them.
        let queries = if self.architecture.projections == "gated" {
            2 * query
        } else {
            query
        };
        let norm = match self.architecture.qk_norm_by.as_str() {
            _ if !self.holds(&self.architecture.qk_norm) => 0,
            "all_heads" => query + key,
            _ => 2 * head,
        };
        let params = hidden * (queries + 2 * key)
            + self.bias(&self.architecture.qkv_bias, queries + 2 * key)
            + query * hidden
            + self.bias(&self.architecture.out_bias, hidden)
            + norm
            + if self.holds(&self.architecture.sinks) {
                heads
            } else {
                0
            };
        let normed = if norm > 0 { query + key } else { 0 };
        let linears = [
            ("q_proj", hidden, queries),
            ("k_proj", hidden, key),
            ("v_proj", hidden, key),
            ("o_proj", query, hidden),
        ];
        Mixer {
            params,
            normed,
            linears: linears.to_vec(),
            activations: query + queries + 2 * key,
        }
    }

    fn latent_attention(&self, hidden: u64, heads: u64) -> Mixer {
        let size = |name| self.number(name).unwrap_or(0);
        let (rope, nope, value) = (
            size("qk_rope_head_dim"),
            size("qk_nope_head_dim"),
            size("v_head_dim"),
        );
        let value = if value == 0 { hidden / heads } else { value };
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
        let params = linears
            .iter()
            .map(|(_, inputs, outputs)| inputs * outputs)
            .sum::<u64>()
            + norms;
        let activations = 2 * query + 2 * heads * value + 2 * narrow;
        Mixer {
            params,
            normed: norms,
            linears,
            activations,
        }
    }

    pub(super) fn mlp(&self, hidden: u64, inner: u64) -> u64 {
        let bias = |size| self.bias(&self.architecture.mlp_bias, size);
        let ups = match self.architecture.mlp.as_str() {
            "plain" => 1,
            "none" => return 0,
            _ => 2,
        };
        ups * (hidden * inner + bias(inner)) + inner * hidden + bias(hidden)
    }

    /// The number of recurrent layers, and one of them.
    pub(super) fn recurrent(&self, hidden: u64, layers: u64) -> Option<(u64, Mixer)> {
        let recurrence = self.architecture.recurrence.as_deref()?;
        let size = match recurrence {
            "mamba" => self.mamba(hidden),
            "mamba2" => self.mamba2(hidden),
            _ => self.gated_delta(hidden),
        };
        let count = match self.text.get("layer_types").and_then(Value::as_array) {
            Some(kinds) => kinds
                .iter()
                .filter(|kind| *kind == "mamba" || *kind == "linear_attention")
                .count() as u64,
            // Every fourth layer has attention, or none.
            None if recurrence == "gated_delta" => {
                layers - layers / self.number("full_attention_interval").unwrap_or(4).max(1)
            }
            None => layers,
        };
        Some((count.min(layers), size))
    }

    fn mamba(&self, hidden: u64) -> Mixer {
        let inner = self.number("expand").unwrap_or(2) * hidden;
        let (state, kernel) = (
            self.number("state_size").unwrap_or(16),
            self.number("conv_kernel").unwrap_or(4),
        );
        let rank = self.number("time_step_rank").unwrap_or(hidden.div_ceil(16));
        let linears = vec![
            ("in_proj", hidden, 2 * inner),
            ("x_proj", inner, rank + 2 * state),
            ("dt_proj", rank, inner),
            ("out_proj", inner, hidden),
        ];
        let biases = inner
            + if self.flag("use_bias").unwrap_or(false) {
                2 * inner + hidden
            } else {
                0
            };
        let convolution = inner * (kernel + u64::from(self.flag("use_conv_bias").unwrap_or(true)));
        // The decay of each state, and the skip connection.
        let own = inner * state + inner;
        Mixer::recurrent(linears, biases + convolution + own)
    }

    fn mamba2(&self, hidden: u64) -> Mixer {
        let number = |name: &str, default: u64| self.number(name).unwrap_or(default);
        let (inner, state) = (
            number("mamba_expand", 2) * hidden,
            number("mamba_d_state", 128),
        );
        let (groups, heads) = (number("mamba_n_groups", 8), number("mamba_n_heads", 128));
        let kernel = number("mamba_d_conv", 4);
        let flag = |hybrid: &str, alone: &str| self.flag(hybrid).or_else(|| self.flag(alone));
        let mixed = inner + 2 * groups * state;
        let linears = vec![
            ("in_proj", hidden, inner + mixed + heads),
            ("out_proj", inner, hidden),
        ];
        let has_bias = flag("mamba_proj_bias", "use_bias").unwrap_or(false);
        let biases = if has_bias {
            inner + mixed + heads + hidden
        } else {
            0
        };
        let convolution =
            mixed * (kernel + u64::from(flag("mamba_conv_bias", "use_conv_bias").unwrap_or(true)));
        Mixer::recurrent(linears, biases + convolution + 3 * heads + inner)
    }

    fn gated_delta(&self, hidden: u64) -> Mixer {
        let number = |name: &str, default: u64| self.number(name).unwrap_or(default);
        let (heads, head) = (
            number("linear_num_value_heads", 32),
            number("linear_value_head_dim", 128),
        );
        let key = number("linear_num_key_heads", 16) * number("linear_key_head_dim", 128);
        let value = heads * head;
        let linears = vec![
            ("in_proj_qkvz", hidden, 2 * key + 2 * value),
            ("in_proj_ba", hidden, 2 * heads),
            ("out_proj", value, hidden),
        ];
        let convolution = (2 * key + value) * number("linear_conv_kernel_dim", 4);
        Mixer::recurrent(linears, convolution + 2 * heads + head)
    }

    pub(super) fn experts(&self, hidden: u64, intermediate: u64) -> Experts {
        let Some(count) = self.number("num_experts") else {
            return Experts::default();
        };
        let inner = self.number("moe_intermediate_size").unwrap_or(intermediate);
        let shared = (self.number("shared_expert_intermediate_size"))
            .or_else(|| Some(self.number("n_shared_experts")? * inner))
            .unwrap_or(0);
        let gate = if self.architecture.shared_gate && shared > 0 {
            hidden
        } else {
            0
        };
        let biased = u64::from(self.holds(&self.architecture.expert_bias));
        let router = count * (hidden + biased);
        let each = 3 * hidden * inner + biased * (2 * inner + hidden);
        let chosen = self.number("num_experts_per_tok").unwrap_or(2);
        let active = chosen * inner + shared;
        // A token is copied for each of its experts on its way there and back, and the joined gate and up is split.
        let kept = chosen * (5 * hidden / 2 + 3 * inner / 4);
        let kept_for_weights = chosen * (hidden / 2 + 3 * inner / 4);
        // transformers 5 joins gate and up, and PEFT adapts the joined tensor once for each of them.
        let adapted = count * (2 * (hidden + 2 * inner) + inner + hidden) + hidden + count;
        let params = count * each + 3 * hidden * shared + gate + router;
        Experts {
            params,
            shared,
            active,
            adapted,
            kept,
            kept_for_weights,
        }
    }

    /// Numbers of layers with a plain MLP and with a mixture of experts.
    pub(super) fn mixture_layers(&self, layers: u64) -> (u64, u64) {
        if self.number("num_experts").is_none_or(|count| count == 0) {
            return (layers, 0);
        }
        let first = self.number("first_k_dense_replace").unwrap_or(0);
        let step = self.number("decoder_sparse_step").unwrap_or(1).max(1);
        let dense = self
            .text
            .get("mlp_only_layers")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let dense: Vec<u64> = dense.filter_map(Value::as_u64).collect();
        let sparse = (first..layers)
            .filter(|layer| (layer + 1).is_multiple_of(step) && !dense.contains(layer));
        let sparse = sparse.count() as u64;
        (layers - sparse, sparse)
    }
}
