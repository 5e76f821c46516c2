//! `zlaunch explain WORD`: what a DeepSpeed key, a ZeRO stage, a variable, a template or a diagnostic means. `zlaunch explain LOG`:
//! which error ended a training, and what to change.

mod explanation;
mod glossary;
mod log;

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
use crate::base::vars;
use crate::check;
use crate::cli::values::{self, Words};
use crate::cli::{Reader, Requested, Tool, launch};
use crate::config::schema;
use crate::config::template::Search;
use crate::config::template::search::BUILT_IN;
use crate::host::{Host, terminal};
use crate::judge::Judged;
use crate::plan::record;
use crate::ranks::topology::engines::table::all_variables;
use crate::report::secrets::Secrets;
use crate::report::{self, Language, Problem, Rule, reading};
use crate::request::Launch;

pub(crate) use explanation::fate;
use explanation::{Explanation, Versions};
use glossary::Topic;
pub use glossary::{GlossaryEntry, entries};
pub use log::Log;

#[derive(Args)]
pub(crate) struct ExplainArgs {
    #[arg(value_parser = AnyValue(WORDS))]
    word: Vec<Given>,
    #[command(flatten)]
    launch: LaunchOptions,
    #[arg(help_heading = None::<&str>, last = true, num_args = 1.., hide = true)]
    command: Vec<std::ffi::OsString>,
}

/// What it takes as one word.
pub(super) const WORDS: Words<()> = || {
    let names = entries()
        .flat_map(|entry| entry.all_names())
        .chain(rules().map(|(name, _)| name));
    let names = names
        .chain(BUILT_IN.iter().map(|(name, _)| *name))
        .chain(Topic::LISTED.map(|topic| topic.names()[0]));
    names
        .filter(|name| !name.contains([' ', '<']))
        .map(|name| (name, ()))
        .collect()
};

impl Tool for ExplainArgs {
    const SHOWN: &str = "template_dir";

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
    let (word, search, language, secrets) = (
        words.join(" "),
        &launch.search,
        Language::of(host)?,
        Secrets::of(host),
    );
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
        Err(unknown) => match log.read("message", word.as_bytes()) {
            Ok(())
                if log
                    .found
                    .iter()
                    .all(|found| found.entry.field("unlike").is_some()) =>
            {
                return Err(unknown.into());
            }
            read => read,
        },
    };
    read.map_err(|why| reading::unreadable_file(&host.absolute(Path::new(&word)), &why))?;
    let [first, others @ ..] = &log.found[..] else {
        err("there is no error that zlaunch knows\n");
        return Ok(1);
    };
    let mut folders = files
        .iter()
        .filter_map(|file| file.parent())
        .chain([&*host.cwd]);
    let plan = if launch.command.is_empty() {
        folders.find_map(|folder| Some(record::read(folder).ok()?["plan"].clone()))
    } else {
        let judged = Judged::new(launch, host).accepted();
        let judged = judged.map_err(|found| report::report(&found, &secrets));
        judged.ok().map(|(plan, problems)| plan.json(&problems))
    };
    let mut meant = explanations(first.entry.name(), search, host, language).into_iter();
    let page = meant.find(|it| matches!(it.topic, Topic::Rule | Topic::Failure));
    let page = page.map(|it| it.found(first, &log, &plan.unwrap_or_default(), &secrets, language));
    let told = others
        .iter()
        .filter(|it| first.entry.field("follows").is_some() || it.entry.field("unlike").is_none());
    let also = told.map(|it| format!("also in the log: {} ({})\n", it.entry.name(), it.place));
    show(
        &page
            .iter()
            .map(|page| page.render(language, width()))
            .chain(also.take(MOST_IN_FULL))
            .collect::<String>(),
    )?;
    Ok(u8::from(first.entry.field("unlike").is_some()))
}

fn width() -> usize {
    terminal::width().map_or(100, |width| width.min(100))
}

/// More meanings than this are only listed.
const MOST_IN_FULL: usize = 3;

/// Every meaning of a word, as harmless text with colours.
pub fn explain(word: &str, search: &Search, host: &Host) -> Result<String, Problem> {
    let language = Language::of(host)?;
    let mut found = explanations(word, search, host, language);
    if let Some(topic) = Topic::LISTED
        .into_iter()
        .find(|topic| topic.names()[0] == word)
    {
        let all = names_of(topic, search)
            .into_iter()
            .flat_map(|name| explanations(&name, search, host, language));
        found.extend(all.filter(|it| it.topic == topic));
    }
    if found.is_empty() {
        return Err(unknown(word, search));
    }
    if found.len() > MOST_IN_FULL {
        let rows = found.iter().map(|it| {
            format!(
                "{}\n{}",
                escape_controls(&it.name),
                wrapped(&it.text, 2, width())
            )
        });
        return Ok(rows.collect());
    }
    let pages: Vec<String> = found
        .iter()
        .map(|explanation| explanation.render(language, width()))
        .collect();
    Ok(pages.join("\n"))
}

