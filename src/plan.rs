//! The decision: everything a launch will do, as a plain value. `--dry-run` prints it, `exec` carries it out.

mod asked_config;
pub(crate) mod checked_files;
mod decision;
mod diagnostics;
mod forwarded_env;
pub(crate) mod launch_env;
mod planned_config;
mod planner;
mod print;
pub(crate) mod record;

pub use decision::Plan;
pub(crate) use decision::Record;
pub(crate) use planned_config::{FileKind, PlannedConfig};
pub(crate) use print::diagnostics_json;
pub use print::refused_json;
