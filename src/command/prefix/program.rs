//! A program that runs another command, from the recorded table, and which words are its own.

use std::ffi::OsString;

use crate::command::target::base_name;

#[derive(Default)]
pub struct PrefixProgram {
    /// `nice`, `uv run`, with commas.
    pub names: &'static str,
    /// Options that take a value, in the next word or joined to them.
    pub with_value: &'static str,
    /// Options without a value, or with one only after `=`. `-#` is a dash and a number.
    pub switches: &'static str,
    /// Options that change the folder or drop the variables.
    pub barring: &'static str,
    /// The option without which it drops all variables.
    pub keeps_variables: Option<&'static str>,
    pub(super) words: usize,
    pub(super) sets_variables: bool,
    /// It runs the Python of another environment than PATH shows.
    pub own_python: bool,
    pub container: bool,
}

pub enum Barrier {
    /// There may be no zlaunch in the container.
    Container(&'static str),
    /// This option changes the folder or drops the variables.
    Option(String),
    /// Without this option it drops the variables.
    Without(&'static str, &'static str),
}

/// The options as they are named in the table, with their values.
type Options = Vec<(String, Option<OsString>)>;

impl PrefixProgram {
    pub(super) fn name_in(&self, words: &[OsString]) -> Option<&'static str> {
        self.names.split(", ").find(|name| {
            let mut parts = name.split(' ');
            let is_program = parts
                .next()
                .is_some_and(|program| base_name(&words[0]) == program);
            is_program
                && parts
                    .zip(1..)
                    .all(|(part, at)| words.get(at).is_some_and(|word| word == part))
        })
    }

    /// Its options and the word behind them. `None` where one of them is not known: it may take the next word.
    pub(super) fn read_options(
        &self,
        words: &[OsString],
        mut at: usize,
    ) -> Option<(Options, usize)> {
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
        options: &mut Options,
    ) -> Option<bool> {
        let has = |list: &str, name: &str| list.split(' ').any(|own| own == name);
        if word.starts_with("--") || has(self.with_value, word) || has(self.switches, word) {
            let (name, joined) = word
                .split_once('=')
                .map_or((word, None), |(name, value)| (name, Some(value.into())));
            let takes_next = joined.is_none() && has(self.with_value, name);
            let known = takes_next || has(self.with_value, name) || has(self.switches, name);
            options.push((
                name.to_string(),
                if takes_next {
                    Some(next?.clone())
                } else {
                    joined
                },
            ));
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
                options.push((
                    name,
                    Some(if takes_next {
                        next?.clone()
                    } else {
                        behind.into()
                    }),
                ));
                return Some(takes_next);
            }
            if !has(self.switches, &name) {
                return None;
            }
            options.push((name, None));
        }
        Some(false)
    }

    pub(super) fn barrier(&self, name: &'static str, options: &Options) -> Option<Barrier> {
        if self.container {
            return Some(Barrier::Container(name));
        }
        let mut given = options.iter().map(|(option, _)| option.as_str());
        if let Some(needed) = self
            .keeps_variables
            .filter(|needed| !given.clone().any(|option| option == *needed))
        {
            return Some(Barrier::Without(name, needed));
        }
        let option =
            given.find(|option| self.barring.split(' ').any(|barring| barring == *option))?;
        Some(Barrier::Option(format!("{name} {option}")))
    }
}

pub fn all() -> impl Iterator<Item = PrefixProgram> {
    include_str!("../../recorded/prefixes.txt")
        .split("\n\n")
        .filter_map(parse)
}

/// Nothing for the first block, which only has comments.
fn parse(block: &'static str) -> Option<PrefixProgram> {
    let mut lines = block.lines().filter(|line| !line.starts_with('#'));
    let (names, traits) = lines
        .next()
        .map(|head| head.split_once(" | ").unwrap_or((head, "")))?;
    let mut program = PrefixProgram {
        names,
        ..PrefixProgram::default()
    };
    let traits = traits
        .split(' ')
        .map(|word| word.split_once('=').unwrap_or((word, "")));
    for (word, value) in traits.chain(lines.filter_map(|line| line.split_once(' '))) {
        match word {
            "words" => program.words = value.parse().unwrap_or_default(),
            "needs" => program.keeps_variables = Some(value),
            "assignments" => program.sets_variables = true,
            "python" => program.own_python = true,
            "container" => program.container = true,
            "value" => program.with_value = value,
            "switch" => program.switches = value,
            "outside" => program.barring = value,
            _ => {}
        }
    }
    Some(program)
}
