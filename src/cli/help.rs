//! The help, laid out by us: `zlaunch -h` and `zlaunch help` say what zlaunch does on one screen, `--help` and the pages of the
//! sub-commands everything. In Chinese where that is the language: `help.zh.txt` has a line for every line of ours.

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, Command};

use super::args::ParsedArgs;
use super::completions::shown_options;
use super::values;
use crate::base::layout::{Line, TextTable, wrapped, wrapped_help};
use crate::base::options::{HELP, MOST_USED, Opt, SUBCOMMANDS};
use crate::host::{Host, terminal};
use crate::report::{self, Problem};
use crate::tools::explain::Language;

const COMMAND: &str = "SUBCOMMAND";

pub(super) fn describe(command: Command) -> Command {
    let argument = clap::Arg::new(COMMAND).value_parser(ValueParser::os_string()).value_name("COMMAND");
    command
        .arg(argument.help("A command of zlaunch; without one, the overview"))
        .after_help("`zlaunch --help` has every option of a launch, `zlaunch explain` what the keys and variables of DeepSpeed mean.")
}

/// The flag that asks for a page. It has no heading, and is in no list of options.
pub(super) fn flag() -> Arg {
    Arg::new("help").short('h').long("help").action(ArgAction::Help)
}

/// The help of a sub-command, or the overview. `zlaunch` is the whole command line.
pub(super) fn read(mut args: ParsedArgs, zlaunch: Command) -> Result<String, Vec<Problem>> {
    let Some(asked) = args.arguments(COMMAND, &HELP, values::text).pop() else {
        let text = overview(args.host);
        return args.finish(text);
    };
    let name = &asked.value;
    let Some(known) = SUBCOMMANDS.iter().find(|known| known.name == name) else {
        let nearest = report::nearest(name, SUBCOMMANDS.iter().map(|known| known.name));
        return Err(report::no_such_command(name, nearest).into());
    };
    let text = page(zlaunch, known.name, known.usage, args.host);
    args.finish(text)
}

pub(super) const FIRST: &str = "Launch a training with a DeepSpeed config that is filled in and checked first";

const USAGE: &str = "zlaunch [OPTIONS] [--] COMMAND [ARGS]...";

const EXAMPLES: &str = "  zlaunch --deepspeed zero3_offload -- swift sft --model Qwen/Qwen3-8B
  zlaunch -n --deepspeed zero2 -- python train.py  # only show it
";

const MORE: &str = "`zlaunch --help` has all options, `zlaunch help COMMAND` those of a command.";

/// One screen, as wide as the terminal.
pub(super) fn overview(host: &Host) -> String {
    let page = Page::new(host);
    // The first part of what `--help` says.
    let brief = |option: &Opt| page.say(option.help).split([';', '；']).next().unwrap_or_default().to_string();
    let options = MOST_USED.iter().map(|option| (spelled(option.short, option.name, option.value), brief(option)));
    [
        wrapped(page.say(FIRST), 0, page.width),
        format!("\n{} {USAGE}\n", page.title("Usage")),
        format!("\n{}\n{EXAMPLES}", page.title("Examples")),
        page.commands(),
        page.section("Options", options),
        format!("\n{}", wrapped(page.say(MORE), 0, page.width)),
    ]
    .concat()
}

