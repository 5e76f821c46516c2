//! From a template to the config that is launched.

pub mod auto;
pub mod layers;
pub mod patch;
pub mod schema;
pub mod tables;
pub mod template;
pub mod zero;
