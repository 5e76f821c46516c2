//! verl's supervised fine-tuning, which torchrun starts and which shards with FSDP or Megatron: there is no DeepSpeed in
//! verl. Its trainings by reinforcement start Ray: they are `ray`'s.

use super::openrlhf;
use crate::command::front_end::{NoConfig, RankCommand, Trainer, Usage};

pub(crate) const TRAINER: Trainer = Trainer {
    name: "verl",
    usage: &[Usage {
        commands: &["python -m verl.trainer.sft_trainer …"],
        runs: "torchrun on the module; there is no DeepSpeed in verl, so a config is refused (read from 0.9.1)",
        runs_zh: "torchrun 运行该模块；verl 里没有 DeepSpeed，所以不接受配置（读自 0.9.1）",
    }],
    distribution: Some("verl"),
    recognise: |command, _| {
        let modules = ["verl.trainer.sft_trainer", "verl.trainer.fsdp_sft_trainer"];
        let no_config = || NoConfig::new(NO_DEEPSPEED, "drop it: engine=fsdp or megatron says how it shards");
        let is_one = modules.iter().any(|name| command.target.is_module(name));
        is_one.then(|| RankCommand::without_config(command, no_config()))
    },
    ..openrlhf::TRAINER
};

pub(super) const NO_DEEPSPEED: &str = "verl does not train with DeepSpeed, and takes no config for it";
