//! Anything else: executed as it is, with the environment of the plan.

use super::{Family, Recognised, Trainer, hf};

pub(crate) const TRAINER: Trainer = Trainer {
    name: "command",
    family: Family::Opaque,
    distribution: None,
    recognise: |parts, _| Some(Recognised::unchanged(parts)),
    fp16: |_| Ok(None),
    bf16: |_| Ok(None),
    ..hf::TRAINER
};
