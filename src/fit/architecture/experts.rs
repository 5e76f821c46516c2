//! Layers whose MLP is a mixture of experts.

use serde_json::Value;

use super::ModelConfig;

#[derive(Default)]
pub(super) struct Experts {
    pub(super) params: u64,
    /// Intermediate size of the expert that every token goes through.
    pub(super) shared: u64,
    /// Intermediate size of all experts that one token goes through.
    pub(super) active: u64,
    /// Inputs and outputs of what LoRA adapts, the router included.
    pub(super) adapted: u64,
    /// Elements kept for each token besides those of the MLPs.
    pub(super) kept: u64,
    /// How many of them are not kept if the weights of the experts are frozen.
    pub(super) kept_for_weights: u64,
}

impl ModelConfig<'_> {
    /// The experts of a layer whose MLP is a mixture.
    pub(super) fn experts(&self, hidden: u64, intermediate: u64) -> Experts {
        let Some(count) = self.number("num_experts") else { return Experts::default() };
        let inner = self.number("moe_intermediate_size").unwrap_or(intermediate);
        let shared = self
            .number("shared_expert_intermediate_size")
            .or_else(|| Some(self.number("n_shared_experts")? * inner))
            .unwrap_or(0);
        let gate = if self.architecture.shared_gate && shared > 0 { hidden } else { 0 };
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
        Experts { params, shared, active, adapted, kept, kept_for_weights }
    }

    /// Numbers of layers with a plain MLP and with a mixture of experts.
    pub(super) fn mixture_layers(&self, layers: u64) -> (u64, u64) {
        if self.number("num_experts").is_none_or(|count| count == 0) {
            return (layers, 0);
        }
        let first = self.number("first_k_dense_replace").unwrap_or(0);
        let step = self.number("decoder_sparse_step").unwrap_or(1).max(1);
        let named = self.text.get("mlp_only_layers").and_then(Value::as_array);
        let is_named = |layer: u64| named.is_some_and(|list| list.iter().any(|entry| entry.as_u64() == Some(layer)));
        let is_sparse = |layer: &u64| *layer >= first && (*layer + 1).is_multiple_of(step) && !is_named(*layer);
        let sparse = (0..layers).filter(is_sparse).count() as u64;
        (layers - sparse, sparse)
    }
}
