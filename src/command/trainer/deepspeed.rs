//! Scripts that call `deepspeed.initialize` themselves, with `--deepspeed_config FILE` as `DeepSpeed`'s
//! `add_config_arguments` defines it, or a `--deepspeed FILE` of their own. Nobody fills an "auto" after us.

use super::{Family, Recognised, Trainer, hf, script_text};
use crate::command::argv::{Args, Field, OptionList, Takes};
use crate::command::target::{Parts, Target};
use crate::host::Host;

pub(crate) const TRAINER: Trainer = Trainer {
    name: "deepspeed",
    family: Family::Plain,
    distribution: Some("deepspeed"),
    config_argument,
    fields: FIELDS,
    recognise,
    ..hf::TRAINER
};

const FIELDS: &[Field] =
    &[("deepspeed_config", Takes::One), ("deepspeed", Takes::Optional), ("model_name_or_path", Takes::One)];

fn config_argument(args: &Args) -> &'static str {
    let own_file = !args.is_given("deepspeed_config") && args.raw("deepspeed").is_some();
    if own_file { "deepspeed" } else { "deepspeed_config" }
}

/// By its arguments if they tell, else by what the script calls.
fn recognise(parts: &Parts, host: &Host) -> Option<Recognised> {
    let given = Args::read(parts.args.clone(), FIELDS, OptionList::Open);
    let plain = match &parts.target {
        Target::Program(_) => false,
        _ if given.is_given("deepspeed_config") || given.is_bare("deepspeed") => true,
        Target::Script { path, .. } => script_text(path, host).is_some_and(|text| calls_deepspeed(&text)),
        Target::Module { .. } => false,
    };
    plain.then(|| Recognised::unchanged(parts))
}

fn calls_deepspeed(text: &str) -> bool {
    let own = text.contains("deepspeed.initialize(") || text.contains("add_config_arguments(");
    own && !["TrainingArguments", "HfArgumentParser", "import Trainer"].iter().any(|sign| text.contains(sign))
}
