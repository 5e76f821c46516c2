//! Variables that are always the same.

mod variables;

pub(super) use variables::{FixedVariable, LOCAL_RANKS, SINGLE_RANK};
