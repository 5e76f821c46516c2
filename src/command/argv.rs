//! A trainer's arguments, read as Python's argparse reads them: `--a_b` and `--a-b`, `--a=b` and `--a b`, the last one
//! wins, `--` ends the options, a unique prefix is enough where the whole list of options is known.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use crate::base::python_value;
use crate::base::recorded::Table;
use crate::base::source::{Source, Sourced};
use crate::report::{self, Problem, Wanted};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nargs {
    One,
    /// One word or none; none means true (HF's `bool` fields).
    Optional,
    Nothing,
}

/// An option that zlaunch reads, by its name with underscores.
pub type Field = (&'static str, Nargs);

/// Fields in one text, with a `?` behind those that may stand without a value.
pub fn fields(list: &'static str) -> impl Iterator<Item = Field> {
    list.split_ascii_whitespace().map(|word| {
        word.strip_suffix('?')
            .map_or((word, Nargs::One), |name| (name, Nargs::Optional))
    })
}

/// The options of a front end. argparse accepts an abbreviation that fits one of them only.
#[derive(Clone, Copy)]
pub enum OptionList<'a> {
    /// All of them, in one recorded list or several: sorted, one name with underscores a line.
    Known(&'a [Table]),
    /// The script may define more, so an abbreviation cannot be resolved.
    Open,
}

/// The value of an argument, if it is given.
pub(crate) type Typed<T> = Result<Option<Sourced<T>>, ArgumentError>;

#[derive(Debug)]
pub enum ArgumentError {
    /// As it is written: with an interpolation of OmegaConf, or `$(expr 16 / 8)` copied out of a script.
    Unresolved(String),
    Refused(Problem),
}

#[derive(Clone, Debug)]
struct Occurrence {
    name: &'static str,
    spelled: String,
    value: Option<OsString>,
    /// `--name=value` is one word.
    joined: bool,
    /// The word with the value; the option itself where it has none.
    at: usize,
}

impl Occurrence {
    fn is_dashed(&self) -> bool {
        self.spelled[2..].contains('-')
    }
}

#[derive(Clone, Debug, Default)]
pub struct Args {
    words: Vec<OsString>,
    occurrences: Vec<Occurrence>,
    /// Words that may abbreviate a field, in front ends whose options are not all known: (position, word, field).
    unclear: Vec<(usize, String, &'static str)>,
}

impl Args {
    pub fn read(words: Vec<OsString>, fields: &[Field], options: OptionList) -> Self {
        let mut args = Args::default();
        for at in 0..options_end(&words) {
            let occurrence = args.read_at(&words, at, fields, options);
            args.occurrences.extend(occurrence);
        }
        Args { words, ..args }
    }

    fn read_at(
        &mut self,
        words: &[OsString],
        at: usize,
        fields: &[Field],
        options: OptionList,
    ) -> Option<Occurrence> {
        let word = words[at]
            .as_bytes()
            .strip_prefix(b"--")
            .filter(|rest| !rest.is_empty())?;
        let equals = word.iter().position(|b| *b == b'=');
        let name = std::str::from_utf8(&word[..equals.unwrap_or(word.len())]).ok()?;
        let (field, takes) = match fields.iter().find(|(field, _)| is_spelling(name, field)) {
            Some(field) => *field,
            None => self.abbreviated(at, name, fields, options)?,
        };
        let next = words
            .get(at + 1)
            .filter(|next| takes != Nargs::Nothing && is_value(next));
        let (value, at) = match (equals, next) {
            (Some(equals), _) => (
                Some(OsStr::from_bytes(&word[equals + 1..]).to_os_string()),
                at,
            ),
            (None, Some(next)) => (Some(next.clone()), at + 1),
            (None, None) => (None, at),
        };
        Some(Occurrence {
            name: field,
            spelled: ["--", name].concat(),
            value,
            joined: equals.is_some(),
            at,
        })
    }

    /// argparse accepts a prefix that fits one option string only. Every option has two strings once it has an
    /// underscore, so a prefix that ends before it fits both.
    fn abbreviated(
        &mut self,
        at: usize,
        prefix: &str,
        fields: &[Field],
        options: OptionList,
    ) -> Option<Field> {
        let strings = |name: &str| {
            let other = name.contains('_') && starts_dashed(name, prefix);
            usize::from(name.starts_with(prefix)) + usize::from(other)
        };
        let mut fitting = fields
            .iter()
            .filter(|(name, _)| strings(name) > 0)
            .peekable();
        fitting.peek()?;
        let OptionList::Known(all) = options else {
            self.unclear
                .extend(fitting.map(|(name, _)| (at, format!("--{prefix}"), *name)));
            return None;
        };
        let names = all.iter().flat_map(|list| all_options(*list));
        let mut matches = names.filter(|name| strings(name) > 0);
        let (only, more) = (matches.next()?, matches.next());
        (more.is_none() && strings(only) == 1)
            .then(|| fitting.find(|(name, _)| *name == only).copied())?
    }

    pub fn has_dashes(&self) -> bool {
        self.occurrences.iter().any(Occurrence::is_dashed)
    }

    /// For a parser that knows only the names with underscores.
    pub fn without_dashes(mut self) -> Self {
        self.occurrences
            .retain(|occurrence| !occurrence.is_dashed());
        self
    }

    /// The last occurrence counts, unless a later word may mean the same option.
    fn last(&self, name: &str) -> Option<&Occurrence> {
        let last = self
            .occurrences
            .iter()
            .rev()
            .find(|occurrence| occurrence.name == name)?;
        let later = self
            .unclear
            .iter()
            .any(|(at, _, field)| *field == name && *at > last.at);
        (!later).then_some(last)
    }

    pub fn is_given(&self, name: &str) -> bool {
        self.last(name).is_some()
    }

    pub fn is_bare(&self, name: &str) -> bool {
        self.last(name).is_some_and(|option| option.value.is_none())
    }

    /// A word that may mean this option but is cut short.
    pub fn unclear(&self, name: &str) -> Option<&str> {
        self.unclear
            .iter()
            .find(|(_, _, field)| *field == name)
            .map(|(_, word, _)| word.as_str())
    }

    pub fn raw(&self, name: &str) -> Option<Sourced<&OsStr>> {
        let option = self.last(name)?;
        Some(Sourced::new(
            option.value.as_deref()?,
            Source::Argument(option.spelled.clone()),
        ))
    }

    pub fn text(&self, name: &str) -> Option<Sourced<String>> {
        self.raw(name)
            .map(|sourced| sourced.map(|value| value.to_string_lossy().into_owned()))
    }

    pub fn int(&self, name: &str) -> Typed<i64> {
        self.typed(name, Wanted::Int, python_value::int)
    }

    pub fn float(&self, name: &str) -> Typed<f64> {
        self.typed(name, Wanted::Number, python_value::float)
    }

    /// HF's booleans: a bare `--bf16` is true where the field allows it.
    pub fn bool(&self, name: &str, bare_is_true: bool) -> Typed<bool> {
        if bare_is_true && self.is_bare(name) {
            return Ok(self
                .last(name)
                .map(|option| Sourced::new(true, Source::Argument(option.spelled.clone()))));
        }
        self.typed(name, Wanted::Bool, hf_bool)
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
            Some(value) => Ok(Some(Sourced::new(
                value,
                Source::Argument(option.spelled.clone()),
            ))),
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
        let words = &self.words[..options_end(&self.words)];
        let at = words.iter().rposition(|word| {
            let option = word
                .as_bytes()
                .strip_prefix(b"--")
                .and_then(|text| text.split_at_checked(name.len()));
            let option = option.filter(|(_, behind)| matches!(behind, [] | [b'=', ..]));
            option.is_some_and(|(option, _)| {
                str::from_utf8(option).is_ok_and(|option| is_spelling(option, name))
            })
        })?;
        let (word, length) = (words[at].to_str()?, "--".len() + name.len());
        let values = match word.get(length + 1..) {
            Some(value) => vec![OsStr::new(value)],
            None => words[at + 1..]
                .iter()
                .take_while(|word| is_value(word))
                .map(OsString::as_os_str)
                .collect(),
        };
        Some((word[..length].to_string(), values))
    }

    /// The words with the value of `name` replaced where it stands, or `name value` appended.
    pub fn with(&self, name: &str, value: &OsStr) -> Vec<OsString> {
        let mut words = self.words.clone();
        match self.last(name) {
            Some(Occurrence {
                joined: true,
                spelled,
                at,
                ..
            }) => {
                words[*at] = OsString::from(format!("{spelled}="));
                words[*at].push(value);
            }
            Some(Occurrence {
                value: Some(_), at, ..
            }) => words[*at] = value.to_os_string(),
            Some(Occurrence { at, .. }) => words.insert(at + 1, value.to_os_string()),
            None => {
                let at = options_end(&self.words);
                words.splice(
                    at..at,
                    [OsString::from(format!("--{name}")), value.to_os_string()],
                );
            }
        }
        words
    }

    pub fn words(&self) -> &[OsString] {
        &self.words
    }
}

/// Everything behind a bare `--` is positional.
pub fn options_end(words: &[OsString]) -> usize {
    words
        .iter()
        .position(|word| word == "--")
        .unwrap_or(words.len())
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

pub fn all_options(list: Table) -> impl Iterator<Item = &'static str> {
    list.lines().map(option_name)
}

/// A line of a list without its mark: ` !` behind an option that takes no value, ` ?` behind one that may take one.
pub(crate) fn option_name(line: &str) -> &str {
    line.split(' ').next().unwrap_or(line)
}

pub fn has_option(list: Table, name: &str) -> bool {
    list.from(name)
        .next()
        .is_some_and(|line| option_name(line) == name)
}

/// `--a_b` or `--a-b`, never a mixture.
pub(crate) fn is_spelling(word: &str, name: &str) -> bool {
    word == name || (word.len() == name.len() && !word.contains('_') && starts_dashed(name, word))
}

pub(super) fn starts_dashed(name: &str, prefix: &str) -> bool {
    let dashed = name.bytes().map(|b| if b == b'_' { b'-' } else { b });
    name.len() >= prefix.len() && dashed.zip(prefix.bytes()).all(|(one, two)| one == two)
}
