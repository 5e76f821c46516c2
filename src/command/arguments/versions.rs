//! The recorded versions that stand for those that are installed.

use std::cell::OnceCell;

use super::table::recorded;
use crate::command::defaults::numbers;
use crate::command::python::{Python, Version};

/// From this transformers on, its parser takes every name with dashes too.
pub(crate) const DASHES_SINCE: [u32; 3] = [4, 46, 0];

/// One distribution: what is recorded of the version itself, or of those before and after it.
struct Around {
    distribution: &'static str,
    versions: [[u32; 3]; 2],
    installed: Option<String>,
    newest: &'static str,
    certain: bool,
}

/// Every distribution of a parser. Each is looked up when it is asked for.
pub(crate) struct Versions<'p> {
    python: Option<&'p Python>,
    found: Vec<(&'static str, OnceCell<Option<Around>>)>,
}

impl<'p> Versions<'p> {
    pub(super) fn of(distributions: impl Iterator<Item = &'static str>, python: Option<&'p Python>) -> Self {
        let mut found: Vec<(&'static str, OnceCell<_>)> = Vec::new();
        for distribution in distributions {
            if found.iter().all(|(known, _)| *known != distribution) {
                found.push((distribution, OnceCell::new()));
            }
        }
        Versions { python, found }
    }

    fn around(&self, distribution: &str) -> Option<&Around> {
        let (distribution, cell) = self.found.iter().find(|(known, _)| *known == distribution)?;
        cell.get_or_init(|| Around::of(distribution, self.python)).as_ref()
    }

    fn all(&self) -> impl Iterator<Item = &Around> {
        self.found.iter().filter_map(|(distribution, _)| self.around(distribution))
    }

    /// Whether none of them is older than what is recorded.
    pub(crate) fn are_recorded(&self) -> bool {
        self.all().count() == self.found.len()
    }

    /// What is asked of each set of versions that counts.
    pub(super) fn each<T>(&self, ask: impl Fn(&dyn Fn(&str) -> [u32; 3]) -> T) -> Vec<T> {
        let at = |which: usize| {
            ask(&move |distribution: &str| self.around(distribution).map_or([0; 3], |it| it.versions[which]))
        };
        vec![at(0), at(1)]
    }

    /// Whether the parser is of a transformers that knows no names with dashes.
    pub(super) fn refuse_dashes(&self) -> bool {
        self.around("transformers").is_some() && self.all_within("transformers", [0; 3], DASHES_SINCE)
    }

    /// Whether what counts of a distribution is in a range of versions. Not where the parser has nothing of it.
    pub(crate) fn all_within(&self, distribution: &str, since: [u32; 3], until: [u32; 3]) -> bool {
        let is_part = self.found.iter().any(|(known, _)| *known == distribution);
        is_part && self.each(|at| at(distribution)).iter().all(|version| since <= *version && *version < until)
    }

    /// Whether it is not known which version is there, so that it may be any.
    pub(super) fn is_any(&self, distribution: &str) -> bool {
        self.around(distribution).is_some_and(|around| around.installed.is_none())
    }

    /// Whether all of them are installed and among those that are recorded.
    pub(crate) fn certain(&self) -> bool {
        self.all().all(|around| around.certain)
    }

    /// `ms-swift 4.6.0`, of the first.
    pub(crate) fn first(&self) -> String {
        let Some(Around { distribution, installed, newest, .. }) = self.all().next() else { return String::new() };
        format!("{distribution} {}", installed.as_deref().unwrap_or(newest))
    }

    /// Why it is not certain.
    pub(crate) fn doubt(&self) -> String {
        let doubtful = self.all().find(|around| !around.certain);
        doubtful.map_or_else(String::new, |Around { distribution, installed, newest, .. }| match installed {
            Some(version) => format!("known up to {distribution} {newest}; {version} is installed"),
            None => format!("in every known version of {distribution}; none was found here"),
        })
    }
}

/// What is known of a version that is not recorded itself: what the nearest older one does.
pub(crate) fn stand_in(distribution: &str, version: &Version) -> Option<String> {
    let all = recorded(distribution)?;
    if all.rsplit(' ').any(|it| it == version.0) {
        return None;
    }
    let older = all.rsplit(' ').find(|it| !version.is_before(numbers(it)));
    Some(older.map_or_else(
        || {
            format!(
                "older than {distribution} {}, from which on its arguments are known",
                all.split(' ').next().unwrap_or(all)
            )
        },
        |older| format!("its arguments are not recorded: those of {distribution} {older} count, the nearest older one"),
    ))
}

impl Around {
    fn of(distribution: &'static str, python: Option<&Python>) -> Option<Self> {
        let all = recorded(distribution)?;
        let newest = all.rsplit(' ').next()?;
        let installed = python.and_then(|python| python.version(distribution));
        let around = |versions, certain| {
            Some(Around { distribution, versions, installed: installed.clone().map(|it| it.0), newest, certain })
        };
        let Some(version) = &installed else { return around([numbers(newest); 2], false) };
        // `4.7.0.dev0` is between what was released before and after.
        let released = version.0.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let installed_numbers = version.numbers();
        let is_before = |it: &[u32; 3]| if released { *it <= installed_numbers } else { *it < installed_numbers };
        // From the newest on: what is installed is seldom old.
        let (mut before, mut next) = (None, None);
        for it in all.rsplit(' ').map(numbers) {
            next = if it >= installed_numbers { Some(it) } else { next };
            before = Some(it).filter(is_before);
            if before.is_some() {
                break;
            }
        }
        let before = before?;
        around([before, next.unwrap_or(before)], released && next.is_some())
    }
}
