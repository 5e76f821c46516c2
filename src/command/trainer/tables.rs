//! The front ends as rows.

pub(crate) mod front_ends;
mod order;
mod without_config;

pub use order::ALL;
pub(super) use without_config::PASSTHROUGH;
