//! megatron-swift: its console script starts torchrun itself from NPROC_PER_NODE and its kin, and has no DeepSpeed
//! config. Passed through with the topology in those variables.

use super::{Recognised, Trainer, command};

pub(crate) const TRAINER: Trainer = Trainer {
    name: "megatron",
    consoles: &["megatron"],
    distribution: Some("ms-swift"),
    launches_itself: true,
    recognise: |parts, _| parts.target.is_console("megatron").then(|| Recognised::unchanged(parts)),
    ..command::TRAINER
};
