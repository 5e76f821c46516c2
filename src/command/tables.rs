//! What is known of trainers, their arguments and their scripts, as constants.

mod arguments;
pub mod auto_sources;
mod axolotl;
pub mod classes;
pub mod front_end;
pub mod hidden_sizes;
mod inputs;
mod python;
pub mod recognition;
mod scripts;
pub mod training;

pub use arguments::ACCELERATE_OPTIONS;
pub use arguments::*;
pub use auto_sources::{AutoSource, Keys};
pub use axolotl::*;
pub use inputs::*;
pub use inputs::{Input, Reads};
pub use python::*;
pub use scripts::*;
