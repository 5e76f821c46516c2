//! Readers for the values of our options.

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::Value as Json;

use crate::base::options::Given;
use crate::base::recorded::Version;
use crate::base::size::parse_count;
use crate::base::source::Sourced;
use crate::base::{json, vars};
use crate::check;
use crate::command::job::Trainer;
use crate::command::trainer;
use crate::config::template::search::BUILT_IN;
use crate::fit::cards::{self, Cards};
use crate::ranks::launcher::Launcher;
use crate::ranks::topology::Processes;
use crate::report::fix::{drop_word, give_as};
use crate::report::{self, Place, Problem, Rule, nearest};
use crate::request::Format;

pub(crate) type Words<T> = fn() -> Vec<(&'static str, T)>;

pub(super) const CONFIGS: Words<()> = || [("auto", ())].into_iter().chain(TEMPLATES()).collect();
pub(crate) const TEMPLATES: Words<()> = || BUILT_IN.iter().map(|(name, _)| (*name, ())).collect();
pub(super) const FORMATS: Words<Format> =
    || vec![("text", Format::Text), ("json", Format::Json), ("shell", Format::Shell)];
pub(crate) const REPORT_FORMATS: Words<Format> = || vec![("text", Format::Text), ("json", Format::Json)];
pub(super) const LAUNCHERS: Words<Option<Launcher>> = || Launcher::NAMES.to_vec();
pub(super) const TRAINERS: Words<&Trainer> = || trainer::ALL.iter().map(|trainer| (trainer.name, *trainer)).collect();
pub(super) const RULES: Words<Rule> = || check::allowable().into_iter().map(|rule| (rule.name(), rule)).collect();
pub(super) const COLORS: Words<()> = || vec![("auto", ()), ("always", ()), ("never", ())];

pub(crate) fn text(given: &Given) -> Result<String, Problem> {
    let text = given.value.to_str().map(str::to_string);
    text.ok_or_else(|| report::not_text(&given.from.to_string(), &given.value))
}

#[expect(clippy::unnecessary_wraps, reason = "like the others")]
pub(crate) fn path(given: &Given) -> Result<PathBuf, Problem> {
    Ok(PathBuf::from(&given.value))
}

fn parse<T>(
    given: &Given,
    read: impl FnOnce(&str) -> Option<T>,
    refuse: impl FnOnce(&Sourced<String>) -> Problem,
) -> Result<T, Problem> {
    let text = Sourced::new(text(given)?, given.from.clone());
    read(&text.value).ok_or_else(|| refuse(&text))
}

/// A whole number in a range, with an example of one.
pub(crate) fn number<T: Copy + TryFrom<u64> + Into<u64>>(
    least: T,
    most: T,
    example: &'static str,
) -> impl Fn(&Given) -> Result<T, Problem> {
    let (least, most) = (least.into(), most.into());
    let read = move |text: &str| text.parse().ok().filter(|number| (least..=most).contains(number))?.try_into().ok();
    move |given| parse(given, read, |text| report::not_a_number(text, least, most, example))
}

/// Memory. Nobody means 24 bytes, so a small number without a unit is refused.
pub(crate) fn memory(read: fn(&str) -> Option<u64>, example: &'static str) -> impl Fn(&Given) -> Result<u64, Problem> {
    let is_bare =
        move |text: &str| text.trim().parse::<f64>().is_ok() && read(text).is_none_or(|bytes| bytes < 1 << 30);
    let refuse = move |text: &Sourced<String>| {
        if is_bare(&text.value) { report::size_without_unit(text) } else { report::is_not("a size", text, example) }
    };
    move |given| parse(given, |text| read(text).filter(|_| !is_bare(text)), refuse)
}

/// A number of parameters. Nobody trains eight, so a small number without a unit is refused.
pub(crate) fn parameters(given: &Given) -> Result<u64, Problem> {
    let is_bare = |text: &str| text.trim().parse::<f64>().is_ok_and(|number| number < 1e4);
    let refuse = |text: &Sourced<String>| {
        if is_bare(&text.value) { report::without_unit(text, "B") } else { report::is_not("a size", text, "8B") }
    };
    parse(given, |text| parse_count(text).filter(|_| !is_bare(text)), refuse)
}

pub(super) fn on_or_off(given: &Given) -> Result<bool, Problem> {
    let read = |text: &str| match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    };
    let refuse = |text: &Sourced<String>| {
        let what = format!("`{}` is neither true nor false", text.value);
        Problem::error(Rule::Usage, what).at(text).fix(give_as(&text.from, "1"))
    };
    parse(given, read, refuse)
}

