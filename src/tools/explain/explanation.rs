//! One explanation: its parts from many tables, and its page.

use std::collections::BTreeSet;

use anstyle::{AnsiColor, Style};
use serde_json::Value;

use super::glossary::{GlossaryEntry, Topic, keys_below, of_rules};
use super::log::{Found, Log};
use crate::base::json;
use crate::base::layout::{Line, TextTable, columns, escape_controls, wrapped};
use crate::base::options::{flag, help_of, launch_options, variable};
use crate::base::recorded::VersionMatch;
use crate::base::rows::plain;
use crate::base::source::{Source, Sourced};
use crate::command::python::Python;
use crate::config::auto;
use crate::config::schema::{self, KeySpec, Known};
use crate::config::template::{self, Origin, Search};
use crate::host::Host;
use crate::ranks::topology::engines::table::all_variables;
use crate::report::secrets::Secrets;
use crate::report::{Language, Rule};
use crate::tools::output::painted;

pub(super) struct Explanation {
    pub(super) name: String,
    pub(super) topic: Topic,
    pub(super) text: String,
    rows: Vec<(&'static str, String)>,
}

impl Explanation {
    pub(super) fn render(&self, language: Language, width: usize) -> String {
        let bold = Style::new().bold();
        let [_, english, chinese] = self.topic.names();
        let (name, title) = (escape_controls(&self.name), language.word(english, chinese));
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
        for (label, text) in &self.rows {
            // An example stays on one line, so that it can be pasted.
            let limit = if *label == language.word("example", "示例") {
                usize::MAX
            } else {
                width
            };
            table.lines.push(Line::Wrapped(
                vec![(*label).to_string(), text.clone()],
                limit,
            ));
        }
        let coloured = painted(&table.to_string(), |line| {
            let label = line
                .get(2..)
                .and_then(|row| row.split("  ").next())
                .unwrap_or_default();
            let is_label = self.rows.iter().any(|(known, _)| *known == label);
            let style = Style::new().fg_color(is_label.then_some(AnsiColor::Cyan.into()));
            (line.len().min(2)..line.len().min(2) + label.len(), style)
        });
        format!("{page}\n{coloured}")
    }

    pub(super) fn of_entry(entry: &GlossaryEntry, language: Language, versions: &Versions) -> Self {
        let name = entry.name();
        let mut rows = Vec::new();
        let mut row = |english, chinese, text: Option<String>| {
            rows.extend(text.map(|text| (language.word(english, chinese), text)));
        };
        let field = |field: &str| entry.field(field).map(str::to_string);
        let text = |field: &str| entry.text(field, language).map(str::to_string);
        let others: Vec<_> = entry.all_names().skip(1).collect();
        row(
            "also",
            "别名",
            (!others.is_empty()).then(|| others.join(", ")),
        );
        row("type", "类型", field("type"));
        row("default", "默认值", field("default"));
        row("\"auto\"", "\"auto\"", value_of_auto(entry, language));
        row("stages", "适用阶段", field("stages"));
        let key = versions.find(name);
        let since = key.and_then(|key| key.since).map(|since| since.to_string());
        row("since", "起始版本", since.or_else(|| field("since")));
        row("status", "状态", key.and_then(|key| fate(&key, language)));
        row(
            "here",
            "本机",
            key.and_then(|key| versions.here(&key, language)),
        );
        row("keys", "子键", keys_below(name));
        let var = all_variables().into_iter().find(|var| var.is_called(name));
        let ours = var
            .map(|var| text("zlaunch").unwrap_or_else(|| format!("{}: {}", var.does, var.about)));
        row("zlaunch", "zlaunch", ours);
        row("advice", "建议", text("advice"));
        row("careful", "注意", text("careful"));
        row(
            "seen in",
            "出处",
            field("source").map(|source| source.trim_start_matches("recorded with ").to_string()),
        );
        // `=VALUE` stands for the option that sets the key.
        let example = field("example");
        row(
            "example",
            "示例",
            example.map(|it| {
                if it.starts_with('=') {
                    format!("--set {name}{it}")
                } else {
                    it
                }
            }),
        );
        Explanation {
            name: name.to_string(),
            topic: entry.topic(),
            text: text("en").unwrap_or_default(),
            rows,
        }
    }

