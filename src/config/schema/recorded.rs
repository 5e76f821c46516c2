//! The versions of DeepSpeed that were recorded, and which of them judges for one that was not.

use crate::base::lines::count_lines;
use crate::command::python::Python;

/// `0.19.8` as three numbers.
pub(crate) type Release = [u32; 3];

/// From the oldest to the newest, one a line.
const TEXT: &str = include_str!("../../recorded/deepspeed-versions.txt");
const VERSIONS: [Release; count_lines(TEXT)] = versions();

/// Judges where no DeepSpeed is found.
pub(crate) const NEWEST: Release = VERSIONS[VERSIONS.len() - 1];

const fn versions() -> [Release; count_lines(TEXT)] {
    let mut versions = [[0; 3]; count_lines(TEXT)];
    let (mut line, mut part, mut at) = (0, 0, 0);
    while at < TEXT.len() {
        match TEXT.as_bytes()[at] {
            b'.' => part += 1,
            b'\n' => (line, part) = (line + 1, 0),
            digit => versions[line][part] = versions[line][part] * 10 + (digit - b'0') as u32,
        }
        at += 1;
    }
    versions
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
        if installed > NEWEST {
            return Judge::Nearest(NEWEST);
        }
        let mut older = None;
        for version in VERSIONS {
            match older {
                _ if version == installed => return Judge::Itself(version),
                _ if version < installed => older = Some(version),
                Some(older) => return Judge::Older(older, version),
                None => return Judge::Nearest(version),
            }
        }
        Judge::Nearest(NEWEST)
    }

    /// For the DeepSpeed of an environment; the newest judges where none is found.
    pub(crate) fn in_environment(python: Option<&Python>) -> Self {
        let installed = python.and_then(|python| python.version("deepspeed"));
        installed.map_or(Judge::Itself(NEWEST), |version| Judge::of(version.numbers()))
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
        assert!(VERSIONS.is_sorted());
        assert!(TEXT.lines().map(release).eq(VERSIONS.map(Some)));
        for version in &VERSIONS {
            assert_eq!(Judge::of(*version), Judge::Itself(*version));
        }
        assert_eq!(Judge::of([0, 16, 99]), Judge::Older([0, 16, 9], [0, 17, 0]));
        assert_eq!(Judge::of([0, 99, 0]), Judge::Nearest(NEWEST));
        assert_eq!(Judge::of([0, 1, 0]), Judge::Nearest(VERSIONS[0]));
    }
}
