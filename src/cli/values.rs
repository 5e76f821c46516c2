//! Readers for the values of our options.

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::Value as Json;

use crate::base::options::Given;
use crate::base::recorded::Version;
use crate::base::size::parse_count;
use crate::base::source::Sourced;
use crate::base::{json, vars};
use crate::command::job::Trainer;
use crate::command::trainer;
use crate::config::template::search::BUILT_IN;
use crate::host::cards::{self, CARDS, Cards};
use crate::ranks::launcher::Launcher;
use crate::ranks::topology::Processes;
use crate::report::fix::{drop_word, give_as};
use crate::report::{self, Place, Problem, Rule, nearest};
use crate::request::Format;

pub(crate) type Words<T> = fn() -> Vec<(&'static str, T)>;

pub(super) const CONFIGS: Words<()> = || [("auto", ())].into_iter().chain(TEMPLATES()).collect();
pub(crate) const TEMPLATES: Words<()> = || BUILT_IN.iter().map(|(name, _)| (*name, ())).collect();
pub(super) const FORMATS: Words<Format> = || {
    vec![
        ("text", Format::Text),
        ("json", Format::Json),
        ("shell", Format::Shell),
    ]
};
pub(crate) const REPORT_FORMATS: Words<Format> =
    || vec![("text", Format::Text), ("json", Format::Json)];
pub(super) const LAUNCHERS: Words<Option<Launcher>> = || Launcher::NAMES.to_vec();
pub(super) const TRAINERS: Words<&Trainer> = || {
    trainer::ALL
        .iter()
        .map(|trainer| (trainer.name, *trainer))
        .collect()
};
pub(super) const RULES: Words<Rule> = || {
    Rule::allowable()
        .into_iter()
        .map(|rule| (rule.name(), rule))
        .collect()
};
pub(super) const COLORS: Words<()> = || vec![("auto", ()), ("always", ()), ("never", ())];

pub(crate) fn text(given: &Given) -> Result<String, Problem> {
    let text = given.value.to_str().map(str::to_string);
    text.ok_or_else(|| report::not_text(&given.from.to_string(), &given.value))
}

#[expect(clippy::unnecessary_wraps, reason = "like the others")]
pub(crate) fn path(given: &Given) -> Result<PathBuf, Problem> {
    Ok(PathBuf::from(&given.value))
}

fn sourced(given: &Given) -> Result<Sourced<String>, Problem> {
    Ok(Sourced::new(text(given)?, given.from.clone()))
}

/// A whole number in a range, with an example of one.
pub(crate) fn number<T: Copy + TryFrom<u64> + Into<u64>>(
    least: T,
    most: T,
    example: &'static str,
) -> impl Fn(&Given) -> Result<T, Problem> {
    let least = least.into();
    let most = most.into();
    move |given| {
        let text = sourced(given)?;
        let number = text
            .value
            .parse::<u64>()
            .ok()
            .filter(|number| (least..=most).contains(number));
        number
            .and_then(|it| it.try_into().ok())
            .ok_or_else(|| report::not_a_number(&text, least, most, example))
    }
}

/// Memory. Nobody means 24 bytes, so a small number without a unit is refused.
pub(crate) fn memory(
    read: fn(&str) -> Option<u64>,
    example: &'static str,
) -> impl Fn(&Given) -> Result<u64, Problem> {
    move |given| {
        let text = sourced(given)?;
        let is_bare = text.value.trim().parse::<f64>().is_ok();
        match read(&text.value) {
            Some(bytes) if !is_bare || bytes >= 1 << 30 => Ok(bytes),
            _ if is_bare => Err(report::size_without_unit(&text)),
            _ => Err(report::is_not("a size", &text, example)),
        }
    }
}

/// A number of parameters. Nobody trains eight, so a small number without a unit is refused.
pub(crate) fn parameters(given: &Given) -> Result<u64, Problem> {
    let text = sourced(given)?;
    if text
        .value
        .trim()
        .parse::<f64>()
        .is_ok_and(|number| number < 1e4)
    {
        return Err(report::without_unit(&text, "B"));
    }
    parse_count(&text.value).ok_or_else(|| report::is_not("a size", &text, "8B"))
}

pub(super) fn on_or_off(given: &Given) -> Result<bool, Problem> {
    let text = sourced(given)?;
    match text.value.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => {
            let what = format!("`{}` is neither true nor false", text.value);
            Err(Problem::error(Rule::Usage, what)
                .at(&text)
                .fix(give_as(&text.from, "1")))
        }
    }
}

