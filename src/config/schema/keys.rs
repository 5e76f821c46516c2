//! The recorded file of keys, line by line. A key is looked up by binary search, and only its own line is read.

use std::str::Lines;
use std::sync::LazyLock;

use memchr::memchr2;

use crate::base::recorded::{Table, Version};

/// Sorted by key; the columns are explained in `tools/record/schema.py`.
pub const TEXT: &str = include_str!("../../recorded/deepspeed-schema.txt");

/// Each line with the last part of its key, because every unknown key of a config is compared with all of them.
static NAMED: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    TEXT.lines()
        .map(|line| (name_of(key_of(line)), line))
        .collect()
});

pub fn key_of(line: &'static str) -> &'static str {
    line.split('\t').next().unwrap_or(line)
}

pub fn name_of(key: &str) -> &str {
    key.rsplit_once('.').map_or(key, |(_, name)| name)
}

/// The lines from `key` on. Lines are sorted like their keys, because the tab behind a key is smaller than any letter.
pub fn lines_from(key: &str) -> Lines<'static> {
    Table(TEXT).from(key)
}

/// The keys right below a section; `""` is the top.
pub fn names_below(section: &str) -> impl Iterator<Item = &'static str> {
    let prefix = if section.is_empty() {
        String::new()
    } else {
        format!("{section}.")
    };
    let names =
        lines_from(&prefix).map_while(move |line| Some(key_of(line.strip_prefix(&prefix)?)));
    names.filter(|name| !name.contains(['.', '@']))
}

pub fn lines_named(name: &str) -> impl Iterator<Item = &'static str> {
    let lines = NAMED
        .iter()
        .filter(move |(own, line)| *own == name && !key_of(line).contains('@'));
    lines.map(|(_, line)| *line)
}

/// A column's text for a version. `new@0.17.1;old` is `new` since 0.17.1 and `old` before.
pub fn at(column: &'static str, version: Version) -> &'static str {
    // Most columns are the same for all versions.
    if memchr2(b'@', b';', column.as_bytes()).is_none() {
        return column;
    }
    let mut parts = column
        .split(';')
        .map(|part| part.rsplit_once('@').unwrap_or((part, "")));
    parts
        .find(|(_, since)| Version::parse(since) <= version)
        .map_or("-", |(text, _)| text)
}

pub fn columns(line: &'static str) -> [&'static str; 7] {
    let mut columns = line.split('\t');
    std::array::from_fn(|_| columns.next().unwrap_or_default())
}
