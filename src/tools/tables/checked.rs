//! What `check` knows as lists.

use crate::report::Rule;

/// The options of a launch that `zlaunch check -h` shows.
pub const SHOWN_OPTIONS: &[&str] = &[
    "deepspeed",
    "template_dir",
    "patch",
    "unset",
    "set",
    "no_fill",
    "nproc_per_node",
    "nnodes",
    "launcher",
    "trainer",
    "env",
    "format",
    "strict",
    "allow",
    "color",
    "quiet",
];

/// Endings of files that something runs, and that are no configs.
pub const NO_CONFIGS: &[&str] = &["py", "sh"];

/// Problems of the command that do not depend on zlaunch's own options.
pub const OF_THE_COMMAND: &[Rule] = &[
    Rule::Template,
    Rule::Json,
    Rule::NotFound,
    Rule::ScriptMissing,
    Rule::ModuleMissing,
    Rule::PathMissing,
    Rule::RunFile,
    Rule::Argument,
];
