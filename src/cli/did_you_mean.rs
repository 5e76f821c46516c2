//! Words in the place of the command that are no program: a config, a template, a run file, a sub-command behind
//! options. The suggestion is a command line to paste.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::Arg;

use super::commands::{command_of, takes_command};
use super::reader::Reader;
use crate::base::options::{launch_options, option_named, takes_value};
use crate::base::size::parse_count;
use crate::base::{shell, vars};
use crate::command::prefix::Prefix;
use crate::command::trainer;
use crate::config::template::Search;
use crate::host::cards;
use crate::report::fix::{Fix, Fixes, run};
use crate::report::{self, Problem, Rule, reading};
use crate::request::understood::trains;

/// Words of other launchers' command lines that zlaunch has no need of.
const NEEDLESS: &[&str] = &["launch", "run", "exec", "start", "train"];

pub(crate) fn did_you_mean(reader: &Reader, command: &[OsString]) -> Option<Problem> {
    let Reader {
        tools,
        place: mode,
        options,
        host,
        ..
    } = *reader;
    let first = command.first()?;
    let word = first.to_str()?;
    let is_program = host.find_program(first).is_some();
    // `zlaunch init` must not run /sbin/init: without `--`, the command must look like one.
    let is_meant = options
        .iter()
        .any(|word| word == "--" || word == "--trainer" || word == "--launcher")
        || ["mpirun", "mpiexec", "sbatch", "salloc"].contains(&word);
    if is_program
        && (is_meant
            || word.contains('/')
            || trains(first)
            || Prefix::is_one(first)
            || host.cwd.join(word).is_file())
    {
        return None;
    }
    // `--deepspeed swift sft`: the option took the command for its value.
    if let [front @ .., option, program] = options
        && option == "--deepspeed"
        && trains(program)
    {
        let place: &[OsString] = if mode.is_empty() { &[] } else { &[mode.into()] };
        let value = [option.clone(), "zero2".into(), "--".into(), program.clone()];
        let words = [place, front, &value, command].concat();
        return Some(report::meant(
            &program.to_string_lossy(),
            "the command, and no template",
            &line(&words),
        ));
    }
    if !word.is_empty() && word.trim().is_empty() {
        return Some(report::only_a_space());
    }
    let values = command
        .iter()
        .map_while(|word| option_of_fit(word.to_str()?));
    let of_fit: Vec<&str> = if mode == "fit" {
        values.flatten().collect()
    } else {
        Vec::new()
    };
    let rest = &command[1.max(of_fit.len() / 2)..];
    let of_mode = command_of(mode, tools);
    let (more, rest) = rest.split_at(count_options(rest, || of_mode.get_arguments()));
    let rest = rest.strip_prefix(&["--".into()]).unwrap_or(rest);
    let alone = rest.is_empty() && mode != "fit";
    let path = host.absolute(Path::new(word));
    let parts: Vec<&str> = word.split_whitespace().collect();
    if mode == "check" && path.is_dir() && parts.len() == 1 {
        let check = line(&[&["check".into()], options, more].concat());
        let configs = format!("{check} {}/*.json", word.trim_end_matches('/'));
        return Some(report::meant(word, "a folder: name its configs", &configs));
    }
    let is_template = Search::default().knows(word);
    // In front of a command it is part of that: `A=1 swift sft`.
    let is_split = command
        .get(1)
        .is_some_and(|next| next.as_encoded_bytes().starts_with(b"-"));
    // `--set a=1 b=2`.
    let repeated = options.iter().rev().nth(1).and_then(|word| word.to_str());
    let repeated = repeated
        .filter(|option| ["--set", "--env"].contains(option))
        .unwrap_or("--env");
    let near = if mode.is_empty() && options.is_empty() {
        report::nearest(word, tools.names())
    } else {
        None
    };
    // `swfit` is not a typo of `fit`; another name is far from it.
    let near = near.filter(|it| {
        strsim::damerau_levenshtein(word, it) > 2 || it.chars().next() == word.chars().next()
    });
    let is_json = |path: &Path| path.extension().is_some_and(|ending| ending == "json");
    let config = if mode == "check" && word.contains('.') {
        reading::nearest_in(&host.cwd, word, is_json)
    } else {
        None
    };
    let [console, usual] = trainer::EXAMPLE;
    let owner = trainer::training_commands().find(|(_, commands)| commands.contains(&word));
    let of_trainer: Vec<&str> = owner
        .map(|(console, _)| vec![console, word])
        .unwrap_or_default();
    let text = reading::text_if_any(&path).unwrap_or_default();
    let has_key = |key: &str| text.lines().any(|line| line.split(':').next() == Some(key));
    let mut known = include_str!("run_files.txt")
        .lines()
        .filter_map(|row| row.split_once(": "));
    let runs = known
        .find(|(key, _)| has_key(key))
        .map_or([console, usual].join(" "), |(_, words)| words.to_string());
    let runs: Vec<&str> = runs.split(' ').chain([word]).collect();
    let is_needless = NEEDLESS.contains(&word)
        && rest
            .first()
            .is_some_and(|next| of_trainer.is_empty() || trains(next));
    // The sub-command, an option and words of the command that were meant.
    let (what, mode, option, program): (_, _, &[&str], &[&str]) = match path
        .extension()
        .and_then(OsStr::to_str)
    {
        _ if word == "--" => ("here twice", mode, &[], &[]),
        _ if ["-", "–", "—"].contains(&word) => {
            ("not the `--` before a command", mode, &[], &[])
        }
        _ if parts.len() > 1 => ("one word: drop the quotes", mode, &[], &parts),
        Some("json") if alone => ("a config, not a command", "check", &[], &[word]),
        Some("json") => ("a config, not a command", mode, &["--deepspeed", word], &[]),
        Some("yaml" | "yml") if has_key("zero_optimization") => {
            let code = "import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), open(sys.argv[2], 'w'), indent=2)";
            let json = Path::new(word).with_extension("json");
            let convert = shell::text(&[
                "python".into(),
                "-c".into(),
                code.into(),
                word.into(),
                json.into(),
            ]);
            return Some(report::meant(
                word,
                "a config in YAML, and DeepSpeed reads JSON",
                &convert,
            ));
        }
        Some("yaml" | "yml") => ("a run file, which goes after the trainer", mode, &[], &runs),
        Some("sh" | "sbatch") if path.is_file() => (
            "a script that cannot be executed",
            mode,
            &[],
            &["bash", word],
        ),
        _ if word == "version" && alone => ("an option", "", &["--version"], &[]),
        _ if word
            .split_once('=')
            .is_some_and(|(name, _)| vars::is_name(name) || repeated == "--set")
            && is_split =>
        {
            ("given without its option", mode, &[repeated, word], &[])
        }
        _ if !of_fit.is_empty() => ("given without its option", mode, &of_fit, &[]),
        _ if tools.names().any(|name| name == word) => (
            "a sub-command, which comes before the options",
            word,
            &[],
            &[],
        ),
        _ if is_template && alone => ("a template, not a command", "templates", &[], &[word]),
        _ if is_template => (
            "a template, not a command",
            mode,
            &["--deepspeed", word],
            &[],
        ),
        _ if is_needless && !is_program => (
            "not a sub-command: without one, zlaunch launches",
            mode,
            &[],
            &[],
        ),
        _ if !of_trainer.is_empty() => (
            "a sub-command of a trainer, not a command",
            mode,
            &[],
            &of_trainer,
        ),
        _ if near.is_some() && !is_program => {
            ("not a sub-command", near.unwrap_or_default(), &[], &[])
        }
        _ if ["-n", "--dry-run"].contains(&word) => {
            ("an option, which goes before `--`", mode, &[word], &[])
        }
        _ if command.contains(&"--".into()) && !trains(first) && !is_program => {
            ("neither an option nor a command", mode, &[], &[])
        }
        _ if config.is_some() => (
            "not a file",
            mode,
            &[],
            &[config.as_deref().unwrap_or_default()],
        ),
        _ => {
            return not_a_command(
                word,
                is_program,
                &line(&[options, &["--".into()], command].concat()),
            );
        }
    };
    let behind: Vec<OsString> = program
        .iter()
        .map(OsString::from)
        .chain(rest.iter().cloned())
        .collect();
    let takes_command = takes_command(&command_of(mode, tools));
    let mut words: Vec<OsString> = if mode.is_empty() {
        Vec::new()
    } else {
        vec![mode.into()]
    };
    words.extend(
        options
            .iter()
            .filter(|word| takes_command && *word != "--")
            .cloned(),
    );
    words.extend(
        more.iter()
            .cloned()
            .chain(option.iter().map(OsString::from)),
    );
    let stands_alone =
        behind.is_empty() || mode == "check" && behind.iter().all(|word| is_json(Path::new(word)));
    words.extend((takes_command && !stands_alone).then(|| "--".into()));
    words.extend(behind);
    Some(report::meant(word, what, &line(&words)))
}

