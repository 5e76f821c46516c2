//! Programs that start Ray: verl's and OpenRLHF's trainings by reinforcement, ROLL's pipelines, any script that calls
//! `ray.init`. There is one driver, and Ray places the workers, so it is executed once and as it stands.

use super::verl::NO_DEEPSPEED;
use super::{command, openrlhf};
use crate::command::front_end::{NoConfig, RankCommand, Trainer, Usage, text_of};
use crate::command::script::signs::imports;
use crate::command::target::ParsedCommand;
use crate::host::Host;

pub(crate) const TRAINER: Trainer = Trainer {
    name: "ray",
    usage: &[Usage {
        commands: &[
            "python -m verl.trainer.main_ppo …",
            "python -m openrlhf.cli.train_ppo_ray …",
            "python start_rlvr_pipeline.py …",
            "ray job submit …",
        ],
        runs: "itself, once: Ray starts the workers, and the program's own settings say how they train. Any script that calls `ray.init` or imports ROLL; a config is refused, with the setting to use instead",
        runs_zh: "只执行一次，原样不动：worker 由 Ray 启动，怎样训练由程序自己的设置决定。凡是调用 `ray.init` 或导入 ROLL 的脚本都算；给它配置会被拒绝，并说明该用哪个设置",
    }],
    consoles: &["ray"],
    distribution: Some("ray"),
    recognise,
    ..command::TRAINER
};

const OPENRLHF: &[&str] = &["openrlhf.cli.train_ppo_ray"];
const VERL: &[&str] = &["verl.trainer.main_ppo", "verl.trainer.main_ppo_v0", "verl.trainer.sft_trainer_ray"];

fn recognise(command: &ParsedCommand, host: &Host) -> Option<RankCommand> {
    let is_one = |modules: &[&str]| modules.iter().any(|module| command.target.is_module(module));
    let text = || text_of(command, host);
    let no_config = if is_one(OPENRLHF) {
        openrlhf::no_config(command, host)
    } else if is_one(VERL) {
        NoConfig::new(NO_DEEPSPEED, "drop it: actor_rollout_ref.actor.strategy=fsdp2 or megatron says how it shards")
    } else if text().is_some_and(|text| imports(text, &["roll.distributed", "roll.pipeline"])) {
        NoConfig::new(
            "ROLL takes no DeepSpeed config: each of its workers has one in the pipeline's YAML",
            "drop it, and give the worker strategy_args: {strategy_name: deepspeed_train, strategy_config: ${deepspeed_zero3}}",
        )
    } else if command.target.is_console("ray") || text().is_some_and(is_driver) {
        NoConfig::new(
            format!(
                "`{}` starts its workers through Ray: zlaunch cannot hand them a DeepSpeed config",
                command.target.name()
            ),
            "drop it, and name the config in the program's own settings; --trainer hf says that it is no Ray program",
        )
    } else {
        return None;
    };
    Some(RankCommand::without_config(command, no_config))
}

/// A script that reads the arguments of transformers' trainer is one rank of several, whatever it uses Ray for.
fn is_driver(text: &str) -> bool {
    text.contains("ray.init(") && !text.contains("HfArgumentParser")
}
