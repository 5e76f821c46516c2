//! One explanation: its parts from many tables, and its page.

use std::collections::BTreeSet;

use anstyle::{AnsiColor, Style};
use serde_json::Value;

use super::glossary::{keys_below, of_rule, rules, topic};
use super::log::{Found, Log};
use super::tables::failures::{Failure, Meaning};
use super::tables::phrases;
use super::tables::topics::Topic;
use crate::base::layout::{Line, TextTable, columns, escape_controls, wrapped};
use crate::base::options::{flag, launch_options, variable};
use crate::base::recorded::VersionMatch;
use crate::base::source::{Source, Sourced};
use crate::base::texts::{Entry, Phrase};
use crate::cli::help_of;
use crate::command::python::Python;
use crate::config::auto;
use crate::config::schema::{self, KeySpec, Known};
use crate::config::template::{self, Origin, Search};
use crate::host::Host;
use crate::ranks::topology::engines::all_variables;
use crate::report::secrets::Secrets;
use crate::report::{Language, Problem, Rule};
use crate::tools::output::painted;

pub(super) struct Explanation {
    pub(super) name: String,
    pub(super) topic: Topic,
    pub(super) text: String,
    rows: Vec<Row>,
}

struct Row {
    label: Phrase,
    text: String,
}

impl Explanation {
    fn new(name: impl Into<String>, topic: Topic, text: impl Into<String>) -> Self {
        Explanation {
            name: name.into(),
            topic,
            text: text.into(),
            rows: Vec::new(),
        }
    }

    /// Adds a row, if there is a text for it.
    fn row<T: Into<String>>(mut self, label: Phrase, text: Option<T>) -> Self {
        self.rows.extend(text.map(|text| Row {
            label,
            text: text.into(),
        }));
        self
    }

    pub(super) fn render(&self, language: Language, width: usize) -> String {
        let bold = Style::new().bold();
        let name = escape_controls(&self.name);
        let title = self.topic.row().map_or("", |row| row.one.text(language));
        let between = if columns(&name) + columns(title) + 4 > width {
            "\n  "
        } else {
            "  "
        };
        let mut page = format!("{bold}{name}{bold:#}{between}({title})\n");
        page += &wrapped(&self.text, 2, width);
        if self.rows.is_empty() {
            return page;
        }
        let mut table = TextTable::new(2);
        for row in &self.rows {
            let cells = vec![row.label.text(language).to_string(), row.text.clone()];
            // An example stays on one line, so that it can be pasted.
            let is_example = row.label == phrases::EXAMPLE;
            let limit = if is_example { usize::MAX } else { width };
            table.lines.push(Line::Wrapped(cells, limit));
        }
        let coloured = painted(&table.to_string(), |line| {
            let label = line
                .get(2..)
                .and_then(|row| row.split("  ").next())
                .unwrap_or_default();
            let is_label = self
                .rows
                .iter()
                .any(|row| row.label.text(language) == label);
            let style = Style::new().fg_color(is_label.then_some(AnsiColor::Cyan.into()));
            (line.len().min(2)..line.len().min(2) + label.len(), style)
        });
        format!("{page}\n{coloured}")
    }

    /// A variable that is not in the glossary but in zlaunch's own tables.
    pub(super) fn of_our_variable(name: &str) -> Option<Self> {
        let page = |text: &str| Explanation::new(name, Topic::Variable, text);
        if let Some(option) = launch_options().find(|option| variable(option) == name) {
            let help = help_of("", option)?;
            let value = help.field("value").unwrap_or_default();
            let same = format!("{} {value}", flag(option));
            return Some(page(help.field("en")?).row(phrases::SAME_AS, Some(same)));
        }
        let all = all_variables();
        let var = all.iter().find(|var| var.is_called(name))?;
        Some(page(&format!("zlaunch {}: {}.", var.does, var.about)))
    }
}

/// What an explanation depends on.
pub(super) struct Explainer<'a> {
    search: &'a Search,
    host: &'a Host,
    pub(super) language: Language,
    /// The DeepSpeed that is found here, if any.
    installed: Option<String>,
    /// The recorded one that speaks for it.
    judge: VersionMatch,
}

