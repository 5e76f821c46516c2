//! The sub-commands: a file for each, and a row in the table.

pub mod check;
pub mod completions;
mod corrections;
pub mod diff;
pub mod doctor;
pub mod explain;
pub mod fit;
mod generate;
pub mod help;
pub mod launch;
pub mod output;
mod prelude;
pub mod proof;
pub mod rehearse;
pub mod schema;
pub mod shims;
pub mod tables;
pub mod templates;

pub use tables::subcommands::TOOLS;
