//! The settings of a training that decide how much memory it needs. Our own options win over the arguments of the training
//! command, and those over the front end's defaults.

use super::algorithm::{Algorithm, FINE_TUNING};
use super::optimizer::Optimizer;
use crate::base::source::Sourced;
use crate::command::front_end::TrainingDefaults;
use crate::command::job::Trainer;
use crate::command::trainer::HF_DEFAULTS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tuner {
    Full,
    Lora,
    /// LoRA on weights quantised to this many bits.
    Quantised(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dtype {
    Bf16,
    Fp16,
    Fp32,
}

impl Dtype {
    pub const NAMES: &'static [(&'static str, Dtype)] = &[
        ("bf16", Dtype::Bf16),
        ("bfloat16", Dtype::Bf16),
        ("fp16", Dtype::Fp16),
        ("float16", Dtype::Fp16),
        ("fp32", Dtype::Fp32),
        ("float32", Dtype::Fp32),
    ];

    pub(crate) fn bytes(self) -> u64 {
        if self == Dtype::Fp32 { 4 } else { 2 }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, dtype)| *dtype)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, dtype)| *dtype == self).map_or("", |(name, _)| name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attention {
    /// FlashAttention or SDPA, which never store the matrix of scores.
    Flash,
    Eager,
}

/// The settings that were given, by our own options or by the training command.
#[derive(Clone, Debug, Default)]
pub struct TrainingArgs {
    pub model: Option<Sourced<String>>,
    pub params: Option<Sourced<u64>>,
    pub micro_batch: Option<Sourced<u64>>,
    pub grad_accum: Option<Sourced<u64>>,
    pub seq_len: Option<Sourced<u64>>,
    /// Ranks that share a sequence.
    pub sequence_parallel: Option<Sourced<u64>>,
    pub tuner: Option<Sourced<Tuner>>,
    pub lora_rank: Option<Sourced<u64>>,
    pub lora_targets: Option<Sourced<String>>,
    pub dtype: Option<Sourced<Dtype>>,
    /// What the weights are loaded in, by the model's config, where nothing says what they are trained in.
    pub loaded: Option<fn(Option<Dtype>) -> Dtype>,
    pub optimizer: Option<Sourced<Optimizer>>,
    pub checkpointing: Option<Sourced<bool>>,
    pub attention: Option<Sourced<Attention>>,
    pub fused_loss: Option<Sourced<bool>>,
    /// LoRA uses dropout, and so keeps a second copy of its inputs.
    pub dropout: Option<Sourced<bool>>,
    /// Of preference tuning.
    pub algorithm: Option<&'static Algorithm>,
}

impl TrainingArgs {
    /// These settings, completed by others where they are not given.
    pub(crate) fn or(self, other: TrainingArgs) -> TrainingArgs {
        TrainingArgs {
            model: self.model.or(other.model),
            params: self.params.or(other.params),
            micro_batch: self.micro_batch.or(other.micro_batch),
            grad_accum: self.grad_accum.or(other.grad_accum),
            seq_len: self.seq_len.or(other.seq_len),
            sequence_parallel: self.sequence_parallel.or(other.sequence_parallel),
            tuner: self.tuner.or(other.tuner),
            lora_rank: self.lora_rank.or(other.lora_rank),
            lora_targets: self.lora_targets.or(other.lora_targets),
            dtype: self.dtype.or(other.dtype),
            loaded: self.loaded.or(other.loaded),
            optimizer: self.optimizer.or(other.optimizer),
            checkpointing: self.checkpointing.or(other.checkpointing),
            attention: self.attention.or(other.attention),
            fused_loss: self.fused_loss.or(other.fused_loss),
            dropout: self.dropout.or(other.dropout),
            algorithm: self.algorithm.or(other.algorithm),
        }
    }
}

/// The defaults without a training command: the settings most people start with.
const WITHOUT_COMMAND: TrainingDefaults = TrainingDefaults { micro_batch: 1, checkpointing: true, ..HF_DEFAULTS };

/// Used if the front end has no default either.
const SEQ_LEN: u64 = 2048;

/// Every setting, with its default where it was not given.
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
    /// `None`: what transformers chooses for the model.
    pub(crate) attention: Option<Attention>,
    pub(crate) fused_loss: bool,
    pub(crate) dropout: bool,
    pub algorithm: &'static Algorithm,
}

impl TrainingSettings {
    /// `trainer`: the front end whose defaults apply. `of_model`: what the model's config says its weights are.
    pub fn new(args: &TrainingArgs, trainer: Option<&Trainer>, of_model: Option<Dtype>) -> Self {
        fn or<T: Clone>(given: Option<&Sourced<T>>, default: T) -> T {
            given.map_or(default, |given| given.value.clone())
        }
        let defaults = trainer.map_or(&WITHOUT_COMMAND, |trainer| &trainer.model.training);
        let tuner = if defaults.lora { Tuner::Lora } else { Tuner::Full };
        TrainingSettings {
            micro_batch: or(args.micro_batch.as_ref(), defaults.micro_batch),
            grad_accum: or(args.grad_accum.as_ref(), 1),
            seq_len: or(args.seq_len.as_ref(), defaults.seq_len.unwrap_or(SEQ_LEN)),
            sequence_parallel: or(args.sequence_parallel.as_ref(), 1),
            tuner: or(args.tuner.as_ref(), tuner),
            lora_rank: or(args.lora_rank.as_ref(), defaults.lora_rank),
            lora_targets: or(args.lora_targets.as_ref(), "all-linear".to_string()),
            dtype: or(args.dtype.as_ref(), args.loaded.map_or(Dtype::Bf16, |loaded| loaded(of_model))),
            optimizer: or(args.optimizer.as_ref(), Optimizer::named("adamw")),
            checkpointing: or(args.checkpointing.as_ref(), defaults.checkpointing),
            attention: args.attention.as_ref().map(|attention| attention.value),
            fused_loss: or(args.fused_loss.as_ref(), false),
            dropout: or(args.dropout.as_ref(), defaults.dropout),
            algorithm: args.algorithm.unwrap_or(FINE_TUNING),
        }
    }
}
