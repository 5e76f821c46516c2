//! A training step in numbers: what the model's weights and the settings amount to before any template is chosen.

use super::{
    architecture::{Shape, Weights},
    need::{Cluster, only_if},
    settings::TrainingSettings,
    tables::{
        algorithms::NO_LOSS,
        architectures::Scores,
        words::{ALL_LINEAR, Attention, Tuner},
    },
};

#[derive(Clone)]
pub struct Workload {
    pub params: u64,
    /// Parameters that are updated: all of them, or LoRA's.
    pub trainable: u64,
    /// Bytes of all weights on a rank that holds them whole, adapters included.
    pub weights: u64,
    /// Bytes of the quantised weights among them.
    pub quantised: u64,
    /// Bytes of one element of the trained weights and of the activations.
    pub element: u64,
    pub shape: Shape,
    pub settings: TrainingSettings,
    /// Tokens of a sequence that one rank has.
    pub seq_len: u64,
    pub accumulates: bool,
    pub attention: Attention,
    /// Bytes of the models that are not trained: the reference, and those that compute rewards.
    pub reference: u64,
    /// Parameters of the head of a reference that has an engine of its own.
    pub reference_head: u64,
    pub adapters: Option<Adapters>,
    /// The value model of PPO. Its parameters are among those above.
    pub value: Option<Box<Workload>>,
    /// The vision tower, if it is trained. Its parameters are among those above.
    pub tower: Option<Box<Workload>>,
    /// Bytes of the pixels that become one token, and of that token.
    pub pixels: u64,
    /// Parameters that the forward pass alone uses: a frozen tower, or an embedding in front of adapters.
    pub forward_only: u64,
}

/// The adapters of LoRA.
#[derive(Clone, Default)]
pub struct Adapters {
    params: u64,
    /// Elements that they keep per token and layer.
    pub kept: u64,
    /// Elements per token and layer that enter the modules they adapt, counted once per module.
    pub inputs: u64,
    /// Elements per token and layer that enter frozen modules alone.
    pub unkept: u64,
    /// Parameters of the experts of one layer, if they have adapters.
    pub experts: u64,
}

impl Adapters {
    fn new(shape: &Shape, settings: &TrainingSettings) -> Self {
        let targets = settings.lora_targets.as_str();
        let rank = settings.lora_rank;
        let is_all = ALL_LINEAR.contains(&targets);
        let mut adapters = Adapters {
            params: only_if(is_all, rank * shape.routed),
            experts: only_if(
                is_all && shape.routed > 0,
                shape.layer.saturating_sub(shape.linear_weights()),
            ),
            ..Adapters::default()
        };
        let mut known = 0;
        for linear in &shape.linears {
            // Attention beside an MLP shares its norm.
            adapters.unkept += match linear.name {
                "up_proj" | "gate_up_proj" if shape.norms > 1 => shape.hidden,
                "down_proj" if shape.routed == 0 => shape.inner,
                _ => 0,
            };
            if is_all || targets.split(',').any(|it| it.trim() == linear.name) {
                known += 1;
                adapters.unkept = 0;
                adapters.params += shape.layers * rank * (linear.inputs + linear.outputs);
                adapters.inputs += linear.inputs;
                adapters.kept += rank + only_if(settings.dropout, linear.inputs * 3 / 2);
            }
        }
        // A target of another name may be in the MLP.
        if known != targets.split(',').count() {
            adapters.unkept = 0;
        } else if shape.routed > 0 {
            // The products of gate and up, and the tokens that were copied for experts on their way there.
            adapters.unkept = shape.inner + shape.more_kept / 2 + shape.hidden;
        }
        if settings.dropout && adapters.unkept > 0 {
            // What enters attention, too.
            adapters.unkept += shape.hidden;
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
        let mut pixels = 0;
        let mut frozen = 0;
        let mut tower = None;
        if let Some(part) = &weights.tower {
            // The pictures of all micro batches of a step are there from its start.
            let later = settings.grad_accum.saturating_sub(1);
            let of_patch = part.patch_bytes + part.pixel_bytes.saturating_mul(later.min(1 << 24));
            pixels = part.patches.saturating_mul(of_patch);
            frozen = only_if(settings.freezes_tower, part.encoder.params)
                + only_if(settings.freezes_projector, part.projector);
            // Each token of a picture is several patches before.
            let patches = part.patches.saturating_mul(settings.seq_len);
            tower = (!settings.freezes_tower)
                .then(|| Workload::part(&part.encoder, patches, &settings));
        }
        // It is like the first reward model, and has one output.
        let value = settings
            .rewards
            .first()
            .filter(|_| algorithm.critic)
            .map(|reward| {
                let weights = Weights {
                    params: reward.params,
                    ..reward.without_head()
                };
                Workload::part(&weights, settings.seq_len, &settings)
            });
        let shape = weights.shape;
        let params = limited(weights.params);
        let is_full = settings.tuner == Tuner::Full;
        // Checkpointing makes what comes out of the embedding need a gradient. Adapted experts were seen to need more than is said.
        let is_passed = !is_full && !settings.checkpointing && !shape.tied && shape.routed == 0;
        let forward_only =
            only_if(settings.freezes_tower, frozen) + only_if(is_passed, shape.embedding);
        let element = settings.dtype.bytes;
        let (frozen_bytes, quantised) = match settings.tuner {
            Tuner::Full => (element * frozen, 0),
            Tuner::Lora => (element * params, 0),
            // Every 64 quantised weights share a scale of four bytes.
            Tuner::Quantised(bits) => {
                let quantised = (params - weights.unquantised) * (2 * bits + 1) / 16;
                (element * weights.unquantised + quantised, quantised)
            }
        };
        let adapters = (!is_full).then(|| Adapters::new(&shape, &settings));
        let trainable = match &adapters {
            Some(adapters) => adapters.params + tower.as_ref().map_or(0, |tower| tower.trainable),
            None => params.saturating_sub(frozen).max(1),
        };
        // With LoRA the model without its adapters is the reference.
        let has_reference = algorithm.has_reference && is_full;
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
            weights: frozen_bytes + element * trainable,
            quantised,
            element,
            seq_len: settings.seq_len.div_ceil(settings.sequence_parallel.max(1)),
            accumulates: settings.grad_accum > 1,
            // transformers takes `sdpa` if nothing is said and the model can do with it.
            attention: settings.attention.unwrap_or(of_model),
            reference: element * (rewards + only_if(has_reference, params)),
            reference_head: only_if(has_reference, shape.embedding),
            adapters,
            value,
            tower,
            pixels,
            forward_only,
            shape,
            settings,
        };
        if let Some(value) = &workload.value {
            workload.params += value.params;
            workload.trainable += value.trainable;
            workload.weights += value.weights;
        }
        workload
    }

