//! How many ranks, where, and who starts them.

pub(crate) mod launcher;
pub mod topology;