fn explanations(word: &str, search: &Search, host: &Host, language: Language) -> Vec<Explanation> {
    let term = stage_of(word).map_or_else(|| word.to_string(), |stage| format!("stage {stage}"));
    let mut found: Vec<GlossaryEntry> = entries()
        .filter(|entry| entry.all_names().any(|name| name == term))
        .collect();
    if found.is_empty() {
        found = entries().filter(|entry| entry.is_meant_by(&term)).collect();
    }
    let versions = Versions::of(host);
    let mut all: Vec<_> = found
        .iter()
        .map(|entry| Explanation::of_entry(entry, language, &versions))
        .collect();
    if !all
        .iter()
        .any(|explanation| explanation.topic == Topic::Variable)
    {
        all.extend(Explanation::of_our_variable(
            &word.to_ascii_uppercase(),
            language,
        ));
    }
    if let (true, Some(option)) = (all.is_empty(), launch_option(word)) {
        all.extend(Explanation::of_our_variable(&variable(option), language));
    }
    if all.is_empty() {
        all.extend(
            versions
                .find(word)
                .and_then(|key| Explanation::of_recorded(&key, language, &versions)),
        );
    }
    let rules = rules().filter(|(name, _)| *name == word);
    all.extend(rules.map(|(name, doc)| Explanation::of_rule(name, doc, language)));
    all.extend(Explanation::of_template(word, search, host, language));
    all
}

pub(crate) fn about(key: &str, language: Language) -> Option<String> {
    let entry = entries()
        .find(|entry| entry.all_names().any(|name| name == key) && entry.topic() == Topic::Key)?;
    let text = |field: &str| entry.text(field, language).map(str::to_string);
    let auto =
        explanation::value_of_auto(&entry, language).map(|becomes| format!("\"auto\": {becomes}"));
    Some(
        [text("en"), auto, text("advice")]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("\n\n"),
    )
}

/// `stage 3`, `zero3`, `ZeRO-3`, `z3`.
fn stage_of(word: &str) -> Option<char> {
    let plain: String = word
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect::<String>()
        .to_ascii_lowercase();
    let number = ["zerostage", "stage", "zero", "z"]
        .iter()
        .find_map(|prefix| plain.strip_prefix(prefix))?;
    ['0', '1', '2', '3']
        .into_iter()
        .find(|stage| number == stage.to_string())
}

fn unknown(word: &str, search: &Search) -> Problem {
    let (templates, variables) = (search.names(), all_variables());
    let mut known: Vec<&str> = WORDS()
        .into_iter()
        .flat_map(|(name, ())| [name, schema::name_of(name)])
        .collect();
    known.extend(variables.iter().flat_map(vars::Var::names));
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
    for topic in Topic::LISTED {
        let (names, plural) = (names_of(topic, search), topic.names()[0]);
        let many = format!(
            "{} {plural}: `zlaunch explain {plural}` lists them",
            names.len()
        );
        text += &format!(
            "\n{plural}\n{}",
            filled(
                &if names.len() > 20 {
                    many
                } else {
                    names.join(", ")
                },
                2,
                width()
            )
        );
    }
    text
}

pub fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_launches = Rule::all().filter_map(|rule| Some((rule.name(), rule.about()?)));
    of_launches.chain(check::rules().map(|check| (check.rule.name(), check.about)))
}

fn names_of(topic: Topic, search: &Search) -> Vec<String> {
    let mut names: Vec<String> = match topic {
        Topic::Template => search.names(),
        Topic::Rule => rules().map(|(name, _)| name.to_string()).collect(),
        _ => entries()
            .filter(|entry| entry.topic() == topic)
            .map(|entry| entry.name().to_string())
            .collect(),
    };
    if topic == Topic::Variable {
        names.extend(
            all_variables()
                .iter()
                .flat_map(vars::Var::names)
                .map(str::to_string),
        );
        names.extend(launch_options().map(variable));
    }
    if topic != Topic::Template {
        names.sort();
    }
    names.dedup();
    names
}
