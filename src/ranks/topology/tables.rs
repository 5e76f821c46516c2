//! What is known of the engines and of other tools, as constants.

pub(crate) mod engines;
pub(super) mod other_tools;
pub(crate) mod rank_variables;
pub(super) mod slurm;
pub(super) mod uncounted;
