//! From a template to the config that is launched.

pub(crate) mod auto;
pub(crate) mod layers;
pub(crate) mod patch;
pub(crate) mod places;
pub(crate) mod schema;
pub(crate) mod template;
pub(crate) mod zero;
