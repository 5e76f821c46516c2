//! The variables of a launch whose values depend on nothing.

use crate::base::vars;

pub struct FixedVariable {
    pub name: &'static str,
    pub value: &'static str,
    pub why: &'static str,
}

const ONE_PROCESS: &str = "one process";

/// `DeepSpeed` wants the variables of a process group also for one process.
pub const SINGLE_RANK: &[FixedVariable] = &[
    FixedVariable {
        name: vars::RANK,
        value: "0",
        why: ONE_PROCESS,
    },
    FixedVariable {
        name: vars::LOCAL_RANK,
        value: "0",
        why: ONE_PROCESS,
    },
    FixedVariable {
        name: vars::WORLD_SIZE,
        value: "1",
        why: ONE_PROCESS,
    },
    FixedVariable {
        name: vars::LOCAL_WORLD_SIZE,
        value: "1",
        why: ONE_PROCESS,
    },
];

const AS_TORCHRUN: &str = "as torchrun sets it";

/// What torchrun and its agent set alike for all ranks of one machine.
pub const LOCAL_RANKS: &[FixedVariable] = &[
    FixedVariable {
        name: vars::GROUP_RANK,
        value: "0",
        why: AS_TORCHRUN,
    },
    FixedVariable {
        name: vars::GROUP_WORLD_SIZE,
        value: "1",
        why: AS_TORCHRUN,
    },
    FixedVariable {
        name: vars::ROLE_NAME,
        value: "default",
        why: AS_TORCHRUN,
    },
    FixedVariable {
        name: vars::MASTER_ADDR,
        value: "127.0.0.1",
        why: "one machine",
    },
    FixedVariable {
        name: vars::MASTER_PORT,
        value: "0",
        why: "a free port, found at launch",
    },
    FixedVariable {
        name: vars::TORCHELASTIC_RESTART_COUNT,
        value: "0",
        why: AS_TORCHRUN,
    },
    FixedVariable {
        name: vars::TORCHELASTIC_MAX_RESTARTS,
        value: "0",
        why: AS_TORCHRUN,
    },
    FixedVariable {
        name: vars::TORCHELASTIC_RUN_ID,
        value: "none",
        why: AS_TORCHRUN,
    },
    FixedVariable {
        // Rank 0 opens the store. With `True`, it would wait for one that only torchrun's agent opens.
        name: vars::TORCHELASTIC_USE_AGENT_STORE,
        value: "False",
        why: "rank 0 opens the store",
    },
];

/// DeepSpeed's runner hands on variables whose names begin like this; `NCCL` only if it finds CUDA.
pub const HANDED_ON: &[&str] = &["MLFLOW", "PYTHON", "MV2", "UCX", "NCCL"];
/// As a reason not to hand on a variable.
pub const SEEN_BY_ALL: &str = "every user of a machine would see this secret";
