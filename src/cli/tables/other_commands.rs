//! What other tools call a sub-command, and the line that does it here.

pub(in crate::cli) struct OtherCommand {
    pub(in crate::cli) names: &'static [&'static str],
    pub(in crate::cli) line: &'static str,
}

pub(in crate::cli) const OTHER_COMMANDS: &[OtherCommand] = &[
    OtherCommand {
        names: &["init", "new"],
        line: "zlaunch generate",
    },
    OtherCommand {
        names: &["list", "ls"],
        line: "zlaunch templates",
    },
    OtherCommand {
        names: &["info", "status"],
        line: "zlaunch doctor",
    },
    OtherCommand {
        names: &["version"],
        line: "zlaunch --version",
    },
];
