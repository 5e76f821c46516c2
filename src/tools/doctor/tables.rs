//! What `doctor` compares between machines.

pub mod facts;
