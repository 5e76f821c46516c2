//! Words in the place of the command that are no program: a config, a template, a run file, a sub-command behind
//! options. The suggestion is a command line to paste.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::Arg;

use super::commands::{command_of, takes_command};
use super::reader::Reader;
use super::tables::other_commands::OTHER_COMMANDS;
use super::tables::run_files::RUN_FILES;
use crate::base::options::{launch_options, option_named, takes_value};
use crate::base::shell;
use crate::command::prefix::Prefix;
use crate::command::trainer;
use crate::config::template::Search;
use crate::report::fix::{Fix, Fixes, run};
use crate::report::{self, Problem, Rule, reading};
use crate::request::understood::trains;

/// Words of other launchers' command lines that zlaunch has no need of.
const NEEDLESS: &[&str] = &["launch", "run", "exec", "start", "train"];

/// The parts of the line that was probably meant.
struct Meant<'a> {
    /// What the word is.
    what: &'static str,
    subcommand: &'a str,
    option: Vec<&'a str>,
    /// Words of the command, in front of the rest.
    program: Vec<&'a str>,
}

pub(crate) fn did_you_mean(reader: &Reader, command: &[OsString]) -> Option<Problem> {
    let first = command.first()?;
    let word = first.to_str()?;
    let is_program = reader.host.find_program(first).is_some();
    if is_program && is_meant_as_program(reader, first) {
        return None;
    }
    if let Some(problem) = command_for_config(reader, command) {
        return Some(problem);
    }
    if !word.is_empty() && word.trim().is_empty() {
        return Some(report::only_a_space());
    }
    let of_place = command_of(reader.place, reader.tools);
    let rest = &command[1..];
    let (more, rest) = rest.split_at(count_options(rest, || of_place.get_arguments()));
    let rest = rest.strip_prefix(&["--".into()]).unwrap_or(rest);
    let Some(meant) = meant(reader, word, rest, is_program) else {
        let line = line(&[reader.options, &["--".into()], command].concat());
        return not_a_command(word, is_program, &line);
    };
    let takes_command = takes_command(&command_of(meant.subcommand, reader.tools));
    let mut words: Vec<OsString> = Vec::new();
    if !meant.subcommand.is_empty() {
        words.push(meant.subcommand.into());
    }
    if takes_command {
        words.extend(reader.options.iter().filter(|word| *word != "--").cloned());
    }
    words.extend_from_slice(more);
    words.extend(meant.option.iter().map(OsString::from));
    let program = meant.program.iter().map(OsString::from);
    let behind: Vec<OsString> = program.chain(rest.iter().cloned()).collect();
    let are_configs = meant.subcommand == "check" && behind.iter().all(is_json);
    if takes_command && !behind.is_empty() && !are_configs {
        words.push("--".into());
    }
    words.extend(behind);
    Some(report::meant(word, meant.what, &line(&words)))
}

/// `zlaunch init` must not run /sbin/init: without `--`, the command must look like one.
fn is_meant_as_program(reader: &Reader, word: &OsStr) -> bool {
    let text = word.to_string_lossy();
    let is_said = |word: &OsString| word == "--" || word == "--trainer" || word == "--launcher";
    reader.options.iter().any(is_said)
        || ["mpirun", "mpiexec", "sbatch", "salloc"].contains(&&*text)
        || text.contains('/')
        || trains(word)
        || Prefix::is_one(word)
        || reader.host.cwd.join(word).is_file()
}

/// `--deepspeed swift sft`: the option took the command for its value.
fn command_for_config(reader: &Reader, command: &[OsString]) -> Option<Problem> {
    let [front @ .., option, program] = reader.options else {
        return None;
    };
    if option != "--deepspeed" || !trains(program) {
        return None;
    }
    let mut words: Vec<OsString> = Vec::new();
    if !reader.place.is_empty() {
        words.push(reader.place.into());
    }
    words.extend_from_slice(front);
    words.extend(["--deepspeed", "zero2", "--"].map(OsString::from));
    words.push(program.clone());
    words.extend_from_slice(command);
    Some(report::meant(
        &program.to_string_lossy(),
        "the command, and no template",
        &line(&words),
    ))
}

