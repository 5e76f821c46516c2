//! Recorded lists of a program's options (`src/recorded/`): sorted, one name with underscores a line, with a mark behind
//! it that says what the option takes. And the spellings argparse accepts for a name.

use crate::base::recorded::Table;

/// The names in a list.
pub(crate) fn all(list: Table) -> impl Iterator<Item = &'static str> {
    list.lines().map(name_of)
}

/// A line of a list without its mark: ` !` behind an option that takes no value, ` ?` behind one that may take one.
pub(crate) fn name_of(line: &str) -> &str {
    line.split(' ').next().unwrap_or(line)
}

/// Whether the list has this name.
pub(super) fn contains(list: Table, name: &str) -> bool {
    list.from(name).next().is_some_and(|line| name_of(line) == name)
}

/// Whether a name in the list starts like this, with underscores or with dashes.
pub(super) fn any_starts_with(list: Table, prefix: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_recorded_list_is_found() {
        for list in [
            include_str!("../recorded/swift_sft.txt"),
            include_str!("../recorded/swift_rlhf.txt"),
            include_str!("../recorded/swift_infer.txt"),
            include_str!("../recorded/xtuner.txt"),
        ]
        .map(Table)
        {
            for name in all(list) {
                assert!(contains(list, name) && any_starts_with(list, &name[..1]), "{name}");
                assert!(any_starts_with(list, name) && any_starts_with(list, &name.replace('_', "-")), "{name}");
                assert!(!contains(list, &format!("{name}~")) && !any_starts_with(list, &format!("{name}~")), "{name}");
            }
            assert!(!contains(list, "") && !contains(list, "zzz") && !any_starts_with(list, "zzz"));
        }
    }
}
