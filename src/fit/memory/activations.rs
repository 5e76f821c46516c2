//! The activations that the forward pass keeps for the backward pass, and the logits.

use super::{FP32, Kept, MemoryModel};
use crate::fit::architecture::Linear;
use crate::fit::need::Phase;
use crate::fit::settings::{Attention, Evaluation, Tuner};
use crate::fit::tables::architectures::Scores;

/// Tokens whose logits are computed.
struct ScoredTokens {
    of_batch: u64,
    of_sequence: u64,
}

impl MemoryModel<'_> {
    pub(super) fn kept(&self, phase: Phase) -> Kept {
        let mut kept = self.kept_by_model(phase);
        let Some(value) = &self.workload.value else {
            return kept;
        };
        // The gradients of the value model are computed last, as its loss was first.
        if matches!(phase, Phase::Loss | Phase::Backward) {
            let value = MemoryModel::new(value, self.strategy, self.cluster);
            kept.activations += value.kept_by_model(Phase::Loss).activations;
        }
        // PPO keeps the logits of all answers until there are new ones, in fp32, and those of a micro batch until its step is done.
        let answer = self.settings.rollout.map_or(0, |rollout| rollout.answer);
        let of_micro_batch = match phase {
            Phase::Backward | Phase::EndOfBackward | Phase::OptimizerStep => {
                self.element * (self.workload.seq_len + answer)
            }
            _ => 0,
        };
        let of_sequence = FP32 * answer * self.settings.grad_accum + of_micro_batch;
        kept.logits += self.settings.micro_batch * self.shape.vocab * of_sequence;
        kept
    }

    fn kept_by_model(&self, phase: Phase) -> Kept {
        let shape = self.shape;
        let checkpointing = self.settings.checkpointing;
        let tokens = self.tokens(self.settings.micro_batch);
        let layer = self.layer_activations();
        let of_layer = if checkpointing {
            self.element * shape.hidden
        } else {
            layer
        };
        let all_layers = shape.layers * of_layer;
        let experts = self.adapted_experts();
        let all_experts = if checkpointing {
            0
        } else {
            shape.layers * experts
        };
        let gradients = self.gradients_inside();
        let activations = match phase {
            Phase::Loss => all_experts + tokens * (all_layers + self.norm_bytes() * shape.hidden),
            Phase::Backward => {
                let recomputed = if checkpointing { layer } else { 0 };
                let in_layer = tokens * (gradients + 2 * self.scores());
                all_experts.max(experts)
                    + tokens * (all_layers + recomputed)
                    + in_layer.saturating_sub(self.gradient_of_head())
            }
            Phase::EndOfBackward => experts + tokens * (layer + gradients),
            Phase::Evaluation => return self.evaluation(),
            Phase::Generation => self.generation(),
            Phase::OptimizerStep | Phase::Saving | Phase::Whole => 0,
        };
        let has_logits = phase == Phase::Loss && !self.settings.fused_loss;
        Kept {
            activations,
            logits: if has_logits { self.logits() } else { 0 },
        }
    }

    fn tokens(&self, batch: u64) -> u64 {
        self.answers(batch) * self.workload.seq_len
    }

    /// The sequences of a batch: some algorithms compare two answers.
    fn answers(&self, batch: u64) -> u64 {
        if self.settings.algorithm.pairs {
            2 * batch
        } else {
            batch
        }
    }

    /// If LoRA adapts the experts of a layer, PEFT adds the adapters to their weights, and the sum is kept.
    fn adapted_experts(&self) -> u64 {
        if self.shape.routed == 0 || !self.has_adapters() {
            return 0;
        }
        let outside = self.shape.linears.iter().map(Linear::weights).sum();
        self.element * self.shape.layer.saturating_sub(outside)
    }

    /// The backward pass of a layer needs gradients inside it and, with checkpointing, its recomputed activations.
    /// The activations that were kept since the forward pass are freed as they are computed.
    fn gradients_inside(&self) -> u64 {
        let inner = self.shape.inner;
        if self.settings.checkpointing {
            let of_mlp = if self.has_adapters() {
                inner
            } else {
                3 * inner
            };
            self.element * (of_mlp + 4 * self.shape.hidden) + 2 * FP32 * self.eager_scores()
        } else {
            self.element * 2 * inner + (2 * FP32 + self.element) * self.eager_scores()
        }
    }

    /// No layer leaves anything for a backward pass. The logits are there, and in fp32 with their log-softmax: a fused loss has
    /// them, too, because Liger fuses only what is trained.
    fn evaluation(&self) -> Kept {
        let Some(Evaluation {
            batch,
            has_loss: true,
            ..
        }) = self.settings.evaluation
        else {
            return Kept::default();
        };
        let algorithm = &self.settings.algorithm;
        let tokens = self.tokens(batch);
        let scored = self.scored_tokens(batch);
        let bytes = match algorithm.evaluated {
            None if self.is_mixed_precision() => (2 * FP32 + self.element) * scored.of_batch,
            None => 2 * FP32 * scored.of_batch,
            Some(logit) => {
                let bytes =
                    logit * scored.of_batch + algorithm.logit_of_one / 2 * scored.of_sequence;
                if self.has_fp32_logits() {
                    2 * bytes
                } else {
                    bytes
                }
            }
        };
        let logits = bytes * self.shape.vocab;
        let in_layer = tokens * self.forward();
        let mut at_end = tokens * self.element * self.shape.hidden;
        // The last of several passes finds the logits of the others.
        if algorithm.repeats && self.settings.tuner == Tuner::Full {
            at_end += in_layer;
        }
        if in_layer > at_end + logits {
            Kept {
                activations: in_layer,
                logits: 0,
            }
        } else {
            Kept {
                activations: at_end,
                logits,
            }
        }
    }

    fn scored_tokens(&self, batch: u64) -> ScoredTokens {
        let algorithm = &self.settings.algorithm;
        let seq_len = self.workload.seq_len;
        let answer = match self.settings.rollout {
            Some(rollout) if algorithm.groups || algorithm.critic => rollout.answer.min(seq_len),
            _ => seq_len,
        };
        let of_sequence = if algorithm.critic {
            answer + seq_len
        } else {
            answer
        };
        ScoredTokens {
            of_batch: self.answers(batch) * of_sequence,
            of_sequence,
        }
    }

    /// Without DeepSpeed, accelerate makes the outputs fp32.
    fn has_fp32_logits(&self) -> bool {
        !self.uses_deepspeed() || !self.is_mixed_precision()
    }

    /// One layer of the pass over the prompts, or the keys and values once all tokens are there, with the sampling of the last one
    /// or the copy as which the keys of a layer grow.
    fn generation(&self) -> u64 {
        let shape = self.shape;
        let seq_len = self.workload.seq_len;
        let evaluation = self.settings.evaluation;
        let (batch, prompt, all) = match (self.settings.rollout, evaluation) {
            (Some(rollout), _) if rollout.is_served => return 0,
            (Some(rollout), _) => {
                let of_evaluation = evaluation.map_or(0, |given| given.batch);
                let of_rollout = self.settings.micro_batch * rollout.micro_batches;
                let prompt = seq_len.saturating_sub(rollout.answer);
                (of_evaluation.max(of_rollout), prompt, seq_len)
            }
            (None, Some(given)) => match given.new_tokens {
                Some(new) => (given.batch, seq_len, seq_len + new),
                None => return 0,
            },
            (None, None) => return 0,
        };
        let is_cached = |linear: &&Linear| ["k_proj", "v_proj"].contains(&linear.name);
        let cached = shape.linears.iter().filter(is_cached);
        let cached = match cached.map(|linear| linear.outputs).sum() {
            // All of the attention if these two cannot be told apart.
            0 => self.element * shape.attention,
            outputs => self.element * outputs,
        };
        let at_start = prompt * (shape.layers * cached + self.forward());
        let at_end = all * shape.layers * cached + (6 * FP32 * shape.vocab).max(all * cached / 2);
        let generated = at_start.max(at_end);
        if !self.settings.algorithm.critic {
            return batch * generated;
        }
        // The logits of the answers are joined. Then the reference computes its own, and keeps all hidden states.
        let joined = 2 * FP32 * (all - prompt) * shape.vocab;
        let logits = if shape.softcapped {
            2 * self.element * shape.vocab
        } else {
            self.element * shape.vocab
        };
        let of_reference =
            logits + self.element * (shape.layers + 1) * shape.hidden + shape.layers * cached;
        batch * (generated + joined).max(all * of_reference)
    }

    /// Bytes that one token needs in one layer of a forward pass that keeps nothing: in the MLP, or in eager attention.
    fn forward(&self) -> u64 {
        let hidden = self.shape.hidden;
        let inner = self.shape.inner;
        // Adapters add their output, in fp32 where they stay so.
        let adapted = match self.strategy.stage {
            _ if !self.has_adapters() => 0,
            None | Some(3) => 2 * FP32 * inner,
            Some(_) => self.element * inner,
        };
        let mlp = self.element * (4 * hidden + 3 * inner) + adapted + self.scores();
        mlp.max(8 * self.element * hidden + (self.element + 2 * FP32) * self.eager_scores())
    }

    /// Scores of one token in one layer, if attention computes them all.
    fn eager_scores(&self) -> u64 {
        if self.workload.attention == Attention::Eager {
            self.shape.heads * self.workload.seq_len
        } else {
            0
        }
    }

    fn logits(&self) -> u64 {
        let algorithm = &self.settings.algorithm;
        let scored = self.scored_tokens(self.settings.micro_batch);
        // Capped logits (Gemma 2) are kept once more.
        let each = if self.shape.softcapped {
            algorithm.logit + self.element
        } else {
            algorithm.logit
        };
        let bytes = (each * scored.of_batch + algorithm.logit_of_one * scored.of_sequence)
            * self.shape.vocab;
        if self.has_fp32_logits() {
            bytes + bytes / 100 * algorithm.more_in_fp32
        } else {
            bytes
        }
    }

    /// Bytes that a norm keeps per element: its input and output, and the factor of its weight if that is trained.
    fn norm_bytes(&self) -> u64 {
        let bytes = if self.is_mixed_precision() {
            self.shape.norm_bytes
        } else {
            self.shape.norm_bytes.min(8) + self.element
        };
        bytes - self.frozen_norm_factor()
    }

    /// Bytes that a norm does not keep per element if its weight is frozen.
    fn frozen_norm_factor(&self) -> u64 {
        match self.shape.norm_factor {
            _ if !self.has_adapters() => 0,
            factor if self.is_mixed_precision() => factor,
            factor => factor.min(1) * self.element,
        }
    }

    /// Bytes of one layer's scores for one token, if `sdpa` stores them.
    fn scores(&self) -> u64 {
        let are_stored = match self.shape.scores {
            Scores::Never => false,
            Scores::InFp32 => !self.is_mixed_precision(),
            Scores::Always | Scores::Eager => true,
        };
        // Scaled queries and keys are kept with them.
        if are_stored && self.workload.attention == Attention::Flash {
            FP32 * (self.shape.heads * self.workload.seq_len + 2 * self.shape.hidden)
        } else {
            0
        }
    }

    /// Bytes that one token leaves in one layer for the backward pass.
    fn layer_activations(&self) -> u64 {
        let shape = self.shape;
        let element = self.element;
        let (more_kept, cast) = match &self.workload.adapters {
            None => (shape.more_kept, 0),
            Some(adapters) => {
                let kept = shape.more_kept - shape.kept_for_experts + adapters.kept;
                // PEFT makes adapters fp32. Only stage 3 leaves them so, and then each adapter casts its own input.
                let is_cast = self.strategy.stage == Some(3);
                (kept, if is_cast { FP32 * adapters.inputs } else { 0 })
            }
        };
        // The softmax in fp32 and in the dtype of the weights, and what a cap or a sink needs before it.
        let of_score = if shape.scores_are_capped || shape.scores == Scores::Eager {
            FP32 + 2 * element
        } else {
            FP32 + element
        };
        let applied_in_fp32 = if self.is_mixed_precision() {
            shape.norm_factor.saturating_sub(element)
        } else {
            0
        };
        let of_normed =
            (FP32 + element + applied_in_fp32).saturating_sub(self.frozen_norm_factor());
        let elements = shape.attention + shape.inner_copies * shape.inner + more_kept;
        shape.norms * self.norm_bytes() * shape.hidden
            + of_normed * shape.normed
            + element * elements
            + of_score * self.eager_scores()
            + self.scores()
            + cast
    }
}
