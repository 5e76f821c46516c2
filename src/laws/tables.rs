//! The documents' tables are the program's tables: what stands between `<!-- NAME … -->` and `<!-- end -->` is made from the
//! code, only the named rows where names follow. `BLESS=1 cargo test tables` writes them.
#![expect(clippy::disallowed_methods, reason = "a test reads and writes documents")]

use std::collections::BTreeSet;
use std::path::Path;

use clap::builder::Str;
use clap::{Arg, ArgAction, Command};

use crate::base::options::{FIT, GENERATE, Subcommand};
use crate::base::vars;
use crate::config::{auto, template};
use crate::{check, cli};

/// A table's head, and its rows with what each is about.
struct Table {
    name: &'static str,
    head: &'static str,
    rows: Vec<(String, String)>,
}

impl Table {
    fn new(name: &'static str, head: &'static str, rows: impl IntoIterator<Item = (String, String)>) -> Self {
        Table { name, head, rows: rows.into_iter().collect() }
    }

    /// Those rows, or all of them, as Markdown.
    fn markdown(&self, wanted: &[&str]) -> String {
        let row = |name: &&str| {
            let found = self.rows.iter().find(|(row, _)| row == name);
            found.unwrap_or_else(|| panic!("the table of {} has no {name}", self.name))
        };
        let rows: Vec<_> =
            if wanted.is_empty() { self.rows.iter().collect() } else { wanted.iter().map(row).collect() };
        let line = "| --- ".repeat(self.head.matches('|').count() - 1);
        format!("{}\n{line}|\n", self.head) + &rows.iter().map(|(_, row)| format!("{row}\n")).collect::<String>()
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The options in the help of a command, but for clap's own.
pub(super) fn shown_options(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| !arg.is_positional() && !arg.is_hide_set() && arg.get_help_heading().is_some())
}

/// `-n`, `--dry-run` and what stands for the value.
pub(super) fn spelled(arg: &Arg) -> (Option<String>, String, Option<&str>) {
    let value = arg.get_value_names().and_then(<[_]>::first);
    let long = arg.get_long().unwrap_or_default();
    (arg.get_short().map(|short| format!("-{short}")), format!("--{long}"), value.map(Str::as_str))
}

pub(super) fn meaning(arg: &Arg) -> String {
    let repeated = if matches!(arg.get_action(), ArgAction::Append) { " (repeatable)" } else { "" };
    format!("{}{repeated}", arg.get_help().unwrap_or_default())
}

fn options(name: &'static str, command: &Command) -> Table {
    let rows = shown_options(command).map(|arg| {
        let (short, long, value) = spelled(arg);
        let short = short.map(|short| format!("{short}, ")).unwrap_or_default();
        let value = value.map(|value| format!(" {}", cell(value))).unwrap_or_default();
        let row = format!("| `{short}{long}{value}` | {} |", cell(&meaning(arg)));
        (arg.get_id().to_string(), row)
    });
    Table::new(name, "| option | meaning |", rows)
}

fn tables() -> Vec<Table> {
    let templates = template::built_in_abouts();
    // `zlaunch templates` says the rest.
    let first = |about: &str| cell(about.split(". ").next().unwrap_or(about).trim_end_matches('.'));
    let templates =
        templates.iter().map(|(name, about)| ((*name).to_string(), format!("| `{name}` | {} |", first(about))));
    let rules = auto::RULES.iter().map(|rule| {
        let compared = if rule.compared { "yes" } else { "" };
        (rule.key.to_string(), format!("| `{}` | {} | {compared} |", rule.key, cell(rule.doc)))
    });
    let checks = check::rules()
        .map(|rule| (rule.name.to_string(), format!("| `{}` | {} | {} |", rule.name, rule.severity, cell(rule.doc))));
    let variables = vars::ALL
        .iter()
        .map(|var| (var.name, var.name.replace(", ", "`, `"), var.does(), cell(var.about)))
        .map(|(name, shown, does, about)| (name.to_string(), format!("| `{shown}` | {does} | {about} |")));
    let mut zlaunch = cli::command();
    zlaunch.build();
    let subcommand = |subcommand: Subcommand| zlaunch.find_subcommand(subcommand.name).unwrap();
    vec![
        Table::new("shorthands", "| name | what it is |", templates),
        Table::new("auto", "| key | becomes | compared |", rules),
        Table::new("check", "| rule | | says |", checks),
        Table::new("variables", "| variable | zlaunch | for |", variables),
        options("options", &zlaunch),
        options("fit", subcommand(FIT)),
        options("generate", subcommand(GENERATE)),
    ]
}

#[test]
fn tables_are_the_programs() {
    let tables = tables();
    let mut whole = BTreeSet::new();
    // The Chinese README has the same rows in its own words: tests/cli/documents.rs compares.
    for document in ["README.md", "docs/reference.md", "docs/fit.md"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(document);
        let written = std::fs::read_to_string(&path).unwrap();
        let mut today = String::new();
        let mut rest = written.as_str();
        while let Some((before, mark, after)) = next_mark(rest) {
            let mut words = mark.split_whitespace();
            let name = words.next().unwrap_or_default();
            let wanted: Vec<&str> = words.collect();
            let (block, after) = after.split_once("<!-- end -->").unwrap();
            today += &format!("{before}<!-- {mark} -->\n");
            match tables.iter().find(|table| table.name == name) {
                Some(table) => {
                    today += &format!("\n{}\n", table.markdown(&wanted));
                    whole.extend(wanted.is_empty().then_some(name.to_string()));
                }
                // tests/cli/documents.rs tries those row by row.
                None => today += block,
            }
            today += "<!-- end -->";
            rest = after;
        }
        today += rest;
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, today).unwrap();
            continue;
        }
        for (line, (written, today)) in written.lines().zip(today.lines()).enumerate() {
            assert_eq!(written, today, "{document}:{}: BLESS=1 cargo test tables", line + 1);
        }
        assert_eq!(written, today, "{document}: BLESS=1 cargo test tables");
    }
    assert_eq!(whole, tables.iter().map(|table| table.name.to_string()).collect(), "each is somewhere as a whole");
}

/// What stands before the next table, its mark and what follows.
fn next_mark(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("<!-- ")?;
    let (mark, after) = rest.split_once(" -->\n")?;
    Some((before, mark, after))
}
