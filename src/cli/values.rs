//! clap value parsers for the types of our options. They never fail: clap stops at the first failure, while zlaunch tells all
//! mistakes at once. A value that cannot be read is kept with the reason.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, PossibleValue, TypedValueParser, ValueParser};
use clap::{Arg, Command};
use serde_json::Value as Json;

use crate::base::json;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::ranks::topology::Processes;
use crate::report::{self, Problem};

/// What a value of an option can be.
pub(super) trait Value: Clone + Send + Sync + 'static {}
impl<T: Clone + Send + Sync + 'static> Value for T {}

/// What clap keeps of a value.
pub(super) type Parsed<T> = Result<T, Invalid>;

#[derive(Clone)]
pub(super) enum Invalid {
    NotText(OsString),
    Not(Expected, String),
}

/// What a value should have been.
#[derive(Clone)]
pub(super) enum Expected {
    Number { least: u64, most: u64, example: &'static str },
    Size { example: &'static str },
    OneOf(Vec<&'static str>),
    Key,
    Assignment { form: &'static str, example: &'static str },
    VariableName,
}

impl Invalid {
    pub(super) fn problem(self, from: Source) -> Problem {
        let (expected, given) = match self {
            Invalid::NotText(value) => return report::not_text(&from.to_string(), &value),
            Invalid::Not(expected, text) => (expected, Sourced::new(text, from)),
        };
        match expected {
            Expected::Number { least, most, example } => report::not_a_number(&given, least, most, example),
            Expected::Size { example } => report::is_not("a size", &given, example),
            Expected::OneOf(known) => report::not_one_of(&given, &known),
            Expected::Key => report::is_not("a dotted key", &given, "zero_optimization.overlap_comm"),
            Expected::Assignment { form, example } => report::is_not(form, &given, example),
            Expected::VariableName => report::is_not("a valid name for a variable", &given, "NCCL_DEBUG"),
        }
    }
}

fn parse<T>(value: &OsStr, read: impl Fn(&str) -> Result<T, Expected>) -> Parsed<T> {
    let text = value.to_str().ok_or_else(|| Invalid::NotText(value.to_os_string()))?;
    read(text).map_err(|expected| Invalid::Not(expected, text.to_string()))
}

fn parser<T: Value>(read: impl Fn(&str) -> Result<T, Expected> + Value) -> ValueParser {
    OsStringValueParser::new().map(move |value| parse(&value, &read)).into()
}

pub(super) fn text() -> ValueParser {
    parser(|text| Ok(text.to_string()))
}

/// Any bytes.
pub(super) fn raw() -> ValueParser {
    OsStringValueParser::new().map(Parsed::Ok).into()
}

pub(super) fn path() -> ValueParser {
    OsStringValueParser::new().map(|value| Parsed::Ok(PathBuf::from(value))).into()
}

/// A whole number in a range, with an example of one.
pub(super) fn number<T: Value + TryFrom<u64> + Into<u64>>(least: T, most: T, example: &'static str) -> ValueParser {
    let (least, most) = (least.into(), most.into());
    parser(move |text| {
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or(Expected::Number { least, most, example })
    })
}

/// A number with a unit.
pub(super) fn size(read: fn(&str) -> Option<u64>, example: &'static str) -> ValueParser {
    parser(move |text| read(text).ok_or(Expected::Size { example }))
}

/// A number of processes, or what to count.
pub(super) fn processes() -> ValueParser {
    const EXPECTED: Expected = Expected::Number { least: 1, most: u32::MAX as u64, example: "2" };
    parser(|text| text.parse::<Processes>().map_err(|()| EXPECTED))
}

/// One of a few words. The list is made only when it is needed.
pub(super) fn one_of<T: Value>(known: fn() -> Vec<(&'static str, T)>) -> ValueParser {
    OneOf(known).into()
}

#[derive(Clone)]
struct OneOf<T>(fn() -> Vec<(&'static str, T)>);

impl<T: Value> TypedValueParser for OneOf<T> {
    type Value = Parsed<T>;

    fn parse_ref(&self, _: &Command, _: Option<&Arg>, value: &OsStr) -> Result<Parsed<T>, clap::Error> {
        Ok(parse(value, |text| {
            let mut known = (self.0)();
            match known.iter().position(|(word, _)| *word == text) {
                Some(at) => Ok(known.swap_remove(at).1),
                None => Err(Expected::OneOf(known.into_iter().map(|(word, _)| word).collect())),
            }
        }))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(|(word, _)| PossibleValue::new(word))))
    }
}

/// A key of a config: `zero_optimization.stage`.
pub(super) fn dotted_key() -> ValueParser {
    parser(|text| if is_dotted_key(text) { Ok(text.to_string()) } else { Err(Expected::Key) })
}

/// `KEY=VALUE` for a config; the value is JSON, or else a string.
pub(super) fn config_assignment() -> ValueParser {
    const EXPECTED: Expected =
        Expected::Assignment { form: "KEY=VALUE", example: "zero_optimization.overlap_comm=true" };
    parser(|text| {
        let (key, value) = text.split_once('=').filter(|(key, _)| is_dotted_key(key)).ok_or(EXPECTED)?;
        Ok((key.to_string(), json::parse(value).unwrap_or_else(|_| Json::from(value))))
    })
}

/// `NAME=VALUE` for the environment.
pub(super) fn variable_assignment() -> ValueParser {
    const EXPECTED: Expected = Expected::Assignment { form: "K=V", example: "NCCL_DEBUG=INFO" };
    parser(|text| {
        let (name, value) = text.split_once('=').filter(|(name, _)| vars::is_name(name)).ok_or(EXPECTED)?;
        Ok((name.to_string(), OsString::from(value)))
    })
}

pub(super) fn variable_name() -> ValueParser {
    parser(|text| if vars::is_name(text) { Ok(text.to_string()) } else { Err(Expected::VariableName) })
}

fn is_dotted_key(key: &str) -> bool {
    !key.is_empty()
        && key.split('.').count() <= 32 // DeepSpeed's deepest key has seven parts
        && key.split('.').all(|part| !part.is_empty() && part.trim() == part)
}
