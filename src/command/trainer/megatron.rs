//! megatron-swift. Its console script starts torchrun itself, from NPROC_PER_NODE and related variables, and takes no
//! DeepSpeed config: it is executed as it is, with the topology in those variables.

use super::command;
use crate::command::front_end::{NoConfig, RankCommand, Trainer, Usage};

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
    recognise: |command, _| {
        let no_config = || {
            let command = command.args.first().map_or_else(String::new, |mode| format!(" {}", mode.to_string_lossy()));
            NoConfig::new(
                format!("`megatron{command}` does not train with DeepSpeed, and takes no config for it"),
                "drop it: --tensor_model_parallel_size, --pipeline_model_parallel_size and its distributed optimizer shard the model; DeepSpeed is for `swift sft`",
            )
        };
        TRAINER.is_console(&command.target).then(|| RankCommand::without_config(command, no_config()))
    },
    ..command::TRAINER
};
