//! The launchers by name, and the command lines of those that a command may start with.

use std::time::Duration;

#[derive(Clone, Copy, PartialEq)]
pub enum Launcher {
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
    pub const NAMES: &'static [(&'static str, Option<Launcher>)] = &[
        ("auto", None),
        ("torchrun", Some(Launcher::Torchrun)),
        ("deepspeed", Some(Launcher::Deepspeed)),
        ("srun", Some(Launcher::Srun)),
        ("direct", Some(Launcher::Direct)),
        ("local", Some(Launcher::Local)),
    ];
}

/// The command line of a launcher that the user's command may start with.
pub struct LauncherSpec {
    pub launcher: Launcher,
    /// Console scripts.
    pub programs: &'static [Program],
    /// An interpreter runs it by the first.
    pub modules: &'static [Program],
    /// The installed files that name its options and their words. Another release may have more.
    pub sources: &'static [&'static str],
    /// All of its options, one a line, as recorded in `src/recorded`.
    pub options: &'static str,
    pub short_options: &'static [ShortOption],
    pub rank_options: RankOptions,
    /// The options that state the number of processes.
    pub count_options: &'static [&'static str],
    pub count_meaning: CountMeaning,
}

pub struct Program {
    pub name: &'static str,
    /// The word that must follow.
    pub sub_command: Option<&'static str>,
}

pub struct ShortOption {
    pub short: &'static str,
    pub long: &'static str,
}

/// A launcher's own options for ours.
#[derive(Clone, Copy)]
pub struct RankOptions {
    pub nproc_per_node: &'static str,
    pub nnodes: &'static str,
    pub node_rank: &'static str,
    pub master_addr: &'static str,
    pub master_port: &'static str,
}

/// The meaning of a launcher's number of processes.
#[derive(Clone, Copy)]
pub enum CountMeaning {
    PerNode,
    /// Words such as `gpu` are allowed.
    PerNodeOrWord,
    Total,
}

/// The programs that start ranks.
pub const STARTERS: &[&str] = &["torchrun", "deepspeed", "accelerate", "srun"];

pub const SPECS: &[&LauncherSpec] = &[&TORCHRUN, &DEEPSPEED, &ACCELERATE];

pub const TORCHRUN: LauncherSpec = LauncherSpec {
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
    sources: &[
        "torch/distributed/run.py",
        "torch/distributed/elastic/rendezvous/registry.py",
    ],
    options: concat!(
        "rdzv_backend |static|c10d|etcd|etcd-v2\n",
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

pub const DEEPSPEED: LauncherSpec = LauncherSpec {
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
    sources: &["deepspeed/launcher/runner.py"],
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
pub const DEVICE_WORDS: &[&str] = &[
    "gpu", "cpu", "auto", "xpu", "npu", "musa", "mlu", "hpu", "gcu", "sdaa",
];

/// How DeepSpeed's runner reaches other machines, in `--launcher`.
pub const BACKENDS: &[&str] = &["pdsh", "openmpi", "mpich", "impi", "slurm", "mvapich"];

/// DeepSpeed's runner starts this module on each machine.
pub const LAUNCH_MODULE: &str = "deepspeed.launcher.launch";

/// DeepSpeed's runner reads this file if it exists, even if no option names it.
pub const DEFAULT_HOSTFILE: &str = "/job/hostfile";

pub const ACCELERATE: LauncherSpec = LauncherSpec {
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
    sources: &["accelerate/commands/launch.py"],
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

/// torchrun's own default.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(30);

/// `python -m` for versions that cannot leave the current folder out: it is removed before anything is imported from it.
pub const WITHOUT_FOLDER: &str = "import sys; del sys.path[0], sys.argv[0]; import runpy; \
     runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)";
