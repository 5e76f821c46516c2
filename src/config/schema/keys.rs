//! The recorded file of keys, line by line. A key is looked up by binary search, and only its own line is read.

use std::str::Lines;
use std::sync::LazyLock;

use crate::base::recorded::{Table, Version};

/// Sorted by key; the columns are explained in `tools/record/schema.py`.
const TEXT: &str = include_str!("../../recorded/deepspeed-schema.txt");

const TABLE: Table = Table(TEXT);

/// Each line with the last part of its key. Every unknown key of a config is compared with all of them.
static NAMED: LazyLock<Vec<(&str, &str)>> =
    LazyLock::new(|| TEXT.lines().map(|line| (name_of(key_of(line)), line)).collect());

pub(super) fn key_of(line: &'static str) -> &'static str {
    line.split('\t').next().unwrap_or(line)
}

/// The last part of a dotted key.
pub(crate) fn name_of(key: &str) -> &str {
    key.rsplit_once('.').map_or(key, |(_, name)| name)
}

/// The lines from the first one whose key is not smaller. Whole lines compare as their keys do: the tab behind a key is
/// smaller than anything in one.
pub(super) fn lines_from(key: &str) -> Lines<'static> {
    TABLE.from(key)
}

/// The names of the keys right below a section; `""` is the top.
pub(crate) fn names_below(section: &str) -> impl Iterator<Item = &'static str> {
    let prefix = if section.is_empty() { String::new() } else { format!("{section}.") };
    let names = lines_from(&prefix).map_while(move |line| Some(key_of(line.strip_prefix(&prefix)?)));
    names.filter(|name| !name.contains(['.', '@']))
}

/// The lines of every key with that last part.
pub(super) fn lines_named(name: &str) -> impl Iterator<Item = &'static str> {
    let lines = NAMED.iter().filter(move |(own, line)| *own == name && !key_of(line).contains('@'));
    lines.map(|(_, line)| *line)
}

/// What a column says of a version. `new@0.17.1;old`: what holds since when, the newest first.
pub(super) fn at(column: &'static str, version: Version) -> &'static str {
    let mut parts = column.split(';').map(|part| part.rsplit_once('@').unwrap_or((part, "")));
    parts.find(|(_, since)| Version::parse(since) <= version).map_or("-", |(text, _)| text)
}

/// The seven columns of a line.
pub(super) fn columns(line: &'static str) -> [&'static str; 7] {
    let mut columns = line.split('\t');
    std::array::from_fn(|_| columns.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::super::newest;
    use super::super::value_type::{ValueRange, ValueType};
    use super::*;

    #[test]
    fn the_file_is_sorted_and_every_line_is_found() {
        let keys: Vec<&str> = TEXT.lines().map(key_of).collect();
        assert!(TEXT.is_ascii() && keys.is_sorted() && keys.len() > 450);
        for key in keys {
            assert_eq!(lines_from(key).next().map(key_of), Some(key));
            assert!(lines_from(&format!("{key}x")).next().is_none_or(|line| key_of(line) != key));
        }
        assert!(TEXT.lines().all(|line| line.split('\t').count() == 7));
    }

    #[test]
    fn every_type_and_range_is_one_that_is_judged() {
        for line in TEXT.lines() {
            let [_, kind, range, ..] = columns(line);
            for kind in history(kind) {
                let kind = kind.trim_start_matches('~').trim_end_matches('?');
                assert!(ValueType::parse(kind).is_some(), "{line}");
            }
            assert!(history(range).all(|range| range == "-" || ValueRange::parse(range).is_some()), "{line}");
        }
    }

    fn history(column: &'static str) -> impl Iterator<Item = &'static str> {
        column.split(';').map(|part| part.split('@').next().unwrap())
    }

    #[test]
    fn sections_know_their_keys() {
        let names: Vec<_> = names_below("zero_optimization.offload_param").collect();
        assert!(names.len() == 6 && names.contains(&"max_in_cpu"), "{names:?}");
        assert!(names_below("").any(|name| name == "train_batch_size"));
        assert!(!names_below("").any(|name| name.contains('.')));
        assert!(TEXT.lines().all(|line| lines_from(line).next() == Some(line)));
        assert_eq!(lines_named("stage3_prefetch_bucket_size").count(), 1);
    }

    #[test]
    fn a_column_says_what_holds_in_a_version() {
        assert_eq!(at("int", newest()), "int");
        for (version, holds) in [("0.14.3", "c"), ("0.14.4", "b"), ("0.16.5", "b"), ("0.16.6", "a"), ("0.20.0", "a")] {
            assert_eq!(at("a@0.16.6;b@0.14.4;c", Version::parse(version)), holds, "{version}");
        }
    }
}
