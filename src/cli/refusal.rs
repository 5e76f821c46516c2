//! Refusals of clap as problems of ours. An option that zlaunch does not have is another program's, a misspelt one, or the
//! trainer's own in the wrong place.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};

use super::commands::{command_of, describes_launch, help_of, takes_command, usage, value_of};
use super::reader::Tools;
use super::tables::foreign_options::{FOREIGN_OPTIONS, ForeignOption, Instead, Place};
use crate::base::options::{flag, option_named, takes_value};
use crate::base::shell;
use crate::command::argument_class;
use crate::config::template::Search;
use crate::host::Host;
use crate::ranks::launcher;
use crate::report::fix::{drop_word, give, rename_option};
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
    let usage = usage(command.get_name());
    let name = format!("zlaunch {place}");
    let name = name.trim_end();
    match why.kind() {
        ErrorKind::UnknownArgument => report::unexpected_argument(&given, name, usage),
        ErrorKind::TooManyValues => {
            let value = context(why, ContextKind::InvalidValue).unwrap_or_default();
            if given.starts_with('-') {
                takes_no_value(&given, &value)
            } else {
                report::unexpected_argument(&value, name, usage)
            }
        }
        ErrorKind::InvalidValue | ErrorKind::TooFewValues => needs_value(&given, &command),
        ErrorKind::MissingRequiredArgument => {
            report::missing_argument(given.trim_matches(['<', '>', '[', ']']), name, usage)
        }
        _ => {
            let text = why.to_string();
            let first = text.lines().next().unwrap_or_default();
            Problem::error(Rule::Usage, first.trim_start_matches("error: "))
                .at("the command line")
                .fix("`zlaunch --help` lists the options")
        }
    }
}

/// `given` is the option as clap shows it: `--set <KEY=VALUE>`.
fn needs_value(given: &str, command: &Command) -> Problem {
    let name = given.split(' ').next().unwrap_or(given);
    let arg = command.get_arguments().find(|arg| flag(arg) == name);
    let text = arg.and_then(|arg| {
        let help = help_of(command.get_name(), arg)?.field("en")?;
        Some(format!("{}: {help}", value_of(arg)))
    });
    let text = text.unwrap_or_else(|| "`zlaunch --help`".to_string());
    Problem::error(Rule::Usage, format!("`{name}` needs a value"))
        .at(name)
        .fix(format!("{name} {text}"))
}

fn takes_no_value(name: &str, value: &str) -> Problem {
    let help = match value.to_ascii_lowercase().as_str() {
        "text" | "json" | "shell" if name == "--dry-run" => {
            give(name, "").and(give("--format", value))
        }
        "0" | "false" | "no" | "off" => drop_word(name),
        _ => give(name, ""),
    };
    Problem::error(Rule::Usage, format!("`{name}` takes no value"))
        .at(format!("{name}={value}"))
        .fix(help)
}

/// What was probably meant by an option that zlaunch does not have.
enum Meant {
    /// An option with its value, if it takes one: that begins with this text.
    Option(String, Option<String>),
    /// Nothing, for this reason.
    Nothing(&'static str),
}

impl Meant {
    fn switch(words: impl Into<String>) -> Self {
        Meant::Option(words.into(), None)
    }

