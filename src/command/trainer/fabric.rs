//! `fabric run script.py` and, in older versions, `lightning run model script.py`: they start torchrun themselves, with
//! the number of ranks and the strategy that their own options say.

use super::command;
use crate::command::front_end::{NoConfig, RankCommand, Trainer, Usage};

pub(crate) const TRAINER: Trainer = Trainer {
    name: "fabric",
    usage: &[Usage {
        commands: &["fabric run script.py …", "lightning run model script.py …"],
        runs: "itself, once: it starts torchrun with its own options. A config is refused, with the command to use instead (read from Lightning 2.6.6)",
        runs_zh: "只执行一次，原样不动：它按自己的选项启动 torchrun。给它配置会被拒绝，并说明该用哪条命令（读自 Lightning 2.6.6）",
    }],
    consoles: &["fabric", "lightning"],
    distribution: Some("lightning"),
    recognise: |command, _| {
        let is_one = TRAINER.consoles.iter().any(|name| command.target.is_console(name));
        let runs = command.args.first().is_some_and(|word| word == "run");
        let no_config = || {
            NoConfig::new(
                format!("`{} run` starts its ranks itself, and takes no DeepSpeed config", command.target.name()),
                "run the script itself: zlaunch --deepspeed zero2 --nproc-per-node 2 -- python script.py, with strategy=\"deepspeed\" in it",
            )
        };
        (is_one && runs).then(|| RankCommand::without_config(command, no_config()))
    },
    ..command::TRAINER
};

#[cfg(test)]
mod tests {
    use crate::fake::Sandbox;

    #[test]
    fn it_starts_its_ranks_itself() {
        let sandbox = Sandbox::new();
        for line in ["fabric run --devices=2 x.py", "lightning run model x.py", "python /opt/bin/fabric run x.py"] {
            let job = sandbox.job(line);
            assert_eq!(job.trainer.name, "fabric", "{line}");
            assert!(job.no_config.unwrap().why.contains("run` starts its ranks itself"), "{line}");
        }
        assert!(sandbox.job("fabric consolidate x").no_config.is_none());
    }
}
