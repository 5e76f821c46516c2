//! What `explain` knows besides its texts.

pub mod failures;
pub(super) mod numbers;
pub(super) mod packages;
pub(super) mod phrases;
pub(super) mod topics;
