//! OpenRLHF. Its modules `openrlhf.cli.train_…` call `deepspeed.initialize` with a config that they make of their own
//! options. torchrun starts them as well as `deepspeed --module` does: they read LOCAL_RANK. Those that start Ray are
//! `ray`'s.

use super::{deepspeed, hf};
use crate::command::front_end::{NoConfig, RankCommand, Trainer, Usage};
use crate::command::python::Python;
use crate::command::target::{ParsedCommand, Target};
use crate::command::trainer::{ArgumentParser, DefaultArguments};
use crate::host::Host;

pub(crate) const TRAINER: Trainer = Trainer {
    name: "openrlhf",
    usage: &[Usage {
        commands: &["python -m openrlhf.cli.train_sft …", "deepspeed --module openrlhf.cli.train_dpo …"],
        runs: "torchrun on the module, or `deepspeed` as it stands; it makes its config of `--zero_stage`, `--adam_offload`, … (`--ds.zero_stage` since 0.10.2), so a config of yours is refused (read from 0.5.9, 0.10.1, 0.11.2)",
        runs_zh: "torchrun 运行该模块，或原样执行 `deepspeed`；它用 `--zero_stage`、`--adam_offload` 等选项自己生成配置（0.10.2 起是 `--ds.zero_stage`），所以不接受你的配置（读自 0.5.9、0.10.1、0.11.2）",
    }],
    distribution: Some("openrlhf"),
    inputs: &[],
    parser: ArgumentParser::Unrecorded,
    arguments: DefaultArguments::Recorded(|_, _| None),
    recognise,
    fills_auto: deepspeed::TRAINER.fills_auto,
    ..hf::TRAINER
};

const MODULES: &[&str] = &["train_sft", "train_rm", "train_dpo", "train_kto", "train_kd", "train_prm", "train_ppo"];

fn recognise(command: &ParsedCommand, host: &Host) -> Option<RankCommand> {
    let is_one = |target: &Target| MODULES.iter().any(|name| target.is_module(&format!("openrlhf.cli.{name}")));
    is_one(&command.target).then(|| RankCommand::without_config(command, no_config(command, host)))
}

/// Which of its options stand for a config.
pub(super) fn no_config(command: &ParsedCommand, host: &Host) -> NoConfig {
    let python = command.python.as_ref().or(command.owner.as_ref()).and_then(|word| host.find_program(word));
    let version = python.and_then(|path| {
        Python::of_script(&path, host).unwrap_or_else(|| Python::at(path, host)).version(TRAINER.distribution?)
    });
    let sectioned = command.args.iter().any(|word| word.to_string_lossy().starts_with("--ds."))
        || version.is_some_and(|version| !version.is_before([0, 10, 2]));
    let section = if sectioned { "ds." } else { "" };
    NoConfig::new(
        "OpenRLHF takes no DeepSpeed config: it makes one of its own options",
        format!("drop it and say --{section}zero_stage 3; --{section}adam_offload moves the optimizer to the host"),
    )
}

#[cfg(test)]
mod tests {
    use crate::fake::Sandbox;

    #[test]
    fn its_modules_are_ranks_without_a_config() {
        let openrlhf = Sandbox::with_trainer("openrlhf", "openrlhf", "0.10.1", &[]);
        for command in ["python -m openrlhf.cli.train_sft --zero_stage 3", "python openrlhf/cli/train_dpo.py"] {
            let job = openrlhf.job(command);
            assert_eq!(job.trainer.name, "openrlhf", "{command}");
            assert!(job.no_config.unwrap().help.contains(" --zero_stage 3"), "{command}");
        }
        let newer = Sandbox::with_trainer("openrlhf", "openrlhf", "0.10.2", &[]);
        let job = newer.job("python -m openrlhf.cli.train_rm");
        assert!(job.no_config.unwrap().help.contains("--ds.zero_stage 3"));
        assert_eq!(newer.job("python -m openrlhf.cli.serve_rm").trainer.name, "hf");
        assert_eq!(newer.job("python -m openrlhf.cli.train_ppo_ray").trainer.name, "ray");
    }
}
