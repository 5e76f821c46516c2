//! Anything else: executed as it is, with the environment of the plan.

use super::argv::OptionList;
use super::{Family, Recognised, Trainer};

pub(crate) const TRAINER: Trainer = Trainer {
    name: "command",
    family: Family::Opaque,
    distribution: None,
    config_argument: "deepspeed",
    model_argument: "model",
    fields: &[],
    options: |_| OptionList::Open,
    recognise: |target, args, _| Some(Recognised { target: target.clone(), args: args.to_vec(), python: None }),
    one_gpu_per_rank: false,
    fp16: |_| Ok(None),
    bf16: |_| Ok(None),
};
