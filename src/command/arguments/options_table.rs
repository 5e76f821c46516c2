//! The recorded table of the parsers' options: a class of arguments, an argument and what it takes, by version.

use crate::base::recorded::Table;
use crate::command::defaults::ArgumentClass;

const TABLE: Table = Table(include_str!("../../recorded/arguments.txt"));

/// The line that names the classes whose arguments a class has besides its own.
const PARTS: &str = "^";

/// There is no such argument.
pub(super) const GONE: &str = "-";

/// What stands behind an argument of a class.
pub fn row(class: ArgumentClass, argument: &str) -> Option<&'static str> {
    TABLE.find(&[class.distribution, class.name, argument])
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
pub fn names(class: ArgumentClass) -> impl Iterator<Item = &'static str> + use<> {
    let lines = TABLE.below(&[class.distribution, class.name]);
    lines.filter_map(|line| line.split(' ').next()).filter(|name| *name != PARTS)
}

/// The versions that were read, the oldest first.
pub fn recorded(distribution: &str) -> Option<&'static str> {
    TABLE.find(&[distribution, "*"])
}

/// Whether every recorded version has the same.
pub(super) fn is_constant(history: &str) -> bool {
    history.starts_with('=')
}
