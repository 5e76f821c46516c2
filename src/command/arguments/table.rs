//! The recorded table, searched by the start of a line.

use crate::base::lines::{SortedLines, count_lines};
use crate::command::defaults::{ArgumentClass, numbers};

const TABLE: &str = include_str!("../../recorded/arguments.txt");

/// The line that names the classes whose arguments a class has besides its own.
const PARTS: &str = "^";

/// There is no such argument.
pub(super) const GONE: &str = "-";

static LINES: SortedLines<{ count_lines(TABLE) }> = SortedLines::new(TABLE);

fn behind(start: &str) -> Option<&'static str> {
    LINES.from(start).strip_prefix(start)?.lines().next()
}

/// What stands behind an argument of a class.
pub(super) fn row(class: ArgumentClass, argument: &str) -> Option<&'static str> {
    behind(&[class.distribution, " ", class.name, " ", argument, " "].concat())
}

/// Whether any class has an argument of this name.
pub(super) fn has(argument: &str) -> bool {
    let named = |line: &str| line.split(' ').nth(2) == Some(argument);
    argument.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && TABLE.lines().any(named)
}

/// The other classes whose arguments it has.
pub(super) fn parts(class: ArgumentClass) -> impl Iterator<Item = &'static str> {
    row(class, PARTS).into_iter().flat_map(|parts| parts.split(' '))
}

/// The names of its arguments.
pub(crate) fn names(class: ArgumentClass) -> impl Iterator<Item = &'static str> + use<> {
    let start = [class.distribution, " ", class.name, " "].concat();
    let lines = LINES.from(&start).lines();
    lines.map_while(move |line| line.strip_prefix(start.as_str())?.split(' ').next()).filter(|name| *name != PARTS)
}

/// The versions that were read, the oldest first.
pub fn recorded(distribution: &str) -> Option<&'static str> {
    behind(&[distribution, " * "].concat())
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
                assert_eq!(row(ArgumentClass { distribution, name }, argument), Some(rest), "{line}");
            }
        }
        assert!(["lr", "zzz", ""].iter().all(|name| row(TRAINING_ARGUMENTS, name).is_none()));
        assert!(names(TRAINING_ARGUMENTS).count() > 100 && recorded("zzz").is_none());
        assert_eq!(at("=float", [4, 57, 1]), "float");
        assert_eq!(at("4.40.2=bool 5.0.0=-", [4, 57, 1]), "bool");
        assert_eq!(at("4.40.2=bool 5.0.0=-", [5, 0, 0]), GONE);
        assert_eq!(at("4.40.2=bool", [4, 30, 0]), GONE);
    }
}
