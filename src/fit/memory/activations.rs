//! The activations that the forward pass keeps for the backward pass, and the logits.

use super::{FP32, Kept, MemoryModel};
use crate::fit::{
    need::only_if,
    settings::Evaluation,
    tables::{
        architectures::Scores,
        phases::{BACKWARD, END_OF_BACKWARD, EVALUATION, GENERATION, LOSS, OPTIMIZER_STEP, Phase},
        sizes::{CAST_BY_PROJECTOR, KEPT_BY_PROJECTOR},
        words::{Attention, Tuner},
    },
};

impl MemoryModel<'_> {
    pub fn kept(&self, phase: Phase) -> Kept {
        let mut kept = self.kept_by_model(phase);
        // The gradients of a vision tower are computed last, and those of the value model, as its loss was first.
        if matches!(phase, LOSS | BACKWARD) {
            for first in self.workload.tower.iter().chain(&self.workload.value) {
                let first = MemoryModel::new(first, self.strategy, self.cluster);
                kept.activations += first.kept_by_model(LOSS).activations;
            }
        }
        if !phase.is_between_steps {
            kept.activations += self.tokens(self.settings.micro_batch) * self.workload.pixels;
        }
        if self.workload.value.is_none() {
            return kept;
        }
        // PPO keeps the logits of all answers until there are new ones, in fp32, and those of a micro batch until its step is done.
        let answer = self.settings.rollout.map_or(0, |rollout| rollout.answer);
        let of_micro_batch = only_if(
            matches!(phase, BACKWARD | END_OF_BACKWARD | OPTIMIZER_STEP),
            self.element * (self.workload.seq_len + answer),
        );
        kept.logits += self.settings.micro_batch
            * self.shape.vocab
            * (FP32 * answer * self.settings.grad_accum + of_micro_batch);
        kept
    }

    fn kept_by_model(&self, phase: Phase) -> Kept {
        let shape = self.shape;
        let checkpointing = self.settings.checkpointing;
        let tokens = self.tokens(self.settings.micro_batch);
        let layer = self.layer_activations();
        // If LoRA adapts the experts of a layer, PEFT adds the adapters to their weights, and the sum is kept.
        let adapters = self.workload.adapters.as_ref();
        let experts = adapters.map_or(0, |adapters| self.element * adapters.experts);
        let gradients = self.gradients_inside();
        // What all layers keep until the backward pass reaches them.
        let all_layers = if checkpointing {
            tokens * shape.layers * self.element * shape.hidden
        } else {
            shape.layers * (experts + tokens * layer)
        };
        let activations = match phase {
            LOSS => {
                let projected = KEPT_BY_PROJECTOR + only_if(self.autocasts(), CAST_BY_PROJECTOR);
                let outside =
                    self.norm_bytes() * shape.hidden + self.element * projected * shape.projected;
                all_layers + tokens * outside
            }
            BACKWARD => {
                let recomputed = only_if(checkpointing, experts + tokens * layer);
                let in_layer = tokens * (gradients + 2 * self.scores());
                all_layers + (recomputed + in_layer).saturating_sub(self.gradient_of_head())
            }
            // The gradient of the embedding goes to the host when all layers are done.
            END_OF_BACKWARD if self.sends_gradients_alone() => 0,
            END_OF_BACKWARD => experts + tokens * (layer + gradients),
            EVALUATION => return self.evaluation(),
            GENERATION => self.generation(),
            _ => 0,
        };
        let has_logits = phase == LOSS && !self.settings.fused_loss;
        Kept {
            activations,
            logits: only_if(has_logits, self.logits()),
        }
    }

    fn tokens(&self, batch: u64) -> u64 {
        self.answers(batch) * self.workload.seq_len
    }

    /// The sequences of a batch: some algorithms compare two answers.
    fn answers(&self, batch: u64) -> u64 {
        batch + only_if(self.algorithm.pairs, batch)
    }

    /// The backward pass of a layer needs gradients inside it and, with checkpointing, its recomputed activations.
    /// The activations that were kept since the forward pass are freed as they are computed.
    fn gradients_inside(&self) -> u64 {
        let inner = self.shape.inner;
        let elements = if self.settings.checkpointing {
            inner + only_if(!self.has_adapters, 2 * inner) + 4 * self.shape.hidden
        } else {
            2 * inner
        };
        let of_score = if self.shape.has_sinks {
            3 * self.element
        } else {
            2 * FP32 + only_if(!self.settings.checkpointing, self.element)
        };
        self.element * elements + of_score * self.eager_scores()
    }

    /// No layer leaves anything for a backward pass. The logits are there, and in fp32 with their log-softmax: a fused loss has
    /// them, too, because Liger fuses only what is trained.
    fn evaluation(&self) -> Kept {
        let Some(Evaluation { batch, .. }) =
            self.settings.evaluation.filter(|given| given.has_loss)
        else {
            return Kept::default();
        };
        let algorithm = self.algorithm;
        let tokens = self.tokens(batch);
        let of_sequence = self.scored_tokens();
        let of_batch = self.answers(batch) * of_sequence;
        let bytes = match algorithm.evaluated {
            None => (2 * FP32 + only_if(self.is_mixed_precision, self.element)) * of_batch,
            Some(logit) => {
                let size = if self.has_fp32_logits() { 2 } else { 1 };
                size * (logit * of_batch + algorithm.logit_of_one / 2 * of_sequence)
            }
        };
        let logits = bytes * self.shape.vocab;
        let in_layer = tokens * self.forward();
        let mut at_end = tokens * self.element * self.shape.hidden;
        // The last of several passes finds the logits of the others.
        if algorithm.repeats && !self.has_adapters {
            at_end += in_layer;
        }
        let is_in_layer = in_layer > at_end + logits;
        Kept {
            activations: if is_in_layer { in_layer } else { at_end },
            logits: only_if(!is_in_layer, logits),
        }
    }

    /// Tokens of a sequence whose logits are computed.
    fn scored_tokens(&self) -> u64 {
        let algorithm = self.algorithm;
        let seq_len = self.workload.seq_len;
        let answer = match self.settings.rollout {
            Some(rollout) if algorithm.groups || algorithm.critic => rollout.answer.min(seq_len),
            _ => seq_len,
        };
        answer + only_if(algorithm.critic, seq_len)
    }

    /// Without DeepSpeed, accelerate makes the outputs fp32.
    fn has_fp32_logits(&self) -> bool {
        !self.uses_deepspeed || !self.is_mixed_precision
    }

    /// One layer of the pass over the prompts, or the keys and values once all tokens are there, with the sampling of the last one
    /// or the copy as which the keys of a layer grow.
    fn generation(&self) -> u64 {
        let shape = self.shape;
        let seq_len = self.workload.seq_len;
        let evaluation = self.settings.evaluation;
        let mut batch = evaluation.map_or(0, |given| given.batch);
        let mut prompt = seq_len;
        let mut all = seq_len;
        match (
            self.settings.rollout,
            evaluation.and_then(|given| given.new_tokens),
        ) {
            (Some(rollout), _) if !rollout.is_served => {
                batch = batch.max(self.settings.micro_batch * rollout.micro_batches);
                prompt = seq_len.saturating_sub(rollout.answer);
            }
            (None, Some(new)) => all += new,
            _ => return 0,
        }
        let cached = self.element * shape.cached;
        let at_start = prompt * (shape.layers * cached + self.forward());
        let at_end = all * shape.layers * cached + (6 * FP32 * shape.vocab).max(all * cached / 2);
        let generated = at_start.max(at_end);
        if !self.algorithm.critic {
            return batch * generated;
        }
        // The logits of the answers are joined. Then the reference computes its own, and keeps all hidden states.
        let copies = if shape.softcapped { 2 } else { 1 };
        let of_reference = self.element
            * (copies * shape.vocab + (shape.layers + 1) * shape.hidden)
            + shape.layers * cached;
        batch * (generated + 2 * FP32 * (all - prompt) * shape.vocab).max(all * of_reference)
    }

    /// Bytes that one token needs in one layer of a forward pass that keeps nothing: in the MLP, or in eager attention.
    fn forward(&self) -> u64 {
        let hidden = self.shape.hidden;
        let inner = self.shape.inner;
        // Adapters add their output, in fp32 where they stay so.
        let adapted = match self.stage {
            _ if !self.has_adapters => 0,
            None | Some(3) => 2 * FP32 * inner,
            Some(_) => self.element * inner,
        };
        let mlp = self.element * (4 * hidden + 3 * inner) + adapted + self.scores();
        mlp.max(8 * self.element * hidden + (self.element + 2 * FP32) * self.eager_scores())
    }

    /// Scores of one token in one layer, if attention computes them all.
    fn eager_scores(&self) -> u64 {
        only_if(
            self.workload.attention == Attention::Eager,
            self.shape.heads * self.workload.seq_len,
        )
    }

    fn logits(&self) -> u64 {
        let algorithm = self.algorithm;
        let of_sequence = self.scored_tokens();
        let of_batch = self.answers(self.settings.micro_batch) * of_sequence;
        // Capped logits (Gemma 2) are kept once more.
        let each = algorithm.logit + only_if(self.shape.softcapped, self.element);
        let bytes = (each * of_batch + algorithm.logit_of_one * of_sequence) * self.shape.vocab;
        bytes + bytes / 100 * only_if(self.has_fp32_logits(), algorithm.more_in_fp32)
    }

    /// Bytes that a norm keeps per element: its input and output, and the factor of its weight if that is trained.
    fn norm_bytes(&self) -> u64 {
        let bytes = if self.is_mixed_precision {
            self.shape.norm.bytes
        } else {
            self.shape.norm.bytes.min(8) + self.element
        };
        bytes + only_if(self.autocasts(), self.shape.norm.in_autocast) - self.frozen_norm_factor()
    }

    /// Without DeepSpeed, accelerate computes under autocast.
    fn autocasts(&self) -> bool {
        !self.uses_deepspeed && self.is_mixed_precision
    }

    /// Bytes that a norm does not keep per element if its weight is frozen.
    fn frozen_norm_factor(&self) -> u64 {
        match self.shape.norm.factor {
            _ if !self.has_adapters => 0,
            factor if self.is_mixed_precision => factor,
            factor => factor.min(1) * self.element,
        }
    }

    /// Bytes of one layer's scores for one token, if `sdpa` stores them.
    fn scores(&self) -> u64 {
        let are_stored = match self.shape.scores {
            Scores::Never => false,
            Scores::InFp32 => !self.is_mixed_precision,
            Scores::Always | Scores::Eager => true,
        };
        // Scaled queries and keys are kept with them.
        only_if(
            are_stored && self.workload.attention == Attention::Flash,
            FP32 * (self.shape.heads * self.workload.seq_len + 2 * self.shape.hidden),
        )
    }

    /// Bytes that one token leaves in one layer for the backward pass.
    fn layer_activations(&self) -> u64 {
        let shape = self.shape;
        let element = self.element;
        let mut kept = shape.more_kept;
        let mut cast = 0;
        let mut unused = 0;
        if let Some(adapters) = &self.workload.adapters {
            // PEFT makes adapters fp32. Only stage 3 leaves them so, unless the model is quantised, and then each adapter casts
            // its own input. Under autocast it casts it twice.
            let inputs = adapters.inputs;
            let is_cast = self.stage == Some(3) && self.settings.tuner == Tuner::Lora;
            // The inputs of frozen modules, which an adapter keeps in another form.
            let unkept = if is_cast {
                inputs
            } else {
                inputs.min(shape.inner + 2 * shape.hidden)
            };
            cast = only_if(is_cast, FP32 * inputs)
                + only_if(self.autocasts(), element * (inputs - unkept));
            // Dropout keeps its mask and what comes out of it, but not its input. A frozen module keeps its input at stage 3 alone,
            // unless it is quantised.
            if !self.autocasts() {
                unused = only_if(self.settings.dropout && adapters.experts == 0, unkept)
                    .max(only_if(!is_cast, adapters.unkept));
            }
            kept += adapters.kept;
        }
        // The softmax in fp32 and in the dtype of the weights, and what a cap or a bias needs before it. With sinks all is in 16 bits.
        let of_score = element
            + only_if(
                !shape.has_sinks,
                FP32 + only_if(shape.scores_are_capped, element),
            );
        // Each layer casts a mask of its own.
        let tokens = self.workload.seq_len;
        let repeated = only_if(
            shape.window.is_some_and(|window| window < tokens),
            shape.repeated + tokens,
        );
        let copies = shape.inner_copies + only_if(self.autocasts(), shape.inner_in_autocast);
        shape.norms * self.norm_bytes() * shape.hidden
            + (FP32
                + element
                + only_if(
                    self.is_mixed_precision,
                    shape.norm.factor.saturating_sub(element),
                ))
            .saturating_sub(self.frozen_norm_factor())
                * shape.normed
            + element
                * (shape.attention + repeated + copies * shape.inner + kept).saturating_sub(unused)
            + of_score * self.eager_scores()
            + self.scores()
            + cast
    }
}
