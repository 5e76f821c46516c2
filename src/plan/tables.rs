//! Variables that are always the same.

mod variables;

pub use variables::{FixedVariable, HANDED_ON, LOCAL_RANKS, SEEN_BY_ALL, SINGLE_RANK};
