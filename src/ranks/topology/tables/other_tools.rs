//! How tools that have no row among the engines usually call their numbers.

/// The number of machines, behind the name of a tool and `_`.
pub const COUNTS: &[&str] = &[
    "NUM_NODES",
    "NNODES",
    "NODE_COUNT",
    "NODES",
    "NUM_MACHINES",
    "MACHINE_COUNT",
    "MACHINES",
    "NUM_HOSTS",
    "HOST_COUNT",
    "NUM_WORKERS",
    "REPLICA_COUNT",
    "JOBS_COUNT",
    "WORLD_SIZE",
    "RANK_SIZE",
];

/// The number of this machine among them, behind the name of the same tool and `_`.
pub const PLACES: &[&str] = &[
    "RANK",
    "INDEX",
    "IDX",
    "NODE_ID",
    "NODEID",
    "MACHINE_ID",
    "HOST_ID",
    "WORKER_ID",
    "RANK_ID",
];

/// The number of machines, without the name of a tool in front. Other names of the first list are too
/// common then.
pub const BARE_COUNTS: &[&str] = &[
    "NUM_NODES",
    "NODE_COUNT",
    "NODES",
    "NODE_NUM",
    "N_NODES",
    "NUM_MACHINES",
    "MACHINE_COUNT",
    "NUM_HOSTS",
    "HOST_COUNT",
    "RANK_SIZE",
];

/// The number of this machine, without the name of a tool in front.
pub const BARE_PLACES: &[&str] = &[
    "NODE_RANK",
    "NODE_ID",
    "NODE_INDEX",
    "INDEX",
    "MACHINE_RANK",
    "MACHINE_ID",
    "HOST_RANK",
    "HOST_ID",
    "RANK_ID",
];

/// A name with one of these words counts something else than machines.
pub const NO_MACHINES: &[&str] = &["LORA", "GPU", "DEVICE"];

/// torch's own variables begin with these, and are judged elsewhere.
pub const OF_TORCH: &[&str] = &["LOCAL", "GROUP", "ROLE", "PET"];