impl<'a> Explainer<'a> {
    pub(super) fn new(search: &'a Search, host: &'a Host) -> Result<Self, Problem> {
        let python = Python::on_path(host);
        let python = python.as_ref();
        Ok(Explainer {
            search,
            host,
            language: Language::of(host)?,
            installed: python.and_then(|python| python.version_text("deepspeed")),
            judge: schema::in_environment(python),
        })
    }

    fn key(&self, name: &str) -> Option<KeySpec> {
        schema::find(name, self.judge.version())
    }

    pub(super) fn of_entry(&self, entry: &Entry) -> Explanation {
        let name = entry.name();
        let key = self.key(name);
        let since = key.and_then(|key| key.since).map(|since| since.to_string());
        let text = |field: &str| entry.text(field, self.language);
        let ours = all_variables()
            .into_iter()
            .find(|var| var.is_called(name))
            .map(|var| match text("zlaunch") {
                Some(translated) => translated.to_string(),
                None => format!("{}: {}", var.does, var.about),
            });
        // `=VALUE` stands for the option that sets the key.
        let example = entry.field("example").map(|it| match it.strip_prefix('=') {
            Some(value) => format!("--set {name}={value}"),
            None => it.to_string(),
        });
        Explanation::new(name, topic(entry), text("en").unwrap_or_default())
            .row(phrases::ALSO, listed(entry.names().skip(1)))
            .row(phrases::TYPE, entry.field("type"))
            .row(phrases::DEFAULT, entry.field("default"))
            .row(phrases::AUTO, value_of_auto(entry, self.language))
            .row(phrases::STAGES, entry.field("stages"))
            .row(
                phrases::SINCE,
                since.or_else(|| entry.field("since").map(str::to_string)),
            )
            .row(
                phrases::STATUS,
                key.and_then(|key| fate(&key, self.language)),
            )
            .row(phrases::HERE, key.and_then(|key| self.here(&key)))
            .row(phrases::KEYS, keys_below(name))
            .row(phrases::ZLAUNCH, ours)
            .row(phrases::ADVICE, text("advice"))
            .row(phrases::CAREFUL, text("careful"))
            .row(phrases::EXAMPLE, example)
    }

    /// A key that is not in the glossary, because it is gone.
    pub(super) fn of_recorded(&self, name: &str) -> Option<Explanation> {
        let key = self.key(name)?;
        let page = Explanation::new(key.key, Topic::Key, fate(&key, self.language)?);
        Some(page.row(phrases::HERE, self.here(&key)))
    }

    /// The fate of a key that the installed version does not read.
    fn here(&self, key: &KeySpec) -> Option<String> {
        let installed = self.installed.as_ref()?;
        let does = match key.known() {
            Known::Yes => return None,
            Known::Later(_) => phrases::NOT_YET_HERE,
            Known::Dropped(_) => phrases::DROPPED_HERE,
            Known::Refused(_) => phrases::REFUSED_HERE,
            Known::Paused => phrases::PAUSED_HERE,
        };
        let does = does.text(self.language);
        let stands_in = match self.judge {
            VersionMatch::Exact(_) => String::new(),
            other => phrases::STANDS_IN
                .text(self.language)
                .replace("{version}", &other.version().to_string()),
        };
        Some(format!("DeepSpeed {installed} {does}{stands_in}"))
    }

    pub(super) fn of_rule(&self, rule: Rule) -> Explanation {
        let entry = of_rule(rule.name());
        let text = |field: &str| entry?.text(field, self.language);
        let about = rules()
            .find(|(known, _)| *known == rule)
            .map(|(_, about)| about);
        let about = text("en").or(about).unwrap_or_default();
        let is_allowable = Rule::allowable().contains(&rule);
        let silence = is_allowable.then(|| format!("--allow {rule}"));
        Explanation::new(rule.name(), Topic::Rule, about)
            .row(phrases::WHY, text("why"))
            .row(phrases::WRONG, text("wrong"))
            .row(phrases::RIGHT, text("right"))
            .row(phrases::ERROR, text("error"))
            .row(phrases::SILENCE, silence)
    }

    pub(super) fn of_failure(&self, failure: &Failure) -> Explanation {
        match failure.meaning {
            Meaning::Rule(rule) => self.of_rule(rule),
            Meaning::Explained {
                names,
                about,
                advice,
            } => {
                let seen_in = Some(failure.seen_in).filter(|seen_in| !seen_in.is_empty());
                Explanation::new(names[0], Topic::Failure, about)
                    .row(phrases::ALSO, listed(names[1..].iter().copied()))
                    .row(phrases::ADVICE, Some(advice))
                    .row(phrases::SEEN_IN, seen_in)
            }
        }
    }

