//! A program that runs another command, from the recorded table, and which words are its own.

use std::ffi::OsString;

use super::tables::{PrefixProgram, Trait};
use crate::command::target::base_name;

pub enum Barrier {
    /// There may be no zlaunch in the container.
    Container(&'static str),
    /// This option changes the folder or drops the variables.
    Option(String),
    /// Without this option it drops the variables.
    Without(&'static str, &'static str),
}

pub(super) struct GivenOption {
    /// As the table writes it.
    pub(super) name: String,
    pub(super) value: Option<OsString>,
}

impl PrefixProgram {
    pub(super) fn has(&self, wanted: Trait) -> bool {
        self.traits.contains(&wanted)
    }

    /// The number of words between its options and the command.
    pub(super) fn words(&self) -> usize {
        let mut words = self.traits.iter().filter_map(|it| match it {
            Trait::Words(count) => Some(*count),
            _ => None,
        });
        words.next().unwrap_or(0)
    }

    pub(super) fn name_in(&self, words: &[OsString]) -> Option<&'static str> {
        let mut names = self.names.iter().copied();
        names.find(|name| {
            let mut parts = name.split(' ').zip(words);
            let is_program = parts
                .next()
                .is_some_and(|(part, word)| base_name(word) == part);
            is_program
                && name.split(' ').count() <= words.len()
                && parts.all(|(part, word)| word == part)
        })
    }

    /// Its options and the word behind them. `None` where one of them is not known: it may take the next word.
    pub(super) fn read_options(
        &self,
        words: &[OsString],
        mut at: usize,
    ) -> Option<(Vec<GivenOption>, usize)> {
        let mut options = Vec::new();
        while let Some(word) = words
            .get(at)
            .filter(|word| word.as_encoded_bytes().starts_with(b"-"))
        {
            at += 1;
            if word == "--" {
                break;
            }
            let next = words.get(at);
            at += usize::from(self.read_option(word.to_str()?, next, &mut options)?);
        }
        Some((options, at))
    }

    /// `true`: the next word is its value.
    fn read_option(
        &self,
        word: &str,
        next: Option<&OsString>,
        options: &mut Vec<GivenOption>,
    ) -> Option<bool> {
        let has = |list: &[&str], name: &str| list.contains(&name);
        if word.starts_with("--") || has(self.with_value, word) || has(self.switches, word) {
            let (name, joined) = word
                .split_once('=')
                .map_or((word, None), |(name, value)| (name, Some(value.into())));
            let takes_next = joined.is_none() && has(self.with_value, name);
            let known = takes_next || has(self.with_value, name) || has(self.switches, name);
            options.push(GivenOption {
                name: name.to_string(),
                value: if takes_next {
                    Some(next?.clone())
                } else {
                    joined
                },
            });
            return known.then_some(takes_next);
        }
        if has(self.switches, "-#") && word[1..].parse::<u32>().is_ok() {
            return Some(false);
        }
        // `-oL`, `-wf`: letters, the last of which may have its value behind it.
        for (at, letter) in word.char_indices().skip(1) {
            let name = format!("-{letter}");
            let behind = &word[at + letter.len_utf8()..];
            if has(self.with_value, &name) {
                let takes_next = behind.is_empty();
                let value = if takes_next {
                    next?.clone()
                } else {
                    behind.into()
                };
                options.push(GivenOption {
                    name,
                    value: Some(value),
                });
                return Some(takes_next);
            }
            if !has(self.switches, &name) {
                return None;
            }
            options.push(GivenOption { name, value: None });
        }
        Some(false)
    }

    pub(super) fn barrier(&self, name: &'static str, options: &[GivenOption]) -> Option<Barrier> {
        if self.has(Trait::Container) {
            return Some(Barrier::Container(name));
        }
        let is_given = |wanted: &str| options.iter().any(|option| option.name == wanted);
        for it in self.traits {
            if let Trait::KeepsVariablesWith(needed) = it
                && !is_given(needed)
            {
                return Some(Barrier::Without(name, needed));
            }
        }
        let barring = self.barring.iter().find(|option| is_given(option))?;
        Some(Barrier::Option(format!("{name} {barring}")))
    }
}
