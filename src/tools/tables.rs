//! What sub-commands of one file know as rows.

pub(super) mod checked;
pub mod completions;
pub(super) mod generate;
