//! What is passed on to ranks, and what a sandbox leaves open.

pub(super) mod sandbox;
pub(super) mod signals;
