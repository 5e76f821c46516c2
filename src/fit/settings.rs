//! The settings of a training that decide how much memory it needs.

use super::architecture::{Dtype, Weights};
use super::optimizer::Optimizer;
use super::tables::algorithms::{ALGORITHMS, Algorithm, SUPERVISED};
use crate::base::source::Sourced;
use crate::command::front_end::TrainingDefaults;
use crate::command::job::Trainer;
use crate::command::trainer::HF_DEFAULTS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tuner {
    Full,
    Lora,
    /// LoRA on weights of so many bits.
    Quantised(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attention {
    /// FlashAttention or SDPA, which never store the matrix of scores.
    Flash,
    Eager,
}

/// The dtype in which a model is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainedDtype {
    Given(Dtype),
    /// By the model's own config, or fp32.
    OfModel,
    /// By the model's own config, but always 16 bits.
    HalfOfModel,
}

impl TrainedDtype {
    fn resolve(self, of_model: Option<Dtype>) -> Dtype {
        match (self, of_model) {
            (TrainedDtype::Given(dtype), _) => dtype,
            (TrainedDtype::OfModel, own) => own.unwrap_or(Dtype::Fp32),
            (TrainedDtype::HalfOfModel, None | Some(Dtype::Bf16)) => Dtype::Bf16,
            (TrainedDtype::HalfOfModel, Some(_)) => Dtype::Fp16,
        }
    }
}

impl Algorithm {
    /// The first in the table that has one of the names. `has_own`: the front end has PPO and GKD of its own.
    pub fn find(names: &[&str], has_own: bool) -> Option<Self> {
        let is_meant = |name: &&str| names.contains(name);
        let row = ALGORITHMS
            .iter()
            .find(|row| (has_own || !row.is_own) && row.names.iter().any(is_meant))?;
        Some(row.algorithm)
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

/// The answers that online tuning generates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rollout {
    /// Tokens of an answer.
    pub answer: u64,
    /// Answers are generated for so many micro batches at once.
    pub micro_batches: u64,
    /// Stage 3 gathers all weights for it.
    pub gathers: bool,
    /// A server does it.
    pub is_served: bool,
}

/// Tokens of a prompt, if no argument limits them.
pub(crate) const PROMPT: u64 = 512;

/// The settings that are given, by options or by a command.
#[derive(Clone, Debug, Default)]
pub struct TrainingArgs {
    pub model: Option<Sourced<String>>,
    pub params: Option<Sourced<u64>>,
    pub micro_batch: Option<u64>,
    pub grad_accum: Option<u64>,
    pub seq_len: Option<u64>,
    /// Ranks that share one sequence.
    pub sequence_parallel: Option<u64>,
    pub tuner: Option<Tuner>,
    pub lora_rank: Option<u64>,
    /// The names of modules, with commas between them.
    pub lora_targets: Option<String>,
    pub dtype: Option<TrainedDtype>,
    pub optimizer: Option<Optimizer>,
    pub checkpointing: Option<bool>,
    pub attention: Option<Attention>,
    pub fused_loss: Option<bool>,
    /// LoRA uses dropout, and so keeps a second copy of its inputs.
    pub dropout: Option<bool>,
    pub algorithm: Option<Algorithm>,
    pub evaluation: Option<Evaluation>,
    pub rollout: Option<Rollout>,
    /// The names of reward models, or of a teacher.
    pub rewards: Vec<String>,
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
        let defaults = trainer.map_or(&WITHOUT_COMMAND, |trainer| &trainer.model.training);
        let tuner = if defaults.lora {
            Tuner::Lora
        } else {
            Tuner::Full
        };
        let seq_len = match args.rollout {
            Some(rollout) => PROMPT.saturating_add(rollout.answer),
            None => defaults.seq_len.unwrap_or(SEQ_LEN),
        };
        let lora_targets = args.lora_targets.clone();
        TrainingSettings {
            micro_batch: args.micro_batch.unwrap_or(defaults.micro_batch),
            grad_accum: args.grad_accum.unwrap_or(1),
            seq_len: args.seq_len.unwrap_or(seq_len),
            sequence_parallel: args.sequence_parallel.unwrap_or(1),
            tuner: args.tuner.unwrap_or(tuner),
            lora_rank: args.lora_rank.unwrap_or(defaults.lora_rank),
            lora_targets: lora_targets.unwrap_or_else(|| "all-linear".to_string()),
            dtype: args
                .dtype
                .map_or(Dtype::Bf16, |dtype| dtype.resolve(of_model)),
            optimizer: args.optimizer.unwrap_or_else(|| Optimizer::named("adamw")),
            checkpointing: args.checkpointing.unwrap_or(defaults.checkpointing),
            attention: args.attention,
            fused_loss: args.fused_loss.unwrap_or(false),
            dropout: args.dropout.unwrap_or(defaults.dropout),
            algorithm: args.algorithm.unwrap_or(SUPERVISED),
            evaluation: args.evaluation,
            rollout: args.rollout,
            rewards: Vec::new(),
        }
    }
}
