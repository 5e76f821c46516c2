//! Front ends that take no DeepSpeed config: they shard in another way, make a config of their own options, or start their
//! ranks themselves. `without_config.txt` has how their commands are recognised and what is said instead.

use super::{hf, passthrough};
use crate::command::front_end::{
    ArgumentParser, ArgumentTraits, AutoFiller, ConfigTraits, DefaultArguments, LaunchTraits, NoConfig, Trainer, Usage,
};
use crate::command::job::Job;
use crate::command::script::signs::imports;
use crate::command::target::ParsedCommand;
use crate::host::Host;

const TABLE: &str = include_str!("without_config.txt");

/// Executed once and as it stands: it starts its ranks itself.
const ONCE: Trainer = passthrough::TRAINER;

/// Ranks of torchrun.
const RANKS: Trainer = Trainer {
    config: ConfigTraits { filler: Some(AutoFiller::Nobody), ..hf::TRAINER.config },
    arguments: ArgumentTraits {
        inputs: &[],
        parser: ArgumentParser::Unrecorded,
        defaults: DefaultArguments::Recorded(|_, _| None),
        ..hf::TRAINER.arguments
    },
    ..hf::TRAINER
};

pub(crate) const MEGATRON: Trainer = Trainer {
    name: "megatron",
    usage: &[Usage {
        commands: &["megatron sft …"],
        runs: "itself, with the number of processes and machines in the variables it reads",
        runs_zh: "原样执行，进程数和机器数写在它读取的变量里",
    }],
    distribution: Some("ms-swift"),
    launch: LaunchTraits {
        consoles: &["megatron"],
        console_modules: &["swift.cli._megatron.main"],
        has_own_launcher: true,
        ..ONCE.launch
    },
    recognise: |command, host| find(&MEGATRON, command, host),
    ..ONCE
};

pub(crate) const FABRIC: Trainer = Trainer {
    name: "fabric",
    usage: &[Usage {
        commands: &["fabric run script.py …", "lightning run model script.py …"],
        runs: "itself, once: it starts torchrun with its own options. A config is refused, with the command to use instead (read from Lightning 2.6.6)",
        runs_zh: "只执行一次，原样不动：它按自己的选项启动 torchrun。给它配置会被拒绝，并说明该用哪条命令（读自 Lightning 2.6.6）",
    }],
    distribution: Some("lightning"),
    launch: LaunchTraits { consoles: &["fabric", "lightning"], ..ONCE.launch },
    recognise: |command, host| find(&FABRIC, command, host),
    ..ONCE
};

/// The next generation of xtuner, as its documents describe it: it is not in a release yet.
pub(crate) const XTUNER_V1: Trainer = Trainer {
    name: "xtuner_v1",
    usage: &[Usage {
        commands: &["python xtuner/v1/train/cli/sft.py …"],
        runs: "torchrun on it; it shards with FSDP, so a config is refused (from its documents)",
        runs_zh: "torchrun 运行它；它用 FSDP 切分，所以不接受配置（根据其文档）",
    }],
    distribution: Some("xtuner"),
    recognise: |command, host| find(&XTUNER_V1, command, host),
    ..RANKS
};

/// torchrun starts its modules as well as `deepspeed --module` does: they read LOCAL_RANK.
pub(crate) const OPENRLHF: Trainer = Trainer {
    name: "openrlhf",
    usage: &[Usage {
        commands: &["python -m openrlhf.cli.train_sft …", "deepspeed --module openrlhf.cli.train_dpo …"],
        runs: "torchrun on the module, or `deepspeed` as it stands; it makes its config of `--zero_stage`, `--adam_offload`, … (`--ds.zero_stage` since 0.10.2), so a config of yours is refused (read from 0.5.9, 0.10.1, 0.11.2)",
        runs_zh: "torchrun 运行该模块，或原样执行 `deepspeed`；它用 `--zero_stage`、`--adam_offload` 等选项自己生成配置（0.10.2 起是 `--ds.zero_stage`），所以不接受你的配置（读自 0.5.9、0.10.1、0.11.2）",
    }],
    distribution: Some("openrlhf"),
    recognise: |command, host| find(&OPENRLHF, command, host),
    ..RANKS
};

