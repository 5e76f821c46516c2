//! What `zlaunch -h` shows on one screen.

pub const EXAMPLES: &str = "  zlaunch --deepspeed zero3_offload -- \\
    swift sft --model Qwen/Qwen3-8B --dataset data.jsonl
  zlaunch -n --deepspeed zero2 -- python train.py  # only show it
";

/// The options, in this order.
pub const MOST_USED: &[&str] = &[
    "deepspeed",
    "set",
    "nproc_per_node",
    "nnodes",
    "launcher",
    "env",
    "record",
    "dry_run",
    "quiet",
    "verbose",
];