    fn option(arg: &Arg) -> Self {
        Meant::Option(flag(arg), takes_value(arg).then(String::new))
    }
}

/// The refusal. The words become what was probably meant, so that the rest of them can be judged. A refusal without a fix
/// gets the whole line in the end.
pub(super) fn unknown_option(
    given: &str,
    at: usize,
    words: &mut Vec<OsString>,
    host: &Host,
    tools: &Tools,
) -> Problem {
    let place = tools.named(words.first()).name;
    let command = command_of(place, tools);
    let text = words[at].to_string_lossy().into_owned();
    let given = given.split('=').next().unwrap_or_default();
    let joined = text.split_once('=').map(|(_, value)| value.to_string());
    let who = if place.is_empty() {
        "zlaunch".to_string()
    } else {
        format!("`zlaunch {place}`")
    };
    let refused = |why: &str| {
        let what = format!("{who} has no option `{given}`{why}");
        Problem::error(Rule::Usage, what).at(given)
    };
    let meant = meant(given, place, &command);
    let takes_value = !matches!(meant, Some(Meant::Option(_, None)));
    let value = if joined.is_none() && takes_value && next_is_value(words, at, host) {
        Some(words.remove(at + 1))
    } else {
        None
    };
    let taken: Vec<OsString> = [words.remove(at)]
        .into_iter()
        .chain(value.clone())
        .collect();
    let value = joined.or_else(|| value.map(|value| value.to_string_lossy().into_owned()));
    match meant {
        Some(Meant::Option(option, before)) => {
            let mut instead: Vec<String> = option.split(' ').map(str::to_string).collect();
            if let (Some(before), Some(value)) = (before, value) {
                instead.push(before + &value);
            }
            let line = instead.join(" ");
            words.splice(at..at, instead.into_iter().map(OsString::from));
            refused("").fix(rename_option(shell::text(&taken), line))
        }
        Some(Meant::Nothing(why)) => refused(&format!(": {why}")).fix(drop_word(given)),
        None if takes_command(&command) && has_command(words, host) => {
            words.extend(taken);
            let what = format!(
                "zlaunch has no option `{given}`: the trainer's options go after its command"
            );
            Problem::error(Rule::Usage, what).at(given)
        }
        None => {
            let behind = if place.is_empty() {
                "; the trainer's own go after its command"
            } else {
                ""
            };
            let name = who.trim_matches('`');
            refused("").fix(format!("`{name} --help` lists the options{behind}"))
        }
    }
}

fn meant(given: &str, place: &str, command: &Command) -> Option<Meant> {
    let bare = given.trim_start_matches('-');
    let name = &*bare.replace('-', "_");
    if bare.is_empty() {
        return Some(Meant::switch("--"));
    }
    if Search::default().knows(bare) {
        return Some(Meant::switch(format!("--deepspeed {bare}")));
    }
    let options = || {
        command
            .get_arguments()
            .filter(|arg| arg.get_long().is_some())
    };
    // `-deepspeed`, with one dash.
    if let Some(option) = option_named(options, bare) {
        return Some(Meant::option(option));
    }
    if let Some(row) = foreign(name, place, describes_launch(command)) {
        return Some(match row.instead {
            Instead::Option(option) => Meant::Option(option.to_string(), Some(String::new())),
            Instead::OptionWith(option, before) => {
                Meant::Option(option.to_string(), Some(before.to_string()))
            }
            Instead::Needless(why) => Meant::Nothing(why),
        });
    }
    if place.is_empty() {
        match launcher::torchrun_option(name) {
            Some(true) => {
                let option = "--launcher-arg".to_string();
                return Some(Meant::Option(option, Some(format!("{given}="))));
            }
            Some(false) => return Some(Meant::switch(format!("--launcher-arg {given}"))),
            None => {}
        }
    }
    if argument_class::is_recorded(name) {
        return None;
    }
    let spellings: Vec<&str> = options()
        .flat_map(|arg| {
            let aliases = arg.get_all_aliases().unwrap_or_default();
            aliases.into_iter().chain(arg.get_long())
        })
        .collect();
    let near = report::nearest(name, spellings.iter().copied()).or_else(|| {
        let mut longer = spellings.iter().copied();
        longer.find(|it| name.len() >= 3 && it.replace('-', "_").starts_with(name))
    });
    option_named(options, near?).map(Meant::option)
}

/// `name`: the name of an option with `_`.
fn foreign(name: &str, place: &str, describes_launch: bool) -> Option<&'static ForeignOption> {
    let is_here = |row: &ForeignOption| match row.place {
        Place::Launch => describes_launch,
        Place::Only(places) => places.contains(&place),
    };
    FOREIGN_OPTIONS
        .iter()
        .find(|row| is_here(row) && row.names.contains(&name))
}

/// Tells the value of an option from the command behind it.
fn next_is_value(words: &[OsString], at: usize, host: &Host) -> bool {
    let Some(next) = words.get(at + 1) else {
        return false;
    };
    let is_option = next.as_encoded_bytes().starts_with(b"-");
    !is_option && (words[at..].iter().any(|word| word == "--") || host.find_program(next).is_none())
}

fn has_command(words: &[OsString], host: &Host) -> bool {
    match words.iter().position(|word| word == "--") {
        Some(dashes) => dashes + 1 < words.len(),
        None => words
            .iter()
            .any(|word| !word.is_empty() && host.find_program(word).is_some()),
    }
}
