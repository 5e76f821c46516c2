//! The launchers by name, and the command lines of those that a command may start with.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Launcher {
    Torchrun,
    Deepspeed,
    Direct,
    Srun,
    /// zlaunch itself.
    Local,
    /// Only the user's command can start with it.
    Accelerate,
    /// A program that runs zlaunch again, which then starts the ranks: `nice`, `uv run`.
    Prefix(&'static str),
}

impl Launcher {
    /// The values of `--launcher`.
    pub(crate) const NAMES: &'static [(&'static str, Option<Launcher>)] = &[
        ("auto", None),
        ("torchrun", Some(Launcher::Torchrun)),
        ("deepspeed", Some(Launcher::Deepspeed)),
        ("srun", Some(Launcher::Srun)),
        ("direct", Some(Launcher::Direct)),
        ("local", Some(Launcher::Local)),
    ];
}

/// The command line of a launcher that the user's command may start with.
pub(crate) struct LauncherSpec {
    pub(crate) launcher: Launcher,
    /// Console scripts.
    pub(crate) programs: &'static [Program],
    /// An interpreter runs it by the first.
    pub(crate) modules: &'static [Program],
    /// All of its options, one a line, as recorded in `src/recorded`.
    pub(crate) options: &'static str,
    pub(crate) short_options: &'static [ShortOption],
    pub(crate) rank_options: RankOptions,
    /// The options that state the number of processes.
    pub(crate) count_options: &'static [&'static str],
    pub(crate) count_meaning: CountMeaning,
}

pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// The word that must follow.
    pub(crate) sub_command: Option<&'static str>,
}

pub(crate) struct ShortOption {
    pub(crate) short: &'static str,
    pub(crate) long: &'static str,
}

/// A launcher's own options for ours.
#[derive(Clone, Copy)]
pub(crate) struct RankOptions {
    pub(crate) nproc_per_node: &'static str,
    pub(crate) nnodes: &'static str,
    pub(crate) node_rank: &'static str,
    pub(crate) master_addr: &'static str,
    pub(crate) master_port: &'static str,
}

/// The meaning of a launcher's number of processes.
#[derive(Clone, Copy)]
pub(crate) enum CountMeaning {
    PerNode,
    /// Words such as `gpu` are allowed.
    PerNodeOrWord,
    Total,
}

pub(crate) const SPECS: &[&LauncherSpec] = &[&TORCHRUN, &DEEPSPEED, &ACCELERATE];

pub(crate) const TORCHRUN: LauncherSpec = LauncherSpec {
    launcher: Launcher::Torchrun,
    programs: &[Program {
        name: "torchrun",
        sub_command: None,
    }],
    modules: &[
        Program {
            name: "torch.distributed.run",
            sub_command: None,
        },
        Program {
            name: "torch.distributed.launch",
            sub_command: None,
        },
    ],
    options: concat!(
        include_str!("../../../recorded/torchrun.txt"),
        "use_env !\n"
    ),
    short_options: &[
        ShortOption {
            short: "-m",
            long: "module",
        },
        ShortOption {
            short: "-h",
            long: "help",
        },
        ShortOption {
            short: "-r",
            long: "redirects",
        },
        ShortOption {
            short: "-t",
            long: "tee",
        },
    ],
    rank_options: RankOptions {
        nproc_per_node: "nproc_per_node",
        nnodes: "nnodes",
        node_rank: "node_rank",
        master_addr: "master_addr",
        master_port: "master_port",
    },
    count_options: &["nproc_per_node"],
    count_meaning: CountMeaning::PerNodeOrWord,
};

pub(crate) const DEEPSPEED: LauncherSpec = LauncherSpec {
    launcher: Launcher::Deepspeed,
    programs: &[
        Program {
            name: "deepspeed",
            sub_command: None,
        },
        Program {
            name: "ds",
            sub_command: None,
        },
    ],
    modules: &[Program {
        name: "deepspeed.launcher.runner",
        sub_command: None,
    }],
    options: include_str!("../../../recorded/deepspeed.txt"),
    short_options: &[
        ShortOption {
            short: "-H",
            long: "hostfile",
        },
        ShortOption {
            short: "-i",
            long: "include",
        },
        ShortOption {
            short: "-e",
            long: "exclude",
        },
        ShortOption {
            short: "-q",
            long: "quiet",
        },
        ShortOption {
            short: "-h",
            long: "help",
        },
    ],
    rank_options: RankOptions {
        nproc_per_node: "num_gpus",
        nnodes: "num_nodes",
        node_rank: "node_rank",
        master_addr: "master_addr",
        master_port: "master_port",
    },
    count_options: &["num_gpus", "num_accelerators", "include", "exclude"],
    count_meaning: CountMeaning::PerNode,
};

/// What torchrun's `--nproc_per_node` takes beside a number; the later ones are devices of other makers.
pub(crate) const DEVICE_WORDS: &[&str] = &[
    "gpu", "cpu", "auto", "xpu", "npu", "musa", "mlu", "hpu", "gcu", "sdaa",
];

/// DeepSpeed's runner starts this module on each machine.
pub(crate) const LAUNCH_MODULE: &str = "deepspeed.launcher.launch";

/// DeepSpeed's runner reads this file if it exists, even if no option names it.
pub(crate) const DEFAULT_HOSTFILE: &str = "/job/hostfile";

pub(crate) const ACCELERATE: LauncherSpec = LauncherSpec {
    launcher: Launcher::Accelerate,
    programs: &[
        Program {
            name: "accelerate",
            sub_command: Some("launch"),
        },
        Program {
            name: "accelerate-launch",
            sub_command: None,
        },
    ],
    modules: &[
        Program {
            name: "accelerate.commands.launch",
            sub_command: None,
        },
        Program {
            name: "accelerate.commands.accelerate_cli",
            sub_command: Some("launch"),
        },
    ],
    options: include_str!("../../../recorded/accelerate.txt"),
    short_options: &[
        ShortOption {
            short: "-m",
            long: "module",
        },
        ShortOption {
            short: "-h",
            long: "help",
        },
        ShortOption {
            short: "-q",
            long: "quiet",
        },
    ],
    rank_options: RankOptions {
        nproc_per_node: "num_processes",
        nnodes: "num_machines",
        node_rank: "machine_rank",
        master_addr: "main_process_ip",
        master_port: "main_process_port",
    },
    count_options: &["num_processes"],
    count_meaning: CountMeaning::Total,
};
