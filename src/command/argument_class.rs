//! The recorded types and defaults of arguments, by class and version (`tools/record arguments` and `defaults`).

use crate::base::recorded::{Table, Version, VersionMatch, at, versions};
use crate::command::python::Python;

const DEFAULTS: Table = Table(include_str!("../recorded/defaults.txt"));
const OPTIONS: Table = Table(include_str!("../recorded/arguments.txt"));

/// As a default: the one of `TrainingArguments`.
const INHERITED: &str = "-";
/// As a type: this version has no such argument.
pub(super) const GONE: &str = "-";
/// The line that names the classes whose arguments a class has besides its own.
const PARTS: &str = "^";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgumentClass {
    pub distribution: &'static str,
    pub name: &'static str,
}

pub const TRAINING_ARGUMENTS: ArgumentClass = ArgumentClass {
    distribution: "transformers",
    name: "TrainingArguments",
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordedDefault {
    /// A number, a bool, `none`, or `?` where the trainer computes it.
    pub(crate) value: &'static str,
    /// `ms-swift 4.6.0`, and how that differs from what is installed.
    pub(crate) of: String,
    /// Recorded from the version that is installed, or from those around it.
    pub(crate) certain: bool,
}

impl ArgumentClass {
    pub(crate) fn find(distribution: &'static str, name: &str) -> Option<Self> {
        let mut classes = DEFAULTS
            .below(&[distribution])
            .filter_map(|line| line.split(' ').next());
        classes
            .find(|class| *class == name)
            .map(|name| ArgumentClass { distribution, name })
    }

    /// The default of an argument in the version that is installed, or in the nearest that was recorded.
    pub(crate) fn default(
        self,
        argument: &str,
        python: Option<&Python>,
    ) -> Option<RecordedDefault> {
        let name = self.distribution;
        let all = DEFAULTS.find(&[name, "*"])?;
        let (oldest, newest) = (versions(all).next()?, versions(all).next_back()?);
        let installed = python.and_then(|python| python.version_text(name));
        let version = installed.as_deref().map(Version::parse);
        let nearest = version.map(|version| VersionMatch::find(versions(all), version));
        let certain = nearest.is_some_and(VersionMatch::is_certain);
        let history = DEFAULTS
            .find(&[name, self.name, argument])
            .unwrap_or_default();
        let value = match at(history, version.unwrap_or(newest).max(oldest)) {
            Some(value) if value != INHERITED => value,
            _ if self == TRAINING_ARGUMENTS => return None,
            _ => {
                let found = TRAINING_ARGUMENTS.default(argument, python)?;
                return Some(RecordedDefault {
                    certain: certain && found.certain,
                    ..found
                });
            }
        };
        let of = match (&installed, nearest) {
            (Some(text), _) if certain => format!("{name} {text}"),
            (Some(text), Some(nearest)) => {
                format!("{name} {}; {text} is installed", nearest.version())
            }
            _ => format!("{name} {newest}; no installed version was found"),
        };
        Some(RecordedDefault { value, of, certain })
    }

    pub fn row(self, argument: &str) -> Option<&'static str> {
        OPTIONS.find(&[self.distribution, self.name, argument])
    }

    /// In the nearest version that is recorded; in the newest where none is named.
    pub(crate) fn written_type(
        self,
        argument: &str,
        version: Option<Version>,
    ) -> Option<&'static str> {
        let oldest = versions(recorded_versions(self.distribution)?).next()?;
        let version = version.map_or(Version([u32::MAX; 3]), |version| version.max(oldest));
        at(self.row(argument)?, version).filter(|written| *written != GONE)
    }

    pub(super) fn parts(self) -> impl Iterator<Item = &'static str> {
        self.row(PARTS)
            .into_iter()
            .flat_map(|parts| parts.split(' '))
    }

    pub fn names(self) -> impl Iterator<Item = &'static str> + use<> {
        let lines = OPTIONS.below(&[self.distribution, self.name]);
        lines
            .filter_map(|line| line.split(' ').next())
            .filter(|name| *name != PARTS)
    }
}

/// Some version of some trainer has an option of this name, spelt with `_`.
pub(crate) fn is_recorded(name: &str) -> bool {
    let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_name
        && OPTIONS
            .lines()
            .any(|line| line.split(' ').nth(2) == Some(name))
}

/// The versions whose arguments were recorded, the oldest first.
pub fn recorded_versions(distribution: &str) -> Option<&'static str> {
    OPTIONS.find(&[distribution, "*"])
}

pub(super) fn is_constant(history: &str) -> bool {
    history.starts_with('=')
}