pub(crate) fn cards(given: &Given) -> Result<Cards, Problem> {
    parse(given, cards::parse, |text| report::unknown_card(text, nearest(&text.value, cards::names())))
}

pub(crate) fn processes(given: &Given) -> Result<Processes, Problem> {
    parse(given, |text| text.parse().ok(), report::not_a_number_of_ranks)
}

pub(crate) fn one_of<T>(known: Words<T>) -> impl Fn(&Given) -> Result<T, Problem> {
    let find = move |text: &str| known().into_iter().find(|(word, _)| *word == text).map(|(_, value)| value);
    let words = move || known().into_iter().map(|(word, _)| word).collect::<Vec<_>>();
    move |given| parse(given, find, |text| report::not_one_of(text, &words()))
}

/// `explain` knows more rules: those that no option silences.
pub(super) fn allowed(given: &Given) -> Result<Rule, Problem> {
    let is_it = |rule: &Rule| given.value == rule.name() && !check::allowable().contains(rule);
    let Some(rule) = Rule::all().find(is_it) else { return one_of(RULES)(given) };
    let place = Place::option(given.from.to_string(), rule.name());
    let what = format!("`{rule}` stops a launch: `--allow` cannot silence it");
    Err(Problem::error(Rule::Usage, what).fix(drop_word(&place)).at(place))
}

/// `0.19.8`, `v0.19`.
pub(crate) fn release(given: &Given) -> Result<Version, Problem> {
    let read = |text: &str| {
        let mut parts = text.strip_prefix('v').unwrap_or(text).split('.').map(|part| part.parse().ok());
        let numbers = [parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?];
        parts.next().is_none().then_some(Version(numbers))
    };
    parse(given, read, |text| report::is_not("a version", text, "0.19.8"))
}

pub(crate) fn dotted_key(given: &Given) -> Result<String, Problem> {
    let read = |text: &str| is_dotted_key(text).then(|| text.to_string());
    parse(given, read, |text| report::is_not("a dotted key", text, "zero_optimization.overlap_comm"))
}

/// `KEY=VALUE` for a config; the value is JSON, or else a string.
pub(crate) fn config_assignment(words: &[OsString]) -> impl Fn(&Given) -> Result<(String, Json), Problem> {
    let read = |text: &str| {
        let (key, value) = text.split_once('=').filter(|(key, _)| is_dotted_key(key))?;
        Some((key.to_string(), json::parse(value).unwrap_or_else(|_| Json::from(value))))
    };
    move |given| parse(given, read, |text| report::not_an_assignment(text, "KEY=VALUE", word_behind(given, words)))
}

/// `NAME=VALUE` for the environment.
pub(crate) fn variable_assignment(words: &[OsString]) -> impl Fn(&Given) -> Result<(String, OsString), Problem> {
    let read = |text: &str| {
        let (name, value) = text.split_once('=').filter(|(name, _)| vars::is_name(name))?;
        Some((name.to_string(), OsString::from(value)))
    };
    move |given| parse(given, read, |text| report::not_an_assignment(text, "NAME=VALUE", word_behind(given, words)))
}

/// The value in `--set KEY VALUE` and `--set KEY = VALUE`.
fn word_behind<'a>(given: &Given, words: &'a [OsString]) -> Option<&'a str> {
    let at = words.iter().position(|word| *word == given.value)?;
    let mut behind = words[at + 1..].iter().filter_map(|word| word.to_str()).map(|word| word.trim_start_matches('='));
    behind.find(|word| !word.is_empty()).filter(|word| !word.starts_with('-'))
}

pub(crate) fn variable_name(given: &Given) -> Result<String, Problem> {
    let read = |text: &str| vars::is_name(text).then(|| text.to_string());
    parse(given, read, |text| report::is_not("a valid name for a variable", text, "NCCL_DEBUG"))
}

fn is_dotted_key(key: &str) -> bool {
    !key.is_empty()
        && key.split('.').count() <= 32 // DeepSpeed's deepest key has seven parts
        && key.split('.').all(|part| !part.is_empty() && part.trim() == part)
}
