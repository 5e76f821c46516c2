//! The launchers, by name.

use std::fmt;

/// What starts the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Launcher {
    Torchrun,
    Deepspeed,
    Direct,
    Srun,
    /// An engine's program for one command on one machine, by its name, once for each.
    EachHost(&'static str),
    /// zlaunch itself.
    Local,
    /// A launcher that only the user's command can start with, by its name.
    Existing(&'static str),
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

    /// Whether it starts zlaunch again, which then writes the files and starts the ranks.
    pub(crate) fn runs_zlaunch(self) -> bool {
        self.is_of_job_shell() || matches!(self, Launcher::Prefix(_))
    }

    /// Whether it starts zlaunch on the machines of a job, from its shell.
    pub(crate) fn is_of_job_shell(self) -> bool {
        matches!(self, Launcher::Srun | Launcher::EachHost(_))
    }
}

impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let option = Launcher::NAMES.iter().find(|(_, launcher)| *launcher == Some(*self));
        f.write_str(match self {
            Launcher::EachHost(name) | Launcher::Existing(name) | Launcher::Prefix(name) => name,
            _ => option.map_or("", |(name, _)| name),
        })
    }
}
