//! The versions of DeepSpeed that were recorded, and which of them judges for one that was not.

use crate::command::python::Python;

/// `0.19.8` as three numbers.
pub(crate) type Release = [u32; 3];

/// From the oldest to the newest, one a line.
const TEXT: &str = include_str!("../../recorded/deepspeed-versions.txt");

fn versions() -> impl DoubleEndedIterator<Item = Release> {
    TEXT.lines().filter_map(release)
}

/// Judges where no DeepSpeed is found.
pub(crate) fn newest() -> Release {
    versions().next_back().unwrap_or_default()
}

/// Which recorded version judges for the installed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchemaMatch {
    Exact(Release),
    /// The older of its two neighbours, and the newer one.
    Between(Release, Release),
    /// It is newer or older than all that were recorded.
    Nearest(Release),
}

impl SchemaMatch {
    pub(crate) fn of(installed: Release) -> Self {
        if installed > newest() {
            return SchemaMatch::Nearest(newest());
        }
        let mut older = None;
        for version in versions() {
            match older {
                _ if version == installed => return SchemaMatch::Exact(version),
                _ if version < installed => older = Some(version),
                Some(older) => return SchemaMatch::Between(older, version),
                None => return SchemaMatch::Nearest(version),
            }
        }
        SchemaMatch::Nearest(newest())
    }

    /// For the DeepSpeed of an environment; the newest judges where none is found.
    pub(crate) fn in_environment(python: Option<&Python>) -> Self {
        let installed = python.and_then(|python| python.version("deepspeed"));
        installed.map_or_else(|| SchemaMatch::Exact(newest()), |version| SchemaMatch::of(version.0))
    }

    pub(crate) fn version(self) -> Release {
        match self {
            SchemaMatch::Exact(version) | SchemaMatch::Between(version, _) | SchemaMatch::Nearest(version) => version,
        }
    }
}

/// `0.19.8` as three numbers.
pub(crate) fn release(text: &str) -> Option<Release> {
    if text == "-" {
        return None;
    }
    let mut parts = text.trim_end_matches('!').split('.').map(|part| part.parse().ok());
    Some([parts.next()??, parts.next()??, parts.next()??])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_judged_by_itself_or_by_its_neighbours() {
        assert!(versions().is_sorted() && versions().count() == TEXT.lines().count());
        for version in versions() {
            assert_eq!(SchemaMatch::of(version), SchemaMatch::Exact(version));
        }
        assert_eq!(SchemaMatch::of([0, 16, 99]), SchemaMatch::Between([0, 16, 9], [0, 17, 0]));
        assert_eq!(SchemaMatch::of([0, 99, 0]), SchemaMatch::Nearest(newest()));
        assert_eq!(SchemaMatch::of([0, 1, 0]), SchemaMatch::Nearest(versions().next().unwrap()));
    }
}
