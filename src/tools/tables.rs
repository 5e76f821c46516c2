//! What sub-commands of one file know as rows.

pub mod checked;
pub mod completions;
pub mod fit_options;
pub mod generate;
pub mod shims;
pub mod subcommands;
