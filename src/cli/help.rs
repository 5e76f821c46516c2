//! The help: `zlaunch -h` and `zlaunch help` say what zlaunch does on one screen, `--help` and the pages of the
//! sub-commands everything. The completions, the man page and the tables in the documents are made from the same command line,
//! the whole of it. `pages.txt` and `options.txt` have the texts.

use std::ffi::OsString;

use clap::{Arg, Command, builder::PossibleValuesParser};

use super::{
    reader::Tools,
    tables::overview::{EXAMPLES, MOST_USED},
};
use crate::{
    base::{
        layout::{TextTable, wrapped, wrapped_command},
        options::{flag, takes_value},
        texts::{self, Entry},
    },
    command::{argument_class::recorded_versions, trainer},
    config::schema,
    host::{Host, terminal},
    report::Language,
};

const PAGES: &str = include_str!("pages.txt");
const OPTIONS: &str = include_str!("options.txt");

pub fn command(tools: &Tools) -> Command {
    let names = PossibleValuesParser::new(tools.names());
    let subcommands = tools.subcommands();
    let mut zlaunch = explained(tools.launch.described())
        // Behind an option, the first word is a program: `zlaunch -n check` runs one of that name.
        .args_conflicts_with_subcommands(true)
        .disable_help_subcommand(true)
        .subcommands(subcommands.map(|subcommand| explained(subcommand.described())))
        .mut_subcommand("help", |help| {
            help.mut_arg("command", |arg| arg.value_parser(names))
        });
    zlaunch.build();
    zlaunch
}

/// The texts of a page: a sub-command's, `zlaunch` for a launch, `overview`, or the title of a section.
pub fn page_of(name: &str) -> Option<Entry> {
    texts::find(PAGES, name)
}

pub fn usage(name: &str) -> &'static str {
    page_of(name)
        .and_then(|page| page.field("usage"))
        .unwrap_or_default()
}

/// The texts about an option, by its name, or about an operand, by that of its field. A sub-command may have its own.
pub fn help_of(place: &str, arg: &Arg) -> Option<Entry> {
    let name = match arg.get_long() {
        Some(_) => flag(arg),
        None => arg.get_id().to_string(),
    };
    texts::find(OPTIONS, &format!("{place} {name}")).or_else(|| texts::find(OPTIONS, &name))
}

/// Adds the texts, which a launch does not need.
fn explained(command: Command) -> Command {
    let place = command.get_name().to_string();
    let page = page_of(&place);
    let about = page.and_then(|page| page.field("en"));
    command
        .override_usage(usage(&place))
        .about(about.unwrap_or_default())
        .mut_args(|arg| {
            let Some(help) = help_of(&place, &arg) else {
                return arg;
            };
            let about = help.field("en").unwrap_or_default();
            match help.field("value") {
                Some(value) if takes_value(&arg) => arg.value_name(value).help(about),
                _ => arg.help(about),
            }
        })
}

pub fn command_of(place: &str, tools: &Tools) -> Command {
    let zlaunch = command(tools);
    zlaunch.find_subcommand(place).cloned().unwrap_or(zlaunch)
}

pub fn takes_command(command: &Command) -> bool {
    command.get_positionals().any(Arg::is_trailing_var_arg_set)
}

/// The options in the help of a command, but for clap's own --help and --version, which have no heading.
pub fn shown_options(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| {
        !arg.is_positional() && !arg.is_hide_set() && arg.get_help_heading().is_some()
    })
}

/// `A B`; empty for a switch.
pub fn value_of(arg: &Arg) -> String {
    let names = if takes_value(arg) {
        arg.get_value_names().unwrap_or_default()
    } else {
        &[]
    };
    names.join(" ")
}

/// The page that `-h` or `--help` among the words asks for: `zlaunch check --help`, `zlaunch --help check`.
pub fn asked_by(words: &[OsString], host: &Host, tools: &Tools) -> String {
    match words
        .iter()
        .map(|word| tools.named(Some(word)).name)
        .find(|place| !place.is_empty())
    {
        Some(place) => page(place, host, tools),
        None if words.iter().any(|word| word == "--help") => page("", host, tools),
        None => overview(host, tools),
    }
}

/// One screen, as wide as the terminal.
pub fn overview(host: &Host, tools: &Tools) -> String {
    let page = Page::new(host);
    let zlaunch = command(tools);
    let rows = MOST_USED
        .iter()
        .filter_map(|id| zlaunch.get_arguments().find(|arg| arg.get_id() == id))
        .map(|arg| {
            // The first part of what `--help` says.
            let brief = page
                .help_of("zlaunch", arg)
                .split([';', '；'])
                .next()
                .unwrap_or_default();
            (spelled(arg), brief)
        });
    page.texts("zlaunch", "en")
        + &format!("\n{} {}\n", page.title("Usage"), usage("zlaunch"))
        + &format!("\n{}\n{EXAMPLES}", page.title("Examples"))
        + &page.commands(&zlaunch, tools)
        + &page.section("Options", rows)
        + "\n"
        + &page.texts("overview", "more")
}

