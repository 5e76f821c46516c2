//! The user's command, understood.

pub(crate) mod argv;
pub(crate) mod model;
pub(crate) mod python;
pub(crate) mod target;
pub(crate) mod trainer;
