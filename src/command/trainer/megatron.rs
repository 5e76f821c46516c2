//! megatron-swift. Its console script starts torchrun itself, from NPROC_PER_NODE and related variables, and takes no
//! DeepSpeed config: it is executed as it is, with the topology in those variables.

use super::command;
use crate::command::front_end::{RankCommand, Trainer, Usage};

pub(crate) const TRAINER: Trainer = Trainer {
    name: "megatron",
    usage: &[Usage {
        commands: &["megatron sft …"],
        runs: "itself, with the number of processes and machines in the variables it reads",
        runs_zh: "原样执行，进程数和机器数写在它读取的变量里",
    }],
    consoles: &["megatron"],
    console_modules: &["swift.cli._megatron.main"],
    distribution: Some("ms-swift"),
    launches_itself: true,
    recognise: |command, _| TRAINER.is_console(&command.target).then(|| RankCommand::unchanged(command)),
    ..command::TRAINER
};
