//! What all versions of ms-swift do.

use crate::command::argv::Args;

pub(super) const TOLERANT: &str = "--ignore_args_error true makes it tolerate unknown options";

pub(super) fn tolerates(args: &Args) -> bool {
    args.bool("ignore_args_error", true).ok().flatten().is_some_and(|sourced| sourced.value)
}

/// The default, by the tuner.
pub(super) fn learning_rate(trains_all: bool) -> String {
    if trains_all { "1e-5" } else { "1e-4" }.to_string()
}

/// As many as make 16 samples.
pub(super) fn accumulation_steps(args: &Args, world_size: Option<u64>) -> Option<String> {
    let micro = args.int("per_device_train_batch_size").ok()?.map_or(1, |micro| micro.value);
    let samples = u64::try_from(micro).ok()?.checked_mul(world_size?).filter(|samples| *samples > 0)?;
    Some(16_u64.div_ceil(samples).to_string())
}
