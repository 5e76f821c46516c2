//! An option that zlaunch does not have: another program's, a misspelt one, or the trainer's own in the wrong place.

use std::ffi::OsString;

use clap::{Arg, Command};

use super::commands::{command_of, describes_launch, takes_command};
use super::foreign_options::{Replacement, replacement};
use super::reader::Tools;
use crate::base::options::{flag, launch_option, option_named, takes_value};
use crate::command::argument_class;
use crate::config::template::Search;
use crate::host::Host;
use crate::ranks::launcher;
use crate::report::fix::{drop_word, rename_option};
use crate::report::{self, Problem, Rule};

/// The refusal. The words become what was probably meant, so that the rest of them can be judged. Where that is not only
/// another spelling, the refusal has no help: that is the whole line as it is in the end.
pub(super) fn unknown_option(given: &str, at: usize, words: &mut Vec<OsString>, host: &Host, tools: &Tools) -> Problem {
    let place = tools.named(words.first()).name;
    let of_place = command_of(place, tools);
    let name = given.trim_start_matches('-').replace('-', "_");
    let command = if place.is_empty() { "zlaunch".to_string() } else { format!("`zlaunch {place}`") };
    let refused = |why: &str| Problem::error(Rule::Usage, format!("{command} has no option `{given}`{why}")).at(given);
    if given.split_once(' ').is_some_and(|(name, _)| launch_option(name.trim_start_matches('-')).is_some()) {
        let parts: Vec<OsString> = words[at].to_string_lossy().split_whitespace().map(OsString::from).collect();
        words.splice(at..=at, parts);
        return refused(": leave out the quotes");
    }
    let meant = meant(given, &name, place, &of_place);
    let text = words[at].to_string_lossy().into_owned();
    let joined = text.split_once('=').map(|(_, value)| value.to_string());
    let next = words.get(at + 1).filter(|_| joined.is_none() && next_is_value(words, at, host));
    let next = next.map(|word| word.to_string_lossy().into_owned());
    let takes_value = match &meant {
        Some(Replacement::Words(words)) => words.contains("{}") || words.contains("{host}"),
        _ => true,
    };
    let count = 1 + usize::from(takes_value && next.is_some());
    let value = joined.or(next).unwrap_or_default();
    let filled = |words: &str| {
        let (host, port) = value.rsplit_once(':').unwrap_or((&value, "29500"));
        let words = words.replace("{name}", &name).replace("{host}", host).replace("{port}", port);
        words.replace("{}", &value).trim_end_matches([' ', '=']).to_string()
    };
    let taken: Vec<OsString> = words.drain(at..at + count).collect();
    match meant {
        Some(Replacement::Words(template)) => {
            let meant = filled(&template);
            words.splice(at..at, meant.split(' ').map(OsString::from));
            refused("").fix(rename_option(given, meant))
        }
        Some(Replacement::Nothing(why)) => refused(&format!(": {why}")).fix(drop_word(given)),
        behind if takes_command(&of_place) && has_command(words, host) => {
            match behind {
                Some(Replacement::Behind(template)) => words.extend(filled(template).split(' ').map(OsString::from)),
                _ => words.extend(taken),
            }
            Problem::error(
                Rule::Usage,
                format!("zlaunch has no option `{given}`: the trainer's options go after its command"),
            )
            .at(given)
        }
        Some(Replacement::Behind(template)) => refused("").fix(format!("did you mean `COMMAND {}`?", filled(template))),
        None => {
            let behind = if place.is_empty() { "; the trainer's own go after its command" } else { "" };
            let command = command.trim_matches('`');
            refused("").fix(format!("`{command} --help` lists the options{behind}"))
        }
    }
}

/// What to give instead.
fn meant(given: &str, name: &str, place: &str, command: &Command) -> Option<Replacement> {
    let ours = |arg: &Arg| Replacement::Words(flag(arg) + if takes_value(arg) { " {}" } else { "" });
    let bare = given.trim_start_matches('-');
    if bare.is_empty() {
        return Some(Replacement::Words("--".to_string()));
    }
    if Search::default().knows(bare) {
        return Some(Replacement::Words(format!("--deepspeed {bare}")));
    }
    // `-deepspeed` with one dash.
    if let Some(option) = launch_option(bare).filter(|_| !given.starts_with("--") && place.is_empty()) {
        return Some(ours(option));
    }
    if let Some(found) = replacement(name, place, describes_launch(command)) {
        return Some(found);
    }
    if let Some(takes_value) = launcher::torchrun_option(name).filter(|_| place.is_empty()) {
        return Some(Replacement::Words(format!("--launcher-arg {given}{}", if takes_value { "={}" } else { "" })));
    }
    if argument_class::is_recorded(name) {
        return None;
    }
    let options = || command.get_arguments().filter(|arg| arg.get_long().is_some());
    let spellings: Vec<&str> =
        options().flat_map(|arg| arg.get_all_aliases().unwrap_or_default().into_iter().chain(arg.get_long())).collect();
    let begins = |spelling: &&&str| name.len() >= 3 && spelling.replace('-', "_").starts_with(name);
    let near = report::nearest(name, spellings.iter().copied());
    let near = near.or_else(|| spellings.iter().find(begins).copied())?;
    option_named(options, near).map(ours)
}

/// Whether the word behind an option is its value, and not the command.
fn next_is_value(words: &[OsString], at: usize, host: &Host) -> bool {
    let Some(next) = words.get(at + 1) else { return false };
    let is_option = next.as_encoded_bytes().starts_with(b"-");
    let before_dashes = || words[at..].iter().any(|word| word == "--");
    !is_option && (before_dashes() || host.find_program(next).is_none())
}

/// Whether a command stands behind the options.
fn has_command(words: &[OsString], host: &Host) -> bool {
    let dashes = words.iter().position(|word| word == "--").map(|at| at + 1);
    let program = || words.iter().position(|word| !word.is_empty() && host.find_program(word).is_some());
    dashes.or_else(program).is_some_and(|at| at < words.len())
}
