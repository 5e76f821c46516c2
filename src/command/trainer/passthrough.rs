//! Anything else: executed as it is, with the environment of the plan.

use super::hf;
use crate::command::front_end::{ConfigTraits, ModelTraits};
use crate::command::job::{Job, Trainer};

pub(crate) const TRAINER: Trainer = Trainer {
    name: "command",
    distribution: None,
    recognise: |command, _| Some(Job::of(&TRAINER, command)),
    config: ConfigTraits { filler: None, ..hf::TRAINER.config },
    model: ModelTraits { fp16: |_| Ok(None), bf16: |_| Ok(None), ..hf::TRAINER.model },
    ..hf::TRAINER
};
