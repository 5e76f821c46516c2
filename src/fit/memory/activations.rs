//! The activations that the forward pass keeps for the backward pass, and the logits.

use super::{FP32, MemoryModel};
use crate::fit::architecture::Linear;
use crate::fit::need::Phase;
use crate::fit::settings::{Attention, Evaluation, Rollout, TrainingSettings, Tuner};
use crate::fit::tables::algorithms::Algorithm;
use crate::fit::tables::architectures::Scores;
use crate::fit::workload::Workload;

impl MemoryModel<'_> {
    pub(super) fn activations_and_logits(&self, phase: Phase) -> (u64, u64) {
        let (activations, logits) = self.of_model(phase);
        let Some(value) = &self.workload.value else {
            return (activations, logits);
        };
        let Workload {
            shape,
            element,
            seq_len,
            settings,
            ..
        } = self.workload;
        // The gradients of the value model are computed last, as its loss was first.
        let is_before = matches!(phase, Phase::Loss | Phase::Backward);
        let beside = if is_before {
            MemoryModel {
                workload: value,
                ..*self
            }
            .of_model(Phase::Loss)
            .0
        } else {
            0
        };
        // PPO keeps the logits of all answers until there are new ones, in fp32, and those of a micro batch until its step is done.
        let answer = settings.rollout.map_or(0, |rollout| rollout.answer);
        let is_later = matches!(
            phase,
            Phase::Backward | Phase::EndOfBackward | Phase::OptimizerStep
        );
        let of_token = FP32 * answer * settings.grad_accum
            + if is_later {
                element * (seq_len + answer)
            } else {
                0
            };
        (
            activations + beside,
            logits + settings.micro_batch * shape.vocab * of_token,
        )
    }

    fn of_model(&self, phase: Phase) -> (u64, u64) {
        let Workload {
            shape,
            element,
            settings,
            ..
        } = self.workload;
        let TrainingSettings {
            checkpointing,
            fused_loss,
            micro_batch,
            ..
        } = settings;
        let tokens = self.tokens(*micro_batch);
        let layer = self.layer_activations();
        let kept = if *checkpointing {
            element * shape.hidden
        } else {
            layer
        };
        let all_layers = shape.layers * kept;
        let outside: u64 = shape.linears.iter().map(Linear::weights).sum();
        // If LoRA adapts the experts of a layer, PEFT adds the adapters to their weights, and the sum is kept.
        let are_adapted = shape.routed > 0 && self.workload.adapted_inputs > 0;
        let experts = if are_adapted {
            element * shape.layer.saturating_sub(outside)
        } else {
            0
        };
        let all_experts = if *checkpointing {
            0
        } else {
            shape.layers * experts
        };
        // The backward pass of a layer needs gradients inside it and, with checkpointing, its recomputed activations.
        // The activations that were kept since the forward pass are freed as they are computed.
        let of_mlp = if self.workload.adapted_inputs > 0 {
            shape.inner
        } else {
            3 * shape.inner
        };
        let elements = if *checkpointing {
            of_mlp + 4 * shape.hidden
        } else {
            2 * shape.inner
        };
        let of_score = 2 * FP32 + if *checkpointing { 0 } else { *element };
        let gradients = element * elements + of_score * self.eager_scores();
        let recomputed = if *checkpointing { layer } else { 0 };
        match phase {
            Phase::Loss => {
                let logits = if *fused_loss { 0 } else { self.logits() };
                (
                    all_experts + tokens * (all_layers + self.norm_bytes() * shape.hidden),
                    logits,
                )
            }
            Phase::Backward => {
                let in_layer = tokens * (gradients + 2 * self.scores());
                let kept = all_experts.max(experts) + tokens * (all_layers + recomputed);
                (kept + in_layer.saturating_sub(self.gradient_of_head()), 0)
            }
            Phase::EndOfBackward => (experts + tokens * (layer + gradients), 0),
            Phase::Evaluation => self.evaluation(),
            Phase::Generation => (self.generation(), 0),
            Phase::OptimizerStep | Phase::Saving | Phase::Whole => (0, 0),
        }
    }

    /// No layer leaves anything for a backward pass. The logits are there, and in fp32 with their log-softmax: a fused loss has
    /// them, too, because Liger fuses only what is trained.
    fn evaluation(&self) -> (u64, u64) {
        let Workload {
            shape,
            element,
            settings,
            ..
        } = self.workload;
        let TrainingSettings {
            algorithm,
            evaluation,
            ..
        } = settings;
        let Some(Evaluation {
            batch,
            has_loss: true,
            ..
        }) = *evaluation
        else {
            return (0, 0);
        };
        let tokens = self.tokens(batch);
        let in_dtype = if self.is_mixed_precision() {
            *element
        } else {
            0
        };
        let (scored, one) = self.scored_tokens(batch);
        let each = match algorithm.evaluated {
            None => (2 * FP32 + in_dtype) * scored,
            Some(bytes) => {
                (bytes * scored + algorithm.logit_of_one / 2 * one)
                    * if self.has_fp32_logits() { 2 } else { 1 }
            }
        };
        let logits = each * shape.vocab;
        let in_layer = tokens * self.forward();
        // The last of several passes finds the logits of the others.
        let beside = if algorithm.repeats && settings.tuner == Tuner::Full {
            in_layer
        } else {
            0
        };
        let at_end = tokens * element * shape.hidden + beside;
        if in_layer > at_end + logits {
            (in_layer, 0)
        } else {
            (at_end, logits)
        }
    }

    /// Tokens of a batch whose logits are computed, and of one sequence of it.
    fn scored_tokens(&self, batch: u64) -> (u64, u64) {
        let Workload {
            seq_len, settings, ..
        } = self.workload;
        let Algorithm {
            pairs,
            groups,
            critic,
            ..
        } = settings.algorithm;
        let generated = if groups || critic {
            settings.rollout
        } else {
            None
        };
        let answer = generated.map_or(*seq_len, |rollout| rollout.answer.min(*seq_len));
        let one = answer + if critic { *seq_len } else { 0 };
        ((1 + u64::from(pairs)) * batch * one, one)
    }

    /// Without DeepSpeed, accelerate makes the outputs fp32.
    fn has_fp32_logits(&self) -> bool {
        self.strategy.stage.is_none() || !self.is_mixed_precision()
    }

    /// One layer of the pass over the prompts, or the keys and values once all tokens are there, with the sampling of the last one
    /// or the copy as which the keys of a layer grow.
    fn generation(&self) -> u64 {
        let Workload {
            shape,
            element,
            seq_len,
            settings,
            ..
        } = self.workload;
        let (batch, prompt, all) = match (settings.rollout, settings.evaluation) {
            (Some(rollout), _) if rollout.is_served => return 0,
            (
                Some(Rollout {
                    answer,
                    micro_batches,
                    ..
                }),
                evaluation,
            ) => {
                let batch = evaluation
                    .map_or(0, |given| given.batch)
                    .max(settings.micro_batch * micro_batches);
                (batch, seq_len.saturating_sub(answer), *seq_len)
            }
            (
                None,
                Some(Evaluation {
                    batch,
                    new_tokens: Some(new),
                    ..
                }),
            ) => (batch, *seq_len, seq_len + new),
            _ => return 0,
        };
        let cached = shape
            .linears
            .iter()
            .filter(|linear| ["k_proj", "v_proj"].contains(&linear.name));
        let cached: u64 = cached.map(|linear| linear.outputs).sum();
        // All of the attention if these two cannot be told apart.
        let cached = element * if cached > 0 { cached } else { shape.attention };
        let at_start = prompt * (shape.layers * cached + self.forward());
        let at_end = all * shape.layers * cached + (6 * FP32 * shape.vocab).max(all * cached / 2);
        let generated = at_start.max(at_end);
        if !settings.algorithm.critic {
            return batch * generated;
        }
        // The logits of the answers are joined. Then the reference computes its own, and keeps all hidden states.
        let joined = 2 * FP32 * (all - prompt) * shape.vocab;
        let logits = element * shape.vocab * (1 + u64::from(shape.softcapped));
        let of_reference =
            logits + element * (shape.layers + 1) * shape.hidden + shape.layers * cached;
        batch * (generated + joined).max(all * of_reference)
    }

    /// Bytes that one token needs in one layer of a forward pass that keeps nothing: in the MLP, or in eager attention.
    fn forward(&self) -> u64 {
        let Workload { shape, element, .. } = self.workload;
        // Adapters add their output, in fp32 where they stay so.
        let of_adapter = if matches!(self.strategy.stage, None | Some(3)) {
            2 * FP32
        } else {
            *element
        };
        let adapted = if self.workload.adapted_inputs > 0 {
            of_adapter * shape.inner
        } else {
            0
        };
        let mlp = element * (4 * shape.hidden + 3 * shape.inner) + adapted + self.scores();
        mlp.max(8 * element * shape.hidden + (element + 2 * FP32) * self.eager_scores())
    }

    /// Scores of one token in one layer, if attention computes them all.
    fn eager_scores(&self) -> u64 {
        let Workload {
            shape,
            attention,
            seq_len,
            ..
        } = self.workload;
        if *attention == Attention::Eager {
            shape.heads * seq_len
        } else {
            0
        }
    }

    fn logits(&self) -> u64 {
        let Workload {
            shape,
            element,
            settings:
                TrainingSettings {
                    algorithm,
                    micro_batch,
                    ..
                },
            ..
        } = self.workload;
        let (tokens, one) = self.scored_tokens(*micro_batch);
        let more = if self.has_fp32_logits() {
            algorithm.more_in_fp32
        } else {
            0
        };
        // Capped logits (Gemma 2) are kept once more.
        let each = algorithm.logit + if shape.softcapped { *element } else { 0 };
        let bytes = (each * tokens + algorithm.logit_of_one * one) * shape.vocab;
        bytes + bytes / 100 * more
    }

    /// Bytes that a norm keeps per element: its input and output, and the factor of its weight if that is trained.
    fn norm_bytes(&self) -> u64 {
        let Workload { shape, element, .. } = self.workload;
        let bytes = if self.is_mixed_precision() {
            shape.norm_bytes
        } else {
            shape.norm_bytes.min(8) + element
        };
        bytes - self.norm_factor()
    }

    /// Bytes that a norm does not keep per element if its weight is frozen.
    fn norm_factor(&self) -> u64 {
        let Workload { shape, element, .. } = self.workload;
        let is_frozen = self.workload.adapted_inputs > 0;
        let factor = if self.is_mixed_precision() {
            shape.norm_factor
        } else {
            shape.norm_factor.min(1) * element
        };
        if is_frozen { factor } else { 0 }
    }

    /// Bytes of one layer's scores for one token, if `sdpa` stores them.
    fn scores(&self) -> u64 {
        let Workload {
            shape,
            attention,
            seq_len,
            ..
        } = self.workload;
        let are_stored = match shape.scores {
            Scores::Never => false,
            Scores::InFp32 => !self.is_mixed_precision(),
            Scores::Always | Scores::Eager => true,
        };
        // Scaled queries and keys are kept with them.
        if are_stored && *attention == Attention::Flash {
            FP32 * (shape.heads * seq_len + 2 * shape.hidden)
        } else {
            0
        }
    }

    /// Bytes that one token leaves in one layer for the backward pass.
    fn layer_activations(&self) -> u64 {
        let Workload {
            shape,
            element,
            adapters,
            adapted_inputs,
            ..
        } = self.workload;
        // PEFT makes adapters fp32. Only stage 3 leaves them so, and then each adapter casts its own input.
        let cast = if self.strategy.stage == Some(3) {
            FP32 * adapted_inputs
        } else {
            0
        };
        let is_frozen = *adapted_inputs > 0;
        let more_kept = if is_frozen {
            shape.more_kept - shape.kept_for_experts
        } else {
            shape.more_kept
        };
        // The softmax in fp32 and in the dtype of the weights, and what a cap or a sink needs before it.
        let before = if shape.scores_are_capped || shape.scores == Scores::Eager {
            *element
        } else {
            0
        };
        let applied_in_fp32 = if self.is_mixed_precision() {
            shape.norm_factor.saturating_sub(*element)
        } else {
            0
        };
        shape.norms * self.norm_bytes() * shape.hidden
            + (FP32 + element + applied_in_fp32).saturating_sub(self.norm_factor()) * shape.normed
            + element * (shape.attention + shape.inner_copies * shape.inner + more_kept + adapters)
            + (FP32 + element + before) * self.eager_scores()
            + self.scores()
            + cast
    }
}