pub fn page(name: &str, host: &Host, tools: &Tools) -> String {
    let page = Page::new(host);
    let command = command_of(name, tools);
    let name = command.get_name();
    let is_launch = command.has_subcommands();
    let mut text = page.texts(name, "en");
    let mut usages = usage(name).to_string();
    for subcommand in command.get_subcommands() {
        usages += &format!("\n       {}", usage(subcommand.get_name()));
    }
    text += &format!("\n{} {usages}\n", page.title("Usage"));
    if is_launch {
        text += &page.commands(&command, tools);
    }
    let help_of = |arg: &Arg| page.help_of(name, arg);
    let arguments = command
        .get_positionals()
        .filter(|arg| !arg.is_hide_set() && arg.get_help().is_some());
    text += &page.section(
        "Arguments",
        arguments.map(|arg| (value_of(arg), help_of(arg))),
    );
    let mut asks = vec![("-h, --help".to_string(), page.say("Print help"))];
    if is_launch {
        asks.push(("-V, --version".to_string(), page.say("Print version")));
    }
    text += &page.section("Options", asks.into_iter());
    let mut headings: Vec<&str> = vec![];
    for heading in shown_options(&command).filter_map(Arg::get_help_heading) {
        if !headings.contains(&heading) {
            headings.push(heading);
            let options =
                shown_options(&command).filter(|arg| arg.get_help_heading() == Some(heading));
            text += &page.section(heading, options.map(|arg| (spelled(arg), help_of(arg))));
        }
    }
    let more = page.texts(name, "more");
    if !more.is_empty() {
        text += &format!("\n{more}");
    }
    let examples = page_of(name)
        .map(|page| page.fields("example"))
        .unwrap_or_default();
    if !examples.is_empty() {
        text += &format!("\n{}\n", page.title("Examples"));
    }
    for example in examples {
        text += &wrapped_command(example, 2, page.width);
    }
    text
}

struct Page {
    width: usize,
    language: Language,
}

impl Page {
    fn new(host: &Host) -> Self {
        /// Longer lines are hard to read.
        const WIDEST: usize = 110;
        Page {
            width: terminal::width().map_or(WIDEST, |width| width.min(WIDEST)),
            language: Language::of(host),
        }
    }

    /// The sentences of a page, each on lines of its own.
    fn texts(&self, name: &str, field: &str) -> String {
        page_of(name)
            .map(|page| page.texts(field, self.language))
            .unwrap_or_default()
            .into_iter()
            .map(|text| wrapped(text, 0, self.width))
            .collect()
    }

    fn say<'a>(&self, english: &'a str) -> &'a str {
        page_of(english)
            .and_then(|title| title.text("en", self.language))
            .unwrap_or(english)
    }

    fn help_of(&self, place: &str, arg: &Arg) -> &'static str {
        help_of(place, arg)
            .and_then(|help| help.text("en", self.language))
            .unwrap_or_default()
    }

    fn title(&self, text: &str) -> String {
        let colon = match self.language {
            Language::English => ":",
            Language::Chinese => "：",
        };
        format!("\x1b[1m\x1b[4m{}{colon}\x1b[0m", self.say(text))
    }

    fn commands(&self, zlaunch: &Command, tools: &Tools) -> String {
        let mut rows = zlaunch.get_subcommands().map(|command| {
            let name = command.get_name();
            let about = page_of(name).and_then(|page| page.text("en", self.language));
            (name.to_string(), about.unwrap_or_default())
        });
        self.section("Commands", rows.by_ref().take(tools.common.len()))
            + &self.section("More commands", rows)
    }

    /// Empty without rows.
    fn section<'a>(&self, title: &str, rows: impl Iterator<Item = (String, &'a str)>) -> String {
        let rows = rows.map(|(name, about)| (name, about.to_string()));
        let table = TextTable::of_pairs(2, rows).fitted(Some(self.width));
        if table.lines.is_empty() {
            String::new()
        } else {
            format!("\n{}\n{table}", self.title(title))
        }
    }
}

/// `-n, --dry-run`, `    --set KEY=VALUE`.
fn spelled(arg: &Arg) -> String {
    let short = arg
        .get_short()
        .map_or("    ".to_string(), |short| format!("-{short}, "));
    format!("{short}{} {}", flag(arg), value_of(arg))
        .trim_end()
        .to_string()
}

/// The newest release of each program that the tables were recorded from.
pub fn recorded_from() -> String {
    let mut newest = vec![format!("DeepSpeed {}", schema::newest())];
    for package in trainer::distributions() {
        let last = recorded_versions(package)
            .unwrap_or_default()
            .split_whitespace()
            .next_back();
        newest.extend(last.map(|last| format!("{package} {last}")));
    }
    // Several front ends may have the same package.
    newest.dedup();
    format!("recorded from {}\n", newest.join(", "))
}
