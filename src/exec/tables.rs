//! What is passed on to ranks, and what a sandbox leaves open.

pub mod sandbox;
pub mod signals;
