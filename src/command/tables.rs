//! What is known of trainers, their arguments and their scripts, as constants.

mod arguments;
pub(crate) mod auto_sources;
mod axolotl;
mod inputs;
pub mod recognition;
mod scripts;
pub(crate) mod training;
mod trl;

pub(super) use arguments::*;
pub(super) use auto_sources::{AutoSource, Keys};
pub(super) use axolotl::{AXOLOTL_NAMES, AXOLOTL_VARIABLES};
pub(super) use inputs::*;
pub use inputs::{Input, Reads};
pub(crate) use scripts::*;
pub use trl::{TRL_COMMANDS, TrlCommand};
