//! What people type who come from other programs, and the options that most people need.

pub mod foreign_options;
pub mod other_commands;
pub mod overview;
pub mod words;
