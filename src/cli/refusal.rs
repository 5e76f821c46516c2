//! Refusals of clap as problems of ours. An option that zlaunch does not have is another program's, a misspelt one, or the
//! trainer's own in the wrong place.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};

use super::commands::{command_of, describes_launch, help_of, takes_command, usage, value_of};
use super::reader::Tools;
use crate::base::options::{flag, launch_option, option_named, takes_value};
use crate::base::shell;
use crate::command::argument_class;
use crate::config::template::Search;
use crate::host::Host;
use crate::host::cards::{self, Cards};
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
        ErrorKind::UnknownArgument if place == "generate" && Search::default().knows(&given) => {
            report::meant(&given, "a template", &format!("--from {given}"))
        }
        ErrorKind::UnknownArgument
            if place == "generate" && Search::default().is_config(&given) =>
        {
            report::meant(
                &given,
                "a file",
                &format!("-o {given} writes it, --from {given} starts from it"),
            )
        }
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
            let first = text
                .lines()
                .next()
                .unwrap_or_default()
                .trim_start_matches("error: ");
            Problem::error(Rule::Usage, first)
                .at("the command line")
                .fix("`zlaunch --help` lists the options")
        }
    }
}

/// `given` is the option as clap shows it: `--set <KEY=VALUE>`.
fn needs_value(given: &str, command: &Command) -> Problem {
    let name = given.split(' ').next().unwrap_or(given);
    let text = match command.get_arguments().find(|arg| flag(arg) == name) {
        Some(arg) => format!(
            "{}: {}",
            value_of(arg),
            help_of(command.get_name(), arg)
                .and_then(|help| help.field("en"))
                .unwrap_or_default()
        ),
        None => "`zlaunch --help`".to_string(),
    };
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

/// In the words, `{}` stands for the value of the option and `{name}` for its name.
enum Replacement {
    /// Words in the same place.
    Words(String),
    /// Arguments of the training.
    Behind(&'static str),
    /// Nothing, for this reason.
    Nothing(&'static str),
}

/// The options of torchrun, deepspeed, accelerate and others: place and names, and the words to give instead.
pub fn foreign_options() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("foreign_options.txt")
        .lines()
        .filter_map(|line| line.split_once(" -> "))
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
    let given = given.split('=').next().unwrap_or_default();
    let place = tools.named(words.first()).name;
    let of_place = command_of(place, tools);
    let name = given.trim_start_matches('-').replace('-', "_");
    let command = if place.is_empty() {
        "zlaunch".to_string()
    } else {
        format!("`zlaunch {place}`")
    };
    let refused = |why: &str| {
        Problem::error(
            Rule::Usage,
            format!("{command} has no option `{given}`{why}"),
        )
        .at(given)
    };
    let text = words[at].to_string_lossy().into_owned();
    if given
        .split_once(' ')
        .is_some_and(|(name, _)| launch_option(name.trim_start_matches('-')).is_some())
    {
        words.splice(at..=at, text.split_whitespace().map(OsString::from));
        return refused(": drop the quotes");
    }
    // `--config ds.json` is DeepSpeed's, `--config run.yaml` the trainer's.
    let is_json = words[at..]
        .iter()
        .take(2)
        .any(|word| word.to_string_lossy().ends_with(".json"));
    let name = if is_json && ["config", "c", "config_file"].contains(&&*name) {
        "ds_config".to_string()
    } else {
        name
    };
    let mut meant = meant(given, &name, place, &of_place);
    let takes_value = match &meant {
        Some(Replacement::Words(words)) => words.contains("{}") || words.contains("{host}"),
        _ => true,
    };
    let (value, count) = match text.split_once('=') {
        Some((_, value)) => (value.to_string(), 1),
        None if next_is_value(words, at, host) => (
            words[at + 1].to_string_lossy().into_owned(),
            1 + usize::from(takes_value),
        ),
        None => (String::new(), 1),
    };
    // `fit` takes a card.
    if let ("gpu", Some(Cards { card, count })) = (&*name, cards::parse(&value)) {
        let count = count.map_or_else(String::new, |count| format!(" --nproc-per-node {count}"));
        meant = Some(Replacement::Words(format!(
            "--gpu-memory {}MiB{count}",
            card.mib
        )));
    }
    let filled = |words: &str| {
        let (host, port) = value.rsplit_once(':').unwrap_or((&value, "29500"));
        let words = words
            .replace("{name}", &name)
            .replace("{host}", host)
            .replace("{port}", port);
        words
            .replace("{}", &value)
            .trim_end_matches([' ', '='])
            .to_string()
    };
    let taken: Vec<OsString> = words.drain(at..at + count).collect();
    match meant {
        Some(Replacement::Words(template)) => {
            let meant = filled(&template);
            words.splice(at..at, meant.split(' ').map(OsString::from));
            refused("").fix(rename_option(shell::text(&taken), meant))
        }
        Some(Replacement::Nothing(why)) => refused(&format!(": {why}")).fix(drop_word(given)),
        behind if takes_command(&of_place) && has_command(words, host) => {
            match behind {
                Some(Replacement::Behind(template)) => {
                    words.extend(filled(template).split(' ').map(OsString::from));
                }
                _ => words.extend(taken),
            }
            let what = format!(
                "zlaunch has no option `{given}`: the trainer's options go after its command"
            );
            Problem::error(Rule::Usage, what).at(given)
        }
        Some(Replacement::Behind(template)) => {
            refused("").fix(format!("did you mean `COMMAND {}`?", filled(template)))
        }
        None => {
            let behind = if place.is_empty() {
                "; the trainer's own go after its command"
            } else {
                ""
            };
            let command = command.trim_matches('`');
            refused("").fix(format!("`{command} --help` lists the options{behind}"))
        }
    }
}

fn meant(given: &str, name: &str, place: &str, command: &Command) -> Option<Replacement> {
    let ours =
        |arg: &Arg| Replacement::Words(flag(arg) + if takes_value(arg) { " {}" } else { "" });
    let bare = given.trim_start_matches('-');
    if bare.is_empty() {
        return Some(Replacement::Words("--".to_string()));
    }
    if Search::default().knows(bare) {
        return Some(Replacement::Words(format!("--deepspeed {bare}")));
    }
    if place.is_empty() && !given.starts_with("--") && launch_option(bare).is_some() {
        return launch_option(bare).map(ours);
    }
    if let Some(found) = replacement(name, place, describes_launch(command)) {
        return Some(found);
    }
    if let ("", Some(takes_value)) = (place, launcher::torchrun_option(name)) {
        return Some(Replacement::Words(format!(
            "--launcher-arg {given}{}",
            if takes_value { "={}" } else { "" }
        )));
    }
    if argument_class::is_recorded(name) {
        return None;
    }
    let options = || {
        command
            .get_arguments()
            .filter(|arg| arg.get_long().is_some())
    };
    let spellings: Vec<&str> = options()
        .flat_map(|arg| {
            arg.get_all_aliases()
                .unwrap_or_default()
                .into_iter()
                .chain(arg.get_long())
        })
        .collect();
    let spellings = spellings.iter().copied();
    let mut longer = spellings
        .clone()
        .filter(|it| name.len() >= 3 && it.replace('-', "_").starts_with(name));
    let near = report::nearest(name, spellings).or_else(|| longer.next())?;
    option_named(options, near).map(ours)
}

/// By the table, for the name of an option with `_`.
fn replacement(name: &str, place: &str, describes_launch: bool) -> Option<Replacement> {
    let find = |place: &str| {
        foreign_options().find_map(|(names, words)| {
            let mut names = names.split(' ');
            (names.next() == Some(place) && names.any(|it| it == name)).then_some(words)
        })
    };
    let words = find(place).or_else(|| {
        if describes_launch {
            find("launch")
        } else {
            None
        }
    })?;
    Some(match words.split_once(' ') {
        Some(("!", why)) => Replacement::Nothing(why),
        Some((">", words)) => Replacement::Behind(words),
        _ => Replacement::Words(words.to_string()),
    })
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