/// `line` runs the program of that name.
fn not_a_command(word: &str, is_program: bool, line: &str) -> Option<Problem> {
    let mut rows = include_str!("other_commands.txt")
        .lines()
        .filter_map(|row| row.split_once(" -> "));
    let meant = rows
        .find(|(names, _)| names.split(' ').any(|name| name == word))
        .map(|(_, meant)| run(meant));
    let anyway = is_program.then(|| run(line).remark(format!("to run the program `{word}`")));
    let fixes: Vec<Fix> = meant.into_iter().chain(anyway).collect();
    let what = format!("`{word}` is not a sub-command, nor a training command that zlaunch knows");
    (!fixes.is_empty()).then(|| Problem::error(Rule::Usage, what).at(word).fix(Fixes(fixes)))
}

/// The option of `fit` that takes this word as its value, and the word.
fn option_of_fit(word: &str) -> Option<[&str; 2]> {
    let option = match word {
        _ if cards::parse(word).is_some() => "--gpu",
        _ if parse_count(word).is_some() => "--params",
        _ if word.split('/').count() == 2 && !word.starts_with(['.', '/']) => "--model",
        _ => return None,
    };
    Some([option, word])
}

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
        let joined = words[count].to_string_lossy().contains('=');
        count += 1 + usize::from(takes_value(option) && !joined);
    }
    count.min(words.len())
}

/// Moves the options of `check` in front of the configs, where there is nothing else.
pub(crate) fn options_first(
    words: &[OsString],
    is_config: impl Fn(&OsString) -> bool,
) -> Vec<OsString> {
    let (mut options, mut configs, mut at) = (Vec::new(), Vec::new(), 0);
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
