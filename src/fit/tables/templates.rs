//! The templates that `fit` compares, and the order in which `--deepspeed auto` tries them.

use super::{super::strategy::Strategy, memories::GPU};

/// The first row: the same training without DeepSpeed.
pub const NONE: &str = "none";

pub const WITHOUT_DEEPSPEED: Strategy = Strategy {
    stage: None,
    optimizer: GPU,
    params: GPU,
    bucket_size: 0,
    buckets: 0,
    sub_group_size: 0,
    live_params: 0,
    second_partition: 0,
    disk_buffers: 0,
    saves_whole: false,
    own_optimizer: None,
};

/// The templates that are compared, after that row.
pub const TEMPLATES: &[&str] = &[
    "zero0",
    "zero1",
    "zero2",
    "zero2_offload",
    "zero3",
    "zero3_offload",
    "zero3_nvme",
];

/// A common guide says zero1 or zero2 first, zero3 when that does not fit, then offload. Corrected: zero1 communicates no more
/// than zero2 and needs no reduction in every micro batch.
pub const FASTEST_FIRST: &[&str] = &["zero1", "zero2", "zero3", "zero2_offload", "zero3_offload"];
/// On one GPU, zero1 and zero2 only add copies: 22 bytes per parameter were measured, against 20 at stage 0.
pub const FASTEST_FIRST_ON_ONE_GPU: &[&str] = &["zero0", "zero3", "zero2_offload", "zero3_offload"];
