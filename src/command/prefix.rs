//! Programs that stand in front of a command and run it: `env A=1`, `nice -n 5`, `uv run`, `bash -c '…'`. They stay in
//! front and zlaunch goes behind them, where it finds the variables and the Python that they bring.

pub(crate) mod table;

use std::ffi::OsString;

use crate::base::shell;
use crate::command::target::{base_name, is_python};
use crate::command::trainer;
use table::PrefixProgram;

/// The shells whose `-c` is seen through, where the text is one plain command.
const SHELLS: &[&str] = &["bash", "sh", "dash", "zsh"];

/// What stands in front of a command, split off.
#[derive(Default)]
pub struct Prefix {
    /// Outermost first.
    layers: Vec<Layer>,
    pub command: Vec<OsString>,
    pub set: Vec<(OsString, OsString)>,
    pub unset: Vec<OsString>,
    pub own_python: Option<&'static str>,
    /// Why zlaunch cannot go behind it.
    pub barrier: Option<Barrier>,
}

/// One program of several, with the words that are its own.
struct Layer {
    name: &'static str,
    words: Vec<OsString>,
    /// It takes the command as one word, for a shell.
    is_shell: bool,
}

/// Why zlaunch cannot put itself behind a prefix.
pub enum Barrier {
    /// There may be no zlaunch in the container.
    Container(&'static str),
    /// This option changes the folder or drops the variables.
    Option(String),
    /// Without this option it drops the variables.
    Without(&'static str, &'static str),
}

impl Prefix {
    /// Splits off everything that is known to run the words behind it.
    pub fn split(command: &[OsString]) -> Option<Self> {
        let mut prefix = Prefix::default();
        prefix.command = prefix.take(command)?;
        while let Some(behind) = prefix.take(&prefix.command.clone()) {
            prefix.command = behind;
        }
        Some(prefix)
    }

    /// The first of the programs.
    pub fn name(&self) -> &'static str {
        self.layers[0].name
    }

    /// The programs that must be found here.
    pub fn programs(&self) -> impl Iterator<Item = &OsString> {
        // What stands behind a program with an environment of its own is found there.
        let here = self.layers.iter().position(|layer| Some(layer.name) == self.own_python);
        self.layers.iter().take(here.map_or(usize::MAX, |at| at + 1)).map(|layer| &layer.words[0])
    }

    /// The same words in front of another command.
    pub fn in_front_of(&self, command: Vec<OsString>) -> Vec<OsString> {
        self.layers.iter().rev().fold(command, |command, layer| {
            let behind = if layer.is_shell { vec![shell::line(&command)] } else { command };
            [layer.words.clone(), behind].concat()
        })
    }

    /// Takes one layer off these words and returns what is behind it.
    fn take(&mut self, words: &[OsString]) -> Option<Vec<OsString>> {
        let first = words.first()?;
        // Most commands start with one of these, and need no look at the table.
        if is_python(first) || trainer::is_console(first) {
            return None;
        }
        // What a shell would take for a variable of the command.
        if self.layers.last().is_none_or(|layer| layer.is_shell) && assignment(first).is_some() {
            return self.take_program(&[&[OsString::from("env")], words].concat());
        }
        let name = base_name(first);
        if let Some(shell) = SHELLS.iter().find(|shell| **shell == name) {
            return self.take_shell(shell, words);
        }
        self.take_program(words)
    }

    fn take_program(&mut self, words: &[OsString]) -> Option<Vec<OsString>> {
        let (program, name) = table::all().find_map(|program| program.name_in(words).map(|name| (program, name)))?;
        let (options, mut at) = program.read_options(words, name.split(' ').count())?;
        let mut set = Vec::new();
        while let Some(variable) = words.get(at).and_then(assignment).filter(|_| program.sets_variables) {
            set.push(variable);
            at += 1;
        }
        at += program.words;
        let behind = words.get(at..).filter(|behind| !behind.is_empty())?;
        self.set.extend(set);
        if name == "env" {
            let unset = options.iter().filter(|(name, _)| ["-u", "--unset"].contains(&name.as_str()));
            self.unset.extend(unset.filter_map(|(_, value)| value.clone()));
        }
        self.own_python = self.own_python.or(program.own_python.then_some(name));
        if self.barrier.is_none() {
            self.barrier = program.barrier(name, &options);
        }
        self.layers.push(Layer { name, words: words[..at].to_vec(), is_shell: false });
        Some(behind.to_vec())
    }

