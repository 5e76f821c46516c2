//! One explanation: its parts from many tables, and its page.

use std::{collections::BTreeSet, ffi::OsStr};

use serde_json::{Value, json};

use super::{
    condition,
    log::{Found, Log},
    numbers,
    sources::{self, Said},
    tables::{
        failures::{FAILURES, Failure},
        packages::PACKAGES,
        phrases,
        topics::{TOPICS, Topic},
    },
};
use crate::{
    base::{
        json,
        layout::{TextTable, wrapped},
        options::{flag, launch_options, variable},
        recorded::Version,
        source::{Source, Sourced},
        texts::{self, Entry, Phrase},
    },
    check,
    cli::help_of,
    command::python::Python,
    config::{
        auto,
        schema::{self, KeySpec, Known},
        template::{self, Search},
    },
    host::Host,
    ranks::topology::engine::all_variables,
    report::{Language, Rule, secrets::Secrets},
};

pub fn entries() -> impl Iterator<Item = Entry> {
    texts::entries(include_str!("entries.txt"))
}

/// Every rule with its sentence.
pub fn rules() -> impl Iterator<Item = (Rule, &'static str)> {
    Rule::all()
        .filter_map(|rule| Some((rule, rule.about()?)))
        .chain(check::rules().map(|check| (check.rule, check.about)))
}

pub fn topic(entry: &Entry) -> Topic {
    let name = entry.name();
    let is_variable = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    match name {
        _ if name.starts_with("stage ") => Topic::Stage,
        "auto" | "ZeRO" | "offload" | "gradient_checkpointing" => Topic::Term,
        _ if name.chars().all(is_variable) => Topic::Variable,
        _ => Topic::Key,
    }
}

/// The keys directly below a section, without its name.
fn keys_below(section: &str) -> Option<String> {
    let keys: Vec<&str> = entries()
        .filter_map(|entry| entry.name().strip_prefix(section)?.strip_prefix('.'))
        .filter(|key| !key.contains('.'))
        .collect();
    (!keys.is_empty()).then(|| keys.join(", "))
}

pub struct Explanation {
    pub name: String,
    pub topic: Topic,
    pub about: String,
    rows: Vec<Row>,
}

struct Row {
    label: Phrase,
    text: String,
}

impl Explanation {
    fn new(name: impl Into<String>, topic: Topic, about: impl Into<String>) -> Self {
        Explanation {
            name: name.into(),
            topic,
            about: about.into(),
            rows: vec![],
        }
    }

    /// Adds a row for each text, of which there may be none.
    fn row<T: Into<String>>(mut self, label: Phrase, texts: impl IntoIterator<Item = T>) -> Self {
        self.rows.extend(
            texts
                .into_iter()
                .map(Into::into)
                .map(|text| Row { label, text }),
        );
        self
    }

    fn kind(&self, language: Language) -> &'static str {
        TOPICS
            .iter()
            .find(|row| row.topic == self.topic)
            .map_or("", |row| row.one.text(language))
    }

    pub fn json(&self, language: Language) -> Value {
        let rows = self
            .rows
            .iter()
            .map(|row| json!({"label": row.label.text(language), "text": row.text}));
        json!({
            "name": self.name, "kind": self.kind(language), "about": self.about,
            "rows": rows.collect::<Vec<_>>(),
        })
    }

    pub fn text(&self, language: Language, width: usize) -> String {
        let kind = self.kind(language);
        let rows = self
            .rows
            .iter()
            .map(|row| (row.label.text(language), row.text.clone()));
        let table = TextTable::of_pairs(2, rows).fitted(Some(width));
        let title = wrapped(&format!("{}  ({kind})", self.name), 0, width);
        let gap = if self.rows.is_empty() { "" } else { "\n" };
        format!("{title}{}{gap}{table}", wrapped(&self.about, 2, width))
    }

    /// A variable in any case, or an option of zlaunch, that is not in the glossary but in our own tables.
    pub fn of_our_variable(word: &str) -> Option<Self> {
        let name = word.to_ascii_uppercase().replace('-', "_");
        let page = |name: &str, text: &str| Explanation::new(name, Topic::Variable, text);
        let option = launch_options()
            .map(|option| (variable(option), option))
            .find(|(it, _)| {
                it.trim_start_matches("ZLAUNCH_") == name.trim_start_matches("ZLAUNCH_")
            });
        if let Some((name, option)) = option {
            let help = help_of("", option)?;
            let value = help.field("value").unwrap_or_default();
            let same = format!("{} {value}", flag(option));
            return Some(page(&name, help.field("en")?).row(phrases::SAME_AS, Some(same)));
        }
        let all = all_variables();
        let var = all.iter().find(|var| var.is_called(&name))?;
        Some(page(
            &name,
            &format!("zlaunch {}: {}.", var.does, var.about),
        ))
    }
}

