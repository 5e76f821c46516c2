//! Tables of what was recorded from other programs (`tools/record` writes them to `src/recorded`), the versions in them,
//! and the version that stands for one that was not recorded.

use std::fmt;

use memchr::{memchr, memrchr};

/// A version, by its first three numbers: those of `4.57.0.dev0` are 4, 57 and 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub [u32; 3]);

impl Version {
    pub fn parse(text: &str) -> Self {
        let mut parts = text.split('.').map(|part| {
            let digits = part
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(part.len());
            part[..digits].parse().unwrap_or(0)
        });
        Version([(); 3].map(|()| parts.next().unwrap_or(0)))
    }

    pub fn is_before(self, other: [u32; 3]) -> bool {
        self.0 < other
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// The recorded version that stands for an installed one. This is the one policy for what was not recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum VersionMatch {
    Exact(Version),
    /// The recorded versions before and after it. What both say is certain; where they differ, the older one counts.
    Between(Version, Version),
    /// It is newer or older than all recorded versions, so that what the nearest one says is only a warning.
    Nearest(Version),
}

impl VersionMatch {
    /// `recorded`: from the oldest to the newest. Most users have one of the newest, so these are tried first.
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

    pub fn version(self) -> Version {
        let (VersionMatch::Exact(version)
        | VersionMatch::Between(version, _)
        | VersionMatch::Nearest(version)) = self;
        version
    }

    pub fn is_certain(self) -> bool {
        !matches!(self, VersionMatch::Nearest(_))
    }
}

/// Lines sorted by bytes, below a head of lines with `#` that says how the table is written.
#[derive(Clone, Copy)]
pub struct Table(pub &'static str);

impl Table {
    pub fn lines(self) -> impl DoubleEndedIterator<Item = &'static str> {
        self.0.lines().filter(|line| !line.starts_with('#'))
    }

    /// The lines from the first one on that is not smaller. Every key and every option of a launch is looked up, so this
    /// is a binary search.
    pub fn from(self, start: &str) -> std::str::Lines<'static> {
        let mut low = 0;
        let mut high = self.0.len();
        while low < high {
            let middle = low.midpoint(high);
            let line = memrchr(b'\n', &self.0.as_bytes()[..middle]).map_or(0, |at| at + 1);
            if self.0.as_bytes()[line..] < *start.as_bytes() {
                low =
                    memchr(b'\n', &self.0.as_bytes()[middle..]).map_or(high, |at| middle + at + 1);
            } else {
                high = line;
            }
        }
        self.0[low..].lines()
    }

    /// The rest of each line that begins with these words.
    pub fn below(self, words: &[&str]) -> impl Iterator<Item = &'static str> + use<> {
        let start = words.join(" ") + " ";
        self.from(&start)
            .map_while(move |line| line.strip_prefix(start.as_str()))
    }

    pub fn find(self, words: &[&str]) -> Option<&'static str> {
        self.below(words).next()
    }
}

pub fn versions(line: &'static str) -> impl DoubleEndedIterator<Item = Version> {
    line.split(' ').map(Version::parse)
}

/// Versions with the value since then, the oldest first: `4.40.2=bool 5.0.0=-`, or `=bool` if it was always so.
pub fn history(
    line: &'static str,
) -> impl DoubleEndedIterator<Item = (&'static str, &'static str)> {
    line.split(' ').filter_map(|pair| pair.split_once('='))
}

pub fn at(line: &'static str, version: Version) -> Option<&'static str> {
    history(line)
        .rev()
        .find(|(since, _)| Version::parse(since) <= version)
        .map(|(_, value)| value)
}
