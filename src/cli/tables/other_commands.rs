//! What other tools call a sub-command, and the line that does it here.

pub(crate) struct OtherCommand {
    pub(crate) names: &'static [&'static str],
    pub(crate) line: &'static str,
}

pub(crate) const OTHER_COMMANDS: &[OtherCommand] = &[
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
