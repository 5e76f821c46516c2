//! The launchers, and the words of their command lines, as constants.

pub(super) mod accelerate_settings;
pub(super) mod launchers;
pub(super) mod srun;