/// Its trainings by reinforcement start Ray: they are `ray`'s.
pub(crate) const VERL: Trainer = Trainer {
    name: "verl",
    usage: &[Usage {
        commands: &["python -m verl.trainer.sft_trainer …"],
        runs: "torchrun on the module; there is no DeepSpeed in verl, so a config is refused (read from 0.9.1)",
        runs_zh: "torchrun 运行该模块；verl 里没有 DeepSpeed，所以不接受配置（读自 0.9.1）",
    }],
    distribution: Some("verl"),
    recognise: |command, host| find(&VERL, command, host),
    ..RANKS
};

/// There is one driver, and Ray places the workers.
pub(crate) const RAY: Trainer = Trainer {
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
    distribution: Some("ray"),
    launch: LaunchTraits { consoles: &["ray"], ..ONCE.launch },
    recognise: |command, host| find(&RAY, command, host),
    ..ONCE
};

fn find(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Option<Job> {
    let block = blocks().find(|(name, block)| *name == trainer.name && is_on(block, command, host))?.1;
    let program = command.target.name();
    let first = command.args.first().map_or_else(String::new, |word| format!(" {}", word.to_string_lossy()));
    let why = field(block, "why").replace("{program}", program).replace("{command}", &format!("{program}{first}"));
    let no_config = Some(NoConfig::new(why, field(block, "help")));
    Some(Job { no_config, ..Job::of(trainer, command) })
}

/// Each with the name of its front end.
fn blocks() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLE.split("\n= ").skip(1).filter_map(|block| block.split_once('\n'))
}

/// What stands behind a word at the beginning of a line.
fn field(block: &'static str, name: &str) -> &'static str {
    block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap_or_default()
}

fn is_on(block: &'static str, command: &ParsedCommand, host: &Host) -> bool {
    let words = |name| field(block, name).split_ascii_whitespace();
    let (target, text) = (&command.target, field(block, "text"));
    let is_console = words("console").any(|name| target.is_console(name) || target.is_module(name))
        && words("first").all(|first| command.args.first().is_some_and(|word| word == first));
    let shows = |script: &str| {
        let imported: Vec<&str> = words("import").collect();
        let has_text = !text.is_empty() && script.contains(text);
        imports(script, &imported) || has_text && !words("unless").any(|word| script.contains(word))
    };
    let reads_script = || command.source(host).is_some_and(|source| shows(&source.text));
    is_console || words("module").any(|module| target.is_module(module)) || reads_script()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Sandbox;

    #[test]
    fn every_block_is_recognised_by_its_examples() {
        let sandbox = Sandbox::new();
        for (name, block) in blocks() {
            let examples: Vec<&str> = block.lines().filter_map(|line| line.strip_prefix("example ")).collect();
            for example in &examples {
                let (line, script) = example.split_once(" # ").unwrap_or((example, ""));
                sandbox.put("cwd/script.py", script);
                let job = sandbox.job(line);
                assert_eq!(job.trainer.name, name, "{example}");
                let said = job.no_config.unwrap();
                assert!(said.help == field(block, "help") && !said.why.contains(['{', '}']), "{example}: {said:?}");
                assert!(said.why.len() > 20 && said.help.len() > 20, "{example}: {said:?}");
            }
            let words = ["console", "first", "module", "import", "text"].into_iter().map(|name| field(block, name));
            for word in words.flat_map(str::split_ascii_whitespace) {
                let has = |example: &&str| example.contains(word) || example.contains(&word.replace('.', "/"));
                assert!(examples.iter().any(has), "{name}: there is no example of {word}");
            }
        }
        assert_eq!(sandbox.job("python -m openrlhf.cli.serve_rm").trainer.name, "hf");
        assert!(sandbox.job("fabric consolidate x").no_config.is_none());
        let why = |line: &str| sandbox.job(line).no_config.unwrap().why;
        assert!(why("lightning run model x.py").starts_with("`lightning run` starts its ranks itself"));
        assert!(why("ray job submit x").starts_with("`ray` starts its workers"));
    }
}