pub(crate) fn cards(given: &Given) -> Result<Cards, Problem> {
    let text = sourced(given)?;
    cards::parse(&text.value).ok_or_else(|| {
        report::unknown_card(
            &text,
            nearest(&text.value, CARDS.iter().map(|card| card.name)),
        )
    })
}

pub(crate) fn processes(given: &Given) -> Result<Processes, Problem> {
    let text = sourced(given)?;
    text.value
        .parse()
        .map_err(|()| report::not_a_number_of_ranks(&text))
}

pub(crate) fn one_of<T>(known: Words<T>) -> impl Fn(&Given) -> Result<T, Problem> {
    move |given| {
        let text = sourced(given)?;
        let mut known = known();
        match known.iter().position(|(word, _)| *word == text.value) {
            Some(at) => Ok(known.swap_remove(at).1),
            None => Err(report::not_one_of(
                &text,
                &known.iter().map(|(word, _)| *word).collect::<Vec<_>>(),
            )),
        }
    }
}

/// `explain` knows more rules: those that no option silences.
pub(super) fn allowed(given: &Given) -> Result<Rule, Problem> {
    let near = given
        .value
        .to_str()
        .and_then(|word| report::nearest(word, Rule::all().map(Rule::name)));
    if near.is_none() || RULES().iter().any(|(name, _)| near == Some(*name)) {
        return one_of(RULES)(given);
    }
    let rule = near.unwrap_or_default();
    let place = Place::option(given.from.to_string(), rule);
    let what = format!("`{rule}` stops a launch: `--allow` cannot silence it");
    Err(Problem::error(Rule::Usage, what)
        .fix(drop_word(&place))
        .at(place))
}

/// `0.19.8`, `v0.19`.
pub(crate) fn release(given: &Given) -> Result<Version, Problem> {
    let text = sourced(given)?;
    let numbers = text
        .value
        .strip_prefix('v')
        .unwrap_or(&text.value)
        .split('.')
        .map(str::parse);
    match numbers.collect::<Result<Vec<u32>, _>>().as_deref() {
        Ok(&[major, minor]) => Ok(Version([major, minor, 0])),
        Ok(&[major, minor, patch]) => Ok(Version([major, minor, patch])),
        _ => Err(report::is_not("a version", &text, "0.19.8")),
    }
}

pub(crate) fn dotted_key(given: &Given) -> Result<String, Problem> {
    match sourced(given)? {
        text if is_dotted_key(&text.value) => Ok(text.value),
        text => Err(report::is_not(
            "a dotted key",
            &text,
            "zero_optimization.overlap_comm",
        )),
    }
}

/// `KEY=VALUE` for a config; the value is JSON, or else a string.
pub(crate) fn config_assignment(
    words: &[OsString],
) -> impl Fn(&Given) -> Result<(String, Json), Problem> {
    move |given| {
        let [key, value] = assignment(given, "KEY=VALUE", is_dotted_key, words)?;
        Ok((
            key,
            json::parse(&value).unwrap_or_else(|_| Json::from(value)),
        ))
    }
}

/// `NAME=VALUE` for the environment.
pub(crate) fn variable_assignment(
    words: &[OsString],
) -> impl Fn(&Given) -> Result<(String, OsString), Problem> {
    move |given| {
        assignment(given, "NAME=VALUE", vars::is_name, words)
            .map(|[name, value]| (name, value.into()))
    }
}

fn assignment(
    given: &Given,
    form: &str,
    is_key: fn(&str) -> bool,
    words: &[OsString],
) -> Result<[String; 2], Problem> {
    let text = sourced(given)?;
    if let Some((key, value)) = text.value.split_once('=').filter(|(key, _)| is_key(key)) {
        return Ok([key, value].map(str::to_string));
    }
    // The value in `--set KEY VALUE` and `--set KEY = VALUE`.
    let behind = words
        .iter()
        .skip_while(|word| **word != given.value)
        .skip(1)
        .filter_map(|word| word.to_str());
    let next = behind
        .map(|word| word.trim_start_matches('='))
        .find(|word| !word.is_empty());
    Err(report::not_an_assignment(
        &text,
        form,
        next.filter(|word| !word.starts_with('-')),
    ))
}

pub(crate) fn variable_name(given: &Given) -> Result<String, Problem> {
    match sourced(given)? {
        text if vars::is_name(&text.value) => Ok(text.value),
        text => Err(report::is_not(
            "a valid name for a variable",
            &text,
            "NCCL_DEBUG",
        )),
    }
}

fn is_dotted_key(key: &str) -> bool {
    !key.is_empty()
        && key.split('.').count() <= 32 // DeepSpeed's deepest key has seven parts
        && key.split('.').all(|part| !part.is_empty() && part.trim() == part)
}
