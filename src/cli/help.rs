//! The help, laid out by us: `zlaunch -h` and `zlaunch help` say what zlaunch does on one screen, `--help` and the pages of the
//! sub-commands everything. In Chinese where that is the language: `help.zh.txt` has a line for every line of ours.

use std::ffi::OsString;

use clap::{Arg, Command};

use super::commands::{FIRST, USAGE, about, command, command_of, place_of, shown_options, usage_of, value_of};
use super::reader::Reader;
use super::tools::HelpArgs;
use super::values;
use crate::base::layout::{Line, TextTable, wrapped, wrapped_help};
use crate::base::options::{self, SUBCOMMANDS};
use crate::host::{Host, terminal};
use crate::report::fix::{run, say};
use crate::report::{self, Problem, Rule};
use crate::tools::explain::Language;

/// The help of a sub-command, or the overview.
pub(super) fn read(args: HelpArgs, mut reader: Reader) -> Result<String, Vec<Problem>> {
    let asked = reader.one(args.command, values::text).map(|asked| asked.value);
    let text = match &asked {
        None => overview(reader.host),
        Some(name) if SUBCOMMANDS.contains(&name.as_str()) => page(name, reader.host),
        Some(name) => {
            let help = match report::nearest(name, SUBCOMMANDS.iter().copied()) {
                Some(nearest) => run(format!("zlaunch help {nearest}")).meaning(nearest),
                None => say(format!(
                    "`zlaunch help` lists the commands, `zlaunch --help` the launch options; try `zlaunch explain {name}`"
                )),
            };
            let what = format!("zlaunch has no command `{name}`");
            return Err(Problem::error(Rule::Usage, what).at(format!("help {name}")).fix(help).into());
        }
    };
    reader.finish(text)
}

const EXAMPLES: &str = "  zlaunch --deepspeed zero3_offload -- swift sft --model Qwen/Qwen3-8B
  zlaunch -n --deepspeed zero2 -- python train.py  # only show it
";

pub const MORE: &str = "See `zlaunch --help` for all options, `zlaunch help COMMAND` for a command.";

/// The commands of every day.
const FIRST_COMMANDS: &[&str] = &["check", "rehearse", "fit", "templates", "explain", "diff"];

/// The options that `zlaunch -h` shows.
const MOST_USED: &[&str] =
    &["deepspeed", "set", "nproc_per_node", "nnodes", "launcher", "env", "record", "dry_run", "quiet", "verbose"];

/// The page that `-h` or `--help` among the words asks for: `zlaunch check --help`, `zlaunch --help check`.
pub(super) fn asked_by(words: &[OsString], host: &Host) -> String {
    let place = match words {
        [_, second] if SUBCOMMANDS.iter().any(|name| second == name) => place_of(&words[1..]),
        _ => place_of(words),
    };
    let is_short = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains('h');
    let asks = words.iter().filter_map(|word| word.to_str()).find(|word| *word == "--help" || is_short(word));
    if place.is_empty() && asks.is_some_and(is_short) { overview(host) } else { page(place, host) }
}

/// One screen, as wide as the terminal.
pub(super) fn overview(host: &Host) -> String {
    let page = Page::new(host);
    let zlaunch = command();
    // The first part of what `--help` says.
    let brief = |arg: &Arg| page.say(&about(arg)).split([';', '；']).next().unwrap_or_default().to_string();
    let options = MOST_USED.iter().filter_map(|id| zlaunch.get_arguments().find(|arg| arg.get_id() == id));
    [
        wrapped(page.say(FIRST), 0, page.width),
        format!("\n{} {USAGE}\n", page.title("Usage")),
        format!("\n{}\n{EXAMPLES}", page.title("Examples")),
        page.commands(&zlaunch),
        page.section("Options", options.map(|arg| (spelled(arg), brief(arg)))),
        format!("\n{}", wrapped(page.say(MORE), 0, page.width)),
    ]
    .concat()
}

