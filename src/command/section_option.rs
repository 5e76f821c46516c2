//! Options in a section: `training.deepspeed=zero3` as hydra takes them, `--training.deepspeed zero3` as tyro does.

use std::ffi::{OsStr, OsString};

use crate::command::argv::{is_value, split_joined};

#[derive(Debug, PartialEq, Eq)]
pub struct SectionOption<'a> {
    /// Without its value: `training.deepspeed`.
    pub spelled: &'a str,
    pub value: &'a str,
    /// The word that holds the value.
    at: usize,
}

/// The last option of that name, in any section.
pub fn find<'a>(words: &'a [OsString], name: &str) -> Option<SectionOption<'a>> {
    let ending = format!(".{name}");
    (0..words.len()).rev().find_map(|at| {
        let (spelled, joined) = split_joined(words[at].to_str()?);
        let section = spelled.strip_suffix(&ending)?;
        let (value, at) = match joined {
            Some(value) => (value, at),
            None if spelled.starts_with("--") => {
                let next = words.get(at + 1).filter(|word| is_value(word))?;
                (next.to_str()?, at + 1)
            }
            None => return None,
        };
        let option = SectionOption { spelled, value, at };
        (!section.is_empty() && !section.contains('/')).then_some(option)
    })
}

pub fn with_value(words: &[OsString], name: &str, value: &OsStr) -> Vec<OsString> {
    let mut changed = words.to_vec();
    if let Some(option) = find(words, name) {
        let is_joined = words[option.at] != option.value;
        let spelled = format!("{}=", option.spelled);
        let mut word = OsString::from(if is_joined { &spelled } else { "" });
        word.push(value);
        changed[option.at] = word;
    }
    changed
}
