//! The recorded table, searched by the start of a line.

use std::cmp::Ordering;

use crate::command::defaults::{ArgumentClass, numbers};
use crate::command::option_names::lines_from;

const TABLE: &str = include_str!("../../recorded/arguments.txt");

/// The line that names the classes whose arguments a class has besides its own.
const PARTS: &str = "^";

/// There is no such argument.
pub(super) const GONE: &str = "-";

/// The lines of one class.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    pub(super) distribution: &'static str,
    text: &'static str,
    /// How long the words are that every line starts with.
    start: usize,
}

impl Lines {
    pub(super) fn of(class: ArgumentClass) -> Self {
        let words = [class.distribution, " ", class.name, " "].concat();
        let lines = lines_from(TABLE, &words);
        // The next sign behind a space.
        let end = lines_from(lines, &[class.distribution, " ", class.name, "!"].concat());
        let text = &lines[..lines.len() - end.len()];
        Lines { distribution: class.distribution, text, start: words.len() }
    }

    /// What stands behind a name. Every option of a command is looked up at every launch.
    pub(super) fn row(&self, name: &str) -> Option<&'static str> {
        let (mut from, mut to) = (0, self.text.len());
        while from < to {
            let start = self.text[from..from.midpoint(to)].rfind('\n').map_or(from, |at| from + at + 1);
            let line = &self.text[start..];
            let line = &line[..line.find('\n')?];
            let (found, rest) = line[self.start..].split_once(' ')?;
            match found.cmp(name) {
                Ordering::Equal => return Some(rest),
                Ordering::Less => from = start + line.len() + 1,
                Ordering::Greater => to = start,
            }
        }
        None
    }

    /// The names of the other classes.
    pub(super) fn parts(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.row(PARTS).into_iter().flat_map(|parts| parts.split(' '))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let start = self.start;
        let names = self.text.lines().filter_map(move |line| line[start..].split(' ').next());
        names.filter(|name| *name != PARTS)
    }
}

/// The versions that were read, the oldest first.
pub(super) fn recorded(distribution: &str) -> Option<&'static str> {
    let start = [distribution, " * "].concat();
    lines_from(TABLE, &start).strip_prefix(start.as_str())?.lines().next()
}

/// Whether every recorded version has the same.
pub(super) fn is_constant(history: &str) -> bool {
    history.starts_with('=')
}

/// Everything that a history has, the oldest first.
pub(super) fn all(history: &'static str) -> impl DoubleEndedIterator<Item = (&'static str, &'static str)> {
    history.split(' ').filter_map(|pair| pair.split_once('='))
}

/// What it has for a version.
pub(super) fn at(history: &'static str, version: [u32; 3]) -> &'static str {
    all(history).rev().find(|(since, _)| numbers(since) <= version).map_or(GONE, |(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::defaults::TRAINING_ARGUMENTS;

    #[test]
    fn the_table_is_sorted_and_every_line_is_found() {
        let lines: Vec<&str> = TABLE.lines().collect();
        assert!(lines.is_sorted() && lines.len() > 1500);
        for line in lines {
            let words: Vec<&'static str> = line.splitn(4, ' ').collect();
            if let [distribution, name, argument, rest] = words[..]
                && name != "*"
            {
                assert_eq!(Lines::of(ArgumentClass { distribution, name }).row(argument), Some(rest), "{line}");
            }
        }
        let arguments = Lines::of(TRAINING_ARGUMENTS);
        assert!(arguments.row("lr").is_none() && arguments.row("zzz").is_none() && arguments.row("").is_none());
        assert_eq!(at("=float", [4, 57, 1]), "float");
        assert_eq!(at("4.40.2=bool 5.0.0=-", [4, 57, 1]), "bool");
        assert_eq!(at("4.40.2=bool 5.0.0=-", [5, 0, 0]), GONE);
        assert_eq!(at("4.40.2=bool", [4, 30, 0]), GONE);
    }
}
