//! Recorded lists of a program's options (`src/recorded/`): sorted, one name with underscores a line, with a mark behind
//! it that says what the option takes. And the spellings argparse accepts for a name.

/// The names in a list.
pub(crate) fn all(list: &str) -> impl Iterator<Item = &str> {
    list.lines().map(name_of)
}

/// A line of a list without its mark.
pub(crate) fn name_of(line: &str) -> &str {
    line.trim_end_matches(['!', '?'])
}

/// Whether a name in the list starts like this, with underscores or with dashes.
pub(super) fn any_starts_with(list: &str, prefix: &str) -> bool {
    let prefix = if prefix.contains('_') { prefix.to_string() } else { prefix.replace('-', "_") };
    list.starts_with(&prefix) || list.contains(&format!("\n{prefix}"))
}

/// `--a_b` or `--a-b`, never a mixture.
pub(super) fn is_spelling(word: &str, name: &str) -> bool {
    word == name || (word.len() == name.len() && !word.contains('_') && starts_dashed(name, word))
}

/// Whether the name, written with dashes, starts like this.
pub(super) fn starts_dashed(name: &str, prefix: &str) -> bool {
    let dashed = name.bytes().map(|b| if b == b'_' { b'-' } else { b });
    name.len() >= prefix.len() && dashed.zip(prefix.bytes()).all(|(one, two)| one == two)
}
