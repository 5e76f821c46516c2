//! The front ends as rows.

pub mod front_ends;
mod order;
mod without_config;

pub use order::ALL;
pub use without_config::PASSTHROUGH;
