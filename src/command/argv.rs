//! A trainer's arguments, read as Python's argparse reads them: `--a_b` and `--a-b`, `--a=b` and `--a b`, the last one
//! wins, `--` ends the options, a unique prefix is enough where the whole list of options is known.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use crate::base::python_value;
use crate::base::recorded::Table;
use crate::base::source::{Source, Sourced};
use crate::command::option_names::{self, is_spelling, starts_dashed};
use crate::report::{self, Problem, Rule};

/// How many words follow an option, as argparse's `nargs` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nargs {
    /// Exactly one word.
    One,
    /// One word or none; none means true (HF's `bool` fields).
    Optional,
    /// Nothing (`store_true`).
    Nothing,
}

/// An option that zlaunch reads, by its name with underscores.
pub type Field = (&'static str, Nargs);

/// Fields in one text, with a `?` behind those that may stand without a value.
pub(crate) fn fields(list: &'static str) -> impl Iterator<Item = Field> {
    list.split_ascii_whitespace()
        .map(|word| word.strip_suffix('?').map_or((word, Nargs::One), |name| (name, Nargs::Optional)))
}

/// The options of a front end. argparse accepts an abbreviation that fits one of them only.
#[derive(Clone, Copy)]
pub enum OptionList<'a> {
    /// All of them, in one list or several, one a line (`option_names`).
    Known(&'a [Table]),
    /// The script may define more than we know, so an abbreviation cannot be resolved.
    Open,
}

/// Why an argument that is given has no value of its type.
#[derive(Debug)]
pub enum ArgumentError {
    /// Something else will put the value there: an interpolation of OmegaConf, or `$(expr 16 / 8)` in a command copied
    /// out of a script. Holds the argument as it is written.
    Unresolved(String),
    /// The trainer would refuse it.
    Refused(Problem),
}

/// An option as it occurs in the command.
#[derive(Clone, Debug)]
struct Occurrence {
    name: &'static str,
    /// As it is written, without `=value`.
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
            let occurrence = args.option_at(&words, at, fields, options);
            args.occurrences.extend(occurrence);
        }
        Args { words, ..args }
    }

    fn option_at(
        &mut self,
        words: &[OsString],
        at: usize,
        fields: &[Field],
        options: OptionList,
    ) -> Option<Occurrence> {
        let word = words[at].as_bytes().strip_prefix(b"--").filter(|rest| !rest.is_empty())?;
        let equals = word.iter().position(|b| *b == b'=');
        let name = std::str::from_utf8(&word[..equals.unwrap_or(word.len())]).ok()?;
        let (field, takes) = match fields.iter().find(|(field, _)| is_spelling(name, field)) {
            Some(field) => *field,
            None => self.abbreviated(at, name, fields, options)?,
        };
        let next = words.get(at + 1).filter(|next| takes != Nargs::Nothing && is_value(next));
        let (value, at) = match (equals, next) {
            (Some(equals), _) => (Some(OsStr::from_bytes(&word[equals + 1..]).to_os_string()), at),
            (None, Some(next)) => (Some(next.clone()), at + 1),
            (None, None) => (None, at),
        };
        Some(Occurrence { name: field, spelled: ["--", name].concat(), value, joined: equals.is_some(), at })
    }

    /// argparse accepts a prefix that fits one option string only. Every option has two strings once it has an
    /// underscore, so a prefix that ends before it fits both.
    fn abbreviated(&mut self, at: usize, prefix: &str, fields: &[Field], options: OptionList) -> Option<Field> {
        let strings = |name: &str| {
            let other = name.contains('_') && starts_dashed(name, prefix);
            usize::from(name.starts_with(prefix)) + usize::from(other)
        };
        let mut fitting = fields.iter().filter(|(name, _)| strings(name) > 0).peekable();
        fitting.peek()?;
        let OptionList::Known(all) = options else {
            self.unclear.extend(fitting.map(|(name, _)| (at, format!("--{prefix}"), *name)));
            return None;
        };
        let names = all.iter().flat_map(|list| option_names::all(*list));
        let mut matches = names.filter(|name| strings(name) > 0);
        let (only, more) = (matches.next()?, matches.next());
        (more.is_none() && strings(only) == 1).then(|| fitting.find(|(name, _)| *name == only).copied())?
    }

    /// Whether an option is written with dashes that its name does not have.
    pub(crate) fn has_dashes(&self) -> bool {
        self.occurrences.iter().any(Occurrence::is_dashed)
    }

    /// As a parser reads them that knows the names with underscores only.
    pub(crate) fn without_dashes(mut self) -> Self {
        self.occurrences.retain(|occurrence| !occurrence.is_dashed());
        self
    }

    /// The last occurrence counts, unless a later word may mean the same option.
    fn last(&self, name: &str) -> Option<&Occurrence> {
        let last = self.occurrences.iter().rev().find(|occurrence| occurrence.name == name)?;
        let later = self.unclear.iter().any(|(at, _, field)| *field == name && *at > last.at);
        (!later).then_some(last)
    }

    pub(crate) fn is_given(&self, name: &str) -> bool {
        self.last(name).is_some()
    }

    /// Whether the option stands there without a value.
    pub(crate) fn is_bare(&self, name: &str) -> bool {
        self.last(name).is_some_and(|option| option.value.is_none())
    }

    /// A word that may mean this option but is cut short.
    pub fn unclear(&self, name: &str) -> Option<&str> {
        self.unclear.iter().find(|(_, _, field)| *field == name).map(|(_, word, _)| word.as_str())
    }

    pub(crate) fn raw(&self, name: &str) -> Option<Sourced<&OsStr>> {
        let option = self.last(name)?;
        Some(Sourced::new(option.value.as_deref()?, Source::Argument(option.spelled.clone())))
    }

    pub fn text(&self, name: &str) -> Option<Sourced<String>> {
        self.raw(name).map(|sourced| sourced.map(|value| value.to_string_lossy().into_owned()))
    }

    pub fn int(&self, name: &str) -> Result<Option<Sourced<i64>>, ArgumentError> {
        self.typed(name, "an integer", "4", python_value::int)
    }

    pub fn float(&self, name: &str) -> Result<Option<Sourced<f64>>, ArgumentError> {
        self.typed(name, "a number", "1e-5", python_value::float)
    }

    /// HF's booleans: a bare `--bf16` is true where the field allows it.
    pub fn bool(&self, name: &str, bare_is_true: bool) -> Result<Option<Sourced<bool>>, ArgumentError> {
        if bare_is_true && self.is_bare(name) {
            return Ok(self.last(name).map(|option| Sourced::new(true, Source::Argument(option.spelled.clone()))));
        }
        self.typed(name, "true or false", "true", hf_bool)
    }

    fn typed<T>(
        &self,
        name: &str,
        wanted: &str,
        example: &str,
        read: fn(&str) -> Option<T>,
    ) -> Result<Option<Sourced<T>>, ArgumentError> {
        let Some(option) = self.last(name) else { return Ok(None) };
        let Some(value) = &option.value else {
            let (spelled, example) = (&option.spelled, report::usual(&option.spelled, example));
            let what = format!("the trainer refuses `{spelled}` without a value: it wants {wanted}");
            let help = format!("{spelled} {example}; a value that starts with `-` needs {spelled}=VALUE");
            return Err(ArgumentError::Refused(Problem::error(Rule::Argument, what).at(spelled).help(help)));
        };
        let text = value.to_string_lossy();
        match read(&text) {
            Some(value) => Ok(Some(Sourced::new(value, Source::Argument(option.spelled.clone())))),
            None if text.contains('$') => Err(ArgumentError::Unresolved(format!("{} {text}", option.spelled))),
            None => {
                Err(ArgumentError::Refused(report::argument_of_wrong_type(&option.spelled, &text, wanted, example)))
            }
        }
    }

    /// The option of this name as it is spelled, and all the words that belong to it. Of several, the last counts.
    pub(crate) fn list(&self, name: &str) -> Option<(String, Vec<&OsStr>)> {
        let words = &self.words[..options_end(&self.words)];
        let is_it = |word: &OsString| {
            let option = word.as_bytes().strip_prefix(b"--").and_then(|text| text.split_at_checked(name.len()));
            let option = option.filter(|(_, behind)| matches!(behind, [] | [b'=', ..]));
            option.is_some_and(|(option, _)| str::from_utf8(option).is_ok_and(|option| is_spelling(option, name)))
        };
        let at = words.iter().rposition(is_it)?;
        let (word, length) = (words[at].to_str()?, "--".len() + name.len());
        let values = match word.get(length + 1..) {
            Some(value) => vec![OsStr::new(value)],
            None => words[at + 1..].iter().take_while(|word| is_value(word)).map(OsString::as_os_str).collect(),
        };
        Some((word[..length].to_string(), values))
    }

    /// The words with the value of `name` replaced where it stands, or `name value` appended.
    pub fn with(&self, name: &str, value: &OsStr) -> Vec<OsString> {
        let mut words = self.words.clone();
        match self.last(name) {
            Some(Occurrence { joined: true, spelled, at, .. }) => {
                words[*at] = OsString::from(format!("{spelled}="));
                words[*at].push(value);
            }
            Some(Occurrence { value: Some(_), at, .. }) => words[*at] = value.to_os_string(),
            Some(Occurrence { at, .. }) => words.insert(at + 1, value.to_os_string()),
            None => {
                let at = options_end(&self.words);
                words.splice(at..at, [OsString::from(format!("--{name}")), value.to_os_string()]);
            }
        }
        words
    }

    /// Option words that are neither in the lists nor a prefix of one in them.
    pub(crate) fn unknown<'a>(&'a self, lists: &'a [Table]) -> impl Iterator<Item = &'a str> {
        let words = self.words[..options_end(&self.words)].iter().filter_map(|word| word.to_str());
        let options = words.filter(|word| word.starts_with("--") && !word.contains(' '));
        let given = options.map(|word| word.split('=').next().unwrap_or(word));
        given.filter(move |name| !lists.iter().any(|list| option_names::any_starts_with(*list, &name[2..])))
    }

    pub fn words(&self) -> &[OsString] {
        &self.words
    }
}

