//! What other tools call a sub-command; `src/report/tables/other_names.rs` has more of them.

/// `zlaunch NAME` means `zlaunch SUBCOMMAND OPTION`.
pub(crate) struct OtherCommand {
    pub(crate) name: &'static str,
    pub(crate) subcommand: &'static str,
    pub(crate) option: &'static str,
}

pub(crate) const OTHER_COMMANDS: &[OtherCommand] = &[
    OtherCommand {
        name: "fix",
        subcommand: "check",
        option: "--fix",
    },
    OtherCommand {
        name: "version",
        subcommand: "",
        option: "--version",
    },
];

/// Words of other launchers' command lines that zlaunch has no need of.
pub(crate) const NEEDLESS: &[&str] = &["launch", "run", "exec", "start", "train"];
