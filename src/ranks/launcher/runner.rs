//! How a launcher's own command line reads: a table for each, and what the tables share.

use std::ffi::{OsStr, OsString};

use super::Launcher;
use crate::base::python_value;
use crate::base::source::{Source, Sourced};
use crate::command::argv::{Args, Field, OptionList};
use crate::command::option_names::name_of;
use crate::command::target::{Target, base_name, is_python, is_script, of_python};
use crate::host::Host;
use crate::ranks::topology::{Processes, RankFlags};

/// A launcher that a command may start with.
pub(crate) struct Runner {
    pub(crate) kind: Launcher,
    /// What it is called in sentences, where that is not the program in the command.
    pub(super) title: Option<&'static str>,
    /// Console scripts, each with the sub-command it needs.
    pub(super) programs: &'static [(&'static str, Option<&'static str>)],
    pub(super) modules: &'static [&'static str],
    /// The module to run it with another interpreter.
    pub(super) module: &'static str,
    /// All of its options (see `src/recorded`).
    pub(super) options: &'static str,
    /// Short options and what they stand for.
    pub(super) short: &'static [(&'static str, &'static str)],
    pub(super) fields: &'static [Field],
    /// Our options and their names there.
    pub(super) same: &'static [(&'static str, &'static str)],
    /// Options that state the number of processes.
    pub(super) count: &'static [&'static str],
    pub(super) counts: Counts,
    /// The config can be handed to the launcher itself.
    pub(super) config: Option<OwnConfig>,
    /// What its flags, its variables and its files state about ranks.
    pub(super) stated: fn(&Args, &Host) -> RankFlags,
}

/// What the number of processes means to a launcher.
#[derive(Clone, Copy)]
pub(super) enum Counts {
    /// Those of each machine, also in words such as `gpu`.
    EachInWords,
    Each,
    /// Those of all machines together.
    All,
}

/// How a launcher takes a config.
pub(super) struct OwnConfig {
    /// The option that names it.
    pub(super) option: &'static str,
    /// The switch without which that option is not read.
    pub(super) switch: &'static str,
    /// The config that its run file names.
    pub(super) in_file: fn(&Args, &Host) -> Option<Sourced<String>>,
    /// What each rank finds in its environment, where torchrun with these variables is exactly the same launch.
    pub(super) as_torchrun: fn(&Flags, &OsStr, &Host) -> Option<Variables>,
}

pub(super) type Variables = Vec<(&'static str, OsString)>;

/// The flags of a launcher in a command.
pub(super) struct Flags<'a> {
    pub(super) words: &'a [OsString],
    pub(super) read: &'a Args,
    pub(super) several_machines: bool,
}

impl Runner {
    /// How many words of the command name the launcher.
    pub(super) fn head(&self, command: &[OsString]) -> Option<usize> {
        let first = command.first()?;
        if is_python(first) {
            let (target, used) = of_python(&command[1..])?;
            let Target::Module { name, .. } = target else { return None };
            return self.modules.iter().any(|module| name == *module).then_some(used + 1);
        }
        let (_, command_word) = self.programs.iter().find(|(program, _)| *program == base_name(first))?;
        match command_word {
            Some(word) => (command.get(1)? == *word).then_some(2),
            None => Some(1),
        }
    }

    pub(super) fn read(&self, flags: &[OsString]) -> Args {
        // `-i VALUE` and `-iVALUE` are `--include VALUE`.
        let long = flags.iter().flat_map(|flag| {
            let text = flag.to_str().unwrap_or_default();
            match self.short.iter().find(|(short, _)| text.starts_with(short)) {
                Some((short, name)) if text.len() > short.len() => {
                    vec![format!("--{name}").into(), OsString::from(&text[short.len()..])]
                }
                Some((_, name)) => vec![format!("--{name}").into()],
                None => vec![flag.clone()],
            }
        });
        Args::read(long.collect(), self.fields, OptionList::Known(self.options))
    }

    /// Options among these words that state ranks, with the name of ours for each.
    pub(super) fn topology_options(&self, words: &[OsString]) -> Vec<(&'static str, Sourced<String>)> {
        let read = self.read(words);
        self.same.iter().filter_map(|(ours, there)| Some((*ours, read.text(there)?))).collect()
    }

    /// How many words from the start are options and their values.
    pub(super) fn count_flags(&self, words: &[OsString]) -> usize {
        let mut at = 0;
        // A `$FLAGS` that no shell expanded stands for flags, not for the script.
        while let Some(word) = words.get(at).and_then(|word| word.to_str()).filter(|word| word.starts_with(['-', '$']))
        {
            if word == "--" {
                break;
            }
            at += if self.takes_value(word, words.get(at + 1)) { 2 } else { 1 };
        }
        at.min(words.len())
    }

    fn takes_value(&self, word: &str, next: Option<&OsString>) -> bool {
        let name = match word.strip_prefix("--") {
            Some(name) if name.contains('=') => return false,
            Some(name) => name.replace('-', "_"),
            None => match self.short.iter().find(|(short, _)| *short == word) {
                Some((_, name)) => (*name).to_string(),
                None => return false,
            },
        };
        let exact = self.options.lines().find(|line| name_of(line) == name);
        match exact.or_else(|| self.options.lines().find(|line| line.starts_with(&name))) {
            Some(line) => !line.ends_with('!'),
            // An option of another version: a script behind it is rather the script than its value.
            None => next.is_some_and(|next| !is_script(next) && !next.as_encoded_bytes().starts_with(b"-")),
        }
    }
}

/// A number an option states.
pub(super) fn count(read: &Args, name: &str) -> Option<Sourced<u32>> {
    let sourced = read.text(name)?;
    let value = u32::try_from(python_value::int(&sourced.value)?).ok()?;
    Some(Sourced::new(value, sourced.from))
}

pub(super) fn port(read: &Args, name: &str) -> Option<Sourced<u16>> {
    count(read, name).and_then(|sourced| Some(Sourced::new(u16::try_from(sourced.value).ok()?, sourced.from)))
}

pub(super) fn processes(sourced: &Sourced<String>) -> Option<Sourced<Processes>> {
    sourced.value.parse().ok().map(|value| Sourced::new(value, sourced.from.clone()))
}

pub(super) fn default<T>(value: T) -> Sourced<T> {
    Sourced::new(value, Source::Default)
}
