//! Options in a section: `training.deepspeed=zero3` as hydra takes them, `--training.deepspeed zero3` as tyro does.

use std::ffi::{OsStr, OsString};

use crate::command::argv::is_value;

#[derive(Debug, PartialEq, Eq)]
pub struct SectionOption<'a> {
    /// Without its value: `training.deepspeed`.
    pub spelled: &'a str,
    pub value: &'a str,
    /// The word that holds the value, and the byte of it where the value starts.
    at: (usize, usize),
}

/// The last option of that name, in any section.
pub fn find<'a>(words: &'a [OsString], name: &str) -> Option<SectionOption<'a>> {
    (0..words.len())
        .rev()
        .find_map(|at| option_at(words, at, name))
}

fn option_at<'a>(words: &'a [OsString], at: usize, name: &str) -> Option<SectionOption<'a>> {
    let word = words[at].to_str()?;
    let spelled = word.split('=').next()?;
    // hydra's `+` adds a key, `++` adds or replaces it.
    let key = spelled.trim_start_matches('+');
    let (section, last) = key.trim_start_matches("--").rsplit_once('.')?;
    let is_key = section
        .chars()
        .all(|c| c.is_alphanumeric() || "._-@".contains(c))
        && !section.starts_with('-');
    if last != name || !is_key || section.is_empty() {
        return None;
    }
    let (value, at) = match word.get(spelled.len() + 1..) {
        Some(value) => {
            // hydra reads `'zero3'` and `"zero3"` as zero3.
            let inner = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
            let value = inner('\'').or_else(|| inner('"')).unwrap_or(value);
            (value, (at, spelled.len() + 1))
        }
        None if key.starts_with("--") => {
            let value = words.get(at + 1).filter(|word| is_value(word))?.to_str()?;
            (value, (at + 1, 0))
        }
        None => return None,
    };
    Some(SectionOption { spelled, value, at })
}

pub fn with_value(words: &[OsString], name: &str, value: &OsStr) -> Vec<OsString> {
    let mut changed = words.to_vec();
    if let Some((at, start)) = find(words, name).map(|option| option.at) {
        let mut word = OsString::from(&changed[at].to_str().unwrap_or_default()[..start]);
        word.push(value);
        changed[at] = word;
    }
    changed
}