fn meant<'a>(
    reader: &Reader<'a>,
    word: &'a str,
    rest: &[OsString],
    is_program: bool,
) -> Option<Meant<'a>> {
    let here = |what: &'static str, option: Vec<&'a str>, program: Vec<&'a str>| {
        Some(Meant {
            what,
            subcommand: reader.place,
            option,
            program,
        })
    };
    let subcommand = |what: &'static str, subcommand: &'a str, program: Vec<&'a str>| {
        Some(Meant {
            what,
            subcommand,
            option: Vec::new(),
            program,
        })
    };
    let parts: Vec<&str> = word.split_whitespace().collect();
    if parts.len() > 1 {
        return here("one word: drop the quotes", Vec::new(), parts);
    }
    let path = reader.host.absolute(Path::new(word));
    let is_alone = rest.is_empty() && reader.place != "fit";
    match path.extension().and_then(OsStr::to_str) {
        Some("json") if is_alone => {
            return subcommand("a config, not a command", "check", vec![word]);
        }
        Some("json") => {
            return here(
                "a config, not a command",
                vec!["--deepspeed", word],
                Vec::new(),
            );
        }
        Some("yaml" | "yml") => {
            let mut program = command_of_run_file(&path);
            program.push(word);
            return here(
                "a run file, which goes after the trainer",
                Vec::new(),
                program,
            );
        }
        Some("sh" | "sbatch") if path.is_file() => {
            return here(
                "a script that cannot be executed",
                Vec::new(),
                vec!["bash", word],
            );
        }
        _ => {}
    }
    if let Some(name) = reader.tools.names().find(|name| *name == word) {
        return subcommand(
            "a sub-command, which comes before the options",
            name,
            Vec::new(),
        );
    }
    if Search::default().knows(word) {
        if is_alone {
            return subcommand("a template, not a command", "templates", vec![word]);
        }
        return here(
            "a template, not a command",
            vec!["--deepspeed", word],
            Vec::new(),
        );
    }
    let owner = trainer::training_commands().find(|(_, commands)| commands.contains(&word));
    let next_trains = rest.first().is_some_and(|next| trains(next));
    let is_needless =
        NEEDLESS.contains(&word) && !rest.is_empty() && (owner.is_none() || next_trains);
    if is_needless && !is_program {
        let what = "not a sub-command: without one, zlaunch launches";
        return here(what, Vec::new(), Vec::new());
    }
    if let Some((console, _)) = owner {
        let what = "a sub-command of a trainer, not a command";
        return here(what, Vec::new(), vec![console, word]);
    }
    if is_program || !reader.place.is_empty() || !reader.options.is_empty() {
        return None;
    }
    let near = report::nearest(word, reader.tools.names())?;
    // `swfit` is not a typo of `fit`; another name is far from it.
    let is_name = strsim::damerau_levenshtein(word, near) > 2;
    if is_name || near.chars().next() == word.chars().next() {
        return subcommand("not a sub-command", near, Vec::new());
    }
    None
}

fn command_of_run_file(path: &Path) -> Vec<&'static str> {
    let text = reading::text_if_any(path).unwrap_or_default();
    let has_key = |key: &str| text.lines().any(|line| line.split(':').next() == Some(key));
    let known = RUN_FILES.iter().find(|row| has_key(row.key));
    known.map_or(trainer::EXAMPLE.to_vec(), |row| row.command.to_vec())
}

fn is_json(word: &OsString) -> bool {
    Path::new(word)
        .extension()
        .is_some_and(|ending| ending == "json")
}

/// `line` runs the program of that name.
fn not_a_command(word: &str, is_program: bool, line: &str) -> Option<Problem> {
    let mut fixes: Vec<Fix> = Vec::new();
    if let Some(row) = OTHER_COMMANDS.iter().find(|row| row.names.contains(&word)) {
        fixes.push(run(row.line));
    }
    if is_program {
        fixes.push(run(line).remark(format!("to run the program `{word}`")));
    }
    if fixes.is_empty() {
        return None;
    }
    let what = format!("`{word}` is not a sub-command, nor a training command that zlaunch knows");
    Some(Problem::error(Rule::Usage, what).at(word).fix(Fixes(fixes)))
}

/// The words of the options at the beginning.
fn count_options<'a, I: Iterator<Item = &'a Arg>>(
    words: &[OsString],
    options: impl Fn() -> I,
) -> usize {
    if let Some(dashes) = words.iter().position(|word| word == "--") {
        return dashes;
    }
    let option_of = |word: &OsString| {
        let name = word.to_str()?.strip_prefix('-')?;
        match name.strip_prefix('-') {
            Some(long) => option_named(&options, long),
            None => options().find(|arg| {
                arg.get_short()
                    .is_some_and(|short| name == short.to_string())
            }),
        }
    };
    let mut count = 0;
    while let Some(option) = words.get(count).and_then(option_of) {
        let has_next = takes_value(option) && !words[count].to_string_lossy().contains('=');
        count += if has_next { 2 } else { 1 };
    }
    count.min(words.len())
}

/// Moves the options of `check` in front of the configs, where there is nothing else.
pub(crate) fn options_first(
    words: &[OsString],
    is_config: impl Fn(&OsString) -> bool,
) -> Vec<OsString> {
    let mut options = Vec::new();
    let mut configs = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let count = count_options(&words[at..], launch_options);
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

pub(super) fn line(words: &[OsString]) -> String {
    shell::text(&[&[OsString::from("zlaunch")], words].concat())
}
