//! The decision: everything a launch will do, as a plain value. `--dry-run` prints it, `exec` carries it out.

mod config;
mod config_text;
pub(crate) mod configs;
mod decision;
mod diagnostics;
pub(crate) mod environment;
mod file;
mod forwarded_env;
mod inputs;
mod own_config;
mod planner;
mod print;
pub(crate) mod record;
mod recording;

pub use decision::Plan;
pub(crate) use file::{FileKind, PlannedConfig};
pub(crate) use print::diagnostics_json;
pub use print::refused_json;
