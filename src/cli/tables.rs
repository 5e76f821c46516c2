//! What people type who come from other programs, and the options that most people need.

pub mod foreign_options;
pub(super) mod other_commands;
pub(super) mod overview;
