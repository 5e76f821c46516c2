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
pub(crate) enum Judge {
    Itself(Release),
    /// The older of its two neighbours, and the newer one.
    Older(Release, Release),
    /// It is newer or older than all that were recorded.
    Nearest(Release),
}

impl Judge {
    pub(crate) fn of(installed: Release) -> Self {
        if installed > newest() {
            return Judge::Nearest(newest());
        }
        let mut older = None;
        for version in versions() {
            match older {
                _ if version == installed => return Judge::Itself(version),
                _ if version < installed => older = Some(version),
                Some(older) => return Judge::Older(older, version),
                None => return Judge::Nearest(version),
            }
        }
        Judge::Nearest(newest())
    }

    /// For the DeepSpeed of an environment; the newest judges where none is found.
    pub(crate) fn in_environment(python: Option<&Python>) -> Self {
        let installed = python.and_then(|python| python.version("deepspeed"));
        installed.map_or_else(|| Judge::Itself(newest()), |version| Judge::of(version.0))
    }

    pub(crate) fn version(self) -> Release {
        match self {
            Judge::Itself(version) | Judge::Older(version, _) | Judge::Nearest(version) => version,
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
            assert_eq!(Judge::of(version), Judge::Itself(version));
        }
        assert_eq!(Judge::of([0, 16, 99]), Judge::Older([0, 16, 9], [0, 17, 0]));
        assert_eq!(Judge::of([0, 99, 0]), Judge::Nearest(newest()));
        assert_eq!(Judge::of([0, 1, 0]), Judge::Nearest(versions().next().unwrap()));
    }
}
