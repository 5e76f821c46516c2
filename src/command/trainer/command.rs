//! Anything else: executed as it is, with the environment of the plan.

use super::hf;
use crate::command::front_end::{RankCommand, Trainer, Usage};

pub(crate) const TRAINER: Trainer = Trainer {
    name: "command",
    usage: &[Usage {
        commands: &["./anything else"],
        runs: "untouched, with the plan's environment",
        runs_zh: "原样执行，用计划里的环境变量",
    }],
    fills_auto: None,
    distribution: None,
    recognise: |command, _| Some(RankCommand::unchanged(command)),
    fp16: |_| Ok(None),
    bf16: |_| Ok(None),
    ..hf::TRAINER
};
