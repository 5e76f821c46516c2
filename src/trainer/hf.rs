//! Scripts built on transformers' `Trainer`: `python train.py --deepspeed …`, any module, and whatever else
//! `HfArgumentParser` reads.

use std::ffi::OsString;

use super::argv::{Args, Field, OptionList, Takes};
use super::{Family, Precision, Recognised, Target, Trainer};
use crate::host::Host;

pub(crate) const TRAINER: Trainer = Trainer {
    name: "hf",
    family: Family::Hf,
    distribution: Some("transformers"),
    config_argument: "deepspeed",
    model_argument: "model_name_or_path",
    fields: FIELDS,
    options: |_| OptionList::Open,
    recognise,
    one_gpu_per_rank: false,
    fp16: |args| precision(args, "fp16", "fp16_full_eval", "bf16"),
    bf16: |args| precision(args, "bf16", "bf16_full_eval", "fp16"),
};

pub(super) const FIELDS: &[Field] = &[("model_name_or_path", Takes::One)];

/// Any Python program: whoever calls `deepspeed.initialize` alone was recognised before.
fn recognise(target: &Target, args: &[OsString], _: &Host) -> Option<Recognised> {
    match target {
        Target::Program(_) => None,
        _ => Some(Recognised { target: target.clone(), args: args.to_vec(), python: None }),
    }
}

/// The flag or its `_full_eval`. When the *other* precision is on, this one is off: transformers refuses both.
pub(super) fn precision(args: &Args, name: &str, full_eval: &str, other: &str) -> Precision {
    let own = args.bool(name, true)?;
    let eval = args.bool(full_eval, true)?;
    let other = args.bool(other, true)?;
    if let Some(on) = [&own, &eval].into_iter().flatten().find(|said| said.value) {
        return Ok(Some((true, on.from.to_string())));
    }
    if let Some(own) = own {
        return Ok(Some((false, own.from.to_string())));
    }
    Ok(other.filter(|other| other.value).map(|other| (false, format!("{} excludes it", other.from))))
}
