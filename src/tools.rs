//! What is done for each sub-command, and for a launch.

pub(crate) mod check;
pub(crate) mod diff;
pub(crate) mod doctor;
pub mod explain;
pub(crate) mod fit;
pub mod generate;
pub(crate) mod launch;
pub(crate) mod output;
pub(crate) mod rehearse;
pub(crate) mod schema;
pub(crate) mod shims;
pub mod templates;
