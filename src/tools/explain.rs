//! `zlaunch explain WORD`: what a DeepSpeed key, a ZeRO stage, a variable, a template or a diagnostic means. `zlaunch explain LOG`:
//! which error ended a training, and what to change.

mod condition;
mod explanation;
mod log;
mod numbers;
mod sources;
pub mod tables;

use std::{
    borrow::Cow,
    ffi::OsString,
    fs,
    io::{self, BufReader, IsTerminal},
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::Value;

use super::output::{err, out};
use crate::{
    base::{
        layout::{filled, wrapped},
        options::{AnyValue, Given, Words, launch_options, variable},
    },
    cli::{LaunchOptions, Reader, Requested, Tool, launch, values},
    config::{schema, template::Search},
    host::{Host, terminal},
    judge::Judged,
    plan::record,
    ranks::topology::engine::all_variables,
    report::{self, Language, prelude::*, secrets::Secrets},
    request::{Format, Launch},
};

pub use explanation::fate;
pub use explanation::{Explainer, entries, rules};
use explanation::{Explanation, topic};
pub use log::Log;
use tables::{
    failures::{FAILURES, Role},
    topics::{MOST_IN_FULL, OFTEN, TOPICS, Topic},
};

/// The names for completions, and for what was probably meant.
pub const WORDS: Words<()> = || {
    let search = Search::default();
    TOPICS
        .iter()
        .flat_map(|row| names_of(row.topic, &search))
        .chain(TOPICS.iter().map(|row| row.plural.to_string()))
        .filter(|name| !name.contains([' ', '<']))
        .map(|name| (&*name.leak(), ()))
        .collect()
};

#[derive(Args)]
pub struct ExplainArgs {
    #[arg(value_parser = AnyValue(WORDS))]
    word: Vec<Given>,
    #[arg(help_heading = None::<&str>, last = true, num_args = 1.., hide = true)]
    command: Vec<OsString>,
}

impl Tool for ExplainArgs {
    const LAUNCH_OPTIONS: LaunchOptions = LaunchOptions::AllShowing(&["template_dir", "format"]);

    /// A sentence that begins with a dash is a message, such as `- ds fp16.enabled=True vs hf fp16=False`.
    fn in_order(words: &[OsString], _: &Host) -> Vec<OsString> {
        let mut words = words.to_vec();
        for word in words.iter_mut().take_while(|word| *word != "--") {
            let text = word.to_string_lossy();
            let first = text.split_once(' ').map_or("", |(first, _)| first);
            if first.starts_with('-') && !first.contains('=') {
                *word = format!(" {text}").into();
            }
        }
        words
    }

    fn read(self, mut reader: Reader) -> Requested {
        let format = reader.report_format();
        let words: Vec<String> = reader
            .many(self.word, values::text)
            .into_iter()
            .map(|word| word.value)
            .collect();
        let launch = launch::read_described(self.command, &mut reader);
        reader.answer(move |host: &Host| run(&words, &launch, format, host))
    }
}

/// Exit status 1: there is no error in the log, or only one that zlaunch does not know.
fn run(words: &[String], launch: &Launch, format: Format, host: &Host) -> Result<u8, Problems> {
    let word = words.join(" ");
    let explainer = Explainer::new(&launch.search, host);
    let mut log = Log {
        progress: Some(progress),
        ..Log::default()
    };
    let files: Vec<PathBuf> = words
        .iter()
        .map(|word| host.absolute(Path::new(word)))
        .collect();
    let is_log = |it: &PathBuf| {
        let end = it.extension().and_then(|end| end.to_str());
        it.is_file() || matches!(end, Some("log" | "txt" | "out" | "err"))
    };
    // Without a word, a pipe or a file is read, but not /dev/null.
    let is_piped = word == "-"
        || word.is_empty()
            && fs::metadata("/dev/stdin").is_ok_and(|input| !input.file_type().is_char_device());
    if is_piped {
        log.read("-", io::stdin().lock())
            .map_err(|why| reading::unreadable_file(Path::new("-"), &why))?;
    } else if word.is_empty() {
        return out(&subjects(&launch.search));
    } else {
        let unknown = match explainer.all_meanings(&word) {
            Ok(pages) if format == Format::Json => {
                let pages = pages.iter().map(|page| page.json(explainer.language));
                return out(&format!("{:#}\n", pages.collect::<Value>()));
            }
            Ok(pages) => return out(&explainer.text(&pages)),
            Err(unknown) => unknown,
        };
        if !files.iter().all(is_log) {
            // A text cannot fail to be read.
            let _ = log.read("message", word.as_bytes());
            let shown = show_log(&log, &[], launch, format, true, &explainer)?;
            return if shown == Some(true) {
                Ok(0)
            } else {
                Err(unknown.into())
            };
        }
        for (name, file) in words.iter().zip(&files) {
            let opened = fs::File::open(file);
            opened
                .and_then(|opened| log.read(name, BufReader::new(opened)))
                .map_err(|why| reading::unreadable_file(file, &why))?;
        }
    }
    let shown = show_log(&log, &files, launch, format, false, &explainer)?;
    if shown.is_none() {
        err("there is no error that zlaunch knows\n");
    }
    Ok(u8::from(shown != Some(true)))
}

/// A line on the terminal for a log of which nobody would like to wait in the dark.
fn progress(name: &str, bytes: u64) {
    if bytes >= OFTEN && bytes % OFTEN < 1 << 20 && io::stderr().is_terminal() {
        err(&format!("\r{name}: {} MB read\r", bytes >> 20));
    }
}

/// Shows the first failure in full, and the names of the others. Returns whether it is known; `None` if there was nothing to show.
/// `files`: in their folders the record of the launch is looked for.
fn show_log(
    log: &Log,
    files: &[PathBuf],
    launch: &Launch,
    format: Format,
    is_message: bool,
    explainer: &Explainer,
) -> Result<Option<bool>, Problems> {
    let Some(first) = log.found.first().or(log.sentences.as_ref()) else {
        return Ok(None);
    };
    let host = explainer.host;
    let secrets = Secrets::of(host);
    let plan = if launch.command.is_empty() {
        files
            .iter()
            .filter_map(|file| file.parent())
            .chain([&*host.cwd])
            .find_map(|folder| Some(record::read(folder).ok()?["plan"].clone()))
    } else {
        Judged::new(launch, host)
            .accepted()
            .map_err(|found| report::report(&found, &secrets))
            .ok()
            .map(|(plan, problems)| plan.json(&problems))
    };
    let (page, is_known) = explainer.of_found(first, log, &plan.unwrap_or_default(), &secrets);
    if !is_known && (is_message || !first.is_exception) {
        return Ok(None);
    }
    let is_consequence = first.role > Role::Unknown;
    let also = log
        .found
        .iter()
        .skip(1)
        .filter(|found| is_consequence || !found.failure.is_unknown())
        .filter(|found| found.role != Role::Report)
        .take(MOST_IN_FULL)
        .map(|found| format!("{} ({})", found.failure.name(), found.place));
    if format == Format::Json {
        let mut json = page.json(explainer.language);
        json["also"] = also.collect();
        out(&format!("{json:#}\n"))?;
    } else {
        let also: String = also.map(|it| format!("also in the log: {it}\n")).collect();
        out(&(page.text(explainer.language, width()) + &also))?;
    }
    Ok(Some(is_known))
}

fn width() -> usize {
    terminal::width().map_or(100, |width| width.min(100))
}

impl Explainer<'_> {
    pub fn all_meanings(&self, word: &str) -> Result<Vec<Explanation>, Problem> {
        let mut found = self.meanings(word);
        if let Some(row) = TOPICS.iter().find(|row| row.plural == word) {
            found.extend(
                names_of(row.topic, self.search)
                    .into_iter()
                    .flat_map(|name| self.meanings(&name))
                    .filter(|it| it.topic == row.topic),
            );
        }
        if found.is_empty() {
            let known = WORDS()
                .into_iter()
                .flat_map(|(name, ())| [name, schema::name_of(name)]);
            let near = report::nearest(word, known);
            let otherwise = "`zlaunch explain` lists what it can explain";
            let what = format!("zlaunch has no explanation for `{word}`");
            return Err(Rule::Usage
                .error(what)
                .at(format!("explain {word}"))
                .fix(report::did_you_mean(near, otherwise)));
        }
        Ok(found)
    }

    pub fn text(&self, pages: &[Explanation]) -> String {
        if pages.len() > MOST_IN_FULL {
            let listed =
                |it: &Explanation| format!("{}\n{}", it.name, wrapped(&it.about, 2, width()));
            return pages.iter().map(listed).collect();
        }
        pages
            .iter()
            .map(|it| it.text(self.language, width()))
            .collect::<Vec<_>>()
            .join("\n")
    }

    fn meanings(&self, word: &str) -> Vec<Explanation> {
        let mut all = self.of_entries(|name| plain(name) == plain(word));
        all.extend(
            FAILURES
                .iter()
                .filter(|failure| failure.names.contains(&word))
                .map(|failure| self.of_failure(failure)),
        );
        if all.is_empty() {
            let end = format!(".{word}");
            all = self.of_entries(|name| name.ends_with(&end));
        }
        if all.iter().all(|it| it.topic != Topic::Variable) {
            all.extend(Explanation::of_our_variable(word));
        }
        if all.is_empty() {
            all.extend(self.of_recorded(word));
        }
        let rule = rules().find(|(rule, _)| rule.name() == word);
        all.extend(rule.map(|(rule, _)| self.of_rule(rule)));
        all.extend(self.of_template(word));
        if all.is_empty() && word.len() > 2 {
            all = self.of_entries(|name| name.contains(word));
        }
        all
    }

    fn of_entries(&self, is_meant: impl Fn(&str) -> bool) -> Vec<Explanation> {
        entries()
            .filter(|entry| entry.names().any(&is_meant))
            .map(|entry| self.of_entry(&entry))
            .collect()
    }
}

pub fn about(key: &str, language: Language) -> Option<String> {
    let entry = entries().find(|entry| entry.is_called(key) && topic(entry) == Topic::Key)?;
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

/// A name without what people spell differently: `ZeRO-3`, `zero_3`, `zero3`.
fn plain(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .collect::<String>()
        .to_ascii_lowercase()
}

fn subjects(search: &Search) -> String {
    let mut text = "zlaunch explain WORD: a name, or a part of one\n".to_string();
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
            .filter_map(|failure| Some((*failure.names.first()?).to_string()))
            .collect(),
        _ => entries()
            .filter(|entry| self::topic(entry) == topic)
            .map(|entry| entry.name().to_string())
            .collect(),
    };
    if topic == Topic::Variable {
        names.extend(
            all_variables()
                .into_iter()
                .flat_map(|var| var.names)
                .map(Cow::into_owned),
        );
        names.extend(launch_options().map(variable));
    }
    names.sort();
    names.dedup();
    names
}
