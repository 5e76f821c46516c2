//! What was recorded of other programs: tables of lines that are part of the executable, the versions in them, and which
//! of these stands for one that was not recorded. The recorders in `tests/real` write the tables.

use std::fmt;

use memchr::{memchr, memrchr};

/// A version, by its first three numbers: those of `4.57.0.dev0` are 4, 57 and 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub [u32; 3]);

impl Version {
    pub fn parse(text: &str) -> Self {
        let mut parts = text.split('.').map(|part| {
            let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            part[..digits].parse().unwrap_or(0)
        });
        Version([(); 3].map(|()| parts.next().unwrap_or(0)))
    }

    pub fn is_before(self, other: [u32; 3]) -> bool {
        self.0 < other
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// Which recorded version stands for one that is installed. This is the one policy for what was not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionMatch {
    Exact(Version),
    /// The recorded ones before and after it: what both say is certain, what only the older says counts otherwise.
    Between(Version, Version),
    /// It is newer or older than all that were recorded, so that what the nearest says is only a warning.
    Nearest(Version),
}

impl VersionMatch {
    /// `recorded`: from the oldest to the newest, which most have installed.
    pub fn find(recorded: impl DoubleEndedIterator<Item = Version>, installed: Version) -> Self {
        let mut newer = None;
        for version in recorded.rev() {
            match newer {
                _ if version == installed => return VersionMatch::Exact(version),
                _ if version > installed => newer = Some(version),
                Some(newer) => return VersionMatch::Between(version, newer),
                None => return VersionMatch::Nearest(version),
            }
        }
        VersionMatch::Nearest(newer.unwrap_or_default())
    }

    /// The version whose answers count; of two, the older.
    pub fn version(self) -> Version {
        match self {
            VersionMatch::Exact(version) | VersionMatch::Between(version, _) | VersionMatch::Nearest(version) => {
                version
            }
        }
    }

    pub fn is_certain(self) -> bool {
        !matches!(self, VersionMatch::Nearest(_))
    }
}

/// A table of lines, sorted by bytes. Those that begin with `#` stand at its head and say how it is written.
#[derive(Clone, Copy)]
pub struct Table(pub &'static str);

impl Table {
    pub fn lines(self) -> impl DoubleEndedIterator<Item = &'static str> {
        self.0.lines().filter(|line| !line.starts_with('#'))
    }

    /// The lines from the first one on that is not smaller, by binary search: every key and every option of a launch is
    /// looked up.
    pub fn from(self, start: &str) -> std::str::Lines<'static> {
        let (mut low, mut high) = (0, self.0.len());
        while low < high {
            let middle = low.midpoint(high);
            let line = memrchr(b'\n', &self.0.as_bytes()[..middle]).map_or(0, |at| at + 1);
            if self.0.as_bytes()[line..] < *start.as_bytes() {
                low = memchr(b'\n', &self.0.as_bytes()[middle..]).map_or(high, |at| middle + at + 1);
            } else {
                high = line;
            }
        }
        self.0[low..].lines()
    }

    /// What stands behind these words, at the beginning of each line that has them there.
    pub fn below(self, words: &[&str]) -> impl Iterator<Item = &'static str> + use<> {
        let start = words.join(" ") + " ";
        self.from(&start).map_while(move |line| line.strip_prefix(start.as_str()))
    }

    /// What stands behind these words.
    pub fn find(self, words: &[&str]) -> Option<&'static str> {
        self.below(words).next()
    }
}

/// The versions of a line that lists them, the oldest first.
pub fn versions(line: &'static str) -> impl DoubleEndedIterator<Item = Version> {
    line.split(' ').map(Version::parse)
}

/// What a history says since when, the oldest first: `4.40.2=bool 5.0.0=-`, or `=bool` where it was always so.
pub fn history(line: &'static str) -> impl DoubleEndedIterator<Item = (&'static str, &'static str)> {
    line.split(' ').filter_map(|pair| pair.split_once('='))
}

/// What a history says of a version.
pub fn at(line: &'static str, version: Version) -> Option<&'static str> {
    history(line).rev().find(|(since, _)| Version::parse(since) <= version).map(|(_, value)| value)
}
