//! Scripts that call `deepspeed.initialize` themselves, with `--deepspeed_config FILE` as `DeepSpeed`'s
//! `add_config_arguments` defines it. Nobody fills an "auto" after us.

use std::ffi::OsString;

use super::argv::{Args, Field, OptionList, Takes};
use super::{Family, Recognised, Target, Trainer, hf, script_text};
use crate::host::Host;

pub(crate) const TRAINER: Trainer = Trainer {
    name: "deepspeed",
    family: Family::Plain,
    distribution: Some("deepspeed"),
    config_argument: "deepspeed_config",
    model_argument: "model_name_or_path",
    fields: FIELDS,
    options: |_| OptionList::Open,
    recognise,
    one_gpu_per_rank: false,
    fp16: |args| hf::precision(args, "fp16", "fp16_full_eval", "bf16"),
    bf16: |args| hf::precision(args, "bf16", "bf16_full_eval", "fp16"),
};

const FIELDS: &[Field] =
    &[("deepspeed_config", Takes::One), ("deepspeed", Takes::Nothing), ("model_name_or_path", Takes::One)];

/// By its arguments if they tell, else by what the script calls.
fn recognise(target: &Target, args: &[OsString], host: &Host) -> Option<Recognised> {
    const ARGUMENTS: &[Field] = &[("deepspeed_config", Takes::One), ("deepspeed", Takes::One)];
    let given = Args::read(args.to_vec(), ARGUMENTS, OptionList::Open);
    let plain = match target {
        Target::Program(_) => false,
        _ if given.is_given("deepspeed_config") => true,
        _ if given.is_given("deepspeed") => given.is_bare("deepspeed"),
        Target::Script { path, .. } => script_text(path, host).is_some_and(|text| calls_deepspeed(&text)),
        Target::Module { .. } => false,
    };
    plain.then(|| Recognised { target: target.clone(), args: args.to_vec(), python: None })
}

fn calls_deepspeed(text: &str) -> bool {
    let own = text.contains("deepspeed.initialize(") || text.contains("add_config_arguments(");
    own && !["TrainingArguments", "HfArgumentParser", "import Trainer"].iter().any(|sign| text.contains(sign))
}
