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

/// Whether the list has this name.
pub(super) fn contains(list: &str, name: &str) -> bool {
    all(lines_from(list, name)).next() == Some(name)
}

/// Whether a name in the list starts like this, with underscores or with dashes.
pub(super) fn any_starts_with(list: &str, prefix: &str) -> bool {
    let prefix = if prefix.contains('_') { prefix.to_string() } else { prefix.replace('-', "_") };
    lines_from(list, &prefix).starts_with(&prefix)
}

/// The lines of a list from the first name on that is not smaller, by binary search: every option of a command is looked
/// up at every launch, and a list has hundreds.
fn lines_from<'l>(list: &'l str, name: &str) -> &'l str {
    let (mut start, mut end) = (0, list.len());
    while start < end {
        let before = &list[start..start.midpoint(end)];
        let line_start = before.bytes().rposition(|b| b == b'\n').map_or(start, |at| start + at + 1);
        let line = &list[line_start..end];
        let line = &line[..line.bytes().position(|b| b == b'\n').unwrap_or(line.len())];
        if name_of(line) < name {
            start = list.len().min(line_start + line.len() + 1);
        } else {
            end = line_start;
        }
    }
    &list[start..]
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
        ] {
            for name in all(list) {
                assert!(contains(list, name) && any_starts_with(list, &name[..1]), "{name}");
                assert!(any_starts_with(list, name) && any_starts_with(list, &name.replace('_', "-")), "{name}");
                assert!(!contains(list, &format!("{name}~")) && !any_starts_with(list, &format!("{name}~")), "{name}");
            }
            assert!(!contains(list, "") && !contains(list, "zzz") && !any_starts_with(list, "zzz"));
        }
        // The mark behind a name has no part in the order: `?` is greater than a digit.
        let list = "a?\na2!\nb";
        assert!(["a", "a2", "b"].iter().all(|name| contains(list, name)));
        assert!(any_starts_with("", "") && !any_starts_with("", "a"));
    }
}
