//! The recorded versions that stand for those that are installed.

use crate::base::recorded::{Version, VersionMatch, versions};
use crate::command::argument_class::{Installed, recorded_versions};
use crate::command::python::Python;

/// From this transformers on, its parser takes every name with dashes too.
pub(crate) const DASHES_SINCE: [u32; 3] = [4, 46, 0];

/// The versions of a parser's distributions.
pub(crate) struct Versions {
    found: Vec<Installed>,
}

impl Versions {
    pub(super) fn of(
        distributions: impl Iterator<Item = &'static str>,
        python: Option<&Python>,
    ) -> Self {
        let mut found: Vec<Installed> = Vec::new();
        for distribution in distributions {
            if found.iter().all(|it| it.distribution != distribution)
                && let Some(recorded) = recorded_versions(distribution)
            {
                found.extend(Installed::find(distribution, recorded, python));
            }
        }
        Versions { found }
    }

    pub(super) fn installed(&self, distribution: &str) -> Option<&Installed> {
        self.found
            .iter()
            .find(|found| found.distribution == distribution)
    }

    /// The answers for the older and for the newer of the versions that may be installed.
    pub(super) fn each<T>(&self, ask: impl Fn(&dyn Fn(&str) -> Version) -> T) -> [T; 2] {
        let version = |distribution: &str, of: fn(&Installed) -> Version| {
            self.installed(distribution).map(of).unwrap_or_default()
        };
        [
            ask(&|distribution| version(distribution, |it| it.older)),
            ask(&|distribution| version(distribution, |it| it.newer)),
        ]
    }

    /// False where the parser has no class of the distribution.
    pub(crate) fn all_within(&self, distribution: &str, since: [u32; 3], until: [u32; 3]) -> bool {
        self.installed(distribution)
            .is_some_and(|found| found.older.0 >= since && found.newer.0 < until)
    }

    pub(super) fn is_any(&self, distribution: &str) -> bool {
        self.installed(distribution)
            .is_some_and(|found| found.text.is_none())
    }

    /// All of them are installed, in versions that are recorded.
    pub(crate) fn certain(&self) -> bool {
        self.found.iter().all(|found| found.certain)
    }

    pub(crate) fn first(&self) -> String {
        let Some(found) = self.found.first() else {
            return String::new();
        };
        let newest = || found.newer.to_string();
        let version = found.text.clone().unwrap_or_else(newest);
        format!("{} {version}", found.distribution)
    }

    /// In parentheses, behind a sentence; nothing if all are certain.
    pub(crate) fn doubt(&self) -> String {
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
pub(crate) fn stand_in(distribution: &str, installed: &str) -> Option<String> {
    let all = recorded_versions(distribution)?;
    if all.split(' ').any(|version| version == installed) {
        return None;
    }
    let version = Version::parse(installed);
    let counts = VersionMatch::find(versions(all), version).version();
    let which = if counts > version {
        "the oldest recorded"
    } else {
        "the nearest older one"
    };
    Some(format!(
        "its arguments are not recorded; {distribution} {counts} is used, {which}"
    ))
}
