//! Scripts that call `deepspeed.initialize` themselves, with `--deepspeed_config FILE` as `DeepSpeed`'s
//! `add_config_arguments` defines it, or a `--deepspeed FILE` of their own. Nobody fills an "auto" after us.

use super::hf;
use crate::command::argv::{Args, Field, Nargs, OptionList};
use crate::command::front_end::{FillsAuto, RankCommand, Trainer, Usage, script_text};
use crate::command::target::{ParsedCommand, Target};
use crate::host::Host;

pub(crate) const TRAINER: Trainer = Trainer {
    name: "deepspeed",
    usage: &[Usage {
        commands: &["python ds.py …"],
        runs: "torchrun on a script that calls `deepspeed.initialize`, with `--deepspeed_config`",
        runs_zh: "torchrun 运行自己调用 `deepspeed.initialize` 的脚本，参数是 `--deepspeed_config`",
    }],
    fills_auto: Some(FillsAuto::Nobody),
    distribution: Some("deepspeed"),
    config_argument,
    fields: FIELDS,
    recognise,
    ..hf::TRAINER
};

const FIELDS: &[Field] =
    &[("deepspeed_config", Nargs::One), ("deepspeed", Nargs::Optional), ("model_name_or_path", Nargs::One)];

fn config_argument(args: &Args) -> &'static str {
    let own_file = !args.is_given("deepspeed_config") && args.raw("deepspeed").is_some();
    if own_file { "deepspeed" } else { "deepspeed_config" }
}

/// By its arguments if they are enough, else by what the script calls.
fn recognise(command: &ParsedCommand, host: &Host) -> Option<RankCommand> {
    let given = Args::read(command.args.clone(), FIELDS, OptionList::Open);
    let plain = match &command.target {
        Target::Program(_) => false,
        _ if given.is_given("deepspeed_config") || given.is_bare("deepspeed") => true,
        Target::Script { path, .. } => script_text(path, host).is_some_and(|text| calls_deepspeed(&text)),
        Target::Module { .. } => false,
    };
    plain.then(|| RankCommand::unchanged(command))
}

fn calls_deepspeed(text: &str) -> bool {
    let own = text.contains("deepspeed.initialize(") || text.contains("add_config_arguments(");
    own && !["TrainingArguments", "HfArgumentParser", "import Trainer"].iter().any(|sign| text.contains(sign))
}
