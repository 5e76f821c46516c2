//! The launchers that have shims.

pub const LAUNCHERS: &[&str] = &["accelerate", "deepspeed", "torchrun"];
