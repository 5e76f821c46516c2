//! The help: `zlaunch -h` and `zlaunch help` say what zlaunch does on one screen, `--help` and the pages of the
//! sub-commands everything. `pages.txt` and `options.txt` have the Chinese beside the English, and clap has it as the long
//! help; `help.zh.txt` has the rest.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::{Arg, Command};

use super::commands::{FIRST, USAGE, command, command_of, said, shown_options, usage_of, value_of};
use super::reader::Tools;
use crate::base::layout::{Line, TextTable, wrapped, wrapped_command};
use crate::base::options;
use crate::host::{Host, terminal};
use crate::report::Language;

const EXAMPLES: &str = "  zlaunch --deepspeed zero3_offload -- \\
    swift sft --model Qwen/Qwen3-8B --dataset data.jsonl
  zlaunch -n --deepspeed zero2 -- python train.py  # only show it
";

pub const MORE: &str =
    "See `zlaunch --help` for all options, `zlaunch help COMMAND` for a command.";

const MOST_USED: &[&str] = &[
    "deepspeed",
    "set",
    "nproc_per_node",
    "nnodes",
    "launcher",
    "env",
    "record",
    "dry_run",
    "quiet",
    "verbose",
];

/// The page that `-h` or `--help` among the words asks for: `zlaunch check --help`, `zlaunch --help check`.
pub(super) fn asked_by(words: &[OsString], host: &Host, tools: &Tools) -> String {
    let place = match words {
        [_, second] if !tools.named(Some(second)).name.is_empty() => tools.named(Some(second)).name,
        _ => tools.named(words.first()).name,
    };
    let is_short =
        |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains('h');
    let asks = words
        .iter()
        .filter_map(|word| word.to_str())
        .find(|word| *word == "--help" || is_short(word));
    if place.is_empty() && asks.is_some_and(is_short) {
        overview(host, tools)
    } else {
        page(place, host, tools)
    }
}

/// One screen, as wide as the terminal.
pub(crate) fn overview(host: &Host, tools: &Tools) -> String {
    let page = Page::new(host);
    let zlaunch = command(tools);
    // The first part of what `--help` says.
    let brief = |arg: &Arg| {
        page.help_of(arg)
            .split([';', '；'])
            .next()
            .unwrap_or_default()
            .to_string()
    };
    let options = MOST_USED
        .iter()
        .filter_map(|id| zlaunch.get_arguments().find(|arg| arg.get_id() == id));
    [
        wrapped(page.say(FIRST), 0, page.width),
        format!("\n{} {USAGE}\n", page.title("Usage")),
        format!("\n{}\n{EXAMPLES}", page.title("Examples")),
        page.commands(&zlaunch, tools),
        page.section("Options", options.map(|arg| (spelled(arg), brief(arg)))),
        format!("\n{}", wrapped(page.say(MORE), 0, page.width)),
    ]
    .concat()
}

pub(crate) fn page(name: &str, host: &Host, tools: &Tools) -> String {
    let page = Page::new(host);
    let command = command_of(name, tools);
    let is_launch = name.is_empty();
    let mut usage = usage_of(&command);
    usage.extend(
        command
            .get_subcommands()
            .map(|subcommand| format!("\n       {}", usage_of(subcommand))),
    );
    let mut text = wrapped(
        &page.either(command.get_about(), command.get_long_about()),
        0,
        page.width,
    );
    text += &format!("\n{} {usage}\n", page.title("Usage"));
    if is_launch {
        text += &page.commands(&command, tools);
    }
    let arguments = command
        .get_positionals()
        .filter(|arg| !arg.is_hide_set() && arg.get_help().is_some());
    text += &page.section(
        "Arguments",
        arguments.map(|arg| (value_of(arg), page.help_of(arg))),
    );
    let asks = [
        ("-h, --help", "Print help"),
        ("-V, --version", "Print version"),
    ];
    let asks = asks[..if is_launch { 2 } else { 1 }].iter();
    text += &page.section(
        "Options",
        asks.map(|(name, about)| ((*name).to_string(), page.say(about).to_string())),
    );
    let mut headings: Vec<&str> = Vec::new();
    for heading in shown_options(&command).filter_map(Arg::get_help_heading) {
        if !headings.contains(&heading) {
            headings.push(heading);
            let options =
                shown_options(&command).filter(|arg| arg.get_help_heading() == Some(heading));
            text += &page.section(
                heading,
                options.map(|arg| (spelled(arg), page.help_of(arg))),
            );
        }
    }
    let [more, chinese] = [command.get_after_help(), command.get_after_long_help()];
    text + &page.paragraphs(&said(more), &said(chinese))
}

