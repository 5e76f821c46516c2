//! The man page: `BLESS=1 cargo test` writes it from the tables that also make the help, so nothing of it is in the program.

use std::fs;

use crate::base::options::{self, Arity, Opt};
use crate::base::vars;
use crate::check;
use crate::cli;
use crate::config::{auto, template};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/packaging/wheel/data/share/man/man1/zlaunch.1");

const DESCRIPTION: &str = "zlaunch resolves a DeepSpeed config by its name, fills its \"auto\" fields exactly as the trainer would, \
    checks that both agree, sets the environment and becomes `torchrun`, `deepspeed`, `srun` or `python` by exec. \
    `--dry-run` shows the launch and does nothing.";

const FILES: &[(&str, &str)] = &[
    (
        "~/.config/zlaunch/templates, /etc/zlaunch/templates",
        "Templates of yours and of the site, before the built-in ones",
    ),
    ("~/.cache/zlaunch/configs", "Resolved configs, named after their content"),
    ("~/.local/share/zlaunch/shims", "PATH shims, where `zlaunch shims install` is not told another folder"),
];

fn page() -> String {
    let mut page = format!(".TH ZLAUNCH 1 \"\" \"zlaunch {}\" \"User Commands\"\n", env!("CARGO_PKG_VERSION"));
    page += &format!(".SH NAME\nzlaunch \\- {}\n.SH SYNOPSIS\n.nf\n", text(env!("CARGO_PKG_DESCRIPTION")));
    for line in cli::USAGE.lines() {
        page += &format!("{}\n", text(line.trim()).replacen("zlaunch", "\\fBzlaunch\\fR", 1));
    }
    page += &format!(".fi\n.SH DESCRIPTION\n{}\n.SH COMMANDS\n", text(DESCRIPTION));
    for (usage, about) in commands() {
        page += &entry(&bold(usage), about);
    }
    page += &format!(".SH OPTIONS\n{}\n", text(sentence("Each of these options has a variable")));
    page += &options(options::OPTIONS);
    page += ".SH OPTIONS OF FIT\nBesides those that describe a launch.\n";
    page += &options(options::FIT);
    page += ".SH OPTIONS OF GENERATE\n";
    page += &options(options::GENERATE);
    let templates = template::built_in_abouts("about");
    page += &section("TEMPLATES", templates.iter().map(|(name, about)| (*name, about.as_str())));
    page += &section("FILLED FROM \"auto\"", auto::RULES.iter().map(|rule| (rule.key, rule.doc)));
    page += &section("DIAGNOSTICS", check::rules().map(|rule| (rule.name, rule.doc)));
    page += &section("ENVIRONMENT", vars::ALL.iter().map(|var| (var.name, var.about)));
    page += &section("FILES", FILES.iter().copied());
    page += &format!(".SH EXIT STATUS\n{}\n.br\n{}\n", text(sentence("Exit status")), text(sentence("`check`: 1")));
    page += &format!(".SH EXAMPLE\n.nf\n{}\n.fi\n", text(cli::AFTER_HELP.lines().last().unwrap().trim()));
    page + ".SH SEE ALSO\n.BR srun (1),\n.BR sbatch (1)\n"
}

/// The list in the help: how a sub-command is written, and what it does.
fn commands() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = cli::AFTER_HELP.lines().skip(1).take_while(|line| !line.is_empty());
    lines.map(|line| line.trim().split_once("  ").map(|(usage, about)| (usage, about.trim())).unwrap())
}

/// The line of the help that starts like this.
fn sentence(start: &str) -> &'static str {
    cli::AFTER_HELP.lines().find(|line| line.starts_with(start)).unwrap()
}

fn options(table: &[Opt]) -> String {
    let mut headings: Vec<&str> = Vec::new();
    for option in table {
        if !headings.contains(&option.heading) {
            headings.push(option.heading);
        }
    }
    let mut page = String::new();
    for heading in headings {
        page += &format!(".SS {heading}\n");
        for option in table.iter().filter(|option| option.heading == heading) {
            let short = option.short.map(|short| bold(&format!("-{short}")) + ", ").unwrap_or_default();
            let value =
                if option.value.is_empty() { String::new() } else { format!(" \\fI{}\\fR", plain(option.value)) };
            let repeated = if option.kind == Arity::Many { " (repeatable)" } else { "" };
            page += &entry(
                &format!("{short}{}{value}", bold(&format!("--{}", option.name))),
                &format!("{}{repeated}", option.help),
            );
        }
    }
    page
}

fn section<'a>(name: &str, entries: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let entries: String = entries.map(|(name, about)| entry(&bold(name), about)).collect();
    format!(".SH {}\n{entries}", plain(name).replace('"', "\\(dq"))
}

fn entry(head: &str, body: &str) -> String {
    format!(".TP\n{head}\n{}\n", text(body))
}

fn bold(name: &str) -> String {
    format!("\\fB{}\\fR", plain(name))
}

/// Running text: what stands between backticks is bold.
fn text(source: &str) -> String {
    let parts = source.split('`').enumerate();
    let text: String = parts.map(|(at, part)| if at % 2 == 1 { bold(part) } else { plain(part) }).collect();
    // Otherwise a request of roff.
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

/// Every character as itself, whatever the reader's locale.
fn plain(source: &str) -> String {
    let escaped = |it: char| match it {
        '\\' => "\\e".to_string(),
        '-' => "\\-".to_string(),
        '~' => "\\(ti".to_string(),
        '^' => "\\(ha".to_string(),
        '\'' => "\\(aq".to_string(),
        it if it.is_ascii() => it.to_string(),
        it => format!("\\[u{:04X}]", u32::from(it)),
    };
    source.chars().map(escaped).collect()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "BLESS is the test's own")]
fn the_page_is_made_from_the_tables() {
    if std::env::var_os("BLESS").is_some() {
        fs::write(FILE, page()).unwrap();
    }
    assert!(fs::read_to_string(FILE).unwrap() == page(), "BLESS=1 cargo test man writes {FILE}");
}

#[test]
fn the_page_holds_every_option_and_sub_command() {
    let page = page();
    for option in options::OPTIONS.iter().chain(options::FIT).chain(options::GENERATE) {
        assert!(page.contains(&format!("\\-\\-{}\\fR", plain(option.name))), "{}", option.name);
    }
    let in_help: Vec<&str> = commands().map(|(usage, _)| usage.split(' ').next().unwrap()).collect();
    let completed: Vec<&str> = options::COMMANDS.iter().map(|(name, _)| *name).collect();
    assert_eq!(in_help, completed);
    for name in in_help {
        assert!(page.contains(&format!("\\fBzlaunch\\fR {name}")), "{name} in the synopsis");
        assert!(page.contains(&format!(".TP\n\\fB{name}")), "{name} under COMMANDS");
    }
    assert!(page.is_ascii());
}
