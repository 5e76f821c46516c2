//! The report as text and as JSON. Secrets and the path of the home folder are removed, so that it can be pasted anywhere.

use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use serde_json::{Map, Value, json};

use crate::base::layout::{Line, TextTable, plural};
use crate::host::Host;
use crate::plan::diagnostics_json;
use crate::report::secrets::Secrets;
use crate::report::{Problem, Severity};
use crate::tools::output::painted;

const WIDTH: usize = 110;

pub struct DoctorReport<'h> {
    home: Option<PathBuf>,
    secrets: Secrets<'h>,
    sections: Vec<Section>,
}

pub struct Section {
    pub(super) title: &'static str,
    pub(super) rows: Vec<DoctorRow>,
}

pub(super) struct DoctorRow {
    name: String,
    /// `None`: unknown.
    value: Option<String>,
    /// A rule looked at it.
    is_checked: bool,
    pub(super) problems: Vec<Problem>,
}

/// `value`: `None` if it is unknown.
pub(super) fn fact(name: impl Into<String>, value: impl Into<Option<String>>) -> DoctorRow {
    DoctorRow {
        name: name.into(),
        value: value.into(),
        is_checked: false,
        problems: Vec::new(),
    }
}

pub(super) fn checked(
    name: impl Into<String>,
    value: impl Into<Option<String>>,
    problem: Option<Problem>,
) -> DoctorRow {
    let row = fact(name, value);
    DoctorRow {
        is_checked: row.value.is_some(),
        problems: problem.into_iter().collect(),
        ..row
    }
}

impl DoctorRow {
    pub(super) fn mark(&self) -> &'static str {
        match &self.problems[..] {
            [] if self.is_checked => "ok",
            [] => "",
            problems
                if problems
                    .iter()
                    .any(|problem| problem.severity == Severity::Error) =>
            {
                "bad"
            }
            _ => "warn",
        }
    }
}

impl<'h> DoctorReport<'h> {
    pub fn new(host: &'h Host, sections: Vec<Section>) -> Self {
        let home = host.home().filter(|home| home != Path::new("/"));
        DoctorReport {
            home,
            secrets: Secrets::of(host),
            sections,
        }
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &DoctorRow> {
        self.sections.iter().flat_map(|section| &section.rows)
    }

    fn clean(&self, text: &str) -> String {
        let text = self.secrets.hide_in_text(text);
        let home = self.home.as_ref().and_then(|home| home.to_str());
        if let Some(home) = home {
            text.replace(home, "~")
        } else {
            text
        }
    }

    pub fn text(&self, width: Option<usize>) -> String {
        let limit = width.map_or(WIDTH, |width| width.min(WIDTH));
        let first = format!(
            "zlaunch {} ({})",
            env!("CARGO_PKG_VERSION"),
            std::env::consts::ARCH
        );
        let mut lines = vec![Line::Heading(first)];
        for section in &self.sections {
            lines.push(Line::Heading(format!("\n{}", section.title)));
            for row in &section.rows {
                let value = self.clean(row.value.as_deref().unwrap_or("unknown"));
                lines.push(Line::Row(vec![
                    format!("{:<4}", row.mark()),
                    row.name.clone(),
                    value,
                ]));
                for problem in &row.problems {
                    let below = |text: String| vec![String::new(), String::new(), text];
                    let what = format!("{} [{}]", self.clean(&problem.what), problem.rule);
                    lines.push(Line::Wrapped(below(what), limit));
                    lines.push(Line::Row(below(format!(
                        "help: {}",
                        self.clean(&problem.help())
                    ))));
                }
            }
        }
        let count = |mark: &str, noun| {
            plural(
                self.rows().filter(|row| row.mark() == mark).count() as u64,
                noun,
                "s",
            )
        };
        let has_none = self
            .rows()
            .all(|row| row.mark() != "bad" && row.mark() != "warn");
        let sum = format!(
            "{}, {}; see `zlaunch explain RULE`",
            count("bad", "error"),
            count("warn", "warning")
        );
        lines.push(Line::Heading(format!(
            "\n{}",
            if has_none { "no problems found" } else { &sum }
        )));
        TextTable {
            widest: 24,
            lines,
            ..TextTable::new(2)
        }
        .fitted(width.map(|_| limit))
        .to_string()
    }

    pub fn json(&self) -> Value {
        let found = diagnostics_json(
            &self
                .rows()
                .flat_map(|row| row.problems.clone())
                .collect::<Vec<_>>(),
        );
        let mut all =
            json!({ "version": 1, "zlaunch": env!("CARGO_PKG_VERSION"), "diagnostics": found });
        for section in &self.sections {
            let mut rows = Map::new();
            for row in &section.rows {
                // Several rows can have the same name, one per diagnostic of the plan; those are all listed above.
                rows.entry(row.name.replace(' ', "_"))
                    .or_insert(json!(row.value));
            }
            all[section.title] = Value::Object(rows);
        }
        self.clean_json(all)
    }

    pub(super) fn clean_json(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.clean(&text).into(),
            Value::Array(items) => items
                .into_iter()
                .map(|item| self.clean_json(item))
                .collect(),
            Value::Object(entries) => entries
                .into_iter()
                .map(|(key, it)| (self.clean(&key), self.clean_json(it)))
                .collect(),
            value => value,
        }
    }
}

/// The marks in colour, the titles in bold.
pub(super) fn coloured(report: &str) -> String {
    painted(report, |line| {
        let bold = Style::new().bold();
        let Some(row) = line.strip_prefix("  ") else {
            return (0..line.len(), bold);
        };
        let mark = row.split(' ').next().unwrap_or_default();
        let style = match mark {
            "ok" => bold.fg_color(Some(AnsiColor::Green.into())),
            "warn" => bold.fg_color(Some(AnsiColor::Yellow.into())),
            "bad" => bold.fg_color(Some(AnsiColor::Red.into())),
            _ => Style::new(),
        };
        (2..2 + mark.len(), style)
    })
}
