//! The rules about the launch: the environment, the machine, and the arguments of the trainer.

use super::types::{
    At,
    Condition::{self, *},
    KeyState::Above,
    Remedy::{self, *},
    Row,
};
use crate::{
    base::vars,
    check::{files, rejections, rows::Check, variables},
    report::{Rule, Severity, When, fix::Owner::Zlaunch},
};

const ACCELERATOR: &str = "DS_ACCELERATOR";
const CONNECTIONS: &str = "CUDA_DEVICE_MAX_CONNECTIONS";
/// An MPI tells its ranks where the others are.
const STARTED_BY_MPI: Condition = Any(&[
    VariableGiven("OMPI_COMM_WORLD_RANK"),
    VariableGiven("PMI_RANK"),
    VariableGiven("PMIX_RANK"),
]);
const START_ANEW: Remedy = With {
    remark: "to start new ranks here",
    remedy: &Give {
        owner: Zlaunch,
        option: "--nnodes",
        value: "1",
    },
};

pub const VARIABLES: &[Check] = &[
    Check {
        rule: Rule::DeadVariable,
        about: "a variable that nothing reads: a misspelt one, or one that only looks like DeepSpeed's or torch's",
        severity: Severity::Warning,
        noticed: When::Silent,
        // Found in documents, read by no program.
        rows: &[
            Row {
                at: &[At::Variable("DS_PIPE_RESERVE")],
                when: &[VariableGiven("DS_PIPE_RESERVE")],
                says: "nothing reads `{key}`",
                fixes: &[UnsetVariable("DS_PIPE_RESERVE")],
            },
            Row {
                at: &[At::Variable("DS_SKIP_UNUSED_PARAMETERS")],
                when: &[VariableGiven("DS_SKIP_UNUSED_PARAMETERS")],
                says: "nothing reads `{key}`",
                fixes: &[UnsetVariable("DS_SKIP_UNUSED_PARAMETERS")],
            },
            Row {
                at: &[At::Variable("DS_REUSE_BUFFERS")],
                when: &[VariableGiven("DS_REUSE_BUFFERS")],
                says: "nothing reads `{key}`",
                fixes: &[UnsetVariable("DS_REUSE_BUFFERS")],
            },
            Row {
                at: &[At::Variable("DS_USE_CUDA_TILING")],
                when: &[VariableGiven("DS_USE_CUDA_TILING")],
                says: "nothing reads `{key}`",
                fixes: &[UnsetVariable("DS_USE_CUDA_TILING")],
            },
            Row {
                at: &[At::Variable(vars::PYTORCH_ALLOC_CONF)],
                when: &[
                    Before("torch", [2, 9, 0]),
                    VariableGiven(vars::PYTORCH_ALLOC_CONF),
                    Not(&VariableGiven(vars::PYTORCH_CUDA_ALLOC_CONF)),
                ],
                says: "this torch does not read `{key}`: it was added in 2.9",
                fixes: &[RenameVariable(
                    vars::PYTORCH_ALLOC_CONF,
                    vars::PYTORCH_CUDA_ALLOC_CONF,
                )],
            },
        ],
        code: Some(variables::dead_variables),
    },
    Check {
        rule: Rule::AllocatorConf,
        about: "a PYTORCH_CUDA_ALLOC_CONF, or from torch 2.9 on a PYTORCH_ALLOC_CONF, that is not a list of name:value, misspells a name, or has neither True nor False where torch wants one of them: torch stops on it",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[],
        code: Some(variables::allocator_conf),
    },
    Check {
        rule: Rule::UnknownAccelerator,
        about: "DS_ACCELERATOR names no accelerator of the installed DeepSpeed, which stops on it",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[Row {
            at: &[At::Variable(ACCELERATOR)],
            when: &[
                Any(&[DeepSpeed, PlainDeepSpeed]),
                VariableNotNamedIn {
                    variable: ACCELERATOR,
                    files: &["deepspeed/accelerator/real_accelerator.py"],
                },
            ],
            says: "DeepSpeed knows no accelerator of this name",
            fixes: &[
                With {
                    remark: "DeepSpeed finds it itself",
                    remedy: &UnsetVariable(ACCELERATOR),
                },
                SetVariable(ACCELERATOR, "cuda"),
            ],
        }],
        code: None,
    },
    Check {
        rule: Rule::TwoAllocatorConfs,
        about: "PYTORCH_CUDA_ALLOC_CONF and PYTORCH_ALLOC_CONF differ: torch follows the first",
        severity: Severity::Warning,
        noticed: When::Silent,
        rows: &[Row {
            at: &[
                At::Variable(vars::PYTORCH_CUDA_ALLOC_CONF),
                At::Variable(vars::PYTORCH_ALLOC_CONF),
            ],
            when: &[VariablesDiffer(
                vars::PYTORCH_CUDA_ALLOC_CONF,
                vars::PYTORCH_ALLOC_CONF,
            )],
            says: "torch follows PYTORCH_CUDA_ALLOC_CONF and ignores PYTORCH_ALLOC_CONF",
            fixes: &[UnsetVariable(vars::PYTORCH_ALLOC_CONF)],
        }],
        code: None,
    },
    Check {
        rule: Rule::MaxConnections,
        about: "CUDA_DEVICE_MAX_CONNECTIONS=1 is for Megatron's tensor parallelism; elsewhere it prevents communication from overlapping",
        severity: Severity::Warning,
        noticed: When::Silent,
        rows: &[Row {
            at: &[At::Variable(CONNECTIONS)],
            when: &[
                VariableIs(CONNECTIONS, "1"),
                Not(&Key("tensor_parallel.autotp_size", Above(1.0))),
                Not(&Key("sequence_parallel_size", Above(1.0))),
            ],
            says: "CUDA_DEVICE_MAX_CONNECTIONS=1 keeps communication from overlapping: it is meant for Megatron's tensor parallelism",
            fixes: &[UnsetVariable(CONNECTIONS)],
        }],
        code: None,
    },
    Check {
        rule: Rule::NcclContradiction,
        about: "two NCCL variables, one of which turns off what the other selects",
        severity: Severity::Warning,
        noticed: When::Silent,
        rows: &[
            Row {
                at: &[At::Variable("NCCL_IB_DISABLE"), At::Variable("NCCL_IB_HCA")],
                when: &[
                    VariableIs("NCCL_IB_DISABLE", "1"),
                    VariableGiven("NCCL_IB_HCA"),
                ],
                says: "InfiniBand is off, so the adapter is not used",
                fixes: &[
                    UnsetVariable("NCCL_IB_DISABLE"),
                    UnsetVariable("NCCL_IB_HCA"),
                ],
            },
            Row {
                at: &[
                    At::Variable("NCCL_IB_DISABLE"),
                    At::Variable("NCCL_IB_GID_INDEX"),
                ],
                when: &[
                    VariableIs("NCCL_IB_DISABLE", "1"),
                    VariableGiven("NCCL_IB_GID_INDEX"),
                ],
                says: "InfiniBand is off, so the index is not used",
                fixes: &[
                    UnsetVariable("NCCL_IB_DISABLE"),
                    UnsetVariable("NCCL_IB_GID_INDEX"),
                ],
            },
            Row {
                at: &[
                    At::Variable("NCCL_P2P_DISABLE"),
                    At::Variable("NCCL_P2P_LEVEL"),
                ],
                when: &[
                    VariableIs("NCCL_P2P_DISABLE", "1"),
                    VariableGiven("NCCL_P2P_LEVEL"),
                ],
                says: "peer-to-peer is off, so the level is not used",
                fixes: &[
                    UnsetVariable("NCCL_P2P_DISABLE"),
                    UnsetVariable("NCCL_P2P_LEVEL"),
                ],
            },
            Row {
                at: &[
                    At::Variable("NCCL_NET_GDR_LEVEL"),
                    At::Variable("NCCL_NET_GDR_READ"),
                ],
                when: &[
                    VariableIs("NCCL_NET_GDR_LEVEL", "0"),
                    VariableGiven("NCCL_NET_GDR_READ"),
                ],
                says: "GPUDirect is off, so reading through it is off too",
                fixes: &[
                    UnsetVariable("NCCL_NET_GDR_LEVEL"),
                    UnsetVariable("NCCL_NET_GDR_READ"),
                ],
            },
            Row {
                at: &[
                    At::Variable("NCCL_IB_DISABLE"),
                    At::Variable("NCCL_NET_GDR_LEVEL"),
                ],
                when: &[
                    VariableIs("NCCL_IB_DISABLE", "1"),
                    VariableGiven("NCCL_NET_GDR_LEVEL"),
                ],
                says: "InfiniBand is off, and GPUDirect RDMA needs it",
                fixes: &[
                    UnsetVariable("NCCL_IB_DISABLE"),
                    UnsetVariable("NCCL_NET_GDR_LEVEL"),
                ],
            },
            Row {
                at: &[At::Variable("NCCL_NET"), At::Variable("NCCL_IB_DISABLE")],
                when: &[
                    VariableIs("NCCL_NET", "IB"),
                    VariableIs("NCCL_IB_DISABLE", "1"),
                ],
                says: "these tell NCCL to use InfiniBand and not to use it",
                fixes: &[UnsetVariable("NCCL_IB_DISABLE")],
            },
            Row {
                at: &[At::Variable("NCCL_SOCKET_IFNAME")],
                when: &[SeveralMachines, VariableIs("NCCL_SOCKET_IFNAME", "lo")],
                says: "`lo` does not reach other machines",
                fixes: &[UnsetVariable("NCCL_SOCKET_IFNAME")],
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::IncompleteRanks,
        about: "RANK, LOCAL_RANK and WORLD_SIZE without MASTER_ADDR or MASTER_PORT: the ranks cannot meet",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[
            Row {
                at: &[At::Variable(vars::MASTER_ADDR)],
                when: &[
                    RankExists,
                    Not(&STARTED_BY_MPI),
                    Not(&VariableGiven(vars::MASTER_ADDR)),
                ],
                says: "this is a rank (RANK, LOCAL_RANK, WORLD_SIZE), but MASTER_ADDR is not set: it cannot meet the others",
                fixes: &[SetVariable(vars::MASTER_ADDR, "HOST"), START_ANEW],
            },
            Row {
                at: &[At::Variable(vars::MASTER_PORT)],
                when: &[
                    RankExists,
                    Not(&STARTED_BY_MPI),
                    Not(&VariableGiven(vars::MASTER_PORT)),
                ],
                says: "this is a rank (RANK, LOCAL_RANK, WORLD_SIZE), but MASTER_PORT is not set: it cannot meet the others",
                fixes: &[SetVariable(vars::MASTER_PORT, "29500"), START_ANEW],
            },
        ],
        code: None,
    },
    Check {
        rule: Rule::NohupUndone,
        about: "nohup with torchrun before torch 2.10, which handles SIGHUP anyway and exits",
        severity: Severity::Warning,
        noticed: When::Silent,
        rows: &[Row {
            at: &[At::Word("SIGHUP")],
            // Since then, zlaunch tells torchrun not to handle SIGHUP.
            when: &[HangupIgnored, ByTorchrun, Before("torch", [2, 10, 0])],
            says: "SIGHUP is ignored here (nohup), but torchrun before torch 2.10 handles it anyway and exits",
            fixes: &[
                Give {
                    owner: Zlaunch,
                    option: "--launcher",
                    value: "local",
                },
                Say("use `setsid` instead of `nohup`"),
            ],
        }],
        code: None,
    },
];

/// Only asked if the ranks run on this machine.
pub const HERE: &[Check] = &[
    Check {
        rule: Rule::VisibleDevices,
        about: "CUDA_VISIBLE_DEVICES (or ROCm's) names a GPU twice, one that this machine does not have, or none at all",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[],
        code: Some(variables::visible_devices),
    },
    Check {
        rule: Rule::RanksShareGpus,
        about: "more ranks on this machine than GPUs, which NCCL refuses (a warning where only a variable counts the GPUs, or hides them)",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[],
        code: Some(variables::ranks_share_gpus),
    },
    Check {
        rule: Rule::ScriptMissing,
        about: "the script of the command does not exist (a warning where the ranks exist already)",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[],
        code: Some(files::missing_script),
    },
    Check {
        rule: Rule::ModuleMissing,
        about: "the interpreter of the command has no such module (a warning where something may add it that zlaunch cannot see)",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[],
        code: Some(files::missing_module),
    },
    Check {
        rule: Rule::PathMissing,
        about: "a model, dataset or checkpoint written as a path (`/…`, `./…`, `../…`, `~/…`) does not exist",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[],
        code: Some(files::missing_paths),
    },
    Check {
        rule: Rule::ModelUnreadable,
        about: "the model is a file (a warning for a script), or a folder without a config.json (a warning); or it is not on this machine, and HF_HUB_OFFLINE keeps it from being downloaded",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[],
        code: Some(files::unreadable_model),
    },
    Check {
        rule: Rule::WeightsMissing,
        about: "the model's folder has a tokenizer but no weights, or not all files of them (LLaMA-Factory, ms-swift and TRL)",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[],
        code: Some(files::missing_weights),
    },
    Check {
        rule: Rule::DatasetUnreadable,
        about: "LLaMA-Factory's dataset_info.json has no such dataset; TRL gets a file, where it wants a folder; a data file is not there (a warning)",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[],
        code: Some(files::unreadable_datasets),
    },
    Check {
        rule: Rule::CheckpointRanks,
        about: "another number of ranks, or none, wrote the checkpoint to resume from",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[],
        code: Some(files::checkpoint_ranks),
    },
];

/// What the trainer refuses of its arguments: its parser, and the table of refusals.
pub const ARGUMENTS: &[Check] = &[
    Check {
        rule: Rule::Argument,
        about: "the trainer refuses one of its own arguments, minutes later (a warning where its version or its script leaves a doubt)",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[],
        code: Some(rejections::refused_arguments),
    },
    Check {
        rule: Rule::ArgumentMissing,
        about: "the command leaves out what the trainer cannot do without: its model, its data (only where the sources of the trainer are there and say so)",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[],
        code: Some(rejections::missing_arguments),
    },
    Check {
        rule: Rule::TextForNumber,
        about: "a run file has a text where the trainer counts and converts nothing, such as `1e-5` in YAML 1.1 (a warning where not every training uses it)",
        severity: Severity::Error,
        noticed: When::Start,
        rows: &[],
        code: Some(rejections::texts_for_numbers),
    },
];
