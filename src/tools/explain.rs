//! `zlaunch explain WORD`: what a DeepSpeed key, a ZeRO stage, a variable, a template or a diagnostic means. `zlaunch explain LOG`:
//! which error ended a training, and what to change.

mod explanation;
mod glossary;
mod log;
pub mod tables;

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufReader};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use clap::Args;

use super::output::{err, out, show};
use crate::base::layout::{escape_controls, filled, wrapped};
use crate::base::options::{
    AnyValue, Given, LaunchOptions, launch_option, launch_options, variable,
};
use crate::base::vars::Var;
use crate::cli::values::{self, Words};
use crate::cli::{Reader, Requested, Tool, launch};
use crate::config::schema;
use crate::config::template::Search;
use crate::config::template::search::BUILT_IN;
use crate::host::{Host, terminal};
use crate::judge::Judged;
use crate::plan::record;
use crate::ranks::topology::engines::all_variables;
use crate::report::secrets::Secrets;
use crate::report::{self, Language, Problem, reading};
use crate::request::Launch;

pub(crate) use explanation::fate;
use explanation::{Explainer, Explanation};
pub use glossary::{entries, rules};
use glossary::{is_meant_by, topic};
pub use log::Log;
use tables::failures::{FAILURES, Role};
use tables::topics::{TOPICS, Topic};

#[derive(Args)]
pub(crate) struct ExplainArgs {
    #[arg(value_parser = AnyValue(WORDS))]
    word: Vec<Given>,
    #[command(flatten)]
    launch: LaunchOptions,
    #[arg(help_heading = None::<&str>, last = true, num_args = 1.., hide = true)]
    command: Vec<OsString>,
}

/// What it takes as one word.
pub(super) const WORDS: Words<()> = || {
    let names = entries()
        .flat_map(|entry| entry.names())
        .chain(
            FAILURES
                .iter()
                .flat_map(|failure| failure.names().iter().copied()),
        )
        .chain(rules().map(|(rule, _)| rule.name()))
        .chain(BUILT_IN.iter().map(|(name, _)| *name))
        .chain(TOPICS.iter().map(|row| row.plural));
    names
        .filter(|name| !name.contains([' ', '<']))
        .map(|name| (name, ()))
        .collect()
};

impl Tool for ExplainArgs {
    const SHOWN: &'static [&'static str] = &["template_dir"];

    fn read(self, mut reader: Reader) -> Requested {
        reader.split_off(&self.command);
        let words: Vec<String> = reader
            .many(self.word, values::text)
            .into_iter()
            .map(|word| word.value)
            .collect();
        let launch = launch::read_described(self.launch, self.command, &mut reader);
        reader.answer(move |host: &Host| run(&words, &launch, host))
    }
}

/// Exit status 1: there is no error in the log, or only one that zlaunch does not know.
fn run(words: &[String], launch: &Launch, host: &Host) -> Result<u8, Vec<Problem>> {
    let word = words.join(" ");
    let search = &launch.search;
    let files: Vec<PathBuf> = words
        .iter()
        .map(|word| host.absolute(Path::new(word)))
        .collect();
    let is_log = |it: &Path| {
        it.extension()
            .is_some_and(|end| ["log", "txt", "out", "err"].iter().any(|it| end == *it))
    };
    // Without a word, a pipe or a file is read, but not /dev/null.
    let is_piped = word == "-"
        || word.is_empty()
            && fs::metadata("/dev/stdin").is_ok_and(|input| !input.file_type().is_char_device());
    let mut log = Log::default();
    let read = match explain(&word, search, host) {
        _ if is_piped => log.read("-", io::stdin().lock()),
        _ if word.is_empty() => return out(&subjects(search)),
        Ok(text) => return show(&text),
        Err(_) if files.iter().all(|file| file.is_file() || is_log(file)) => {
            let mut files = words.iter().zip(&files);
            files.try_for_each(|(name, file)| log.read(name, BufReader::new(fs::File::open(file)?)))
        }
        Err(unknown) => {
            let read = log.read("message", word.as_bytes());
            if log.found.iter().all(|found| found.failure.is_unknown()) {
                return Err(unknown.into());
            }
            read
        }
    };
    read.map_err(|why| reading::unreadable_file(&host.absolute(Path::new(&word)), &why))?;
    let folders = files
        .iter()
        .filter_map(|file| file.parent())
        .chain([&*host.cwd]);
    show_log(&log, folders, launch, host)
}

/// The first failure in full, and the names of the others. `folders` may have the record of the launch.
fn show_log<'a>(
    log: &Log,
    mut folders: impl Iterator<Item = &'a Path>,
    launch: &Launch,
    host: &Host,
) -> Result<u8, Vec<Problem>> {
    let [first, others @ ..] = &log.found[..] else {
        err("there is no error that zlaunch knows\n");
        return Ok(1);
    };
    let explainer = Explainer::new(&launch.search, host)?;
    let secrets = Secrets::of(host);
    let plan = if launch.command.is_empty() {
        folders.find_map(|folder| Some(record::read(folder).ok()?["plan"].clone()))
    } else {
        let judged = Judged::new(launch, host).accepted();
        let judged = judged.map_err(|found| report::report(&found, &secrets));
        judged.ok().map(|(plan, problems)| plan.json(&problems))
    };
    let page = explainer.of_found(first, log, &plan.unwrap_or_default(), &secrets);
    let mut text = page.render(explainer.language, width());
    let is_consequence = first.failure.role == Role::Consequence;
    let also = others
        .iter()
        .filter(|found| is_consequence || !found.failure.is_unknown());
    for found in also.take(MOST_IN_FULL) {
        text += &format!(
            "also in the log: {} ({})\n",
            found.failure.name(),
            found.place
        );
    }
    show(&text)?;
    Ok(u8::from(first.failure.is_unknown()))
}

