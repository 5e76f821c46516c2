//! A training step in numbers: what the model's weights and the settings amount to before any template is chosen.

use super::architecture::{Linear, Shape, Weights};
use super::need::Cluster;
use super::settings::{Attention, Evaluation, TrainingSettings, Tuner};
use super::tables::algorithms::NO_LOSS;
use super::tables::architectures::Scores;

#[derive(Clone, Debug)]
pub struct Workload {
    pub(crate) params: u64,
    /// Parameters that are updated: all of them, or LoRA's.
    pub trainable: u64,
    /// Bytes of all weights on a rank that holds them whole, adapters included.
    pub(crate) weights: u64,
    /// Bytes of one element of the trained weights and of the activations.
    pub(crate) element: u64,
    pub(crate) shape: Shape,
    pub(crate) settings: TrainingSettings,
    /// Tokens of a sequence that one rank has.
    pub(crate) seq_len: u64,
    pub(crate) accumulates: bool,
    pub(crate) attention: Attention,
    /// Bytes of the models that are not trained: the reference, and those that compute rewards.
    pub(crate) reference: u64,
    /// Parameters of the head of a reference that has an engine of its own.
    pub(crate) reference_head: u64,
    /// Elements that LoRA keeps per token and layer.
    pub(crate) adapters: u64,
    /// Elements per token and layer that enter the modules LoRA adapts, counted once per module.
    pub(crate) adapted_inputs: u64,
    /// The value model of PPO. Its parameters are among those above.
    pub(crate) value: Option<Box<Workload>>,
}

struct Adapters {
    params: u64,
    kept: u64,
    inputs: u64,
}

impl Adapters {
    fn new(shape: &Shape, settings: &TrainingSettings) -> Self {
        let targets = &settings.lora_targets;
        let all = ["all-linear", "all", "default"].contains(&targets.as_str());
        let rank = settings.lora_rank;
        let routed = if all { rank * shape.routed } else { 0 };
        let mut adapters = Adapters {
            params: routed,
            kept: 0,
            inputs: 0,
        };
        let adapted = shape
            .linears
            .iter()
            .filter(|linear| all || targets.split(',').any(|it| it.trim() == linear.name));
        for Linear {
            inputs, outputs, ..
        } in adapted
        {
            adapters.params += shape.layers * rank * (inputs + outputs);
            adapters.kept += rank
                + if settings.dropout {
                    inputs + inputs / 2
                } else {
                    0
                };
            adapters.inputs += inputs;
        }
        Adapters {
            params: adapters.params.max(1),
            inputs: adapters.inputs.max(1),
            ..adapters
        }
    }
}

impl Workload {
    pub fn new(weights: &Weights, settings: &TrainingSettings) -> Self {
        let mut settings = settings.clone();
        if settings.algorithm.critic {
            // PPO recomputes nothing, drops nothing out and has no fused loss, whatever is asked for. Its evaluations only generate.
            (
                settings.checkpointing,
                settings.dropout,
                settings.fused_loss,
            ) = (false, false, false);
            settings.evaluation = settings.evaluation.map(|given| Evaluation {
                has_loss: false,
                ..given
            });
        }
        let element = settings.dtype.bytes();
        let headless = settings.algorithm.headless.then(|| weights.without_head());
        let weights = headless.as_ref().unwrap_or(weights);
        let Weights {
            unquantised, shape, ..
        } = weights;
        // Keeps the products below from overflowing; `is_plausible` refuses such a number.
        let params = weights.params.min(1 << 54);
        let adapters = match settings.tuner {
            Tuner::Full => Adapters {
                params,
                kept: 0,
                inputs: 0,
            },
            Tuner::Lora | Tuner::Quantised(_) => Adapters::new(shape, &settings),
        };
        let frozen = match settings.tuner {
            Tuner::Full => 0,
            Tuner::Lora => element * params,
            // Every 64 quantised weights share a scale of four bytes.
            Tuner::Quantised(bits) => {
                element * unquantised + (params - unquantised) * (2 * bits + 1) / 16
            }
        };
        // With LoRA the model without its adapters is the reference.
        let has_reference = settings.algorithm.has_reference && settings.tuner == Tuner::Full;
        let value = settings
            .rewards
            .first()
            .filter(|_| settings.algorithm.critic)
            .map(|reward| {
                let settings = TrainingSettings {
                    rewards: Vec::new(),
                    algorithm: NO_LOSS,
                    ..settings.clone()
                };
                Box::new(Workload::new(
                    &Weights {
                        params: reward.params,
                        ..reward.without_head()
                    },
                    &settings,
                ))
            });
        let rewards: u64 = settings
            .rewards
            .iter()
            .map(|reward| reward.params.min(1 << 54))
            .sum();
        let beside = |count: fn(&Workload) -> u64| value.as_deref().map_or(0, count);
        let of_model = if shape.scores == Scores::Eager {
            Attention::Eager
        } else {
            Attention::Flash
        };
        Workload {
            params: params + beside(|value| value.params),
            trainable: adapters.params + beside(|value| value.trainable),
            weights: frozen + element * adapters.params + beside(|value| value.weights),
            element,
            shape: shape.clone(),
            seq_len: settings.seq_len.div_ceil(settings.sequence_parallel.max(1)),
            accumulates: settings.grad_accum > 1,
            // transformers takes `sdpa` if nothing is said and the model can do with it.
            attention: settings.attention.unwrap_or(of_model),
            reference_head: if has_reference { shape.embedding } else { 0 },
            reference: element * (rewards + if has_reference { params } else { 0 }),
            adapters: adapters.kept,
            adapted_inputs: adapters.inputs,
            value,
            settings,
        }
    }

    /// The numbers are small enough to be summed without overflow. Larger ones can only be typing errors.
    #[expect(clippy::cast_precision_loss, reason = "only magnitudes are compared")]
    pub(crate) fn is_plausible(&self, cluster: Cluster) -> bool {
        const MOST: f64 = (1u64 << 60) as f64;
        const MOST_GPUS: u64 = 1 << 24;
        let Shape {
            hidden,
            layers,
            vocab,
            heads,
            attention,
            normed,
            inner,
            ..
        } = &self.shape;
        let product =
            |numbers: &[u64]| numbers.iter().map(|number| *number as f64).product::<f64>();
        let kept = [
            *hidden,
            *attention,
            *normed,
            *inner,
            self.adapters,
            self.adapted_inputs,
        ];
        let of_layer = product(&[16, *heads, self.seq_len])
            + 64.0 * kept.map(|size| size as f64).iter().sum::<f64>();
        let of_token = of_layer * product(&[*layers]) + product(&[16, *vocab]);
        let (batch, new) = self
            .settings
            .evaluation
            .map_or((0, 0), |given| (given.batch, given.new_tokens.unwrap_or(0)));
        let at_once = self
            .settings
            .rollout
            .map_or(1, |rollout| rollout.micro_batches);
        let batch = product(&[batch]).max(product(&[self.settings.micro_batch, at_once]));
        let of_tokens = batch * product(&[self.seq_len + new]) * of_token;
        let of_params = product(&[
            64,
            self.params.max(self.trainable).max(self.weights),
            cluster.gpus,
        ]);
        let is_value_plausible = self
            .value
            .as_ref()
            .is_none_or(|value| value.is_plausible(cluster));
        is_value_plausible
            && of_tokens.max(of_params) < MOST
            && cluster.nodes.saturating_mul(cluster.gpus) <= MOST_GPUS
    }
}
