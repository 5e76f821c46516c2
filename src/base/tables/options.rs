//! The options of a launch, in the order of the help. The options that only a sub-command has are in its file in `tools`.

pub struct LaunchOption {
    /// Its name with `_`. It is typed with `-` or `_`, and its variable is `ZLAUNCH_<ID>`.
    pub id: &'static str,
    pub heading: &'static str,
    pub kind: OptionKind,
    pub short: Option<char>,
    pub aliases: &'static [&'static str],
}

#[derive(Clone, Copy)]
pub enum OptionKind {
    Switch,
    Value,
    /// It may be repeated.
    List,
    /// It may be repeated, and a value may begin with `-`.
    Words,
}

use OptionKind::{List, Switch, Value, Words};

/// An option without a short name and without aliases.
const OPTION: LaunchOption = LaunchOption {
    id: "",
    heading: "",
    kind: Value,
    short: None,
    aliases: &[],
};

pub const LAUNCH_OPTIONS: &[LaunchOption] = &[
    LaunchOption {
        id: "deepspeed",
        heading: "Config",
        ..OPTION
    },
    LaunchOption {
        id: "template_dir",
        heading: "Config",
        kind: List,
        ..OPTION
    },
    LaunchOption {
        id: "patch",
        heading: "Config",
        kind: List,
        ..OPTION
    },
    LaunchOption {
        id: "unset",
        heading: "Config",
        kind: List,
        ..OPTION
    },
    LaunchOption {
        id: "set",
        heading: "Config",
        kind: List,
        ..OPTION
    },
    LaunchOption {
        id: "no_fill",
        heading: "Config",
        kind: Switch,
        ..OPTION
    },
    LaunchOption {
        id: "config_out",
        heading: "Config",
        ..OPTION
    },
    LaunchOption {
        id: "gpu_memory",
        heading: "Config",
        ..OPTION
    },
    LaunchOption {
        id: "host_memory",
        heading: "Config",
        ..OPTION
    },
    LaunchOption {
        id: "seq_len",
        heading: "Config",
        ..OPTION
    },
    LaunchOption {
        id: "nproc_per_node",
        heading: "Ranks",
        aliases: &["num-gpus", "gpus"],
        ..OPTION
    },
    LaunchOption {
        id: "nnodes",
        heading: "Ranks",
        aliases: &["num-nodes"],
        ..OPTION
    },
    LaunchOption {
        id: "node_rank",
        heading: "Ranks",
        ..OPTION
    },
    LaunchOption {
        id: "master_addr",
        heading: "Ranks",
        ..OPTION
    },
    LaunchOption {
        id: "master_port",
        heading: "Ranks",
        ..OPTION
    },
    LaunchOption {
        id: "hostfile",
        heading: "Ranks",
        ..OPTION
    },
    LaunchOption {
        id: "include",
        heading: "Ranks",
        ..OPTION
    },
    LaunchOption {
        id: "exclude",
        heading: "Ranks",
        ..OPTION
    },
    LaunchOption {
        id: "launcher",
        heading: "Ranks",
        ..OPTION
    },
    LaunchOption {
        id: "launcher_arg",
        heading: "Ranks",
        kind: Words,
        ..OPTION
    },
    LaunchOption {
        id: "trainer",
        heading: "Ranks",
        ..OPTION
    },
    LaunchOption {
        id: "env",
        heading: "Environment",
        kind: List,
        ..OPTION
    },
    LaunchOption {
        id: "unset_env",
        heading: "Environment",
        kind: List,
        ..OPTION
    },
    LaunchOption {
        id: "record",
        heading: "Output",
        ..OPTION
    },
    LaunchOption {
        id: "dry_run",
        heading: "Output",
        kind: Switch,
        short: Some('n'),
        ..OPTION
    },
    LaunchOption {
        id: "format",
        heading: "Output",
        ..OPTION
    },
    LaunchOption {
        id: "strict",
        heading: "Output",
        kind: Switch,
        ..OPTION
    },
    LaunchOption {
        id: "allow",
        heading: "Output",
        kind: List,
        ..OPTION
    },
    LaunchOption {
        id: "quiet",
        heading: "Output",
        kind: Switch,
        short: Some('q'),
        ..OPTION
    },
    LaunchOption {
        id: "verbose",
        heading: "Output",
        kind: Switch,
        short: Some('v'),
        ..OPTION
    },
];