    /// A model that is trained with another one, and has no loss of its own.
    fn part(weights: &Weights, seq_len: u64, settings: &TrainingSettings) -> Box<Self> {
        let settings = TrainingSettings {
            seq_len,
            rewards: vec![],
            algorithm: NO_LOSS,
            ..settings.clone()
        };
        Box::new(Workload::new(weights, &settings))
    }

    /// The numbers are small enough to be summed without overflow. Larger ones can only be typing errors.
    #[expect(clippy::cast_precision_loss, reason = "only magnitudes are compared")]
    pub fn is_plausible(&self, cluster: Cluster) -> bool {
        const MOST: f64 = (1u64 << 60) as f64;
        const MOST_GPUS: u64 = 1 << 24;
        let of = |number: u64| number as f64;
        let shape = &self.shape;
        let adapters = self.adapters.as_ref();
        let adapted = adapters.map_or(0, |adapters| adapters.kept + adapters.inputs);
        let elements = adapted + shape.hidden + shape.attention + shape.normed + shape.inner;
        let of_layer = 16.0 * of(shape.heads) * of(self.seq_len) + 64.0 * of(elements);
        let of_token = of(shape.layers) * of_layer + 16.0 * of(shape.vocab) + of(self.pixels);
        let settings = &self.settings;
        let at_once = settings.rollout.map_or(1, |rollout| rollout.micro_batches);
        let evaluation = settings.evaluation;
        let evaluated = evaluation.map_or(0, |evaluation| evaluation.batch);
        let batch = (of(settings.micro_batch) * of(at_once)).max(of(evaluated));
        let new = evaluation.and_then(|evaluation| evaluation.new_tokens);
        let tokens = of(self.seq_len) + of(new.unwrap_or(0));
        let params = self.params.max(self.trainable).max(self.weights);
        let mut others = self.value.iter().chain(&self.tower);
        batch * tokens * of_token < MOST
            && 64.0 * of(params) * of(cluster.gpus) < MOST
            && cluster.nodes.saturating_mul(cluster.gpus) <= MOST_GPUS
            && others.all(|other| other.is_plausible(cluster))
    }
}
