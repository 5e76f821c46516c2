//! Recorded lists of a program's options (`src/recorded/`): sorted, one name with underscores a line, with a mark behind
//! it that says what the option takes. And the spellings argparse accepts for a name.

use crate::base::recorded::Table;

/// The names in a list.
pub fn all(list: Table) -> impl Iterator<Item = &'static str> {
    list.lines().map(name_of)
}

/// A line of a list without its mark: ` !` behind an option that takes no value, ` ?` behind one that may take one.
pub(crate) fn name_of(line: &str) -> &str {
    line.split(' ').next().unwrap_or(line)
}

/// Whether the list has this name.
pub fn contains(list: Table, name: &str) -> bool {
    list.from(name).next().is_some_and(|line| name_of(line) == name)
}

/// Whether a name in the list starts like this, with underscores or with dashes.
pub fn any_starts_with(list: Table, prefix: &str) -> bool {
    let prefix = if prefix.contains('_') { prefix.to_string() } else { prefix.replace('-', "_") };
    list.from(&prefix).next().is_some_and(|line| line.starts_with(&prefix))
}

/// `--a_b` or `--a-b`, never a mixture.
pub(crate) fn is_spelling(word: &str, name: &str) -> bool {
    word == name || (word.len() == name.len() && !word.contains('_') && starts_dashed(name, word))
}

/// Whether the name, written with dashes, starts like this.
pub(super) fn starts_dashed(name: &str, prefix: &str) -> bool {
    let dashed = name.bytes().map(|b| if b == b'_' { b'-' } else { b });
    name.len() >= prefix.len() && dashed.zip(prefix.bytes()).all(|(one, two)| one == two)
}