    /// A key that is not in the glossary, because it is gone.
    pub(super) fn of_recorded(
        key: &KeySpec,
        language: Language,
        versions: &Versions,
    ) -> Option<Self> {
        let here = versions
            .here(key, language)
            .map(|here| (language.word("here", "本机"), here));
        let rows = here.into_iter().collect();
        Some(Explanation {
            name: key.key.to_string(),
            topic: Topic::Key,
            text: fate(key, language)?,
            rows,
        })
    }

    /// A variable that is not in the glossary but in zlaunch's own tables.
    pub(super) fn of_our_variable(name: &str, language: Language) -> Option<Self> {
        let (text, rows) =
            if let Some(option) = launch_options().find(|option| variable(option) == name) {
                let [value, help, _] = help_of("", option)?;
                (
                    help.to_string(),
                    vec![(
                        language.word("same as", "等同于"),
                        format!("{} {value}", flag(option)),
                    )],
                )
            } else {
                let var = all_variables()
                    .into_iter()
                    .find(|var| var.is_called(name))?;
                (format!("zlaunch {}: {}.", var.does, var.about), Vec::new())
            };
        Some(Explanation {
            name: name.to_string(),
            topic: Topic::Variable,
            text,
            rows,
        })
    }

    pub(super) fn of_rule(name: &str, doc: &str, language: Language) -> Self {
        let entry = of_rules().find(|entry| entry.name() == name);
        let labels = [
            ("why", "原因"),
            ("wrong", "错误"),
            ("right", "正确"),
            ("error", "报错"),
        ]
        .into_iter();
        let rows = labels.filter_map(|(en, zh)| {
            Some((
                language.word(en, zh),
                entry?.text(en, language)?.to_string(),
            ))
        });
        let mut rows: Vec<_> = rows.collect();
        if Rule::allowable().iter().any(|rule| rule.name() == name) {
            rows.push((language.word("silence", "忽略"), format!("--allow {name}")));
        }
        let text = entry
            .and_then(|entry| entry.text("en", language))
            .unwrap_or(doc)
            .to_string();
        Explanation {
            name: name.to_string(),
            topic: Topic::Rule,
            text,
            rows,
        }
    }

