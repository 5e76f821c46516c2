//! Readers for the values of our options.

use std::{ffi::OsString, path::PathBuf};

use serde_json::Value as Json;

use crate::{
    base::{
        json,
        options::{Given, Words},
        recorded::Version,
        size::{number_meant, parse_count},
        source::Sourced,
        vars,
    },
    config::{layers::Assignment, schema},
    host::cards::{self, CARDS, Cards},
    ranks::topology::Processes,
    report::{self, prelude::*},
};

pub use super::tables::words::*;

pub fn text(given: &Given) -> Result<String, Problem> {
    let (what, fix) = match given.value.to_str() {
        Some("") => ("empty", "is a shell variable not set?"),
        Some(text) => return Ok(text.to_string()),
        None => (
            "not UTF-8 text",
            "use UTF-8 here; arguments after the command may be any bytes",
        ),
    };
    let place = Place::option(given.from.to_string(), given.value.to_string_lossy());
    Err(Rule::Usage
        .error(format!("the value of `{}` is {what}", given.from))
        .at(place)
        .fix(fix))
}

#[expect(clippy::unnecessary_wraps, reason = "like the others")]
pub fn path(given: &Given) -> Result<PathBuf, Problem> {
    Ok(PathBuf::from(&given.value))
}

fn sourced(given: &Given) -> Result<Sourced<String>, Problem> {
    Ok(Sourced::new(text(given)?, given.from.clone()))
}

/// A whole number in a range, with an example of one.
pub fn number<T: Copy + TryFrom<u64> + Into<u64>>(
    least: T,
    most: T,
    example: &'static str,
) -> impl Fn(&Given) -> Result<T, Problem> {
    let range = least.into()..=most.into();
    move |given| {
        let text = sourced(given)?;
        text.value
            .parse()
            .ok()
            .filter(|it| range.contains(it))
            .and_then(|it| it.try_into().ok())
            .ok_or_else(|| report::not_a_number(&text, &range, example))
    }
}

/// Memory. Nobody means 24 bytes, so a small number without a unit is refused.
pub fn memory(
    read: fn(&str) -> Option<u64>,
    example: &'static str,
) -> impl Fn(&Given) -> Result<u64, Problem> {
    // A number of nvidia-smi is in MiB; what people know of a machine is in GiB.
    let unit = |number| if number >= 4096.0 { "MiB" } else { "GiB" };
    move |given| size(given, read, 1 << 30, unit, example)
}

/// A number of parameters. Nobody trains eight, so a small number without a unit is refused.
pub fn parameters(given: &Given) -> Result<u64, Problem> {
    size(given, parse_count, 10_000, |_| "B", "8B")
}

/// `unit`: the one that a number below `least` probably lacks.
fn size(
    given: &Given,
    read: fn(&str) -> Option<u64>,
    least: u64,
    unit: fn(f64) -> &'static str,
    example: &str,
) -> Result<u64, Problem> {
    let text = sourced(given)?;
    match (read(&text.value), text.value.trim().parse()) {
        (Some(size), Err(_)) => Ok(size),
        (Some(size), Ok(_)) if size >= least => Ok(size),
        (_, Ok(number)) => {
            let typed = text.value.trim();
            Err(Rule::Usage
                .error(format!("`{typed}` has no unit"))
                .at(&text)
                .fix(give_as(&text.from, format!("{typed}{}", unit(number)))))
        }
        (None, Err(_)) => Err(report::is_not("a size", &text, Err(example))),
    }
}

pub fn on_or_off(given: &Given) -> Result<bool, Problem> {
    let text = sourced(given)?;
    schema::truth(&text.value.as_str().into())
        .ok_or_else(|| report::is_not("true or false", &text, Err("1")))
}

pub fn cards(given: &Given) -> Result<Cards, Problem> {
    let text = sourced(given)?;
    cards::parse(&text.value).ok_or_else(|| {
        report::unknown_card(
            &text,
            nearest(&text.value, CARDS.iter().map(|card| card.name)),
        )
    })
}

pub fn processes(given: &Given) -> Result<Processes, Problem> {
    let text = sourced(given)?;
    let wanted = "a number of ranks: a whole number of at least 1, `gpu` or `cpu`";
    text.value.parse().map_err(|()| {
        let meant = match number_meant(&text.value, "") {
            Some(count @ 1..) => &count.to_string(),
            _ if text.value == "all" => "gpu",
            _ => "N",
        };
        let problem = report::is_not(wanted, &text, Ok(meant));
        let card = text.value.trim_end_matches('x');
        if text.from.to_string() == "--gpus" && cards::parse(card).is_some() {
            return problem.fix(rename_option(text.spelling(), format!("--gpu {card}")));
        }
        problem
    })
}

pub fn one_of<T>(known: Words<T>) -> impl Fn(&Given) -> Result<T, Problem> {
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

/// `0.19.8`, `v0.19`.
pub fn release(given: &Given) -> Result<Version, Problem> {
    let text = sourced(given)?;
    let numbers = text.value.trim_start_matches('v');
    let mut parts = numbers.split('.');
    if numbers.contains('.') && parts.all(|part| part.parse::<u32>().is_ok()) {
        Ok(Version::parse(numbers))
    } else {
        Err(report::is_not("a version", &text, Err("0.19.8")))
    }
}

pub fn dotted_key(given: &Given) -> Result<String, Problem> {
    name(
        given,
        is_dotted_key,
        "a dotted key",
        "zero_optimization.overlap_comm",
    )
}

pub fn variable_name(given: &Given) -> Result<String, Problem> {
    name(
        given,
        vars::is_name,
        "a valid name for a variable",
        "NCCL_DEBUG",
    )
}

fn name(given: &Given, is: fn(&str) -> bool, what: &str, example: &str) -> Result<String, Problem> {
    match sourced(given)? {
        text if is(&text.value) => Ok(text.value),
        text => {
            let meant = text.value.split('=').next().filter(|name| is(name));
            Err(report::is_not(what, &text, meant.ok_or(example)))
        }
    }
}

/// `KEY=VALUE` for a config; the value is JSON, or else a string.
pub fn config_assignment(given: &Given) -> Result<Assignment, Problem> {
    let [key, typed] = assignment(given, "KEY=VALUE", is_dotted_key)?;
    let value = json::parse(&typed).unwrap_or_else(|_| Json::from(typed.clone()));
    Ok(Assignment { key, value, typed })
}

/// `NAME=VALUE` for the environment.
pub fn variable_assignment(given: &Given) -> Result<(String, OsString), Problem> {
    let [name, value] = assignment(given, "NAME=VALUE", vars::is_name)?;
    Ok((name, value.into()))
}

fn assignment(given: &Given, form: &str, is_key: fn(&str) -> bool) -> Result<[String; 2], Problem> {
    let text = sourced(given)?;
    if let Some((key, value)) = text.value.split_once('=').filter(|(key, _)| is_key(key)) {
        return Ok([key, value].map(str::to_string));
    }
    // `fp16.enabled:true`, `fp16.enabled = true`
    let example = text
        .value
        .split_once(['=', ':'])
        .map(|(key, value)| (key.trim(), value.trim()))
        .filter(|(key, value)| is_key(key) && !value.is_empty() && !key.contains('{'))
        .map_or(form.to_string(), |(key, value)| format!("{key}={value}"));
    Err(report::is_not(form, &text, Ok(&example)))
}

fn is_dotted_key(key: &str) -> bool {
    !key.is_empty()
        && key.split('.').count() <= 32 // DeepSpeed's deepest key has seven parts
        && key.split('.').all(|part| !part.is_empty() && part.trim() == part)
}
