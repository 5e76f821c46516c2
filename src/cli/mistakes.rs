//! What was probably meant by words that are not understood: an option of another program, a misspelt one or the trainer's
//! own in the wrong place, and a config, a template, a run file or a sub-command in the place of the command.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

use clap::{
    Arg, Command,
    error::{ContextKind, ErrorKind},
};

use super::{
    help::{command_of, takes_command, usage, value_of},
    reader::{Reader, Subcommand, Tools, describes_launch},
    tables::{
        foreign_options::{FOREIGN_OPTIONS, Instead, Place},
        other_commands::{JOB_STARTERS, NEEDLESS, OTHER_COMMANDS},
    },
};
use crate::{
    base::{
        options::{flag, option_named, takes_value},
        shell,
        size::parse_count,
    },
    command::{argument_class, prefix::Prefix},
    config::{schema, template::Search},
    host::Host,
    ranks::launcher,
    report::{self, prelude::*},
    request::understood::trains,
};

pub fn refused_argument(why: &clap::Error) -> Option<String> {
    context(why, ContextKind::InvalidArg)
}

fn context(why: &clap::Error, kind: ContextKind) -> Option<String> {
    why.get(kind).map(ToString::to_string)
}

/// A refusal of clap as a problem of ours.
pub fn refusal(why: &clap::Error, words: &[OsString], tools: &Tools) -> Problem {
    let place = tools.named(words.first()).name;
    let given = refused_argument(why).unwrap_or_default();
    let command = command_of(place, tools);
    let usage = usage(command.get_name());
    let name = &*name_of(place);
    match why.kind() {
        ErrorKind::UnknownArgument => report::unexpected_argument(&given, name, usage),
        ErrorKind::TooManyValues => {
            let value = context(why, ContextKind::InvalidValue).unwrap_or_default();
            if given.starts_with('-') {
                let what = format!("`{given}` is a switch and takes no value");
                Rule::Usage
                    .error(what)
                    .at(format!("{given}={value}"))
                    .fix("give it alone, or leave it out")
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
            Rule::Usage
                .error(first.trim_start_matches("error: "))
                .at("the command line")
                .fix("`zlaunch --help` lists the options")
        }
    }
}

/// `zlaunch check`.
fn name_of(place: &str) -> String {
    format!("zlaunch {place}").trim_end().to_string()
}

/// `given` is the option as clap shows it: `--set <SET>`.
fn needs_value(given: &str, command: &Command) -> Problem {
    let name = given.split(' ').next().unwrap_or(given);
    let problem = Rule::Usage
        .error(format!("`{name}` needs a value"))
        .at(name);
    match command.get_arguments().find(|arg| flag(arg) == name) {
        Some(arg) => problem.fix(give(name, value_of(arg))),
        None => problem,
    }
}

/// What was probably meant by an option that zlaunch does not have.
enum MeantOption {
    /// These words, followed by the given value if they want one.
    Words { text: String, takes_value: bool },
    /// Nothing, for this reason.
    Nothing(&'static str),
    /// Something that the user must write.
    Says(&'static str),
}

impl MeantOption {
    fn known(arg: &Arg) -> Self {
        MeantOption::Words {
            text: flag(arg) + " ",
            takes_value: takes_value(arg),
        }
    }
}

/// Refuses the option at this place. The words become what was probably meant, so that the rest of them can be judged. A
/// refusal without a fix gets the whole line in the end.
pub fn unknown_option(at: usize, words: &mut Vec<OsString>, host: &Host, tools: &Tools) -> Problem {
    let place = tools.named(words.first()).name;
    let command = command_of(place, tools);
    let text = words[at].to_string_lossy().into_owned();
    let (given, joined) = match text.split_once('=') {
        Some((given, value)) => (given, Some(value)),
        None => (&*text, None),
    };
    let names_json = words.get(at + 1).is_some_and(is_json);
    let asked = if given == "--config" && names_json {
        "--ds_config"
    } else {
        given
    };
    let meant = meant_option(asked, place, &command);
    let takes_value = !matches!(
        meant,
        Some(MeantOption::Words {
            takes_value: false,
            ..
        })
    );
    let has_next = joined.is_none() && takes_value && next_is_value(words, at, host);
    let end = if has_next { at + 2 } else { at + 1 };
    let taken: Vec<OsString> = words.drain(at..end).collect();
    let name = name_of(place);
    let refused = |why: &str| {
        Rule::Usage
            .error(format!("{name} has no option `{given}`{why}"))
            .at(report::Place::option(given, ""))
    };
    match meant {
        Some(MeantOption::Words { text, .. }) => {
            let next = taken.get(1).map(|value| value.to_string_lossy());
            let value = joined.or(next.as_deref()).filter(|_| takes_value);
            let instead = text + value.unwrap_or_default();
            let instead = instead.trim_end();
            words.splice(at..at, instead.splitn(2, ' ').map(OsString::from));
            refused("").fix(rename_option(shell::text(&taken), instead))
        }
        Some(MeantOption::Nothing(why)) => refused(&format!(": {why}")).fix(drop_word(given)),
        Some(MeantOption::Says(what)) => refused("").fix(what),
        None if takes_command(&command)
            && words.iter().any(|word| {
                word == "--" || !word.is_empty() && host.find_program(word).is_some()
            }) =>
        {
            words.extend(taken);
            refused(": the trainer's options go after its command")
        }
        None => refused("").fix(format!("`{name} --help` lists the options")),
    }
}

fn meant_option(given: &str, place: &str, command: &Command) -> Option<MeantOption> {
    let bare = given.trim_start_matches('-');
    let name = &*bare.replace('-', "_");
    let words = |text, takes_value| Some(MeantOption::Words { text, takes_value });
    if Search::default().knows(bare) {
        return words(format!("--deepspeed {bare}"), false);
    }
    let options = || {
        command
            .get_arguments()
            .filter(|arg| arg.get_long().is_some())
    };
    // `-deepspeed`, with one dash.
    if let Some(option) = option_named(options(), bare) {
        return Some(MeantOption::known(option));
    }
    match FOREIGN_OPTIONS
        .iter()
        .find(|row| {
            let is_here = match row.place {
                Place::Launch => describes_launch(command),
                Place::Only(places) => places.contains(&place),
            };
            is_here && row.names.contains(&name)
        })
        .map(|row| row.instead)
    {
        Some(Instead::Option(option, start)) => return words(format!("{option} {start}"), true),
        Some(Instead::Says(what)) => return Some(MeantOption::Says(what)),
        Some(Instead::Needless(why)) => return Some(MeantOption::Nothing(why)),
        None => {}
    }
    match launcher::torchrun_option(name).filter(|_| place.is_empty()) {
        Some(true) => return words(format!("--launcher-arg {given}="), true),
        Some(false) => return words(format!("--launcher-arg {given}"), false),
        None if argument_class::is_recorded(name) => return None,
        None => {}
    }
    let aliases = options().filter_map(Arg::get_all_aliases).flatten();
    let spellings = options().filter_map(Arg::get_long).chain(aliases);
    option_named(options(), report::nearest(bare, spellings)?).map(MeantOption::known)
}

/// Tells the value of an option from the command behind it.
fn next_is_value(words: &[OsString], at: usize, host: &Host) -> bool {
    let Some(next) = words.get(at + 1) else {
        return false;
    };
    let is_option = next.as_encoded_bytes().starts_with(b"-");
    !is_option && (words[at..].iter().any(|word| word == "--") || host.find_program(next).is_none())
}

/// The problem with the first word of a command that is no program, or not meant as one.
pub fn did_you_mean(reader: &Reader, command: &[OsString]) -> Option<Problem> {
    let (first, rest) = command.split_first()?;
    let word = first.to_str()?;
    let is_program = reader.host.find_program(first).is_some();
    if is_program && word != "zlaunch" && is_meant_as_program(reader, first) {
        return None;
    }
    if !word.is_empty() && word.trim().is_empty() {
        return Some(report::only_a_space());
    }
    let meant = meant_word(reader, word, rest, is_program);
    if !is_program {
        return meant;
    }
    let line = line(&[reader.options, &["--".into()], command].concat());
    let program = run(line).remark(format!("to run the program `{word}`"));
    let mut problem = meant.unwrap_or_else(|| {
        let what =
            format!("`{word}` is not a sub-command, nor a training command that zlaunch knows");
        Rule::Usage.error(what).at(word)
    });
    problem.fixes = std::mem::take(&mut problem.fixes).or(program);
    Some(problem)
}

/// `zlaunch init` must not run /sbin/init: without `--`, the command must look like one.
fn is_meant_as_program(reader: &Reader, word: &OsStr) -> bool {
    let text = word.to_string_lossy();
    let is_said = |word: &OsString| word == "--" || word == "--trainer" || word == "--launcher";
    reader.options.iter().any(is_said)
        || JOB_STARTERS.contains(&&*text)
        || text.contains('/')
        || trains(word)
        || Prefix::is_one(word)
        || reader.host.cwd.join(word).is_file()
}

/// What was probably meant by a word in the place of the command.
fn meant_word(reader: &Reader, word: &str, rest: &[OsString], is_program: bool) -> Option<Problem> {
    let place = reader.place;
    if let Some(last @ [option, key]) = reader.options.last_chunk()
        && (option == "--set" || option == "--env")
        && word != "="
        && !key.to_string_lossy().contains('=')
        && !trains(word.as_ref())
    {
        let start = shell::text(last);
        return Some(
            Rule::Usage
                .error("a value follows `=`, in the same word")
                .fix(rename_option(
                    format!("{start} {word}"),
                    format!("{start}={word}"),
                )),
        );
    }
    // The line that was probably meant: with the options that were given and these words.
    let is = |what: &str, subcommand: &str, more: &[&str]| {
        let takes_command = takes_command(&command_of(subcommand, reader.tools));
        let given = reader
            .options
            .iter()
            .filter(|option| takes_command && *option != "--");
        let mut words: Vec<OsString> = subcommand.split_whitespace().map(OsString::from).collect();
        words.extend(given.cloned());
        words.extend(more.iter().map(OsString::from));
        words.extend_from_slice(rest);
        report::meant(word, what, &line(&words))
    };
    let config = if is_json(&word.into()) {
        Some(("a config, not a command", "check"))
    } else if Search::default().knows(word) {
        Some(("a template, not a command", "templates"))
    } else {
        None
    };
    match config {
        Some((what, shows)) if rest.is_empty() && place != "fit" => {
            return Some(is(what, shows, &[word]));
        }
        Some((what, _)) => return Some(is(what, place, &["--deepspeed", word])),
        None => {}
    }
    if let Some(name) = reader.tools.names().find(|name| *name == word) {
        return Some(is(
            "a sub-command, which comes before the options",
            name,
            &[],
        ));
    }
    if let Some(row) = OTHER_COMMANDS.iter().find(|row| row.name == word) {
        return Some(is("not a sub-command", row.subcommand, &[row.option]));
    }
    let needless = match word {
        "1" => None,
        "zlaunch" => Some("in the command again: once is enough"),
        _ if NEEDLESS.contains(&word) && !is_program => {
            Some("not a sub-command: without one, zlaunch launches")
        }
        // `--strict true`
        _ => (schema::truth(&word.into()) == Some(true))
            .then_some("not a value: a switch takes none"),
    };
    if let Some(why) = needless.filter(|_| !rest.is_empty()) {
        return Some(is(why, place, &[]));
    }
    // The trainer need not be on this machine.
    if place == "fit" && !is_program && !trains(word.as_ref()) {
        let option = parse_count(word).map_or("--model", |_| "--params");
        return Some(is("not a command", place, &[option, word]));
    }
    if !place.is_empty() || !reader.options.is_empty() {
        return None;
    }
    let near = report::nearest(word, reader.tools.names())?;
    // `swfit` is not a typo of `fit`; another name is far from it.
    let is_name = strsim::damerau_levenshtein(word, near) > 2;
    let is_meant = is_name || !is_program && near.chars().next() == word.chars().next();
    is_meant.then(|| is("not a sub-command", near, &[]))
}

fn is_json(word: &OsString) -> bool {
    Path::new(word)
        .extension()
        .is_some_and(|ending| ending == "json")
}

/// How many words are in front of the command, `--` included; none if clap refuses one.
fn count_options(words: &[OsString], command: Command) -> usize {
    let matches = command.no_binary_name(true).try_get_matches_from(words);
    let behind = matches.map(|matches| {
        matches
            .get_many::<OsString>("command")
            .into_iter()
            .flatten()
            .count()
    });
    words.len() - behind.unwrap_or(words.len())
}

/// Moves the options of `check` in front of the configs, where there is nothing else.
pub fn options_first(
    words: &[OsString],
    check: &Subcommand,
    is_config: impl Fn(&OsString) -> bool,
) -> Vec<OsString> {
    let configs = words.iter().take_while(|word| is_config(word)).count();
    let (configs, rest) = words.split_at(configs);
    let (options, behind) = rest.split_at(count_options(rest, check.described()));
    if behind.iter().all(is_config) {
        [options, configs, behind].concat()
    } else {
        words.to_vec()
    }
}

pub fn line(words: &[OsString]) -> String {
    shell::text(&[&[OsString::from("zlaunch")], words].concat())
}
