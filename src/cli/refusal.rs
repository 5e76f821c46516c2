//! Refusals of clap as problems of ours.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::commands::{command_of, said, usage_of, value_of};
use super::reader::Tools;
use crate::base::options::flag;
use crate::config::template::Search;
use crate::report::fix::{drop_word, give};
use crate::report::{self, Problem, Rule};

pub(super) fn refused_argument(why: &clap::Error) -> Option<String> {
    context(why, ContextKind::InvalidArg)
}

fn context(why: &clap::Error, kind: ContextKind) -> Option<String> {
    match why.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(list) => list.first().cloned(),
        _ => None,
    }
}

pub(super) fn refusal(why: &clap::Error, words: &[OsString], tools: &Tools) -> Problem {
    let place = tools.named(words.first()).name;
    let given = refused_argument(why).unwrap_or_default();
    let command = command_of(place, tools);
    let usage = usage_of(&command);
    match why.kind() {
        ErrorKind::UnknownArgument if place == "generate" && Search::default().knows(&given) => {
            report::meant(&given, "a template", &format!("--from {given}"))
        }
        ErrorKind::UnknownArgument if place == "generate" && Search::default().is_config(&given) => {
            report::meant(&given, "a file", &format!("-o {given} writes it, --from {given} starts from it"))
        }
        ErrorKind::UnknownArgument => report::unexpected_argument(&given, &usage),
        ErrorKind::TooManyValues => {
            let value = context(why, ContextKind::InvalidValue).unwrap_or_default();
            match given.starts_with('-') {
                true => takes_no_value(&given, &value),
                false => report::unexpected_argument(&value, &usage),
            }
        }
        ErrorKind::InvalidValue | ErrorKind::TooFewValues => needs_value(&given, &command),
        ErrorKind::MissingRequiredArgument => {
            report::missing_argument(given.trim_matches(['<', '>', '[', ']']), &usage)
        }
        _ => {
            let text = why.to_string();
            let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
            Problem::error(Rule::Usage, first).at("the command line").fix("`zlaunch --help` lists the options")
        }
    }
}

/// `given` is the option as clap shows it: `--set <KEY=VALUE>`.
fn needs_value(given: &str, command: &Command) -> Problem {
    let name = given.split(' ').next().unwrap_or(given);
    let text = match command.get_arguments().find(|arg| flag(arg) == name) {
        Some(arg) => format!("{}: {}", value_of(arg), said(arg.get_help())),
        None => "`zlaunch --help`".to_string(),
    };
    Problem::error(Rule::Usage, format!("`{name}` needs a value")).at(name).fix(format!("{name} {text}"))
}

fn takes_no_value(name: &str, value: &str) -> Problem {
    let help = match value.to_ascii_lowercase().as_str() {
        "text" | "json" | "shell" if name == "--dry-run" => give(name, "").and(give("--format", value)),
        "0" | "false" | "no" | "off" => drop_word(name),
        _ => give(name, ""),
    };
    Problem::error(Rule::Usage, format!("`{name}` takes no value")).at(format!("{name}={value}")).fix(help)
}
