//! The sub-commands that launch nothing.

pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod generate;
pub(crate) mod schema;
pub(crate) mod shims;
