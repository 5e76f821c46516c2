//! The decision: everything a launch will do, as a plain value. `--dry-run` prints it, `exec` carries it out. What speaks
//! against it is for the judges above.

mod decision;
mod forwarded_env;
pub(crate) mod launch_env;
mod planned_config;
mod planner;
mod print;
pub(crate) mod record;

pub(crate) use decision::Parts;
pub(crate) use decision::{Draft, Plan};
pub(crate) use planned_config::{FileKind, PlannedConfig, PlannedFile};
pub(crate) use planner::ChosenTemplate;
pub(crate) use print::diagnostics_json;
pub use print::refused_json;
pub(crate) use record::Record;