/// What an explanation depends on.
pub struct Explainer<'a> {
    pub search: &'a Search,
    pub host: &'a Host,
    pub language: Language,
    /// The recorded one that speaks for the DeepSpeed that is found here.
    version: Version,
}

impl<'a> Explainer<'a> {
    pub fn new(search: &'a Search, host: &'a Host) -> Self {
        Explainer {
            search,
            host,
            language: Language::of(host),
            version: schema::in_environment(Python::on_path(host).as_ref()).version(),
        }
    }

    pub fn of_entry(&self, entry: &Entry) -> Explanation {
        let name = entry.name();
        let key = schema::find(name, self.version);
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
            .row(phrases::ALSO, entry.names().skip(1))
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
            .row(phrases::KEYS, keys_below(name))
            .row(phrases::ZLAUNCH, ours)
            .row(phrases::ADVICE, text("advice"))
            .row(phrases::CAREFUL, text("careful"))
            .row(phrases::EXAMPLE, example)
    }

    /// A key that is not in the glossary, because it is gone.
    pub fn of_recorded(&self, name: &str) -> Option<Explanation> {
        let key = schema::find(name, self.version)?;
        Some(Explanation::new(
            key.key,
            Topic::Key,
            fate(&key, self.language)?,
        ))
    }

    pub fn of_rule(&self, rule: Rule) -> Explanation {
        // The reason for it, a wrong and a right config, and the trainer's own error.
        let entry = texts::find(include_str!("rules.txt"), rule.name());
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

    pub fn of_failure(&self, failure: &Failure) -> Explanation {
        if let Some(rule) = failure.rule {
            return self.of_rule(rule);
        }
        let names = failure.names.iter().copied();
        let seen_in = Some(failure.seen_in).filter(|seen_in| !seen_in.is_empty());
        Explanation::new(failure.names[0], Topic::Failure, failure.about)
            .row(phrases::ALSO, names.skip(1))
            .row(phrases::ADVICE, Some(failure.advice))
            .row(phrases::FIXED_IN, self.fixed_in(failure))
            .row(phrases::SEEN_IN, seen_in)
    }

    fn fixed_in(&self, failure: &Failure) -> Option<String> {
        let (package, version) = failure.fixed?;
        let installed = Python::on_path(self.host).and_then(|it| it.version_text(package));
        let here = installed.map(|installed| format!("; {package} {installed} is installed here"));
        Some(format!("{package} {version}{}", here.unwrap_or_default()))
    }

    /// The statement that says it.
    fn of_said(said: &Said, python: &Python) -> Explanation {
        let package = said.file.split('/').next().unwrap_or_default();
        let package = PACKAGES
            .iter()
            .find(|it| it.0 == package)
            .map_or("", |it| it.1);
        let version = python.version_text(package).unwrap_or_default();
        let mut place = format!("{}, line {}", said.file, said.line);
        if !said.function.is_empty() {
            place += &format!(", in `{}`", said.function);
        }
        let (verb, about) = if said.says_it {
            ("said by", format!("It comes from {place}."))
        } else {
            (
                "failed in",
                format!("It failed at {place}, or in what that calls."),
            )
        };
        let name = format!("{verb} {package} {version}");
        Explanation::new(name.trim_end(), Topic::Failure, about)
    }

    /// Under which conditions it is said, what they are in this launch, and what would make them false.
    fn with_conditions(
        &self,
        mut page: Explanation,
        said: &Said,
        line: &str,
        plan: &Value,
    ) -> Explanation {
        for condition in &said.conditions {
            let label = if condition.holds {
                phrases::IF
            } else {
                phrases::UNLESS
            };
            page = page.row(label, Some(&*condition.text));
        }
        let (facts, changes) = condition::read(said, self.version, plan, self.host);
        let facts = facts.into_iter().filter(|_| !plan.is_null());
        let full = (said.text.len() > line.len()).then(|| said.text.replace('\0', "…"));
        page.row(phrases::THIS_LAUNCH, facts)
            .row(phrases::IN_FULL, full)
            .row(phrases::ADVICE, changes)
    }

    /// Where a failure is in a log, which ranks did not come so far, and what to change in this launch; and whether anything is
    /// known of it.
    pub fn of_found(
        &self,
        found: &Found,
        log: &Log,
        plan: &Value,
        secrets: &Secrets,
    ) -> (Explanation, bool) {
        let stage = json::get(plan, "config.zero_optimization.stage");
        let mut failure = match stage {
            Some(stage) if *stage != 3 && found.failure.only_with_zero3 => Failure::unknown(),
            _ => found.failure,
        };
        let python = plan["trainer"]["python"]
            .as_str()
            .map(|program| Python::at(program.into(), self.host))
            .or_else(|| Python::on_path(self.host));
        let asked = python.as_ref();
        let mut said = asked.and_then(|it| sources::find(found, it, failure.is_unknown()));
        let is_said = said.as_ref().is_some_and(|it| it.says_it);
        let may_ask = (failure.is_unknown() || failure.is_of_versions) && !is_said;
        let class = asked
            .filter(|_| may_ask)
            .and_then(|it| sources::class_asked(&found.lines[0], it));
        if class.is_some() {
            let mut rows = FAILURES.iter();
            failure = rows.find(|it| it.is_of_versions).unwrap_or(failure);
            said = None;
        }
        let is_known = is_said || !failure.is_unknown();
        // Of sentences, only the one that is known.
        let lines = match &said {
            Some(said) if !found.is_exception => &found.lines[said.line_of_log..][..1],
            _ => &found.lines[..],
        };
        let mut page = match (&said, asked) {
            (Some(said), Some(python)) => {
                let page = Self::of_said(said, python);
                if failure.is_unknown() {
                    self.with_conditions(page, said, &lines[0], plan)
                } else {
                    // The row knows more than the conditions.
                    let about = format!("{}: {}", page.name, page.about);
                    let known = self
                        .of_failure(failure)
                        .row(phrases::SAID_BY, is_said.then_some(about));
                    self.with_conditions(known, said, &lines[0], plan)
                }
            }
            _ => self.of_failure(failure),
        };
        let general = std::mem::take(&mut page.rows);
        let mut place = found.place.clone();
        if !found.ranks.is_empty() {
            place += &format!(", {}", listed_ranks(&found.ranks));
        }
        let shown = lines.iter().map(|line| {
            // A word may be a secret that nothing else names.
            secrets
                .hide_in_words(line.split(' ').map(OsStr::new))
                .join(OsStr::new(" "))
                .to_string_lossy()
                .into_owned()
        });
        let numbers = lines.iter().flat_map(|line| numbers::read(line));
        page = page
            .row(phrases::LINE, shown)
            .row(phrases::WHERE, Some(place))
            .row(phrases::NUMBERS, numbers)
            .row(phrases::IN_THIS_VERSION, class);
        let missing: BTreeSet<u32> = (0..log.ranks)
            .filter(|rank| !found.ranks.contains(rank))
            .collect();
        if !missing.is_empty() && missing.len() < found.ranks.len() {
            let said = failure
                .of_missing_ranks
                .iter()
                .map(|it| format!("{}: {it}", listed_ranks(&missing)));
            page = page.row(phrases::MISSING, said);
        }
        page.rows.extend(
            general
                .into_iter()
                .filter(|row| row.label != phrases::SILENCE),
        );
        let here = failure.here.iter().filter_map(|it| it.for_plan(plan));
        let is_alone = failure.alone && found.frames.is_empty();
        let careful = is_alone.then(|| phrases::LIKELIEST.text(self.language));
        (
            page.row(phrases::THIS_LAUNCH, here)
                .row(phrases::CAREFUL, careful),
            is_known,
        )
    }

    pub fn of_template(&self, word: &str) -> Option<Explanation> {
        if !self.search.knows(word) {
            return None;
        }
        let spec = Sourced::new(word.to_string(), Source::Argument("explain".to_string()));
        let template = template::resolve(&spec, self.search, self.host).ok()?;
        let about = template.about_in(self.language);
        let print = format!("zlaunch templates {}", template.name);
        Some(
            Explanation::new(&*template.name, Topic::Template, about)
                .row(phrases::PRINT_IT, Some(print)),
        )
    }
}

/// `ranks 0, 3`.
fn listed_ranks(ranks: &BTreeSet<u32>) -> String {
    let numbers: Vec<String> = ranks.iter().map(u32::to_string).collect();
    let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
    format!("{noun} {}", numbers.join(", "))
}

pub fn value_of_auto(entry: &Entry, language: Language) -> Option<String> {
    let rule = auto::RULES.iter().find(|rule| rule.key == entry.name())?;
    let becomes = entry.text("auto", language).unwrap_or(rule.doc);
    let compared = if rule.compared {
        phrases::COMPARED.text(language)
    } else {
        ""
    };
    Some(format!("{becomes}{compared}"))
}

pub fn fate(key: &KeySpec, language: Language) -> Option<String> {
    let phrase = match key.removed {
        Some(removed) if removed.refused => phrases::REFUSED,
        Some(_) => phrases::DROPPED,
        None if key.replaced_by.is_some() => phrases::OLD_NAME,
        None if key.known() == Known::Paused => phrases::PAUSED,
        None => return None,
    };
    let since = key.removed.map(|removed| removed.version.to_string());
    let now = key.replaced_by.map(|_| phrases::NOW.text(language));
    Some(
        phrase
            .text(language)
            .replace("{since}", &since.unwrap_or_default())
            .replace("{now}", now.unwrap_or_default())
            .replace("{name}", key.replaced_by.unwrap_or_default()),
    )
}