/// What follows a bare `--` is positional.
pub(super) fn options_end(words: &[OsString]) -> usize {
    words.iter().position(|word| word == "--").unwrap_or(words.len())
}

/// Whether argparse takes a word as a value: not an option, except for negative numbers and words with a space.
pub(super) fn is_value(word: &OsStr) -> bool {
    let bytes = word.as_bytes();
    !bytes.starts_with(b"-") || bytes.len() == 1 || is_negative_number(&bytes[1..]) || bytes.contains(&b' ')
}

/// argparse's `^-\d+$|^-\d*\.\d+$`: `-1e-5` is not one.
fn is_negative_number(digits: &[u8]) -> bool {
    let mut parts = digits.splitn(2, |b| *b == b'.');
    !digits.ends_with(b".") && !digits.is_empty() && parts.all(|part| part.iter().all(u8::is_ascii_digit))
}

/// The words of HF's `string_to_bool`, in any case.
pub(crate) fn hf_bool(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "true" | "t" | "y" | "1" => Some(true),
        "no" | "false" | "f" | "n" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[Field] = &[
        ("per_device_train_batch_size", Nargs::One),
        ("learning_rate", Nargs::One),
        ("bf16", Nargs::Optional),
        ("deepspeed", Nargs::One),
    ];
    const ALL: &str = "per_device_train_batch_size\nper_device_eval_batch_size\nlearning_rate\nbf16\nbf16_full_eval\ndeepspeed\ndeepspeed_autotp_size";

    fn args(line: &str) -> Args {
        Args::read(line.split(' ').map(OsString::from).collect(), FIELDS, OptionList::Known(&[Table(ALL)]))
    }

    fn micro(line: &str) -> Option<i64> {
        args(line).int("per_device_train_batch_size").unwrap().map(|sourced| sourced.value)
    }

    #[test]
    fn what_a_shell_or_omegaconf_would_replace_is_no_wrong_value() {
        let rate = |value: &str| args(&format!("--learning_rate={value}")).float("learning_rate");
        assert!(matches!(rate("${lr}"), Err(ArgumentError::Unresolved(place)) if place == "--learning_rate ${lr}"));
        assert!(matches!(rate("fast"), Err(ArgumentError::Refused(_))));
        assert!(matches!(args("--learning_rate").float("learning_rate"), Err(ArgumentError::Refused(_))));
    }

    #[test]
    fn both_spellings_both_forms_and_the_last_one_wins() {
        assert_eq!(micro("--per_device_train_batch_size 4"), Some(4));
        assert_eq!(micro("--per-device-train-batch-size=4"), Some(4));
        assert_eq!(micro("--per_device-train_batch_size 4"), None);
        assert_eq!(micro("--per_device_train_batch_size 4 --per-device-train-batch-size 8"), Some(8));
        assert_eq!(micro("--per_device_train_batch_size 4 -- --per_device_train_batch_size 8"), Some(4));
        assert_eq!(micro("-per_device_train_batch_size 4"), None);
    }

    #[test]
    fn a_parser_may_know_no_dashes() {
        let args = args("--per_device_train_batch_size 4 --per-device-train-batch-size 8 --learning-rate 1");
        assert!(args.has_dashes());
        let args = args.without_dashes();
        assert_eq!(args.int("per_device_train_batch_size").unwrap().unwrap().value, 4);
        assert!(!args.is_given("learning_rate") && args.words().len() == 6 && !args.has_dashes());
    }

    #[test]
    fn a_prefix_must_fit_one_option_string() {
        assert_eq!(micro("--per_device_train 4"), Some(4));
        assert_eq!(micro("--per_device_t=4"), Some(4));
        assert_eq!(micro("--per_device_ 4"), None); // train and eval
        assert_eq!(micro("--per-device-t 4"), Some(4));
        let learning = |line| args(line).float("learning_rate").unwrap().map(|sourced| sourced.value);
        assert_eq!(learning("--learning_ 2e-5"), Some(2e-5));
        assert_eq!(learning("--learning 2e-5"), None); // --learning_rate and --learning-rate
        assert!(!args("--deep zero2").is_given("deepspeed"));
        assert!(args("--deepspeed zero2").is_given("deepspeed"));
    }

    #[test]
    fn an_open_list_leaves_an_abbreviation_unclear() {
        // The later word may win.
        for line in ["--per_device_train 4", "--per_device_train_batch_size 4 --per_device_train 8"] {
            let args = Args::read(line.split(' ').map(OsString::from).collect(), FIELDS, OptionList::Open);
            assert_eq!(args.int("per_device_train_batch_size").unwrap(), None, "{line}");
            assert_eq!(args.unclear("per_device_train_batch_size"), Some("--per_device_train"), "{line}");
        }
    }

    #[test]
    fn booleans_with_and_without_a_value() {
        let bf16 = |line| args(line).bool("bf16", true).map(|sourced| sourced.map(|sourced| sourced.value));
        assert_eq!(bf16("--bf16").unwrap(), Some(true));
        assert_eq!(bf16("--bf16 --x").unwrap(), Some(true));
        assert_eq!(bf16("--bf16 False").unwrap(), Some(false));
        assert_eq!(bf16("--bf16=YES").unwrap(), Some(true));
        assert_eq!(bf16("--x 1").unwrap(), None);
        assert!(bf16("--bf16 out").is_err());
        assert!(args("--bf16").bool("bf16", false).is_err());
    }

    #[test]
    fn values_are_words_that_are_no_options() {
        let rate = |line| args(line).float("learning_rate").unwrap().map(|sourced| sourced.value);
        assert_eq!(rate("--learning_rate -1"), Some(-1.0));
        assert_eq!(rate("--learning_rate -.5"), Some(-0.5));
        assert!(args("--learning_rate -1e-5").float("learning_rate").is_err());
        assert_eq!(rate("--learning_rate=-1e-5"), Some(-1e-5));
        assert!(is_value(OsStr::new("--x=1 2")) && is_value(OsStr::new("-")) && is_value(OsStr::new("")));
        assert!(!is_value(OsStr::new("-x")) && !is_value(OsStr::new("--")) && !is_value(OsStr::new("-1.")));
    }

    #[test]
    fn the_value_is_replaced_where_it_stands() {
        let replaced = |line: &str| {
            let words = args(line).with("deepspeed", OsStr::new("/c.json"));
            words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(replaced("--deepspeed zero2 --x 1"), "--deepspeed /c.json --x 1");
        assert_eq!(replaced("--deepspeed=zero2 --x 1"), "--deepspeed=/c.json --x 1");
        assert_eq!(replaced("--deepspeed zero1 --deepspeed zero2"), "--deepspeed zero1 --deepspeed /c.json");
        assert_eq!(replaced("--x 1"), "--x 1 --deepspeed /c.json");
        assert_eq!(replaced("--x 1 -- y"), "--x 1 --deepspeed /c.json -- y");
    }
}
