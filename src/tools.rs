//! The sub-commands that launch nothing.

pub(crate) mod diff;
pub(crate) mod doctor;
pub mod explain;
pub mod generate;
pub(crate) mod schema;
pub(crate) mod shims;
