//! The rules as constants: who refuses what, when, and what to change. `rows.rs` evaluates them.

#![expect(
    clippy::enum_glob_use,
    reason = "rows are read with the bare names of the variants"
)]

pub(super) mod config_rules;
pub(super) mod launch_rules;
pub(crate) mod names;
pub(crate) mod refusals;
pub(crate) mod types;
