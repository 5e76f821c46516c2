//! What is always the same.

mod refused_plan;
mod variables;

pub use refused_plan::REFUSED_PLAN;
pub use variables::{FixedVariable, HANDED_ON, LOCAL_RANKS, SEEN_BY_ALL, SINGLE_RANK};
