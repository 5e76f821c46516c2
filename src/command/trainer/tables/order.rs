//! The order in which the front ends are asked.

use super::{
    front_ends::{
        ACCELERATE, AXOLOTL, DEEPSPEED, HF, IN_CODE, LIGHTNING, LLAMAFACTORY, SWIFT, TRL, XTUNER,
    },
    without_config::{FABRIC, MEGATRON, OPENRLHF, PASSTHROUGH, RAY, VERL, XTUNER_V1},
};
use crate::command::job::Trainer;

/// Every front end. The first that recognises a command counts, and the last one takes anything.
pub const ALL: &[&Trainer] = &[
    &SWIFT,
    &MEGATRON,
    &LLAMAFACTORY,
    &AXOLOTL,
    &TRL,
    &XTUNER,
    &XTUNER_V1,
    &OPENRLHF,
    &VERL,
    &RAY,
    &LIGHTNING,
    &FABRIC,
    &ACCELERATE,
    &IN_CODE,
    &DEEPSPEED,
    &HF,
    &PASSTHROUGH,
];
