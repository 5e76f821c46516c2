//! The rules as constants: who refuses what, when, and what to change. `rows.rs` evaluates them.

#![expect(
    clippy::enum_glob_use,
    reason = "rows are read with the bare names of the variants"
)]

pub mod config_rules;
pub mod launch_rules;
pub mod limits;
pub mod meant_options;
pub mod names;
pub mod refusals;
pub mod types;
