//! What is recorded of DeepSpeed's keys, those that it does not tell apart, and the versions that changed how one is read.

use crate::base::recorded::Table;

pub const BATCH_SIZES: [&str; 3] = [
    "train_batch_size",
    "train_micro_batch_size_per_gpu",
    "gradient_accumulation_steps",
];

/// They are fields of a model that has no name in the config.
pub const MONITORS: [&str; 4] = ["tensorboard", "wandb", "csv_monitor", "comet"];

/// The first version that refuses a `sequence_parallel_size` that does not divide the ranks. Older ones go on as if there
/// were one rank.
pub const SEQUENCE_JUDGED: [u32; 3] = [0, 19, 3];

/// The first version that divides the ranks by `sequence_parallel_size`.
pub const SEQUENCE_DIVIDES: [u32; 3] = [0, 17, 0];

/// Sorted by key; the columns are explained in `tools/record/schema.py`. A key is looked up by binary search, and only its
/// own line is read.
pub const TEXT: &str = include_str!("../../recorded/deepspeed-schema.txt");

pub const VERSIONS: Table = Table(include_str!("../../recorded/deepspeed-versions.txt"));