/// Everything about the sub-command of this name, or else about a launch.
pub(super) fn page(name: &str, host: &Host) -> String {
    let page = Page::new(host);
    let command = command_of(name);
    let is_launch = name.is_empty();
    let mut usage = usage_of(&command);
    usage.extend(command.get_subcommands().map(|subcommand| format!("\n       {}", usage_of(subcommand))));
    let mut text = wrapped(page.say(&command.get_about().map(ToString::to_string).unwrap_or_default()), 0, page.width);
    text += &format!("\n{} {usage}\n", page.title("Usage"));
    if is_launch {
        text += &page.commands(&command);
    }
    let shown = |arg: &&Arg| !arg.is_hide_set() && arg.get_help().is_some();
    let arguments = command.get_positionals().filter(shown).map(|arg| (value_of(arg), page.help_of(arg)));
    text += &page.section("Arguments", arguments);
    let asks = [("-h, --help", "Print help"), ("-V, --version", "Print version")];
    let asks = asks.into_iter().take(if is_launch { 2 } else { 1 });
    text += &page.section("Options", asks.map(|(name, about)| (name.to_string(), page.say(about).to_string())));
    let mut headings: Vec<&str> = Vec::new();
    for heading in shown_options(&command).filter_map(Arg::get_help_heading) {
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    for heading in headings {
        let options = shown_options(&command).filter(|arg| arg.get_help_heading() == Some(heading));
        text += &page.section(heading, options.map(|arg| (spelled(arg), page.help_of(arg))));
    }
    let more = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    text + &page.paragraphs(&more)
}

/// How the texts are laid out, and in which language.
struct Page {
    width: usize,
    chinese: bool,
}

impl Page {
    fn new(host: &Host) -> Self {
        /// Longer lines are hard to read.
        const WIDEST: usize = 110;
        let width = terminal::width().map_or(WIDEST, |width| width.min(WIDEST));
        Page { width, chinese: Language::of(host).is_ok_and(|language| language == Language::Chinese) }
    }

    /// A text in the language of the page.
    fn say<'a>(&self, english: &'a str) -> &'a str {
        if self.chinese { in_chinese(english).unwrap_or(english) } else { english }
    }

    fn help_of(&self, arg: &Arg) -> String {
        self.say(&about(arg)).to_string()
    }

    fn title(&self, text: &str) -> String {
        format!("\x1b[1m\x1b[4m{}{}\x1b[0m", self.say(text), if self.chinese { "：" } else { ":" })
    }

    fn commands(&self, zlaunch: &Command) -> String {
        let about = |command: &Command| command.get_about().map(ToString::to_string).unwrap_or_default();
        let row = |command: &Command| (command.get_name().to_string(), self.say(&about(command)).to_string());
        let (first, more): (Vec<_>, Vec<_>) =
            zlaunch.get_subcommands().partition(|command| FIRST_COMMANDS.contains(&command.get_name()));
        self.section("Commands", first.into_iter().map(row)) + &self.section("More commands", more.into_iter().map(row))
    }

    /// Names with what they are for, under a title; nothing where there are none.
    fn section(&self, title: &str, rows: impl Iterator<Item = (String, String)>) -> String {
        let mut table = TextTable::new(2);
        table.lines.extend(rows.map(|(name, about)| Line::Wrapped(vec![name, about], self.width)));
        if table.lines.is_empty() { String::new() } else { format!("\n{}\n{table}", self.title(title)) }
    }

    /// What stands below the options.
    fn paragraphs(&self, text: &str) -> String {
        let laid_out = |line: &str| match line.strip_suffix(':') {
            _ if line.is_empty() => "\n".to_string(),
            _ if line.starts_with(' ') => wrapped_help(line.trim_start(), 2, self.width),
            Some(title) => format!("{}\n", self.title(title)),
            None => wrapped(self.say(line), 0, self.width),
        };
        if text.is_empty() { String::new() } else { format!("\n{}", text.lines().map(laid_out).collect::<String>()) }
    }
}

const CHINESE: &str = include_str!("help.zh.txt");

/// The line behind the English one.
pub fn in_chinese(english: &str) -> Option<&'static str> {
    let mut lines = CHINESE.lines();
    lines.find(|line| *line == english)?;
    lines.next()
}

/// `-n, --dry-run`, `    --set KEY=VALUE`.
fn spelled(arg: &Arg) -> String {
    let short = arg.get_short().map_or("    ".to_string(), |short| format!("-{short}, "));
    format!("{short}{} {}", options::flag(arg), value_of(arg)).trim_end().to_string()
}
