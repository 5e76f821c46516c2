//! What is known of the engines and of other tools, as constants.

pub mod engines;
pub mod other_tools;
pub mod rank_variables;
pub mod slurm;
pub mod uncounted;
