//! What is known of trainers, their arguments and their scripts, as constants.

mod arguments;
pub(crate) mod auto_sources;
mod axolotl;
pub mod classes;
pub mod front_end;
mod inputs;
mod python;
pub mod recognition;
mod scripts;
pub(crate) mod training;

pub(crate) use arguments::ACCELERATE_OPTIONS;
pub(super) use arguments::*;
pub(super) use auto_sources::{AutoSource, Keys};
pub(super) use axolotl::{AXOLOTL_NAMES, AXOLOTL_VARIABLES};
pub(super) use inputs::*;
pub use inputs::{Input, Reads};
pub(super) use python::*;
pub(crate) use scripts::*;
