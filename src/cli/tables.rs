//! What people type who come from other programs.

pub mod foreign_options;
pub(super) mod other_commands;
pub(super) mod run_files;