/// Everything about the sub-command of this name, or else about a launch.
pub(super) fn page(mut zlaunch: Command, name: &str, usage: &str, host: &Host) -> String {
    zlaunch.build();
    let page = Page::new(host);
    let (command, is_launch) = zlaunch.find_subcommand(name).map_or((&zlaunch, true), |command| (command, false));
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut text = wrapped(page.say(&about), 0, page.width);
    text += &format!("\n{} {}\n", page.title("Usage"), usage);
    if is_launch {
        text += &page.commands();
    }
    let shown = |arg: &&Arg| !arg.is_hide_set() && arg.get_help().is_some();
    let arguments = command.get_positionals().filter(shown).map(|arg| (value_of(arg), page.help_of(arg)));
    text += &page.section("Arguments", arguments);
    let asks = [("-h, --help", "Print help"), ("-V, --version", "Print version")];
    let asks = asks.into_iter().take(if is_launch { 2 } else { 1 });
    text += &page.section("Options", asks.map(|(name, about)| (name.to_string(), page.say(about).to_string())));
    let mut headings: Vec<&str> = Vec::new();
    for heading in shown_options(command).filter_map(Arg::get_help_heading) {
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    for heading in headings {
        let options = shown_options(command).filter(|arg| arg.get_help_heading() == Some(heading));
        text += &page.section(heading, options.map(|arg| (spelled_arg(arg), page.help_of(arg))));
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
        self.say(&arg.get_help().map(ToString::to_string).unwrap_or_default()).to_string()
    }

    fn title(&self, text: &str) -> String {
        format!("\x1b[1m\x1b[4m{}{}\x1b[0m", self.say(text), if self.chinese { "：" } else { ":" })
    }

    fn commands(&self) -> String {
        self.section("Commands", SUBCOMMANDS.iter().map(|it| (it.name.to_string(), self.say(it.about).to_string())))
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
fn in_chinese(english: &str) -> Option<&'static str> {
    let mut lines = CHINESE.lines();
    lines.find(|line| *line == english)?;
    lines.next()
}

/// `-n, --dry-run`, `    --set KEY=VALUE`.
fn spelled(short: Option<char>, long: &str, value: &str) -> String {
    let short = short.map_or("    ".to_string(), |short| format!("-{short}, "));
    let space = if value.is_empty() { "" } else { " " };
    format!("{short}--{long}{space}{value}")
}

fn spelled_arg(arg: &Arg) -> String {
    spelled(arg.get_short(), arg.get_long().unwrap_or_default(), &value_of(arg))
}

/// `A B`; nothing of a switch.
fn value_of(arg: &Arg) -> String {
    if !arg.get_num_args().is_none_or(|count| count.takes_values()) {
        return String::new();
    }
    match arg.get_value_names() {
        Some(names) => names.iter().map(clap::builder::Str::as_str).collect::<Vec<_>>().join(" "),
        None => arg.get_id().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;

    /// Every text of every page, but for names and examples.
    fn texts() -> Vec<String> {
        let mut zlaunch = command();
        zlaunch.build();
        let mut texts: Vec<String> =
            [FIRST, MORE, "Usage", "Examples", "Commands", "Arguments", "Options", "Print help", "Print version"]
                .map(str::to_string)
                .to_vec();
        let commands = zlaunch.get_subcommands().chain([&zlaunch]);
        for command in commands {
            texts.extend(command.get_about().map(ToString::to_string));
            let more = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let lines = more.lines().filter(|line| !line.is_empty() && !line.starts_with(' '));
            texts.extend(lines.map(|line| line.trim_end_matches(':').to_string()));
            for arg in command
                .get_arguments()
                .filter(|arg| !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str()))
            {
                texts.extend(arg.get_help().map(ToString::to_string));
                texts.extend(arg.get_help_heading().map(str::to_string));
            }
        }
        texts
    }

    #[test]
    fn every_text_has_a_chinese_one_and_none_is_left_over() {
        let mut texts = texts();
        texts.sort();
        texts.dedup();
        let missing: Vec<&String> = texts.iter().filter(|text| in_chinese(text).is_none_or(str::is_ascii)).collect();
        assert!(missing.is_empty(), "src/cli/help.zh.txt has none of {missing:#?}");
        let translated = CHINESE.lines().step_by(2).collect::<Vec<_>>();
        let unused: Vec<_> = translated.into_iter().filter(|line| !texts.iter().any(|text| text == line)).collect();
        assert!(unused.is_empty(), "{unused:#?}");
    }
}
