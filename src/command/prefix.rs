//! Programs in front of a command: `env A=1`, `nice -n 5`, `uv run`. They stay in front and zlaunch goes
//! behind them, where it finds the variables and the Python that they bring.

pub mod tables;

use std::ffi::{OsStr, OsString};

use crate::{
    base::vars,
    command::{
        argv::split_joined,
        target::{base_name, is_python},
        trainer,
    },
};
use tables::{PROGRAMS, PrefixProgram};

#[derive(Default)]
pub struct Prefix {
    layers: Vec<Layer>,
    /// The words behind the prefix.
    pub command: Vec<OsString>,
    /// Variables that the prefix sets and removes for the command.
    pub set: Vec<(OsString, OsString)>,
    pub unset: Vec<OsString>,
    /// The program among them that brings a Python of its own.
    pub own_python: Option<&'static str>,
    /// The reason why zlaunch cannot go behind it.
    pub barrier: Option<Barrier>,
}

struct Layer {
    name: &'static str,
    words: Vec<OsString>,
}

impl Prefix {
    pub fn is_one(word: &OsStr) -> bool {
        let name = base_name(word);
        PROGRAMS
            .iter()
            .flat_map(|program| program.names)
            .any(|known| known.split(' ').next() == Some(name))
    }

    /// Splits off everything that is known to run the words behind it.
    pub fn split(command: &[OsString]) -> Option<Self> {
        let mut prefix = Prefix::default();
        let mut words = command.to_vec();
        while let Some(behind) = prefix.take(&words) {
            words = behind;
        }
        prefix.command = words;
        (!prefix.layers.is_empty()).then_some(prefix)
    }

    pub fn name(&self) -> &'static str {
        self.layers[0].name
    }

    /// The one that must be on this PATH.
    pub fn program(&self) -> &OsString {
        &self.layers[0].words[0]
    }

    pub fn in_front_of(&self, command: Vec<OsString>) -> Vec<OsString> {
        self.layers
            .iter()
            .flat_map(|layer| layer.words.clone())
            .chain(command)
            .collect()
    }

    /// Takes one layer off these words, and returns those behind it.
    fn take(&mut self, words: &[OsString]) -> Option<Vec<OsString>> {
        let first = words.first()?;
        // Most commands start with one of these, so the table need not be read.
        if is_python(first) || trainer::is_console(first) {
            return None;
        }
        // A shell takes it for a variable of the command.
        if self.layers.is_empty() && assignment(first).is_some() {
            return self.take_program(&[&[OsString::from("env")], words].concat());
        }
        self.take_program(words)
    }

    fn take_program(&mut self, words: &[OsString]) -> Option<Vec<OsString>> {
        let (program, name) = PROGRAMS
            .iter()
            .find_map(|program| Some((program, program.name_in(words)?)))?;
        let (options, mut at) = program.read_options(words, name.split(' ').count())?;
        let mut set = vec![];
        if program.assignments {
            set.extend(words[at.min(words.len())..].iter().map_while(assignment));
            at += set.len();
        }
        at += program.words;
        words.get(at..).filter(|behind| !behind.is_empty())?;
        self.set.extend(set);
        if name == "env" {
            self.unset.extend(
                options
                    .iter()
                    .filter(|option| option.name == "-u" || option.name == "--unset")
                    .filter_map(|option| option.value.clone()),
            );
        }
        if program.own_python {
            self.own_python.get_or_insert(name);
        }
        if self.barrier.is_none() {
            self.barrier = program.barrier(name, &options);
        }
        self.layers.push(Layer {
            name,
            words: words[..at].to_vec(),
        });
        Some(words[at..].to_vec())
    }
}

fn assignment(word: &OsString) -> Option<(OsString, OsString)> {
    let (name, value) = word.to_str()?.split_once('=')?;
    vars::is_name(name).then(|| (name.into(), value.into()))
}

pub enum Barrier {
    /// There may be no zlaunch in the container.
    Container(&'static str),
    /// This option changes the folder or drops the variables.
    Option(String),
    /// Without this option it drops the variables.
    Without(&'static str, &'static str),
}

struct GivenOption {
    /// As the table writes it.
    name: String,
    value: Option<OsString>,
}

impl PrefixProgram {
    fn name_in(&self, words: &[OsString]) -> Option<&'static str> {
        self.names.iter().copied().find(|name| {
            let parts: Vec<&str> = name.split(' ').collect();
            let given = words.get(..parts.len());
            given.is_some_and(|given| {
                base_name(&given[0]) == parts[0] && given[1..].iter().eq(&parts[1..])
            })
        })
    }

    /// Its options and the word behind them. `None` where one of them is not known: it may take the next word.
    fn read_options(&self, words: &[OsString], mut at: usize) -> Option<(Vec<GivenOption>, usize)> {
        let mut options = vec![];
        while let Some(word) = words
            .get(at)
            .filter(|word| word.as_encoded_bytes().starts_with(b"-"))
        {
            at += 1;
            if word == "--" {
                break;
            }
            at += usize::from(self.read_option(word.to_str()?, words.get(at), &mut options)?);
        }
        Some((options, at))
    }

    /// `true`: the next word is the value of the last option in this one.
    fn read_option(
        &self,
        word: &str,
        next: Option<&OsString>,
        options: &mut Vec<GivenOption>,
    ) -> Option<bool> {
        let is_switch = |name: &str| self.switches.contains(&name);
        let is_long = word.starts_with("--");
        let (name, joined) = if is_long {
            split_joined(word)
        } else if is_switch(word) || self.with_value.contains(&word) {
            (word, None)
        } else {
            let (letter, behind) = word.split_at_checked(2)?;
            (letter, Some(behind))
        };
        let takes_value = self.with_value.contains(&name);
        let takes_next = takes_value && joined.is_none();
        if takes_value || is_switch(name) && (is_long || joined.is_none()) {
            let value = if takes_next {
                Some(next?.clone())
            } else {
                joined.map(OsString::from)
            };
            let name = name.to_string();
            options.push(GivenOption { name, value });
            return Some(takes_next);
        }
        // `-wf`, or `-5` of nice
        let letters = word.chars().skip(1).map(|letter| GivenOption {
            name: format!("-{letter}"),
            value: None,
        });
        options.extend(letters.clone());
        let is_number = is_switch("-#") && word[1..].parse::<u32>().is_ok();
        let are_known = letters.clone().all(|letter| is_switch(&letter.name));
        (!is_long && (is_number || are_known)).then_some(false)
    }

    fn barrier(&self, name: &'static str, options: &[GivenOption]) -> Option<Barrier> {
        if self.container {
            return Some(Barrier::Container(name));
        }
        let is_given = |wanted: &str| options.iter().any(|option| option.name == wanted);
        if let Some(needed) = self.keeps_variables_with
            && !is_given(needed)
        {
            return Some(Barrier::Without(name, needed));
        }
        let barring = self.barring.iter().find(|option| is_given(option))?;
        Some(Barrier::Option(format!("{name} {barring}")))
    }
}
