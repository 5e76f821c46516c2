//! The settings of a training that decide how much memory it needs.

use serde::Deserialize;

use super::architecture::{Dtype, Weights};
use super::optimizer::Optimizer;
use crate::base::rows;
use crate::base::source::Sourced;
use crate::command::front_end::TrainingDefaults;
use crate::command::job::Trainer;
use crate::command::trainer::HF_DEFAULTS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tuner {
    Full,
    Lora,
    Quantised(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attention {
    /// FlashAttention or SDPA, which never store the matrix of scores.
    Flash,
    Eager,
}

/// How a training computes its loss: `algorithms.txt` has those of preference tuning, and says what its cells mean.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a cell of the table")]
pub struct Algorithm {
    pub(crate) pairs: bool,
    pub has_reference: bool,
    pub headless: bool,
    pub(crate) logit: u64,
    pub(crate) logit_of_one: u64,
    pub(crate) more_in_fp32: u64,
    pub(crate) evaluated: u64,
    pub(crate) repeats: bool,
    pub(crate) generates: bool,
    pub(crate) critic: bool,
    pub(crate) groups: bool,
    pub(crate) uncounted: bool,
}

impl Algorithm {
    /// The more exact names come first: `swift rlhf --rlhf_type dpo`.
    pub fn find(is_named: impl Fn(&str) -> bool) -> Option<Self> {
        rows::rows(include_str!("algorithms.txt"))
            .find(|row| row.names().any(&is_named))?
            .read()
    }
}

/// The evaluations between the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evaluation {
    pub batch: u64,
    pub has_loss: bool,
    /// Answers of so many tokens are generated.
    pub new_tokens: Option<u64>,
    /// How the training spells its batch, up to the number.
    pub spelling: &'static str,
}

/// The answers that online tuning generates: how many tokens each, for how many micro batches at once, whether stage 3 gathers all
/// weights for it, and whether a server does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rollout {
    pub answer: u64,
    pub micro_batches: u64,
    pub gathers: bool,
    pub is_served: bool,
}

/// Tokens of a prompt, if no argument limits them.
pub(crate) const PROMPT: u64 = 512;

#[derive(Clone, Debug, Default)]
pub struct TrainingArgs {
    pub model: Option<Sourced<String>>,
    pub params: Option<Sourced<u64>>,
    pub micro_batch: Option<Sourced<u64>>,
    pub grad_accum: Option<Sourced<u64>>,
    pub seq_len: Option<Sourced<u64>>,
    pub sequence_parallel: Option<Sourced<u64>>,
    pub tuner: Option<Sourced<Tuner>>,
    pub lora_rank: Option<Sourced<u64>>,
    pub lora_targets: Option<Sourced<String>>,
    pub dtype: Option<Sourced<Dtype>>,
    /// The dtype the weights are loaded in, by the model's config, if nothing says what they are trained in.
    pub loaded: Option<fn(Option<Dtype>) -> Dtype>,
    pub optimizer: Option<Sourced<Optimizer>>,
    pub checkpointing: Option<Sourced<bool>>,
    pub attention: Option<Sourced<Attention>>,
    pub fused_loss: Option<Sourced<bool>>,
    /// LoRA uses dropout, and so keeps a second copy of its inputs.
    pub dropout: Option<Sourced<bool>>,
    pub algorithm: Option<Algorithm>,
    /// `None`: the training is not evaluated. A batch of 0 is the default of the front end.
    pub evaluation: Option<Evaluation>,
    pub rollout: Option<Rollout>,
    /// The names of reward models, with commas between them.
    pub reward: Option<Sourced<String>>,
}

/// The defaults without a training command: the settings most people start with.
const WITHOUT_COMMAND: TrainingDefaults = TrainingDefaults {
    micro_batch: 1,
    checkpointing: true,
    ..HF_DEFAULTS
};

const SEQ_LEN: u64 = 2048;

#[derive(Clone, Debug)]
pub struct TrainingSettings {
    pub(crate) micro_batch: u64,
    pub(crate) grad_accum: u64,
    pub(crate) seq_len: u64,
    pub(crate) sequence_parallel: u64,
    pub(crate) tuner: Tuner,
    pub(crate) lora_rank: u64,
    pub(crate) lora_targets: String,
    pub(crate) dtype: Dtype,
    pub(crate) optimizer: Optimizer,
    pub(crate) checkpointing: bool,
    /// `None`: transformers chooses it for the model.
    pub(crate) attention: Option<Attention>,
    /// The loss is computed in pieces, so the logits of all tokens never exist at once.
    pub(crate) fused_loss: bool,
    pub(crate) dropout: bool,
    pub algorithm: Algorithm,
    pub(crate) evaluation: Option<Evaluation>,
    pub(crate) rollout: Option<Rollout>,
    /// The reward models, or a teacher. PPO also trains a value model like the first.
    pub rewards: Vec<Weights>,
}

impl TrainingSettings {
    /// `trainer`: the front end whose defaults apply. `of_model`: the dtype of its weights by the model's config.
    pub fn new(args: &TrainingArgs, trainer: Option<&Trainer>, of_model: Option<Dtype>) -> Self {
        fn or<T: Clone>(given: Option<&Sourced<T>>, default: T) -> T {
            given.map_or(default, |given| given.value.clone())
        }
        let defaults = trainer.map_or(&WITHOUT_COMMAND, |trainer| &trainer.model.training);
        let tuner = if defaults.lora {
            Tuner::Lora
        } else {
            Tuner::Full
        };
        let micro_batch = or(args.micro_batch.as_ref(), defaults.micro_batch);
        let seq_len = defaults.seq_len.unwrap_or(SEQ_LEN);
        let seq_len = args
            .rollout
            .map_or(seq_len, |rollout| PROMPT.saturating_add(rollout.answer));
        TrainingSettings {
            micro_batch,
            grad_accum: or(args.grad_accum.as_ref(), 1),
            seq_len: or(args.seq_len.as_ref(), seq_len),
            sequence_parallel: or(args.sequence_parallel.as_ref(), 1),
            tuner: or(args.tuner.as_ref(), tuner),
            lora_rank: or(args.lora_rank.as_ref(), defaults.lora_rank),
            lora_targets: or(args.lora_targets.as_ref(), "all-linear".to_string()),
            dtype: or(
                args.dtype.as_ref(),
                args.loaded.map_or(Dtype::Bf16, |loaded| loaded(of_model)),
            ),
            optimizer: or(args.optimizer.as_ref(), Optimizer::named("adamw")),
            checkpointing: or(args.checkpointing.as_ref(), defaults.checkpointing),
            attention: args.attention.as_ref().map(|attention| attention.value),
            fused_loss: or(args.fused_loss.as_ref(), false),
            dropout: or(args.dropout.as_ref(), defaults.dropout),
            // Without preferences: a logit's fp32 log-softmax and two gradients of that.
            algorithm: args.algorithm.unwrap_or(Algorithm {
                logit: 12,
                ..Algorithm::default()
            }),
            evaluation: args.evaluation.map(|given| Evaluation {
                batch: if given.batch > 0 {
                    given.batch
                } else {
                    defaults.eval_batch.unwrap_or(micro_batch)
                },
                ..given
            }),
            rollout: args.rollout,
            rewards: Vec::new(),
        }
    }
}