struct Page {
    width: usize,
    chinese: bool,
}

impl Page {
    fn new(host: &Host) -> Self {
        /// Longer lines are hard to read.
        const WIDEST: usize = 110;
        let width = terminal::width().map_or(WIDEST, |width| width.min(WIDEST));
        Page {
            width,
            chinese: Language::of(host).is_ok_and(|language| language == Language::Chinese),
        }
    }

    fn say<'a>(&self, english: &'a str) -> &'a str {
        if self.chinese {
            in_chinese(english).unwrap_or(english)
        } else {
            english
        }
    }

    fn either(&self, english: Option<&StyledStr>, chinese: Option<&StyledStr>) -> String {
        match chinese {
            Some(chinese) if self.chinese => chinese.to_string(),
            _ => self.say(&said(english)).to_string(),
        }
    }

    fn help_of(&self, arg: &Arg) -> String {
        self.either(arg.get_help(), arg.get_long_help())
    }

    fn title(&self, text: &str) -> String {
        format!(
            "\x1b[1m\x1b[4m{}{}\x1b[0m",
            self.say(text),
            if self.chinese { "：" } else { ":" }
        )
    }

    fn commands(&self, zlaunch: &Command, tools: &Tools) -> String {
        let mut rows = zlaunch.get_subcommands().map(|command| {
            (
                command.get_name().to_string(),
                self.either(command.get_about(), command.get_long_about()),
            )
        });
        self.section("Commands", rows.by_ref().take(tools.common.len()))
            + &self.section("More commands", rows)
    }

    /// Empty without rows.
    fn section(&self, title: &str, rows: impl Iterator<Item = (String, String)>) -> String {
        let mut table = TextTable::new(2);
        table
            .lines
            .extend(rows.map(|(name, about)| Line::Wrapped(vec![name, about], self.width)));
        if table.lines.is_empty() {
            String::new()
        } else {
            format!("\n{}\n{table}", self.title(title))
        }
    }

    /// The text below the options; `chinese` has a line for each of its sentences, or is empty.
    fn paragraphs(&self, text: &str, chinese: &str) -> String {
        let mut chinese = if self.chinese { chinese } else { "" }.lines();
        let lines = text.lines().map(|line| match line.strip_suffix(':') {
            _ if line.is_empty() => "\n".to_string(),
            _ if line.starts_with(' ') => wrapped_command(line.trim_start(), 2, self.width),
            Some(title) => format!("{}\n", self.title(title)),
            None => wrapped(chinese.next().unwrap_or(self.say(line)), 0, self.width),
        });
        if text.is_empty() {
            String::new()
        } else {
            format!("\n{}", lines.collect::<String>())
        }
    }
}

pub fn in_chinese(english: &str) -> Option<&'static str> {
    let mut lines = include_str!("help.zh.txt").lines();
    lines.find(|line| *line == english)?;
    lines.next()
}

/// `-n, --dry-run`, `    --set KEY=VALUE`.
fn spelled(arg: &Arg) -> String {
    let short = arg
        .get_short()
        .map_or("    ".to_string(), |short| format!("-{short}, "));
    format!("{short}{} {}", options::flag(arg), value_of(arg))
        .trim_end()
        .to_string()
}