    /// Where it is in a log, which ranks did not come so far, and what to change in this launch.
    pub(super) fn found(
        self,
        found: &Found,
        log: &Log,
        plan: &Value,
        secrets: &Secrets,
        language: Language,
    ) -> Self {
        let numbers = |ranks: &BTreeSet<u32>| {
            ranks
                .iter()
                .map(u32::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        };
        let list = |all: &BTreeSet<u32>| {
            format!(
                "rank{} {}",
                if all.len() == 1 { "" } else { "s" },
                numbers(all)
            )
        };
        let missing: BTreeSet<u32> = (0..log.ranks)
            .filter(|rank| !found.ranks.contains(rank))
            .collect();
        let told = if (1..found.ranks.len()).contains(&missing.len()) {
            found.entry.field("missing")
        } else {
            None
        };
        let on = if found.ranks.is_empty() {
            String::new()
        } else {
            format!(", {}", list(&found.ranks))
        };
        let lines = found
            .lines
            .iter()
            .map(|line| (language.word("line", "报错行"), secrets.hide_in_text(line)));
        let mut rows: Vec<_> = lines
            .chain([(language.word("where", "位置"), found.place.clone() + &on)])
            .collect();
        rows.extend(told.map(|it| {
            (
                language.word("missing", "缺少"),
                format!("{}: {it}", list(&missing)),
            )
        }));
        rows.extend(
            self.rows
                .into_iter()
                .filter(|(label, _)| *label != language.word("silence", "忽略")),
        );
        let here = found
            .entry
            .fields("here")
            .filter_map(|here| advice(here, plan));
        rows.extend(here.map(|advice| (language.word("this launch", "本次启动"), advice)));
        Explanation { rows, ..self }
    }

    pub(super) fn of_template(
        word: &str,
        search: &Search,
        host: &Host,
        language: Language,
    ) -> Option<Self> {
        if !search.knows(word) {
            return None;
        }
        let spec = Sourced::new(word.to_string(), Source::Argument("explain".to_string()));
        let template = template::resolve(&spec, search, host).ok()?;
        let origin = match &template.origin {
            Origin::BuiltIn => language.word("built in", "内置").to_string(),
            origin => origin.to_string(),
        };
        let mut rows = vec![(language.word("from", "来源"), origin)];
        if template.chain.len() > 1 {
            rows.push((
                language.word("extends", "继承"),
                template.chain[1..].join(" → "),
            ));
        }
        for (name, value) in &template.env {
            rows.push((
                language.word("sets", "设置"),
                Secrets::of(host).setting(name, value),
            ));
        }
        rows.push((
            language.word("print it", "查看内容"),
            format!("zlaunch templates {}", template.name),
        ));
        let chinese = if language == Language::Chinese {
            template.about_zh
        } else {
            None
        };
        let text = chinese.or(template.about).unwrap_or_default();
        Some(Explanation {
            name: template.name,
            topic: Topic::Template,
            text,
            rows,
        })
    }
}

/// `KEY: advice with {}`, `KEY=VALUE: advice`, `KEY!=VALUE: advice`, if that is so in the plan.
fn advice(here: &str, plan: &Value) -> Option<String> {
    let (condition, advice) = here.split_once(": ")?;
    let (key, wanted) = condition
        .split_once('=')
        .map_or((condition, None), |(key, value)| (key, Some(value)));
    let value = json::get(plan, key.trim_end_matches('!'))
        .filter(|value| !value.is_null())?
        .to_string();
    let holds = wanted.is_none_or(|wanted| (value == wanted) != key.ends_with('!'));
    holds.then(|| advice.replace("{}", &value))
}

pub(super) fn value_of_auto(entry: &GlossaryEntry, language: Language) -> Option<String> {
    let rule = auto::RULES.iter().find(|rule| rule.key == entry.name())?;
    let compared = language.word(
        "; a value of your own must equal it",
        "；自己写的值必须与之相等",
    );
    let becomes = entry.text("auto", language).unwrap_or(rule.doc);
    Some(format!(
        "{becomes}{}",
        if rule.compared { compared } else { "" }
    ))
}

/// The DeepSpeed that is found here, if any, and the recorded one that speaks for it.
pub(super) struct Versions {
    installed: Option<String>,
    judge: VersionMatch,
}

impl Versions {
    pub(super) fn of(host: &Host) -> Self {
        let python = Python::on_path(host);
        let installed = python
            .as_ref()
            .and_then(|python| python.version_text("deepspeed"));
        Versions {
            installed,
            judge: schema::in_environment(python.as_ref()),
        }
    }

    pub(super) fn find(&self, key: &str) -> Option<KeySpec> {
        schema::find(key, self.judge.version())
    }

    /// The fate of a key that the installed version does not read.
    pub(super) fn here(&self, key: &KeySpec, language: Language) -> Option<String> {
        let installed = self.installed.as_ref()?;
        let says = match key.known() {
            Known::Yes => return None,
            Known::Later(_) => "Later",
            Known::Dropped(_) => "Dropped",
            Known::Refused(_) => "Refused",
            Known::Paused => "Paused",
        };
        let says = format!("DeepSpeed {installed} {}", phrase(says, language));
        if matches!(self.judge, VersionMatch::Exact(_)) {
            return Some(says);
        }
        let stands_in =
            phrase("stands in", language).replace("{version}", &self.judge.version().to_string());
        Some(says + language.word(" ", "") + &stands_in)
    }
}

fn phrase(name: &str, language: Language) -> &'static str {
    let row = plain(include_str!("phrases.txt")).find(|[known, _, _]| *known == name);
    row.map_or("", |[_, english, chinese]| language.word(english, chinese))
}

pub(crate) fn fate(key: &KeySpec, language: Language) -> Option<String> {
    let name = match key.removed {
        Some(removed) if removed.refused => "refused",
        Some(_) => "dropped",
        None if key.replaced_by.is_some() => "old name",
        None if key.known() == Known::Paused => "paused",
        None => return None,
    };
    let since = key
        .removed
        .map(|removed| removed.version.to_string())
        .unwrap_or_default();
    let now = key.replaced_by.map_or("", |_| phrase("now", language));
    let text = phrase(name, language)
        .replace("{since}", &since)
        .replace("{now}", now);
    Some(text.replace("{name}", key.replaced_by.unwrap_or_default()))
}
