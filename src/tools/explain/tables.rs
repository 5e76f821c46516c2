//! What `explain` knows besides its texts.

pub mod conditions;
pub mod failures;
pub mod log;
pub mod numbers;
pub mod packages;
pub mod phrases;
pub mod topics;
