//! The launchers, by name.

use std::fmt;

/// What starts the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Launcher {
    Torchrun,
    Deepspeed,
    Direct,
    Srun,
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
        matches!(self, Launcher::Srun | Launcher::Prefix(_))
    }
}

impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let option = Launcher::NAMES.iter().find(|(_, launcher)| *launcher == Some(*self));
        f.write_str(match self {
            Launcher::Existing(name) | Launcher::Prefix(name) => name,
            _ => option.map_or("", |(name, _)| name),
        })
    }
}
