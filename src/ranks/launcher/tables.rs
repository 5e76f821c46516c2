//! The launchers, and the words of their command lines, as constants.

pub mod accelerate_settings;
pub mod launchers;
pub mod srun;
