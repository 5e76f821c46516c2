//! The recorded versions that stand for those that are installed.

use std::cell::OnceCell;

use crate::base::recorded::{Version, VersionMatch, versions};
use crate::command::argument_class::recorded_versions;
use crate::command::python::Python;

/// From this transformers on, its parser takes every name with dashes too.
pub(crate) const DASHES_SINCE: [u32; 3] = [4, 46, 0];

/// One distribution: the version that is installed, and the recorded ones that count for it.
pub(super) struct Neighbours {
    distribution: &'static str,
    versions: [Version; 2],
    installed: Option<String>,
    certain: bool,
}

/// The versions of a parser's distributions. Each is looked up when it is first asked for.
pub(crate) struct Versions<'p> {
    python: Option<&'p Python>,
    found: Vec<(&'static str, OnceCell<Option<Neighbours>>)>,
}

impl<'p> Versions<'p> {
    pub(super) fn of(
        distributions: impl Iterator<Item = &'static str>,
        python: Option<&'p Python>,
    ) -> Self {
        let mut found: Vec<(&'static str, OnceCell<_>)> = Vec::new();
        for distribution in distributions {
            if found.iter().all(|(known, _)| *known != distribution) {
                found.push((distribution, OnceCell::new()));
            }
        }
        Versions { python, found }
    }

    pub(super) fn neighbours(&self, distribution: &str) -> Option<&Neighbours> {
        let (distribution, cell) = self
            .found
            .iter()
            .find(|(known, _)| *known == distribution)?;
        cell.get_or_init(|| Neighbours::of(distribution, self.python))
            .as_ref()
    }

    fn all(&self) -> impl Iterator<Item = &Neighbours> {
        self.found
            .iter()
            .filter_map(|(distribution, _)| self.neighbours(distribution))
    }

    /// The answers of the older and of the newer of the versions that may be installed.
    pub(super) fn each<T>(&self, ask: impl Fn(&dyn Fn(&str) -> Version) -> T) -> Vec<T> {
        [0, 1]
            .map(|which| ask(&|distribution| self.version(which, distribution)))
            .into()
    }

    fn version(&self, which: usize, distribution: &str) -> Version {
        self.neighbours(distribution)
            .map_or_else(Version::default, |found| found.versions[which])
    }

    /// False where the parser has no class of the distribution.
    pub(crate) fn all_within(&self, distribution: &str, since: [u32; 3], until: [u32; 3]) -> bool {
        let is_part = self.found.iter().any(|(known, _)| *known == distribution);
        is_part
            && self
                .each(|of| of(distribution))
                .iter()
                .all(|version| (since..until).contains(&version.0))
    }

    pub(super) fn is_any(&self, distribution: &str) -> bool {
        self.neighbours(distribution)
            .is_some_and(|found| found.installed.is_none())
    }

    /// All of them are installed, in versions that are recorded.
    pub(crate) fn certain(&self) -> bool {
        self.all().all(|found| found.certain)
    }

    pub(crate) fn first(&self) -> String {
        let Some(Neighbours {
            distribution,
            installed,
            versions,
            ..
        }) = self.all().next()
        else {
            return String::new();
        };
        format!(
            "{distribution} {}",
            installed.clone().unwrap_or_else(|| versions[1].to_string())
        )
    }

    /// In parentheses, behind a sentence; nothing if all are certain.
    pub(crate) fn doubt(&self) -> String {
        let doubtful = self.all().find(|found| !found.certain);
        doubtful.map_or_else(String::new, |Neighbours { distribution, installed, versions, .. }| match installed {
            Some(text) if Version::parse(text) < versions[0] => {
                format!(" (known for {distribution} {} and later; {text} is installed)", versions[0])
            }
            Some(text) => format!(" (known for {distribution} up to {}; {text} is installed)", versions[1]),
            None => format!(" (the same in every known version of {distribution}; no installed version was found)"),
        })
    }
}

/// Says which recorded version stands for an installed one that is not recorded.
pub(crate) fn stand_in(distribution: &str, installed: &str) -> Option<String> {
    let all = recorded_versions(distribution)?;
    let is_recorded = all.split(' ').any(|version| version == installed);
    let version = Version::parse(installed);
    let counts = VersionMatch::find(versions(all), version).version();
    let which = if counts > version {
        "the oldest recorded"
    } else {
        "the nearest older one"
    };
    (!is_recorded).then(|| {
        format!("its arguments are not recorded; {distribution} {counts} is used, {which}")
    })
}

impl Neighbours {
    fn of(distribution: &'static str, python: Option<&Python>) -> Option<Self> {
        let all = recorded_versions(distribution)?;
        let installed = python.and_then(|python| python.version_text(distribution));
        let (versions, certain) = match &installed {
            None => ([versions(all).next_back()?; 2], false),
            Some(text) => {
                let found = VersionMatch::find(versions(all), Version::parse(text));
                let newer = if let VersionMatch::Between(_, newer) = found {
                    newer
                } else {
                    found.version()
                };
                // `4.7.0.dev0` may be anything between two releases.
                let is_release = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
                ([found.version(), newer], found.is_certain() && is_release)
            }
        };
        Some(Neighbours {
            distribution,
            versions,
            installed,
            certain,
        })
    }
}
