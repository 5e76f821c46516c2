//! Options of a section: `training.deepspeed=zero3` as hydra takes them, `--training.deepspeed zero3` as tyro does.

use std::ffi::{OsStr, OsString};

use crate::command::argv::is_value;

/// An option of a section, as it stands in the command.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NestedOption<'a> {
    /// Without its value: `training.deepspeed`.
    pub(super) spelled: &'a str,
    pub(super) value: &'a str,
    /// The word that holds the value, and where in it the value starts.
    at: (usize, usize),
}

/// The option of that name in some section. Of several, the last counts.
pub(super) fn find<'a>(words: &'a [OsString], name: &str) -> Option<NestedOption<'a>> {
    (0..words.len()).rev().find_map(|at| option_at(words, at, name))
}

fn option_at<'a>(words: &'a [OsString], at: usize, name: &str) -> Option<NestedOption<'a>> {
    let word = words[at].to_str()?;
    let spelled = word.split('=').next()?;
    // hydra's `+` adds a key, `++` adds or replaces it.
    let key = spelled.trim_start_matches('+');
    let (section, last) = key.trim_start_matches("--").rsplit_once('.')?;
    let is_key = section.chars().all(|c| c.is_alphanumeric() || "._-@".contains(c)) && !section.starts_with('-');
    if last != name || !is_key || section.is_empty() {
        return None;
    }
    match word.get(spelled.len() + 1..) {
        Some(value) => Some(NestedOption { spelled, value: unquoted(value), at: (at, spelled.len() + 1) }),
        None if key.starts_with("--") => {
            let value = words.get(at + 1).filter(|word| is_value(word))?.to_str()?;
            Some(NestedOption { spelled, value, at: (at + 1, 0) })
        }
        None => None,
    }
}

/// hydra reads `'zero3'` and `"zero3"` as zero3.
fn unquoted(value: &str) -> &str {
    let inner = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
    inner('\'').or_else(|| inner('"')).unwrap_or(value)
}

/// The words with another value for the option of that name.
pub(super) fn with_value(words: &[OsString], name: &str, value: &OsStr) -> Vec<OsString> {
    let mut changed = words.to_vec();
    if let Some((at, start)) = find(words, name).map(|option| option.at) {
        let mut word = OsString::from(&changed[at].to_str().unwrap_or_default()[..start]);
        word.push(value);
        changed[at] = word;
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_of_a_section_is_found_and_replaced() {
        for (line, spelled, value, replaced) in [
            ("a=1 trainer.deepspeed=zero3", "trainer.deepspeed", "zero3", "a=1 trainer.deepspeed=/c.json"),
            ("++t.args.deepspeed='z3' b=1", "++t.args.deepspeed", "z3", "++t.args.deepspeed=/c.json b=1"),
            ("--training.deepspeed z.json --x", "--training.deepspeed", "z.json", "--training.deepspeed /c.json --x"),
            ("--training.deepspeed=null", "--training.deepspeed", "null", "--training.deepspeed=/c.json"),
            ("t.deepspeed=a t.deepspeed=b", "t.deepspeed", "b", "t.deepspeed=a t.deepspeed=/c.json"),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let found = find(&words, "deepspeed").unwrap();
            assert_eq!((found.spelled, found.value), (spelled, value), "{line}");
            let joined = with_value(&words, "deepspeed", OsStr::new("/c.json")).join(OsStr::new(" "));
            assert_eq!(joined, replaced, "{line}");
        }
        for line in ["--deepspeed zero3", "deepspeed=zero3", "t.deepspeed_config=x", "a/b.deepspeed=x", "t.deepspeed"] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(find(&words, "deepspeed"), None, "{line}");
            assert_eq!(with_value(&words, "deepspeed", OsStr::new("c")), words, "{line}");
        }
    }
}
