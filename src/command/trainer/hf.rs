//! Scripts built on transformers' `Trainer`: `python train.py --deepspeed …`, any module, and whatever else
//! `HfArgumentParser` reads. The other front ends of the family start from this one.

use std::ffi::OsString;
use std::path::Path;

use super::{Defaults, Family, HandOver, Precision, Recognised, Trainer, run_file};
use crate::base::yaml::Dialect;
use crate::command::argv::{Args, Field, OptionList, Takes};
use crate::command::model::Hub;
use crate::command::target::{Parts, Target};
use crate::host::Host;
use crate::report::reading;

pub(crate) const TRAINER: Trainer = Trainer {
    name: "hf",
    family: Family::Hf,
    consoles: &[],
    distribution: Some("transformers"),
    config_argument: |_| "deepspeed",
    hand_over: HandOver::Argument,
    model_argument: "model_name_or_path",
    hub: |_, _| Hub::HuggingFace,
    lifts_hidden_size: false,
    reads_base64: true,
    one_gpu_per_rank: false,
    launches_itself: false,
    fields: FIELDS,
    options: |_| OptionList::Open,
    refusals: |_, _, _| Vec::new(),
    recognise,
    fp16: |args| precision(args, "fp16", "fp16_full_eval", "bf16"),
    bf16: |args| precision(args, "bf16", "bf16_full_eval", "fp16"),
    precision_unknown: None,
    defaults: DEFAULTS,
};

/// As documented.
pub(super) const DEFAULTS: Defaults =
    Defaults { micro_batch: 8, seq_len: None, lora: false, lora_rank: 8, checkpointing: false, dropout: false };

const FIELDS: &[Field] = &[("model_name_or_path", Takes::One)];

/// Any Python program: whoever calls `deepspeed.initialize` alone was recognised before. A file `script.args` beside a
/// script holds words that `HfArgumentParser` reads first.
fn recognise(parts: &Parts, host: &Host) -> Option<Recognised> {
    let mut recognised = match &parts.target {
        Target::Program(_) => return None,
        _ => Recognised::unchanged(parts),
    };
    if let Target::Script { path, .. } = &parts.target {
        let file = host.absolute(Path::new(path)).with_extension("args");
        let text = file.is_file().then(|| reading::read_text(&file).ok()).flatten();
        recognised.read =
            text.map(|text| text.split_whitespace().map(OsString::from).chain(parts.args.iter().cloned()).collect());
    }
    // One argument that is a JSON or YAML file holds all the others (`parse_json_file`). What cannot be read is data of
    // a script that is no HF script after all.
    if let [file] = parts.args.as_slice()
        && run_file::is_first(&parts.args)
        && let Ok(Some(entries)) = run_file::read(file, Dialect::PyYaml, host)
    {
        recognised.read = Some(run_file::typed_words(&entries, false));
        recognised.run_file = Some(entries);
    }
    Some(recognised)
}

/// The flag or its `_full_eval`. When the *other* precision is on, this one is off: transformers refuses both.
fn precision(args: &Args, name: &str, full_eval: &str, other: &str) -> Precision {
    let own = args.bool(name, true)?;
    let eval = args.bool(full_eval, true)?;
    let other = args.bool(other, true)?;
    if let Some(on) = [&own, &eval].into_iter().flatten().find(|sourced| sourced.value) {
        return Ok(Some((true, on.from.to_string())));
    }
    // A word that may abbreviate it could still turn it on.
    if args.unclear(name).or(args.unclear(full_eval)).is_some() {
        return Ok(None);
    }
    if let Some(own) = own {
        return Ok(Some((false, own.from.to_string())));
    }
    Ok(other.filter(|other| other.value).map(|other| (false, format!("{} excludes it", other.from))))
}
