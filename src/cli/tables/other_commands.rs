//! What other tools call a sub-command; `src/report/tables/other_names.rs` has more of them.

/// `zlaunch NAME` means `zlaunch SUBCOMMAND OPTION`.
pub struct OtherCommand {
    pub name: &'static str,
    pub subcommand: &'static str,
    pub option: &'static str,
}

pub const OTHER_COMMANDS: &[OtherCommand] = &[
    OtherCommand {
        name: "fix",
        subcommand: "check",
        option: "--fix",
    },
    OtherCommand {
        name: "dry-run",
        subcommand: "",
        option: "--dry-run",
    },
    OtherCommand {
        name: "version",
        subcommand: "",
        option: "--version",
    },
];

/// Words of other launchers' command lines that zlaunch has no need of.
pub const NEEDLESS: &[&str] = &["launch", "run", "exec", "start", "train"];

/// Programs that start jobs, and that nobody means for a sub-command.
pub const JOB_STARTERS: &[&str] = &["mpirun", "mpiexec", "sbatch", "salloc"];
