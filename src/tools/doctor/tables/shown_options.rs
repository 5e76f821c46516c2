//! The options of a launch that the help of `doctor` shows.

pub const SHOWN: &[&str] = &[
    "deepspeed",
    "template_dir",
    "nproc_per_node",
    "nnodes",
    "node_rank",
    "master_addr",
    "master_port",
    "launcher",
    "trainer",
    "env",
    "unset_env",
    "format",
];
