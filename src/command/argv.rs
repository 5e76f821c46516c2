//! A trainer's arguments, read as Python's argparse reads them: `--a_b` and `--a-b`, `--a=b` and `--a b`, the last one
//! wins, `--` ends the options, a unique prefix is enough where the whole list of options is known.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

use crate::{
    base::{
        python_value,
        recorded::Table,
        source::{Source, Sourced},
    },
    report::{self, Problem, Wanted},
};

/// The line of the only option that the word means. argparse accepts an abbreviation that fits one option only.
pub fn find(lists: &[Table], spelled: &str) -> Option<&'static str> {
    lines_of(lists, &with_underscores(spelled))
        .next()
        .or_else(|| {
            let mut fitting = lists
                .iter()
                .flat_map(|list| list.lines())
                .filter(|line| fits(option_name(line), spelled));
            // A list may have an option twice.
            fitting
                .next()
                .filter(|first| fitting.all(|it| option_name(it) == option_name(first)))
        })
}

/// The value of an argument, if it is given.
pub type Typed<T> = Result<Option<Sourced<T>>, ArgumentError>;

#[derive(Debug)]
pub enum ArgumentError {
    /// As it is written: with an interpolation of OmegaConf, or `$(expr 16 / 8)` copied out of a script.
    Unresolved(String),
    Refused(Problem),
}

#[derive(Clone)]
struct GivenOption {
    /// The name of the option that is meant, with underscores.
    name: String,
    /// As it is written, with its dashes.
    spelled: String,
    value: Option<OsString>,
    /// `--name=value` is one word.
    joined: bool,
    /// Its position among the words.
    at: usize,
}

impl GivenOption {
    fn read(words: &[OsString], at: usize, options: &[Table]) -> Option<Self> {
        let word = words[at].as_bytes().strip_prefix(b"--")?;
        let equals = word.iter().position(|b| *b == b'=');
        let spelled = std::str::from_utf8(&word[..equals.unwrap_or(word.len())]).ok()?;
        let known = find(options, spelled);
        let name = known.map_or_else(
            || with_underscores(spelled),
            |line| option_name(line).to_string(),
        );
        let is_switch = known.is_some_and(|line| line.ends_with('!'));
        let value = match (equals, words.get(at + 1)) {
            (Some(equals), _) => Some(OsStr::from_bytes(&word[equals + 1..]).to_os_string()),
            (None, Some(next)) if is_value(next) && !is_switch => Some(next.clone()),
            _ => None,
        };
        Some(GivenOption {
            name,
            spelled: format!("--{spelled}"),
            value,
            joined: equals.is_some(),
            at,
        })
    }

    fn sourced<T>(&self, value: T) -> Sourced<T> {
        Sourced::new(value, Source::Argument(self.spelled.clone()))
    }
}

#[derive(Clone, Default)]
pub struct Args {
    words: Vec<OsString>,
    given: Vec<GivenOption>,
}

impl Args {
    /// `options` has all of them, in one recorded list or several: sorted, one name with underscores a line. Without a list,
    /// an abbreviation is not resolved.
    pub fn read(words: Vec<OsString>, options: &[Table]) -> Self {
        let given = (0..options_end(&words))
            .filter_map(|at| GivenOption::read(&words, at, options))
            .collect();
        Args { words, given }
    }

    /// The last one counts.
    fn last(&self, name: &str) -> Option<&GivenOption> {
        self.given.iter().rfind(|option| option.name == name)
    }

    pub fn is_given(&self, name: &str) -> bool {
        self.last(name).is_some()
    }

    pub fn is_bare(&self, name: &str) -> bool {
        self.last(name).is_some_and(|option| option.value.is_none())
    }

    pub fn text(&self, name: &str) -> Option<Sourced<String>> {
        let option = self.last(name)?;
        Some(option.sourced(option.value.as_ref()?.to_string_lossy().into_owned()))
    }

    pub fn int(&self, name: &str) -> Typed<i64> {
        self.typed(name, Wanted::Int, python_value::int)
    }

    pub fn float(&self, name: &str) -> Typed<f64> {
        self.typed(name, Wanted::Number, python_value::float)
    }

    /// HF's booleans: a bare `--bf16` is true.
    pub fn bool(&self, name: &str) -> Typed<bool> {
        match self.last(name) {
            Some(option) if option.value.is_none() => Ok(Some(option.sourced(true))),
            _ => self.typed(name, Wanted::Bool, hf_bool),
        }
    }

