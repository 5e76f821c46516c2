//! A training step in numbers: what the model's weights and the settings amount to before any template is chosen.

use super::architecture::{Shape, Weights};
use super::need::Cluster;
use super::settings::{Attention, TrainingSettings, Tuner};
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
    pub(crate) adapters: Option<Adapters>,
    /// The value model of PPO. Its parameters are among those above.
    pub(crate) value: Option<Box<Workload>>,
}

/// The adapters of LoRA.
#[derive(Clone, Debug)]
pub(crate) struct Adapters {
    params: u64,
    /// Elements that they keep per token and layer.
    pub(crate) kept: u64,
    /// Elements per token and layer that enter the modules they adapt, counted once per module.
    pub(crate) inputs: u64,
}

impl Adapters {
    fn new(shape: &Shape, settings: &TrainingSettings) -> Self {
        let targets = settings.lora_targets.as_str();
        let rank = settings.lora_rank;
        let is_all = ["all-linear", "all", "default"].contains(&targets);
        let mut adapters = Adapters {
            params: if is_all { rank * shape.routed } else { 0 },
            kept: 0,
            inputs: 0,
        };
        for linear in &shape.linears {
            if is_all || targets.split(',').any(|it| it.trim() == linear.name) {
                adapters.params += shape.layers * rank * (linear.inputs + linear.outputs);
                adapters.inputs += linear.inputs;
                adapters.kept += rank;
                if settings.dropout {
                    adapters.kept += linear.inputs + linear.inputs / 2;
                }
            }
        }
        adapters.params = adapters.params.max(1);
        adapters
    }
}

/// Keeps products from overflowing; `is_plausible` refuses such a number.
fn limited(params: u64) -> u64 {
    params.min(1 << 54)
}

impl Workload {
    pub fn new(weights: &Weights, settings: &TrainingSettings) -> Self {
        let mut settings = settings.clone();
        let algorithm = settings.algorithm;
        if algorithm.critic {
            // PPO recomputes nothing, drops nothing out and has no fused loss, whatever is asked for. Its evaluations only generate.
            settings.checkpointing = false;
            settings.dropout = false;
            settings.fused_loss = false;
            if let Some(evaluation) = &mut settings.evaluation {
                evaluation.has_loss = false;
            }
        }
        let weights = if algorithm.headless {
            weights.without_head()
        } else {
            weights.clone()
        };
        let shape = weights.shape;
        let params = limited(weights.params);
        let element = settings.dtype.bytes();
        let frozen = match settings.tuner {
            Tuner::Full => 0,
            Tuner::Lora => element * params,
            // Every 64 quantised weights share a scale of four bytes.
            Tuner::Quantised(bits) => {
                let quantised = params - weights.unquantised;
                element * weights.unquantised + quantised * (2 * bits + 1) / 16
            }
        };
        let is_full = settings.tuner == Tuner::Full;
        let adapters = (!is_full).then(|| Adapters::new(&shape, &settings));
        let trainable = adapters.as_ref().map_or(params, |adapters| adapters.params);
        let rewards: u64 = settings
            .rewards
            .iter()
            .map(|reward| limited(reward.params))
            .sum();
        let of_model = if shape.scores == Scores::Eager {
            Attention::Eager
        } else {
            Attention::Flash
        };
        let mut workload = Workload {
            params,
            trainable,
            weights: frozen + element * trainable,
            element,
            seq_len: settings.seq_len.div_ceil(settings.sequence_parallel.max(1)),
            accumulates: settings.grad_accum > 1,
            // transformers takes `sdpa` if nothing is said and the model can do with it.
            attention: settings.attention.unwrap_or(of_model),
            reference: element * rewards,
            reference_head: 0,
            adapters,
            value: None,
            shape,
            settings,
        };
        // With LoRA the model without its adapters is the reference.
        if algorithm.has_reference && is_full {
            workload.reference += element * params;
            workload.reference_head = workload.shape.embedding;
        }
        workload.value = workload.value_model();
        if let Some(value) = &workload.value {
            workload.params += value.params;
            workload.trainable += value.trainable;
            workload.weights += value.weights;
        }
        workload
    }

    /// It is like the first reward model, and has one output.
    fn value_model(&self) -> Option<Box<Self>> {
        let reward = self.settings.rewards.first()?;
        let weights = Weights {
            params: reward.params,
            ..reward.without_head()
        };
        let settings = TrainingSettings {
            rewards: Vec::new(),
            algorithm: NO_LOSS,
            ..self.settings.clone()
        };
        let is_trained = self.settings.algorithm.critic;
        is_trained.then(|| Box::new(Workload::new(&weights, &settings)))
    }

    /// The numbers are small enough to be summed without overflow. Larger ones can only be typing errors.
    #[expect(clippy::cast_precision_loss, reason = "only magnitudes are compared")]
    pub(crate) fn is_plausible(&self, cluster: Cluster) -> bool {
        const MOST: f64 = (1u64 << 60) as f64;
        const MOST_GPUS: u64 = 1 << 24;
        let of = |number: u64| number as f64;
        let shape = &self.shape;
        let adapters = self.adapters.as_ref();
        let elements = of(shape.hidden)
            + of(shape.attention)
            + of(shape.normed)
            + of(shape.inner)
            + adapters.map_or(0.0, |adapters| of(adapters.kept) + of(adapters.inputs));
        let of_layer = 16.0 * of(shape.heads) * of(self.seq_len) + 64.0 * elements;
        let of_token = of(shape.layers) * of_layer + 16.0 * of(shape.vocab);
        let evaluation = self.settings.evaluation;
        let rollout = self.settings.rollout;
        let in_evaluation = evaluation.map_or(0, |evaluation| evaluation.batch);
        let new_tokens = evaluation.and_then(|evaluation| evaluation.new_tokens);
        let micro_batches = rollout.map_or(1, |rollout| rollout.micro_batches);
        let batch = of(in_evaluation).max(of(self.settings.micro_batch) * of(micro_batches));
        let tokens = batch * (of(self.seq_len) + of(new_tokens.unwrap_or(0)));
        let params = self.params.max(self.trainable).max(self.weights);
        let value = self.value.as_ref();
        tokens * of_token < MOST
            && 64.0 * of(params) * of(cluster.gpus) < MOST
            && cluster.nodes.saturating_mul(cluster.gpus) <= MOST_GPUS
            && value.is_none_or(|value| value.is_plausible(cluster))
    }
}
