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

/// How often a line is judged again, at most: about 50 ms.
pub const MOST_TRIALS: usize = 20;

/// A line with more problems takes longer to judge, and is not tried.
pub const MOST_PROBLEMS: usize = 1000;
