//! Variables that are always the same.

mod variables;

pub use variables::{FixedVariable, LOCAL_RANKS, SINGLE_RANK};
