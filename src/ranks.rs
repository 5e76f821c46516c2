//! How many ranks, where, and who starts them.

pub(crate) mod launcher;
pub(crate) mod topology;
