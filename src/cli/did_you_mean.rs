//! Words in the place of the command that are no program: a config, a template, a run file, a sub-command behind
//! options. What was probably meant is said as a command to paste.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::base::options::{SUBCOMMANDS, launch_option, launch_options, takes_value};
use crate::base::shell;
use crate::config::template::Search;
use crate::host::Host;
use crate::report::{self, Problem};

/// Words of other launchers' command lines that zlaunch has no need of.
const NEEDLESS: &[&str] = &["launch", "run", "exec", "start", "train"];

/// What comes behind `swift`.
const SWIFT: &[&str] = &["sft", "pt", "rlhf"];

/// What was probably meant, where the first word of the command is no program. `mode` is the sub-command in front.
pub(super) fn did_you_mean(mode: &str, options: &[OsString], command: &[OsString], host: &Host) -> Option<Problem> {
    let (first, rest) = command.split_first()?;
    let word = first.to_str()?;
    let is_json = |word: &OsString| Path::new(word).extension().is_some_and(|ending| ending == "json");
    let configs = if mode == "check" { rest.iter().take_while(|word| is_json(word)).count() } else { 0 };
    let (configs, rest) = rest.split_at(configs);
    let (more, rest) = rest.split_at(count_options(rest));
    let alone = rest.is_empty();
    let is_template = || Search::default().knows(word);
    // The sub-command, an option and words of the command that were meant.
    let (what, mode, option, program): (_, _, &[&str], &[&str]) = match Path::new(word)
        .extension()
        .and_then(OsStr::to_str)
    {
        Some("json") if alone && mode == "check" => ("a config, and options come before it", mode, &[], &[word]),
        Some("json") if alone => ("a config, not a command", "check", &[], &[word]),
        Some("json") => ("a config, not a command", mode, &["--deepspeed", word], &[]),
        Some("yaml" | "yml") => ("a run file, which needs its trainer in front", mode, &[], &["swift", "sft", word]),
        Some("sh") if host.absolute(Path::new(word)).is_file() => {
            ("a script that cannot be executed", mode, &[], &["bash", word])
        }
        _ if SUBCOMMANDS.contains(&word) => ("a sub-command, which comes before the options", word, &[], &[]),
        _ if is_template() && alone => ("a template, not a command", "templates", &[], &[word]),
        _ if is_template() => ("a template, not a command", mode, &["--deepspeed", word], &[]),
        _ if SWIFT.contains(&word) => ("a sub-command of swift, not a command", mode, &[], &["swift", word]),
        _ if NEEDLESS.contains(&word) && !alone => ("not a sub-command: without one, zlaunch launches", mode, &[], &[]),
        _ => return None,
    };
    // A program of that name is a command like any other.
    if host.find_program(first).is_some() {
        return None;
    }
    let is_word = |word: &&OsString| *word != "--";
    let behind = program.iter().map(OsString::from).chain(configs.iter().chain(rest).filter(is_word).cloned());
    let behind: Vec<OsString> = behind.collect();
    let mut words: Vec<OsString> = (!mode.is_empty()).then(|| mode.into()).into_iter().collect();
    if ["", "check", "doctor", "fit"].contains(&mode) {
        words.extend(options.iter().chain(more).filter(is_word).cloned());
        words.extend(option.iter().map(OsString::from));
        let stands_alone = behind.is_empty() || alone && mode == "check";
        words.extend((!stands_alone).then(|| "--".into()));
    }
    words.extend(behind);
    Some(report::meant(word, what, &line(&words)))
}

/// How many words are options of ours, as if the word in front of them were not there.
fn count_options(words: &[OsString]) -> usize {
    if let Some(dashes) = words.iter().position(|word| word == "--") {
        return dashes;
    }
    let option_of = |word: &OsString| {
        let name = word.to_str()?.strip_prefix('-')?;
        let short = || launch_options().find(|arg| arg.get_short().is_some_and(|short| name == short.to_string()));
        name.strip_prefix('-').map_or_else(short, launch_option)
    };
    let mut count = 0;
    while let Some(option) = words.get(count).and_then(option_of) {
        let joined = words[count].to_string_lossy().contains('=');
        count += 1 + usize::from(takes_value(option) && !joined);
    }
    count.min(words.len())
}

/// The line that was probably meant.
pub(super) fn line(words: &[OsString]) -> String {
    let words = [&[OsString::from("zlaunch")], words].concat();
    shell::line(&words).to_string_lossy().into_owned()
}
