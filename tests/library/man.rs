//! The man page: `BLESS=1 cargo test` writes it from the tables that also make the help, so nothing of it is in the program.

use std::collections::BTreeSet;
use std::fs;

use clap::{Arg, Command};

use zlaunch::testing::cli::shown_options;
use zlaunch::testing::{all_variables, auto, check, cli};

use crate::tables;

const FILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/packaging/wheel/data/share/man/man1/zlaunch.1"
);

const DESCRIPTION: &str = "zlaunch resolves a DeepSpeed config by its name, fills its \"auto\" fields exactly as the trainer would, \
    checks that both agree, sets the environment and becomes `torchrun`, `deepspeed`, `srun` or `python` by exec. \
    `--dry-run` shows the launch and does nothing.";

const FILES: &[(&str, &str)] = &[
    (
        "~/.config/zlaunch/templates, /etc/zlaunch/templates",
        "Templates of yours and of the site, before the built-in ones",
    ),
    (
        "~/.cache/zlaunch/configs",
        "Resolved configs, named after their content",
    ),
    (
        "~/.local/share/zlaunch/shims",
        "PATH shims, where `zlaunch shims install` is not told another folder",
    ),
];

fn page() -> String {
    let mut page = format!(
        ".TH ZLAUNCH 1 \"\" \"zlaunch {}\" \"User Commands\"\n",
        env!("CARGO_PKG_VERSION")
    );
    page += &format!(
        ".SH NAME\nzlaunch \\- {}\n.SH SYNOPSIS\n.nf\n",
        text(env!("CARGO_PKG_DESCRIPTION"))
    );
    let zlaunch = cli::command(&cli::TOOLS);
    let usage = |command: &Command| command.get_overridden_usage().unwrap().to_string();
    for command in std::iter::once(&zlaunch).chain(zlaunch.get_subcommands()) {
        page += &format!(
            "{}\n",
            text(&usage(command)).replacen("zlaunch", "\\fBzlaunch\\fR", 1)
        );
    }
    page += &format!(
        ".fi\n.SH DESCRIPTION\n{}\n.SH COMMANDS\n",
        text(DESCRIPTION)
    );
    for command in zlaunch.get_subcommands() {
        page += &entry(
            &bold(usage(command).trim_start_matches("zlaunch ")),
            &command.get_about().unwrap().to_string(),
        );
    }
    let launch = cli::page_of("zlaunch").unwrap();
    let [about_variables, exit_status @ ..] = &launch.fields("more")[..] else {
        panic!("the page of a launch says more")
    };
    page += &format!(".SH OPTIONS\n{}\n", text(about_variables));
    page += &options(&zlaunch);
    for name in ["fit", "generate"] {
        page += &format!(".SH OPTIONS OF {}\n", name.to_uppercase());
        page += &options(zlaunch.find_subcommand(name).unwrap());
    }
    let templates = tables::templates("about");
    page += &section(
        "TEMPLATES",
        templates
            .iter()
            .map(|(name, about)| (*name, about.as_str())),
    );
    page += &section(
        "FILLED FROM \"auto\"",
        auto::RULES.iter().map(|rule| (rule.key, rule.doc)),
    );
    page += &section(
        "DIAGNOSTICS",
        check::rules().map(|rule| (rule.rule.name(), rule.about)),
    );
    let variables: Vec<(String, &str)> = all_variables()
        .iter()
        .map(|var| (var.names.join(", "), var.about))
        .collect();
    page += &section(
        "ENVIRONMENT",
        variables
            .iter()
            .map(|(names, about)| (names.as_str(), *about)),
    );
    page += &section("FILES", FILES.iter().copied());
    page += &format!(
        ".SH EXIT STATUS\n{}\n",
        text(&exit_status.join("\n")).replace('\n', "\n.br\n")
    );
    page += &format!(
        ".SH EXAMPLE\n.nf\n{}\n.fi\n",
        text(launch.field("example").unwrap())
    );
    page + ".SH SEE ALSO\n.BR srun (1),\n.BR sbatch (1)\n"
}

fn options(command: &Command) -> String {
    let shown: Vec<&Arg> = shown_options(command).collect();
    let mut headings: Vec<_> = shown.iter().map(|arg| arg.get_help_heading()).collect();
    let mut seen = BTreeSet::new();
    headings.retain(|heading| seen.insert(*heading));
    let mut page = String::new();
    for heading in headings {
        page += &format!(".SS {}\n", heading.unwrap_or_default());
        for arg in shown.iter().filter(|arg| arg.get_help_heading() == heading) {
            let (short, long, value) = tables::spelled(arg);
            let short = short.map(|short| bold(&short) + ", ").unwrap_or_default();
            let value = value
                .map(|value| format!(" \\fI{}\\fR", plain(value)))
                .unwrap_or_default();
            page += &entry(
                &format!("{short}{}{value}", bold(&long)),
                &tables::meaning(arg),
            );
        }
    }
    page
}

fn section<'a>(name: &str, entries: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let entries: String = entries
        .map(|(name, about)| entry(&bold(name), about))
        .collect();
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
    let text: String = parts
        .map(|(at, part)| if at % 2 == 1 { bold(part) } else { plain(part) })
        .collect();
    // Otherwise a request of roff.
    if text.starts_with(['.', '\'']) {
        format!("\\&{text}")
    } else {
        text
    }
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
fn the_page_is_made_from_the_tables() {
    let page = page();
    assert!(page.is_ascii());
    if std::env::var_os("BLESS").is_some() {
        fs::write(FILE, &page).unwrap();
    }
    assert!(
        fs::read_to_string(FILE).unwrap() == page,
        "BLESS=1 cargo test man writes {FILE}"
    );
}
