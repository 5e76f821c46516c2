//! What a training script does with its arguments and with the config, as far as its text shows it.

mod flow;
pub mod kind;
mod options;
pub mod signs;
pub mod tokens;

pub(crate) use flow::ArgumentFlow;
pub(crate) use kind::{RunFileReader, ScriptKind, run_file_reader, script_kind};
