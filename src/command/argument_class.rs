//! The recorded types and defaults of arguments, by class and version (`tools/record arguments` and `defaults`).

use crate::{
    base::recorded::{Version, VersionMatch, at, versions},
    command::python::Python,
};

pub use super::tables::classes::*;

#[derive(Clone, PartialEq)]
pub struct RecordedDefault {
    /// A number, a bool, `none`, or `?` where the trainer computes it.
    pub value: &'static str,
    /// `ms-swift 4.6.0`, and how that differs from what is installed.
    pub of: String,
    /// Recorded from the version that is installed, or from those around it.
    pub certain: bool,
}

/// A distribution, and the recorded versions that stand for the one that is installed.
pub struct Installed {
    pub distribution: &'static str,
    /// As its metadata say it; `None` where it was not found.
    text: Option<String>,
    /// The recorded versions before and after it; twice the same where one counts alone.
    older: Version,
    newer: Version,
    /// It is one of them, or between them.
    certain: bool,
}

impl Installed {
    fn find(
        distribution: &'static str,
        recorded: &'static str,
        python: Option<&Python>,
    ) -> Option<Self> {
        let text = python.and_then(|python| python.version_text(distribution));
        let newest = versions(recorded).next_back()?;
        let found = match &text {
            Some(text) => VersionMatch::find(versions(recorded), Version::parse(text)),
            None => VersionMatch::Nearest(newest),
        };
        let newer = match found {
            VersionMatch::Between(_, newer) => newer,
            _ => found.version(),
        };
        // `4.7.0.dev0` may be anything between two releases.
        let is_release = |text: &String| text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        Some(Installed {
            distribution,
            certain: found.is_certain() && text.as_ref().is_some_and(is_release),
            text,
            older: found.version(),
            newer,
        })
    }

    /// The version itself, or the oldest that was recorded.
    fn version(&self) -> Version {
        self.text
            .as_deref()
            .map(Version::parse)
            .unwrap_or_default()
            .max(self.older)
    }
}

impl ArgumentClass {
    pub fn find(distribution: &'static str, name: &str) -> Option<Self> {
        DEFAULTS
            .below(&[distribution])
            .filter_map(|line| line.split(' ').next())
            .find(|class| *class == name)
            .map(|name| ArgumentClass { distribution, name })
    }

    /// The default of an argument in the version that is installed, or in the nearest that was recorded.
    pub fn default(self, argument: &str, python: Option<&Python>) -> Option<RecordedDefault> {
        let name = self.distribution;
        let installed = Installed::find(name, DEFAULTS.find(&[name, "*"])?, python)?;
        let history = DEFAULTS.find(&[name, self.name, argument]);
        let value = history.and_then(|history| at(history, installed.version()));
        let Some(value) = value.filter(|value| *value != INHERITED) else {
            if self == TRAINING_ARGUMENTS {
                return None;
            }
            let found = TRAINING_ARGUMENTS.default(argument, python)?;
            return Some(RecordedDefault {
                certain: installed.certain && found.certain,
                ..found
            });
        };
        let of = match &installed.text {
            Some(text) if installed.certain => format!("{name} {text}"),
            Some(text) => format!("{name} {}; {text} is installed", installed.older),
            None => format!("{name} {}; no installed version was found", installed.older),
        };
        Some(RecordedDefault {
            value,
            of,
            certain: installed.certain,
        })
    }

    pub fn row(self, argument: &str) -> Option<&'static str> {
        OPTIONS.find(&[self.distribution, self.name, argument])
    }

    /// In the nearest version that is recorded; in the newest where none is named.
    pub fn written_type(self, argument: &str, version: Option<Version>) -> Option<&'static str> {
        let oldest = versions(recorded_versions(self.distribution)?).next()?;
        let version = version.map_or(Version([u32::MAX; 3]), |version| version.max(oldest));
        at(self.row(argument)?, version).filter(|written| *written != GONE)
    }

    pub fn parts(self) -> impl Iterator<Item = &'static str> {
        self.row(PARTS)
            .into_iter()
            .flat_map(|parts| parts.split(' '))
    }

    pub fn names(self) -> impl Iterator<Item = &'static str> + use<> {
        OPTIONS
            .below(&[self.distribution, self.name])
            .filter_map(|line| line.split(' ').next())
            .filter(|name| *name != PARTS)
    }
}

/// Some version of some trainer has an option of this name, spelt with `_`.
pub fn is_recorded(name: &str) -> bool {
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

/// The versions of a parser's distributions.
#[derive(Default)]
pub struct Versions {
    found: Vec<Installed>,
}

impl Versions {
    pub fn of(distributions: impl Iterator<Item = &'static str>, python: Option<&Python>) -> Self {
        let mut found: Vec<Installed> = vec![];
        for distribution in distributions {
            if found.iter().all(|it| it.distribution != distribution)
                && let Some(recorded) = recorded_versions(distribution)
            {
                found.extend(Installed::find(distribution, recorded, python));
            }
        }
        Versions { found }
    }

    pub fn installed(&self, distribution: &str) -> Option<&Installed> {
        self.found
            .iter()
            .find(|found| found.distribution == distribution)
    }

    /// The older and the newer of the recorded versions that stand for the one that is installed.
    pub fn around(&self, distribution: &str) -> [Version; 2] {
        let found = self.installed(distribution);
        found.map_or_else(Default::default, |found| [found.older, found.newer])
    }

    /// False where the parser has no class of the distribution.
    pub fn all_within(&self, distribution: &str, since: [u32; 3], until: [u32; 3]) -> bool {
        self.installed(distribution)
            .is_some_and(|found| found.older.0 >= since && found.newer.0 < until)
    }

    pub fn is_any(&self, distribution: &str) -> bool {
        self.installed(distribution)
            .is_some_and(|found| found.text.is_none())
    }

    /// All of them are installed, in versions that are recorded.
    pub fn certain(&self) -> bool {
        self.found.iter().all(|found| found.certain)
    }

    pub fn first(&self) -> String {
        let Some(found) = self.found.first() else {
            return String::new();
        };
        let newest = || found.newer.to_string();
        let version = found.text.clone().unwrap_or_else(newest);
        format!("{} {version}", found.distribution)
    }

    /// In parentheses, behind a sentence; nothing if all are certain.
    pub fn doubt(&self) -> String {
        let Some(found) = self.found.iter().find(|found| !found.certain) else {
            return String::new();
        };
        let Installed {
            distribution,
            text,
            older,
            newer,
            ..
        } = found;
        match text {
            Some(text) if Version::parse(text) < *older => {
                format!(" (known for {distribution} {older} and later; {text} is installed)")
            }
            Some(text) => {
                format!(" (known for {distribution} up to {newer}; {text} is installed)")
            }
            None => format!(
                " (the same in every known version of {distribution}; no installed version was found)"
            ),
        }
    }
}

/// Says which recorded version stands for an installed one that is not recorded.
pub fn stand_in(distribution: &str, installed: &str) -> Option<String> {
    let all = recorded_versions(distribution)?;
    if all.split(' ').any(|version| version == installed) {
        return None;
    }
    let counts = VersionMatch::find(versions(all), Version::parse(installed)).version();
    Some(format!(
        "its arguments are not recorded; those of {distribution} {counts} are used"
    ))
}
