//! What sub-commands of one file know as rows.

pub mod completions;
pub(super) mod generate;
