//! The next generation of xtuner, which torchrun starts and which shards with FSDP. As its documents describe it: it is not
//! in a release yet.

use super::openrlhf;
use crate::command::front_end::{NoConfig, RankCommand, Trainer, Usage};

pub(crate) const TRAINER: Trainer = Trainer {
    name: "xtuner_v1",
    usage: &[Usage {
        commands: &["python xtuner/v1/train/cli/sft.py …"],
        runs: "torchrun on it; it shards with FSDP, so a config is refused (from its documents)",
        runs_zh: "torchrun 运行它；它用 FSDP 切分，所以不接受配置（根据其文档）",
    }],
    distribution: Some("xtuner"),
    recognise: |command, _| {
        let no_config = || {
            NoConfig::new(
                "xtuner's V1 does not train with DeepSpeed, and takes no config for it",
                "drop it: it shards with FSDP; --fsdp-config.cpu-offload moves the model to the host",
            )
        };
        let is_one = command.target.is_module("xtuner.v1.train.cli.sft");
        is_one.then(|| RankCommand::without_config(command, no_config()))
    },
    ..openrlhf::TRAINER
};
