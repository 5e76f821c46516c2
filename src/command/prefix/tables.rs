//! Programs that run another command.

mod programs;

pub use programs::{PROGRAMS, PrefixProgram};