    /// Where a failure is in a log, which ranks did not come so far, and what to change in this launch.
    pub(super) fn of_found(
        &self,
        found: &Found,
        log: &Log,
        plan: &Value,
        secrets: &Secrets,
    ) -> Explanation {
        let failure = found.failure;
        let mut page = self.of_failure(failure);
        let general = std::mem::take(&mut page.rows);
        for line in &found.lines {
            page = page.row(phrases::LINE, Some(secrets.hide_in_text(line)));
        }
        let mut place = found.place.clone();
        if !found.ranks.is_empty() {
            place += &format!(", {}", listed_ranks(&found.ranks));
        }
        page = page.row(phrases::WHERE, Some(place));
        let missing: BTreeSet<u32> = (0..log.ranks)
            .filter(|rank| !found.ranks.contains(rank))
            .collect();
        if !missing.is_empty() && missing.len() < found.ranks.len() {
            let said = failure
                .of_missing_ranks
                .map(|it| format!("{}: {it}", listed_ranks(&missing)));
            page = page.row(phrases::MISSING, said);
        }
        let general = general
            .into_iter()
            .filter(|row| row.label != phrases::SILENCE);
        page.rows.extend(general);
        for advice in failure.here {
            page = page.row(phrases::THIS_LAUNCH, advice.for_plan(plan));
        }
        page
    }

    pub(super) fn of_template(&self, word: &str) -> Option<Explanation> {
        if !self.search.knows(word) {
            return None;
        }
        let spec = Sourced::new(word.to_string(), Source::Argument("explain".to_string()));
        let template = template::resolve(&spec, self.search, self.host).ok()?;
        let origin = match &template.origin {
            Origin::BuiltIn => phrases::BUILT_IN.text(self.language).to_string(),
            origin => origin.to_string(),
        };
        let chain = &template.chain[1..];
        let extends = (!chain.is_empty()).then(|| chain.join(" → "));
        let text = match (self.language, template.about_zh) {
            (Language::Chinese, Some(chinese)) => chinese,
            _ => template.about.unwrap_or_default(),
        };
        let mut page = Explanation::new(&*template.name, Topic::Template, text)
            .row(phrases::FROM, Some(origin))
            .row(phrases::EXTENDS, extends);
        let secrets = Secrets::of(self.host);
        for (name, value) in &template.env {
            page = page.row(phrases::SETS, Some(secrets.setting(name, value)));
        }
        let print = format!("zlaunch templates {}", template.name);
        Some(page.row(phrases::PRINT_IT, Some(print)))
    }
}

fn listed(names: impl Iterator<Item = &'static str>) -> Option<String> {
    let names: Vec<&str> = names.collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// `ranks 0, 3`.
fn listed_ranks(ranks: &BTreeSet<u32>) -> String {
    let numbers: Vec<String> = ranks.iter().map(u32::to_string).collect();
    let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
    format!("{noun} {}", numbers.join(", "))
}

pub(super) fn value_of_auto(entry: &Entry, language: Language) -> Option<String> {
    let rule = auto::RULES.iter().find(|rule| rule.key == entry.name())?;
    let becomes = entry.text("auto", language).unwrap_or(rule.doc);
    let compared = if rule.compared {
        phrases::COMPARED.text(language)
    } else {
        ""
    };
    Some(format!("{becomes}{compared}"))
}

pub(crate) fn fate(key: &KeySpec, language: Language) -> Option<String> {
    let phrase = match key.removed {
        Some(removed) if removed.refused => phrases::REFUSED,
        Some(_) => phrases::DROPPED,
        None if key.replaced_by.is_some() => phrases::OLD_NAME,
        None if key.known() == Known::Paused => phrases::PAUSED,
        None => return None,
    };
    let since = key.removed.map(|removed| removed.version.to_string());
    let now = key.replaced_by.map(|_| phrases::NOW.text(language));
    let text = phrase
        .text(language)
        .replace("{since}", &since.unwrap_or_default())
        .replace("{now}", now.unwrap_or_default());
    Some(text.replace("{name}", key.replaced_by.unwrap_or_default()))
}