    fn typed<T>(&self, name: &str, wanted: Wanted, read: fn(&str) -> Option<T>) -> Typed<T> {
        let Some(option) = self.last(name) else {
            return Ok(None);
        };
        let Some(value) = &option.value else {
            return Err(ArgumentError::Refused(report::argument_without_value(
                &option.spelled,
                wanted,
            )));
        };
        let text = value.to_string_lossy();
        match read(&text) {
            Some(value) => Ok(Some(option.sourced(value))),
            None if text.contains('$') => Err(ArgumentError::Unresolved(format!(
                "{} {text}",
                option.spelled
            ))),
            None => Err(ArgumentError::Refused(report::argument_of_wrong_type(
                &option.spelled,
                &text,
                wanted,
            ))),
        }
    }

    /// The last option of this name as it is spelled, and all the words that belong to it.
    pub fn list(&self, name: &str) -> Option<(String, Vec<&OsStr>)> {
        let option = self.last(name)?;
        let values = match &option.value {
            Some(value) if option.joined => vec![value.as_os_str()],
            _ => values_behind(&self.words, option.at).collect(),
        };
        Some((option.spelled.clone(), values))
    }

    /// The words with the value of `name` replaced where it stands, or `name value` appended.
    pub fn with(&self, name: &str, value: &OsStr) -> Vec<OsString> {
        let mut words = self.words.clone();
        match self.last(name) {
            Some(option) if option.joined => {
                words[option.at] = OsString::from(format!("{}=", option.spelled));
                words[option.at].push(value);
            }
            Some(option) => {
                let behind = option.at + 1;
                let replaced = behind + usize::from(option.value.is_some());
                words.splice(behind..replaced, [value.to_os_string()]);
            }
            None => {
                let end = options_end(&self.words);
                words.splice(end..end, [format!("--{name}").into(), value.to_os_string()]);
            }
        }
        words
    }

    pub fn words(&self) -> &[OsString] {
        &self.words
    }
}

/// The place of a bare `--`, behind which everything is positional, or the end of the words.
pub fn options_end(words: &[OsString]) -> usize {
    words
        .iter()
        .position(|word| word == "--")
        .unwrap_or(words.len())
}

/// The words that belong to the option at this place, if its value is not joined to it.
pub fn values_behind(words: &[OsString], at: usize) -> impl Iterator<Item = &OsStr> {
    words[at + 1..options_end(words)]
        .iter()
        .map(OsString::as_os_str)
        .take_while(|word| is_value(word))
}

/// `name=value`, or a name alone.
pub fn split_joined(text: &str) -> (&str, Option<&str>) {
    match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    }
}

/// argparse takes words with a dash as values too, if they are negative numbers or have a space.
pub fn is_value(word: &OsStr) -> bool {
    let Some(rest) = word.as_bytes().strip_prefix(b"-") else {
        return true;
    };
    // argparse's `^-\d+$|^-\d*\.\d+$`: `-1e-5` is not one.
    let mut parts = rest.splitn(2, |b| *b == b'.');
    let is_number = !rest.ends_with(b".") && parts.all(|part| part.iter().all(u8::is_ascii_digit));
    rest.is_empty() || is_number || rest.contains(&b' ')
}

/// The words of HF's `string_to_bool`, in any case.
pub fn hf_bool(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "true" | "t" | "y" | "1" => Some(true),
        "no" | "false" | "f" | "n" | "0" => Some(false),
        _ => None,
    }
}

/// A line of a list without its mark: ` !` behind an option that takes no value, ` ?` behind one that may take one.
pub fn option_name(line: &str) -> &str {
    line.split(' ').next().unwrap_or(line)
}

pub fn has_option(lists: &[Table], name: &str) -> bool {
    lines_of(lists, name).next().is_some()
}

fn lines_of(lists: &[Table], name: &str) -> impl Iterator<Item = &'static str> {
    lists
        .iter()
        .filter_map(|list| list.from(name).next())
        .filter(move |line| option_name(line) == name)
}

/// The name of an option that is written with dashes. A mixture is the name of none.
pub fn with_underscores(spelled: &str) -> String {
    if spelled.contains('_') {
        spelled.to_string()
    } else {
        spelled.replace('-', "_")
    }
}

/// True if the word is the start of one of the option's strings: `--a_b` or `--a-b`.
pub fn fits(name: &str, prefix: &str) -> bool {
    name.starts_with(&with_underscores(prefix))
}
