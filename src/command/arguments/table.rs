//! The recorded table, searched by the start of a line.

use crate::command::defaults::numbers;
use crate::command::option_names::lines_from;

const TABLE: &str = include_str!("../../recorded/arguments.txt");

/// The line that names the classes whose arguments a class has besides its own.
pub(super) const PARTS: &str = "^";

/// There is no such argument.
pub(super) const GONE: &str = "-";

/// What stands behind these words.
pub(super) fn row(distribution: &str, class: &str, name: &str) -> Option<&'static str> {
    behind(&[distribution, " ", class, " ", name, " "].concat())
}

/// The versions that were read, the oldest first.
pub(super) fn recorded(distribution: &str) -> Option<&'static str> {
    behind(&[distribution, " * "].concat())
}

fn behind(start: &str) -> Option<&'static str> {
    lines_from(TABLE, start).strip_prefix(start)?.lines().next()
}

/// The names below a class.
pub(super) fn members(distribution: &str, class: &str) -> impl Iterator<Item = &'static str> + use<> {
    let start = [distribution, " ", class, " "].concat();
    let lines = lines_from(TABLE, &start).lines();
    lines.map_while(move |line| line.strip_prefix(start.as_str())?.split(' ').next()).filter(|name| *name != PARTS)
}

/// Everything that a history has, the oldest first.
pub(super) fn all(history: &'static str) -> impl DoubleEndedIterator<Item = (&'static str, &'static str)> {
    history.split(' ').filter_map(|pair| pair.split_once('='))
}

/// Whether every recorded version has the same.
pub(super) fn is_constant(distribution: &str, history: &str) -> bool {
    let oldest = recorded(distribution).and_then(|all| all.split(' ').next()).unwrap_or_default();
    !history.contains(' ') && history.strip_prefix(oldest).is_some_and(|rest| rest.starts_with('='))
}

/// What it has for a version.
pub(super) fn at(history: &'static str, version: [u32; 3]) -> &'static str {
    all(history).rev().find(|(since, _)| numbers(since) <= version).map_or(GONE, |(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_every_line_is_found() {
        let lines: Vec<&str> = TABLE.lines().collect();
        assert!(lines.is_sorted() && lines.len() > 1500);
        for line in lines {
            let words: Vec<&str> = line.splitn(4, ' ').collect();
            if let [distribution, class, name, rest] = words[..]
                && class != "*"
            {
                assert_eq!(row(distribution, class, name), Some(rest), "{line}");
            }
        }
        assert_eq!(row("transformers", "TrainingArguments", "lr"), None);
        assert_eq!(at("4.40.2=bool 5.0.0=-", [4, 57, 1]), "bool");
        assert_eq!(at("4.40.2=bool 5.0.0=-", [5, 0, 0]), GONE);
        assert_eq!(at("4.40.2=bool", [4, 30, 0]), GONE);
    }
}