fn width() -> usize {
    terminal::width().map_or(100, |width| width.min(100))
}

/// More meanings than this are only listed.
const MOST_IN_FULL: usize = 3;

/// Every meaning of a word, as harmless text with colours.
pub fn explain(word: &str, search: &Search, host: &Host) -> Result<String, Problem> {
    let explainer = Explainer::new(search, host)?;
    let mut found = explainer.meanings(word);
    if let Some(row) = TOPICS.iter().find(|row| row.plural == word) {
        let all = names_of(row.topic, search).into_iter();
        let all = all.flat_map(|name| explainer.meanings(&name));
        found.extend(all.filter(|it| it.topic == row.topic));
    }
    if found.is_empty() {
        return Err(unknown(word, search));
    }
    if found.len() > MOST_IN_FULL {
        let listed = |it: &Explanation| {
            let about = wrapped(&it.text, 2, width());
            format!("{}\n{about}", escape_controls(&it.name))
        };
        return Ok(found.iter().map(listed).collect());
    }
    let pages: Vec<String> = found
        .iter()
        .map(|it| it.render(explainer.language, width()))
        .collect();
    Ok(pages.join("\n"))
}

impl Explainer<'_> {
    fn meanings(&self, word: &str) -> Vec<Explanation> {
        let term = stage_of(word).unwrap_or_else(|| word.to_string());
        let mut all: Vec<Explanation> = entries()
            .filter(|entry| entry.is_called(&term))
            .map(|entry| self.of_entry(&entry))
            .collect();
        let failures = FAILURES
            .iter()
            .filter(|failure| failure.names().contains(&word));
        all.extend(failures.map(|failure| self.of_failure(failure)));
        if all.is_empty() {
            let meant = entries().filter(|entry| is_meant_by(entry, &term));
            all.extend(meant.map(|entry| self.of_entry(&entry)));
        }
        if all.iter().all(|it| it.topic != Topic::Variable) {
            all.extend(Explanation::of_our_variable(&word.to_ascii_uppercase()));
        }
        if all.is_empty() {
            let option = launch_option(word).map(variable);
            all.extend(option.and_then(|name| Explanation::of_our_variable(&name)));
        }
        if all.is_empty() {
            all.extend(self.of_recorded(word));
        }
        let rule = rules().find(|(rule, _)| rule.name() == word);
        all.extend(rule.map(|(rule, _)| self.of_rule(rule)));
        all.extend(self.of_template(word));
        all
    }
}

pub(crate) fn about(key: &str, language: Language) -> Option<String> {
    let entry = entries().find(|entry| entry.is_called(key) && topic(entry) == Topic::Key)?;
    let text = |field: &str| entry.text(field, language).map(str::to_string);
    let auto =
        explanation::value_of_auto(&entry, language).map(|becomes| format!("\"auto\": {becomes}"));
    let parts = [text("en"), auto, text("advice")];
    Some(parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n"))
}

/// `stage 3` for `stage3`, `zero3`, `ZeRO-3`, `z3`.
fn stage_of(word: &str) -> Option<String> {
    let letters = word.chars().filter(char::is_ascii_alphanumeric);
    let plain = letters.collect::<String>().to_ascii_lowercase();
    let number = ["zerostage", "stage", "zero", "z"]
        .iter()
        .find_map(|prefix| plain.strip_prefix(prefix))?;
    ["0", "1", "2", "3"]
        .contains(&number)
        .then(|| format!("stage {number}"))
}

fn unknown(word: &str, search: &Search) -> Problem {
    let variables = all_variables();
    let templates = search.names();
    let mut known: Vec<&str> = WORDS()
        .into_iter()
        .flat_map(|(name, ())| [name, schema::name_of(name)])
        .collect();
    known.extend(variables.iter().flat_map(Var::names));
    known.extend(templates.iter().map(String::as_str));
    let lower = word.to_lowercase();
    let mut containing = known.clone();
    containing.retain(|name| {
        lower.len() >= 3 && name.to_lowercase().contains(&lower) && !name.contains('.')
    });
    // Keys and rules before variables.
    containing.sort_by_key(|name| (name.starts_with(|c: char| c.is_ascii_uppercase()), *name));
    containing.dedup();
    report::unknown_subject(
        word,
        report::nearest(word, known.into_iter().filter(|known| *known != word)),
        &containing,
    )
}

fn subjects(search: &Search) -> String {
    let mut text = wrapped(
        "zlaunch explain WORD: a name, the end of a key, or a part of a name",
        0,
        width(),
    );
    for row in TOPICS {
        let names = names_of(row.topic, search);
        let plural = row.plural;
        let list = if names.len() > 20 {
            format!(
                "{} {plural}: `zlaunch explain {plural}` lists them",
                names.len()
            )
        } else {
            names.join(", ")
        };
        text += &format!("\n{plural}\n{}", filled(&list, 2, width()));
    }
    text
}

fn names_of(topic: Topic, search: &Search) -> Vec<String> {
    let mut names: Vec<String> = match topic {
        Topic::Template => return search.names(),
        Topic::Rule => rules().map(|(rule, _)| rule.to_string()).collect(),
        Topic::Failure => FAILURES
            .iter()
            .filter_map(|failure| Some((*failure.names().first()?).to_string()))
            .collect(),
        _ => entries()
            .filter(|entry| self::topic(entry) == topic)
            .map(|entry| entry.name().to_string())
            .collect(),
    };
    if topic == Topic::Variable {
        let variables = all_variables().into_iter().flat_map(|var| var.names);
        names.extend(variables.map(Cow::into_owned));
        names.extend(launch_options().map(variable));
    }
    names.sort();
    names.dedup();
    names
}