    /// `bash -lc 'swift sft …'`. A text that is more than one plain command is not taken apart.
    fn take_shell(&mut self, name: &'static str, words: &[OsString]) -> Option<Vec<OsString>> {
        let flags =
            |word: &OsString| word.to_str().is_some_and(|word| word.starts_with('-') && !word.starts_with("--"));
        let at = words.iter().skip(1).take_while(|word| flags(word)).count();
        let last = words[at].to_str()?;
        let only_known = words[1..=at]
            .iter()
            .all(|word| word.to_str().is_some_and(|flags| flags[1..].bytes().all(|b| b"celux".contains(&b))));
        let [text] = words.get(at + 1..)? else { return None };
        if at == 0 || !last.ends_with('c') || !only_known {
            return None;
        }
        let command = shell::plain_words(text.to_str()?)?;
        if words[1..=at].iter().any(|word| word.to_string_lossy().contains('l')) {
            self.own_python = self.own_python.or(Some(name));
        }
        self.layers.push(Layer { name, words: words[..=at].to_vec(), is_shell: true });
        Some(command.into_iter().map(OsString::from).collect())
    }
}

/// The options of a prefix, by the names in its table, with their values.
type Options = Vec<(String, Option<OsString>)>;

impl PrefixProgram {
    /// Which of its names these words start with.
    fn name_in(&self, words: &[OsString]) -> Option<&'static str> {
        self.names.split(", ").find(|name| {
            let mut parts = name.split(' ');
            let is_program = parts.next().is_some_and(|program| base_name(&words[0]) == program);
            is_program && parts.zip(1..).all(|(part, at)| words.get(at).is_some_and(|word| word == part))
        })
    }

    /// Its options and where they end. `None` where one of them is not known: it may take the next word.
    fn read_options(&self, words: &[OsString], mut at: usize) -> Option<(Options, usize)> {
        let mut options = Vec::new();
        while let Some(word) = words.get(at).filter(|word| word.as_encoded_bytes().starts_with(b"-")) {
            at += 1;
            if word == "--" {
                break;
            }
            let next = words.get(at);
            at += usize::from(self.read_option(word.to_str()?, next, &mut options)?);
        }
        Some((options, at))
    }

    /// Reads one word. `true`: the next one is its value.
    fn read_option(&self, word: &str, next: Option<&OsString>, options: &mut Options) -> Option<bool> {
        let has = |list: &str, name: &str| list.split(' ').any(|own| own == name);
        if word.starts_with("--") || has(self.with_value, word) || has(self.switches, word) {
            let (name, joined) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value.into())));
            let takes_next = joined.is_none() && has(self.with_value, name);
            let known = takes_next || has(self.with_value, name) || has(self.switches, name);
            options.push((name.to_string(), if takes_next { Some(next?.clone()) } else { joined }));
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
                options.push((name, Some(if takes_next { next?.clone() } else { behind.into() })));
                return Some(takes_next);
            }
            if !has(self.switches, &name) {
                return None;
            }
            options.push((name, None));
        }
        Some(false)
    }

    fn barrier(&self, name: &'static str, options: &Options) -> Option<Barrier> {
        if self.container {
            return Some(Barrier::Container(name));
        }
        if let Some(needed) = self.keeps_variables.filter(|needed| !options.iter().any(|(name, _)| name == needed)) {
            return Some(Barrier::Without(name, needed));
        }
        let bars = |option: &&(String, Option<OsString>)| self.barring.split(' ').any(|barring| barring == option.0);
        options.iter().find(bars).map(|(option, _)| Barrier::Option(format!("{name} {option}")))
    }
}

/// The name and the value of `NAME=value`.
fn assignment(word: &OsString) -> Option<(OsString, OsString)> {
    let (name, value) = word.to_str()?.split_once('=')?;
    let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let starts = name.bytes().next().is_some_and(|b| !b.is_ascii_digit());
    (starts && is_name(name)).then(|| (name.into(), value.into()))
}
