//! Layers without attention: Mamba, Mamba 2, and the gated delta rule of Qwen 3 Next.

use serde_json::Value;

use super::known::Recurrence;
use super::{AttentionSize, ModelConfig};

impl ModelConfig<'_> {
    /// How many layers are recurrent, and what one of them has.
    pub(super) fn recurrent(&self, hidden: u64, layers: u64) -> Option<(u64, AttentionSize)> {
        let recurrence = self.architecture.recurrence?;
        let size = match recurrence {
            Recurrence::Mamba => self.mamba(hidden),
            Recurrence::Mamba2 => self.mamba2(hidden),
            Recurrence::GatedDelta => self.gated_delta(hidden),
        };
        let count = match self.text.get("layer_types").and_then(Value::as_array) {
            Some(kinds) => {
                kinds.iter().filter(|kind| ["mamba", "linear_attention"].iter().any(|known| *kind == known)).count()
                    as u64
            }
            // Every fourth layer has attention, or none.
            None if recurrence == Recurrence::GatedDelta => {
                layers - layers / self.number("full_attention_interval").unwrap_or(4).max(1)
            }
            None => layers,
        };
        Some((count.min(layers), size))
    }

    fn mamba(&self, hidden: u64) -> AttentionSize {
        let inner = self.number("expand").unwrap_or(2) * hidden;
        let (state, kernel) = (self.number("state_size").unwrap_or(16), self.number("conv_kernel").unwrap_or(4));
        let rank = self.number("time_step_rank").unwrap_or(hidden.div_ceil(16));
        let linears = vec![
            ("in_proj", hidden, 2 * inner),
            ("x_proj", inner, rank + 2 * state),
            ("dt_proj", rank, inner),
            ("out_proj", inner, hidden),
        ];
        let biases = inner + if self.flag("use_bias").unwrap_or(false) { 2 * inner + hidden } else { 0 };
        let convolution = inner * (kernel + u64::from(self.flag("use_conv_bias").unwrap_or(true)));
        // The decay of each state, and the skip connection.
        let own = inner * state + inner;
        AttentionSize::recurrent(linears, biases + convolution + own)
    }

    fn mamba2(&self, hidden: u64) -> AttentionSize {
        let number = |hybrid: &str, alone: &str, default: u64| {
            self.number(hybrid).or_else(|| self.number(alone)).unwrap_or(default)
        };
        let inner = number("mamba_expand", "expand", 2) * hidden;
        let state = number("mamba_d_state", "state_size", 128);
        let groups = number("mamba_n_groups", "n_groups", 8);
        let heads = number("mamba_n_heads", "num_heads", 128);
        let kernel = number("mamba_d_conv", "conv_kernel", 4);
        let flag = |hybrid: &str, alone: &str| self.flag(hybrid).or_else(|| self.flag(alone));
        let mixed = inner + 2 * groups * state;
        let linears = vec![("in_proj", hidden, inner + mixed + heads), ("out_proj", inner, hidden)];
        let has_bias = flag("mamba_proj_bias", "use_bias").unwrap_or(false);
        let biases = if has_bias { inner + mixed + heads + hidden } else { 0 };
        let convolution = mixed * (kernel + u64::from(flag("mamba_conv_bias", "use_conv_bias").unwrap_or(true)));
        AttentionSize::recurrent(linears, biases + convolution + 3 * heads + inner)
    }

    fn gated_delta(&self, hidden: u64) -> AttentionSize {
        let number = |name: &str, default: u64| self.number(name).unwrap_or(default);
        let (heads, head) = (number("linear_num_value_heads", 32), number("linear_value_head_dim", 128));
        let key = number("linear_num_key_heads", 16) * number("linear_key_head_dim", 128);
        let value = heads * head;
        let linears = vec![
            ("in_proj_qkvz", hidden, 2 * key + 2 * value),
            ("in_proj_ba", hidden, 2 * heads),
            ("out_proj", value, hidden),
        ];
        let convolution = (2 * key + value) * number("linear_conv_kernel_dim", 4);
        AttentionSize::recurrent(linears, convolution + 2 * heads + head)
    }
}

impl AttentionSize {
    /// What goes in and out of every module is kept for the backward pass.
    fn recurrent(linears: Vec<super::Linear>, others: u64) -> Self {
        let weights: u64 = linears.iter().map(|(_, inputs, outputs)| inputs * outputs).sum();
        let activations = linears.iter().map(|(_, _, outputs)| 2 * outputs).sum();
        AttentionSize { params: weights + others, normed: 0, linears, activations }
    }
}
