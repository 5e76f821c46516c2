//! The settings of a training that decide how much memory it needs.

use super::architecture::{Dtype, Weights};
use super::optimizer::Optimizer;
use super::tables::algorithms::{ALGORITHMS, Algorithm};
use crate::base::source::Sourced;

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

/// The options of zlaunch about a training.
#[derive(Clone, Debug, Default)]
pub struct TrainingArgs {
    pub model: Option<Sourced<String>>,
    pub params: Option<Sourced<u64>>,
    pub micro_batch: Option<u64>,
    pub grad_accum: Option<u64>,
    pub seq_len: Option<u64>,
    pub tuner: Option<Tuner>,
    pub lora_rank: Option<u64>,
    /// The names of modules, with commas between them.
    pub lora_targets: Option<String>,
    pub dtype: Option<Dtype>,
    pub optimizer: Option<Optimizer>,
    pub checkpointing: Option<bool>,
    pub attention: Option<Attention>,
    pub fused_loss: bool,
}

#[derive(Clone, Debug)]
pub struct TrainingSettings {
    pub(crate) micro_batch: u64,
    pub(crate) grad_accum: u64,
    pub(crate) seq_len: u64,
    /// Ranks that share one sequence.
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
    /// LoRA uses dropout, and so keeps a second copy of its inputs.
    pub(crate) dropout: bool,
    pub algorithm: Algorithm,
    pub evaluation: Option<Evaluation>,
    pub rollout: Option<Rollout>,
    /// The reward models, or a teacher. PPO also trains a value model like the first.
    pub rewards: Vec<Weights>,
}
