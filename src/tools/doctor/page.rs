//! The report as text that can be pasted and as JSON. Whatever goes into it is without secrets and without the name of
//! the home folder.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::base::layout::wrapped;
use crate::host::Host;
use crate::report::secrets::Secrets;
use crate::report::{Problem, Severity};

/// Columns of a line.
const WIDTH: usize = 110;

pub(super) struct DoctorReport<'h> {
    home: Option<PathBuf>,
    secrets: Secrets<'h>,
    sections: Vec<(&'static str, Vec<Row>)>,
}

/// One thing that was looked at.
pub(super) struct Row {
    name: String,
    /// `None`: it could not be found out.
    value: Option<String>,
    /// There is a rule about it.
    judged: bool,
    pub(super) found: Vec<Problem>,
}

impl Row {
    pub(super) fn seen(name: impl Into<String>, value: Option<String>) -> Self {
        Row { name: name.into(), value, judged: false, found: Vec::new() }
    }

    pub(super) fn judged(name: impl Into<String>, value: Option<String>, found: Option<Problem>) -> Self {
        let judged = value.is_some();
        Row { judged, found: found.into_iter().collect(), ..Row::seen(name, value) }
    }

    fn mark(&self) -> &'static str {
        let worst = self.found.iter().any(|problem| problem.severity == Severity::Error);
        match (worst, self.found.is_empty()) {
            (true, _) => "bad",
            (false, false) => "warn",
            (false, true) if self.judged => "ok",
            (false, true) => "",
        }
    }
}

impl<'h> DoctorReport<'h> {
    pub(super) fn new(host: &'h Host) -> Self {
        let home = host.home().filter(|home| home != Path::new("/"));
        DoctorReport { home, secrets: Secrets::of(host), sections: Vec::new() }
    }

    pub(super) fn add(&mut self, title: &'static str, rows: Vec<Row>) {
        if !rows.is_empty() {
            self.sections.push((title, rows));
        }
    }

    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.sections.iter().flat_map(|(_, rows)| rows)
    }

    fn clean(&self, text: &str) -> String {
        let text = self.secrets.hide_in_text(text);
        match self.home.as_ref().and_then(|home| home.to_str()) {
            Some(home) => text.replace(home, "~"),
            None => text,
        }
    }

    pub(super) fn text(&self) -> String {
        let width = self.rows().map(|row| row.name.chars().count()).filter(|width| *width <= 24).max().unwrap_or(0);
        let mut text = format!("zlaunch {} ({})\n", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
        for (title, rows) in &self.sections {
            text += &format!("\n{title}\n");
            for row in rows {
                let value = self.clean(row.value.as_deref().unwrap_or("unknown"));
                text += &format!("  {:<4}  {:<width$}  {value}\n", row.mark(), row.name);
                for problem in &row.found {
                    text += &wrapped(&format!("{} [{}]", self.clean(&problem.what), problem.rule), width + 10, WIDTH);
                    text += &format!("{:indent$}help: {}\n", "", self.clean(&problem.help), indent = width + 10);
                }
            }
        }
        let bad = self.rows().filter(|row| row.mark() == "bad").count();
        let warned = self.rows().filter(|row| row.mark() == "warn").count();
        text + &match (bad, warned) {
            (0, 0) => "\nnothing wrong was found\n".to_string(),
            _ => format!("\n{bad} bad, {warned} to look at; `zlaunch explain RULE` says more\n"),
        }
    }

    pub(super) fn json(&self) -> Value {
        let mut all = Map::new();
        all.insert("version".to_string(), 1.into());
        all.insert("zlaunch".to_string(), env!("CARGO_PKG_VERSION").into());
        for (title, rows) in &self.sections {
            let mut section = Map::new();
            for row in rows {
                let value = row.value.as_ref().map_or(Value::Null, |value| self.clean(value).into());
                // Several rows of one name: the plan's diagnostics, which are all below.
                section.entry(row.name.replace(' ', "_")).or_insert(value);
            }
            all.insert((*title).to_string(), Value::Object(section));
        }
        let found = self.rows().flat_map(|row| row.found.iter().map(move |problem| (row, problem)));
        let found = found.map(|(row, problem)| {
            json!({
                "rule": problem.rule,
                "severity": problem.severity.to_string(),
                "about": row.name,
                "message": self.clean(&problem.what),
                "where": problem.places.iter().map(|place| self.clean(place)).collect::<Vec<_>>(),
                "help": self.clean(&problem.help),
            })
        });
        all.insert("diagnostics".to_string(), found.collect());
        Value::Object(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_folder_has_no_name() {
        let env = [("HOME", "/home/jane")].map(|(name, value)| (name.into(), value.into())).into();
        let host = Host { env, ..Host::default() };
        let mut report = DoctorReport::new(&host);
        report.add("folders", vec![Row::seen("configs", Some("/home/jane/.cache".to_string()))]);
        assert!(report.text().contains("configs  ~/.cache") && !report.json().to_string().contains("jane"));
    }
}
