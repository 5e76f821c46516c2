//! Words in the place of the command that are no program: a config, a template, a run file, a sub-command behind
//! options. What was probably meant is said as a command to paste.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::commands::{command_of, takes_command};
use super::reader::Reader;
use crate::base::options::{launch_option, launch_options, takes_value};
use crate::base::shell;
use crate::base::size::parse_count;
use crate::base::vars;
use crate::command::trainer;
use crate::config::template::Search;
use crate::fit::cards;
use crate::host::names_in;
use crate::report::{self, Problem};

/// Words of other launchers' command lines that zlaunch has no need of.
const NEEDLESS: &[&str] = &["launch", "run", "exec", "start", "train"];

/// What was probably meant, where the first word of the command is no program.
pub(crate) fn did_you_mean(reader: &Reader, command: &[OsString]) -> Option<Problem> {
    let Reader { tools, place: mode, options, host, .. } = *reader;
    let first = command.first()?;
    let word = first.to_str()?;
    // A program of that name is a command like any other.
    if host.find_program(first).is_some() {
        return None;
    }
    if !word.is_empty() && word.trim().is_empty() {
        return Some(report::only_a_space());
    }
    let values = command.iter().filter(|_| mode == "fit").map_while(|word| option_of_fit(word.to_str()?));
    let said: Vec<&str> = values.flatten().collect();
    let rest = &command[1.max(said.len() / 2)..];
    let (more, rest) = rest.split_at(count_options(rest));
    let rest = rest.strip_prefix(&["--".into()]).unwrap_or(rest);
    let alone = rest.is_empty();
    let is_template = || Search::default().knows(word);
    let path = host.absolute(Path::new(word));
    // In front of a command it is part of that: `A=1 swift sft`.
    let is_split = command.get(1).is_some_and(|next| next.as_encoded_bytes().starts_with(b"-"));
    // `--set a=1 b=2`.
    let repeated = options.iter().rev().nth(1).and_then(|word| word.to_str());
    let repeated = repeated.filter(|option| ["--set", "--env"].contains(option)).unwrap_or("--env");
    let is_assignment = |(name, _)| vars::is_name(name) || repeated == "--set";
    let parts: Vec<&str> = word.split_whitespace().collect();
    // `swfit` is not a typo of `fit`; another name is far from it.
    let is_slip =
        |near: &str| strsim::damerau_levenshtein(word, near) < 3 && near.chars().next() != word.chars().next();
    let near = || report::nearest(word, tools.names()).filter(|near| !is_slip(near));
    let near = near().filter(|_| mode.is_empty() && options.is_empty());
    let is_json = |word: &OsString| Path::new(word).extension().is_some_and(|ending| ending == "json");
    let configs: Vec<String> = names_in(&host.cwd).filter(|name| mode == "check" && is_json(&name.into())).collect();
    let config = report::nearest(word, configs.iter().map(String::as_str)).filter(|_| word.contains('.'));
    let ending = Path::new(word).extension().and_then(OsStr::to_str);
    let [console, usual] = trainer::EXAMPLE;
    let owner = trainer::training_commands().find(|(_, commands)| commands.contains(&word));
    let of_trainer: Vec<&str> = owner.map(|(console, _)| vec![console, word]).unwrap_or_default();
    let every;
    // The sub-command, an option and words of the command that were meant.
    let (what, mode, option, program): (_, _, &[&str], &[&str]) = match ending {
        _ if word == "--" => ("here twice", mode, &[], &[]),
        _ if ["-", "–", "—"].contains(&word) => ("not the `--` in front of a command", mode, &[], &[]),
        _ if parts.len() > 1 => ("one word: leave out the quotes", mode, &[], &parts),
        _ if path.is_dir() && mode == "check" => {
            every = format!("{}/*.json", word.trim_end_matches('/'));
            ("a folder: name its configs", mode, &[], &[&every])
        }
        Some("json") if alone => ("a config, not a command", "check", &[], &[word]),
        Some("json") => ("a config, not a command", mode, &["--deepspeed", word], &[]),
        Some("yaml" | "yml") => ("a run file, which needs its trainer in front", mode, &[], &[console, usual, word]),
        Some("sh") if path.is_file() => ("a script that cannot be executed", mode, &[], &["bash", word]),
        _ if word == "version" && alone => ("an option", "", &["--version"], &[]),
        _ if word.split_once('=').is_some_and(is_assignment) && is_split => {
            ("given without its option", mode, &[repeated, word], &[])
        }
        _ if !said.is_empty() => ("given without its option", mode, &said, &[]),
        _ if tools.names().any(|name| name == word) => {
            ("a sub-command, which comes before the options", word, &[], &[])
        }
        _ if is_template() && alone => ("a template, not a command", "templates", &[], &[word]),
        _ if is_template() => ("a template, not a command", mode, &["--deepspeed", word], &[]),
        _ if !of_trainer.is_empty() => ("a sub-command of a trainer, not a command", mode, &[], &of_trainer),
        _ if NEEDLESS.contains(&word) && !alone => ("not a sub-command: without one, zlaunch launches", mode, &[], &[]),
        _ if near.is_some() => ("not a sub-command", near.unwrap_or_default(), &[], &[]),
        _ if config.is_some() => ("not a file", mode, &[], &[config.unwrap_or_default()]),
        _ => return None,
    };
    let behind: Vec<OsString> = program.iter().map(OsString::from).chain(rest.iter().cloned()).collect();
    let mut words: Vec<OsString> = (!mode.is_empty()).then(|| mode.into()).into_iter().collect();
    let takes_command = takes_command(&command_of(mode, tools));
    words.extend(options.iter().filter(|word| takes_command && *word != "--").chain(more).cloned());
    words.extend(option.iter().map(OsString::from));
    let stands_alone = behind.is_empty() || mode == "check" && behind.iter().all(is_json);
    words.extend((takes_command && !stands_alone).then(|| "--".into()));
    // A pattern is for the shell.
    let shown = line(&[&words[..], &behind].concat());
    Some(report::meant(
        word,
        what,
        &shown.replace(&format!("'{}'", program.first().unwrap_or(&"")), &program.join(" ")),
    ))
}

/// The option of `fit` that a word is the value of.
fn option_of_fit(word: &str) -> Option<[&str; 2]> {
    let is_card = cards::parse(word).is_some();
    let is_model = || word.split('/').count() == 2 && !word.starts_with(['.', '/']);
    let option =
        if is_card { "--gpu" } else { parse_count(word).map(|_| "--params").or(is_model().then_some("--model"))? };
    Some([option, word])
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

/// The words of `check` with the options in front of the configs, where there is nothing else.
pub(crate) fn options_first(words: &[OsString], is_config: impl Fn(&OsString) -> bool) -> Vec<OsString> {
    let (mut options, mut configs, mut at) = (Vec::new(), Vec::new(), 0);
    while at < words.len() {
        let count = count_options(&words[at..]);
        options.extend_from_slice(&words[at..at + count]);
        at += count;
        match words.get(at) {
            Some(word) if word == "--fix" => options.push(word.clone()),
            Some(word) if is_config(word) => configs.push(word.clone()),
            Some(_) => return words.to_vec(),
            None => break,
        }
        at += 1;
    }
    [options, configs].concat()
}

/// The line that was probably meant.
pub(super) fn line(words: &[OsString]) -> String {
    shell::text(&[&[OsString::from("zlaunch")], words].concat())
}
