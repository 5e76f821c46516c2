//! Recorded lists of a program's options (`src/recorded/`): sorted, one name with underscores a line, with a mark behind
//! it that says what the option takes. And the spellings argparse accepts for a name.

use std::cmp::Ordering;

/// The names in a list.
pub(crate) fn all(list: &str) -> impl Iterator<Item = &str> {
    list.lines().map(name_of)
}

/// A line of a list without its mark.
pub(crate) fn name_of(line: &str) -> &str {
    line.trim_end_matches(['!', '?'])
}

/// Whether a list has this name. A binary search: lists have hundreds of lines, and this is asked for every option of a
/// command.
pub(super) fn contains(list: &str, name: &str) -> bool {
    let (mut low, mut high) = (0, list.len());
    while low < high {
        let middle = low.midpoint(high);
        let start = list.as_bytes()[..middle].iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let end = list[start..].find('\n').map_or(list.len(), |at| start + at);
        match name_of(&list[start..end]).cmp(name) {
            Ordering::Equal => return true,
            Ordering::Less => low = end + 1,
            Ordering::Greater => high = start,
        }
    }
    false
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_every_recorded_list() {
        for list in [include_str!("../recorded/swift_sft.txt"), include_str!("../recorded/swift_rlhf.txt"), "a\n", ""] {
            for name in all(list) {
                assert!(contains(list, name), "{name}");
            }
            for absent in ["", "aa", "learning_rat", "zzz", "deepspeedy"] {
                assert!(!contains(list, absent), "{absent}");
            }
        }
    }
}
