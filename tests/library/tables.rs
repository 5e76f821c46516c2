//! The documents' tables are made from the code. A table is between `<!-- NAME … -->` and `<!-- end -->`, in any document;
//! where names of rows follow, it has only those. `BLESS=1 cargo test tables` writes them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::builder::Str;
use clap::{Arg, ArgAction, Command};

use zlaunch::testing::cli::shown_options;
use zlaunch::testing::prefix::{PROGRAMS, PrefixProgram};
use zlaunch::testing::{
    BUILT_IN, all_variables, arguments, auto, check, cli, json, options, trainer,
};

/// A table's head, and its rows with what each is about.
struct Table {
    name: &'static str,
    head: &'static str,
    rows: Vec<(String, String)>,
}

impl Table {
    fn new(
        name: &'static str,
        head: &'static str,
        rows: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        Table {
            name,
            head,
            rows: rows.into_iter().collect(),
        }
    }

    /// Those rows, or all of them, as Markdown.
    fn markdown(&self, wanted: &[&str]) -> String {
        let row = |name: &&str| {
            let found = self.rows.iter().find(|(row, _)| row == name);
            found.unwrap_or_else(|| panic!("the table of {} has no {name}", self.name))
        };
        let rows: Vec<_> = if wanted.is_empty() {
            self.rows.iter().collect()
        } else {
            wanted.iter().map(row).collect()
        };
        let line = "| --- ".repeat(self.head.matches('|').count() - 1);
        format!("{}\n{line}|\n", self.head)
            + &rows
                .iter()
                .map(|(_, row)| format!("{row}\n"))
                .collect::<String>()
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// `-n`, `--dry-run` and what stands for the value.
pub(crate) fn spelled(arg: &Arg) -> (Option<String>, String, Option<&str>) {
    let value = arg.get_value_names().and_then(<[_]>::first);
    let value = value.filter(|_| arg.get_action().takes_values());
    (
        arg.get_short().map(|short| format!("-{short}")),
        options::flag(arg),
        value.map(Str::as_str),
    )
}

pub(crate) fn meaning(arg: &Arg) -> String {
    let repeated = if matches!(arg.get_action(), ArgAction::Append) {
        " (repeatable)"
    } else {
        ""
    };
    format!("{}{repeated}", arg.get_help().unwrap_or_default())
}

fn options_of(name: &'static str, command: &Command) -> Table {
    let rows = shown_options(command).map(|arg| {
        let (short, long, value) = spelled(arg);
        let short = short.map(|short| format!("{short}, ")).unwrap_or_default();
        let value = value
            .map(|value| format!(" {}", cell(value)))
            .unwrap_or_default();
        let row = format!("| `{short}{long}{value}` | {} |", cell(&meaning(arg)));
        (arg.get_long().unwrap().to_string(), row)
    });
    Table::new(name, "| option | meaning |", rows)
}

/// Every built-in template with its description.
pub(crate) fn templates(key: &str) -> Vec<(&'static str, String)> {
    let about = |text| {
        json::parse(text)
            .ok()?
            .get("$zlaunch")?
            .get(key)?
            .as_str()
            .map(str::to_string)
    };
    BUILT_IN
        .iter()
        .map(|(name, text)| (*name, about(text).unwrap_or_default()))
        .collect()
}

/// A row for each template: the first sentence of what it says about itself. `zlaunch templates` prints the rest.
fn shorthands() -> Vec<(String, String)> {
    let first = |about: &str| {
        cell(
            about
                .split(". ")
                .next()
                .unwrap_or(about)
                .trim_end_matches('.'),
        )
    };
    let abouts = templates("about");
    abouts
        .iter()
        .map(|(name, about)| {
            (
                (*name).to_string(),
                format!("| `{name}` | {} |", first(about)),
            )
        })
        .collect()
}

/// What the documents say of each front end.
fn front_ends() -> Vec<(String, String)> {
    let text = include_str!("../data/front_ends.txt");
    let row = |block: &str| {
        let field = |name: &str| {
            block
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
                .unwrap()
        };
        let name = block.lines().next().unwrap();
        let commands: Vec<String> = field("commands")
            .split(" | ")
            .map(|command| format!("`{command}`"))
            .collect();
        let runs = cell(field("runs"));
        (
            name.to_string(),
            format!("| {} | `{name}` | {runs} |", commands.join(", ")),
        )
    };
    let rows: Vec<_> = text.split("\n= ").skip(1).map(row).collect();
    let mut names: Vec<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
    names.dedup();
    assert_eq!(
        names,
        trainer::ALL
            .iter()
            .map(|trainer| trainer.name)
            .collect::<Vec<_>>()
    );
    rows
}

/// The trainers whose arguments are recorded.
fn recorded_trainers() -> Vec<(String, String)> {
    let row = |name: &str| {
        let versions: Vec<&str> = arguments::recorded_versions(name)
            .unwrap()
            .split(' ')
            .collect();
        format!(
            "| {name} | {} | {} | {} |",
            versions[0],
            versions[versions.len() - 1],
            versions.len()
        )
    };
    let names = ["transformers", "ms-swift", "trl", "llamafactory", "axolotl"];
    names.map(|name| (name.to_string(), row(name))).to_vec()
}

/// What holds for a program in front of the command.
fn prefix_rule(program: &PrefixProgram) -> String {
    if program.container {
        return "refused, with the command to paste: zlaunch must run inside".to_string();
    }
    if let Some(option) = program.keeps_variables_with {
        return format!("only with `{option}`");
    }
    if program.own_python {
        return "brings its own Python: its packages are checked at launch, inside it".to_string();
    }
    match program.barring {
        [] => String::new(),
        barring => format!("refused with `{}`", barring.join("`, `")),
    }
}

fn tables() -> Vec<Table> {
    let rules = auto::RULES.iter().map(|rule| {
        let compared = if rule.compared { "yes" } else { "" };
        (
            rule.key.to_string(),
            format!("| `{}` | {} | {compared} |", rule.key, cell(rule.doc)),
        )
    });
    let checks = check::rules().map(|rule| {
        (
            rule.rule.to_string(),
            format!(
                "| `{}` | {} | {} |",
                rule.rule,
                rule.severity,
                cell(rule.about)
            ),
        )
    });
    let variables = all_variables().into_iter().map(|var| {
        let about = cell(var.about);
        let shown = var.names.join("`, `");
        (
            var.names.join(", "),
            format!("| `{shown}` | {} | {about} |", var.does),
        )
    });
    let prefixes = PROGRAMS.iter().map(|program| {
        let names = program.names.join("`, `");
        (
            program.names.join(", "),
            format!("| `{names}` | {} |", prefix_rule(program)),
        )
    });
    let zlaunch = cli::command(&cli::TOOLS);
    let subcommand = |name: &str| zlaunch.find_subcommand(name).unwrap();
    vec![
        Table::new("shorthands", "| name | what it is |", shorthands()),
        Table::new(
            "front ends",
            "| command | `--trainer` | what runs |",
            front_ends(),
        ),
        Table::new(
            "recorded trainers",
            "| package | from | to | versions read |",
            recorded_trainers(),
        ),
        Table::new("prefixes", "| wrapper | |", prefixes),
        Table::new("auto", "| key | becomes | compared |", rules),
        Table::new("check", "| rule | | says |", checks),
        Table::new("variables", "| variable | zlaunch | for |", variables),
        options_of("options", &zlaunch),
        options_of("fit", subcommand("fit")),
        options_of("generate", subcommand("generate")),
    ]
}

/// Every document for readers.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = ["", "docs", "docs/dev"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|it| it == "md"))
        .collect()
}

#[test]
fn documents_have_the_tables_of_the_code() {
    let tables = tables();
    let mut whole = BTreeSet::new();
    for path in documents() {
        let written = std::fs::read_to_string(&path).unwrap();
        let (today, complete) = with_tables(&written, &tables);
        whole.extend(complete);
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, today).unwrap();
            continue;
        }
        let document = path.display();
        for (line, (written, today)) in written.lines().zip(today.lines()).enumerate() {
            assert_eq!(
                written,
                today,
                "{document}:{}: BLESS=1 cargo test tables",
                line + 1
            );
        }
        assert_eq!(written, today, "{document}: BLESS=1 cargo test tables");
    }
    assert_eq!(
        whole,
        tables.iter().map(|table| table.name).collect(),
        "each is somewhere as a whole"
    );
}

/// A document with the tables of today, and the names of those that it has with all rows.
fn with_tables<'a>(written: &str, tables: &'a [Table]) -> (String, Vec<&'a str>) {
    let (mut today, mut whole) = (String::new(), Vec::new());
    let mut rest = written;
    while let Some((before, (mark, after))) = rest
        .split_once("<!-- ")
        .and_then(|(before, rest)| Some((before, rest.split_once(" -->\n")?)))
    {
        let is_named = |table: &&Table| {
            mark.strip_prefix(table.name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        today += &format!("{before}<!-- {mark} -->\n");
        rest = after;
        // Other marks are for tests/cli/documents.rs.
        if let Some(table) = tables.iter().find(is_named) {
            let wanted: Vec<&str> = mark[table.name.len()..].split_whitespace().collect();
            today += &format!("\n{}\n<!-- end -->", table.markdown(&wanted));
            whole.extend(wanted.is_empty().then_some(table.name));
            rest = after.split_once("<!-- end -->").unwrap().1;
        }
    }
    (today + rest, whole)
}
