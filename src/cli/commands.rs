//! The whole command line as clap knows it: a launch and the sub-commands. The help, the completions, the man page and the
//! tables in the documents are made from it.

use clap::builder::{PossibleValuesParser, StyledStr};
use clap::{Arg, ArgAction, Command};

use super::reader::{Subcommand, Tools};
use super::values::{COLORS, CONFIGS, FORMATS, LAUNCHERS, REPORT_FORMATS, RULES, TRAINERS};
use crate::base::options::{self, AnyValue, launch_options};
use crate::base::rows;

pub const FIRST: &str = env!("CARGO_PKG_DESCRIPTION");

pub(super) const USAGE: &str = "zlaunch [OPTIONS] [--] COMMAND [ARGS]...";

pub const ABOUT_VARIABLES: &str = "Each of these options has a variable: --template-dir is ZLAUNCH_TEMPLATE_DIR. The option wins.";

pub const EXIT_STATUS: &str =
    "Exit status: 125 zlaunch refused, 126 not executable, 127 not found; anything else is the trainer's.
`check`: 1 if there is an error (with --strict: a warning), else 0. `rehearse`: 1 if refused, 3 if not sure. `fit`: 1 if it does not fit.";

pub const EXAMPLE: &str =
    "zlaunch --deepspeed zero3_offload -- swift sft --model Qwen/Qwen3-8B --dataset data.jsonl";

pub fn command(tools: &Tools) -> Command {
    let after_help = format!("{ABOUT_VARIABLES}\n{EXIT_STATUS}\n\nExamples:\n  {EXAMPLE}");
    let names = PossibleValuesParser::new(tools.names());
    let mut zlaunch = options::explained(described(&tools.launch))
        .mut_args(|arg| as_in(&tools.launch, arg))
        .about(FIRST)
        .override_usage(USAGE)
        .after_help(after_help)
        // Behind an option, the first word is a program: `zlaunch -n check` runs one of that name.
        .args_conflicts_with_subcommands(true)
        .disable_help_subcommand(true)
        .subcommands(
            tools
                .subcommands()
                .map(|subcommand| with_page(options::explained(described(subcommand)))),
        )
        .mut_subcommand("help", |help| {
            help.mut_arg("command", |arg| arg.value_parser(names))
        });
    zlaunch.build();
    zlaunch
}

fn page_of(name: &str) -> Option<std::str::Lines<'static>> {
    let mut pages = rows::blocks(include_str!("pages.txt")).map(|page| page.trim_end().lines());
    pages.find_map(|mut lines| (lines.next()? == name).then_some(lines))
}

pub(crate) fn usage(name: &str) -> &'static str {
    page_of(name)
        .and_then(|mut lines| lines.next())
        .unwrap_or_default()
}

fn with_page(command: Command) -> Command {
    let Some(mut lines) = page_of(command.get_name()) else {
        return command;
    };
    let [usage, about, chinese] = [(); 3].map(|()| lines.next().unwrap_or_default());
    let (mut below, mut below_chinese) = (Vec::new(), Vec::new());
    while let Some(line) = lines.next() {
        below.push(line);
        let is_sentence = !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
        below_chinese.extend(is_sentence.then(|| lines.next()).flatten());
    }
    let command = command
        .override_usage(usage)
        .about(about)
        .long_about(chinese);
    command
        .after_help(below.join("\n"))
        .after_long_help(below_chinese.join("\n"))
}

pub(super) fn described(subcommand: &Subcommand) -> Command {
    // It has no heading, so it is in no list of options.
    let help = Arg::new("help")
        .short('h')
        .long("help")
        .action(ArgAction::Help)
        .help_heading(None::<&str>);
    if subcommand.name.is_empty() {
        let zlaunch = options::spelled((subcommand.arguments)(Command::new("zlaunch")));
        return zlaunch
            .version(env!("CARGO_PKG_VERSION"))
            .disable_help_flag(true)
            .arg(help);
    }
    let command = (subcommand.arguments)(Command::new(subcommand.name))
        .mut_args(|arg| as_in(subcommand, arg));
    let command = options::spelled((subcommand.describe)(command))
        .disable_help_flag(true)
        .arg(help);
    if command.get_arguments().any(|arg| arg.get_id() == "color") {
        return command;
    }
    command.arg(
        Arg::new("color")
            .long("color")
            .value_parser(AnyValue(COLORS))
            .hide(true),
    )
}

/// An option of a launch with the words that it takes, for the completions. The help of a sub-command shows a few; the
/// others are accepted, so that a command can be pasted.
fn as_in(subcommand: &Subcommand, arg: Arg) -> Arg {
    let is_report = !subcommand.shown.is_empty();
    let is_shown = subcommand.shown.split(' ').any(|name| arg.get_id() == name);
    let is_hidden =
        is_report && !is_shown && launch_options().any(|option| option.get_id() == arg.get_id());
    let arg = if is_hidden { arg.hide(true) } else { arg };
    match arg.get_id().as_str() {
        "deepspeed" => arg.value_parser(AnyValue(CONFIGS)),
        "launcher" => arg.value_parser(AnyValue(LAUNCHERS)),
        "trainer" => arg.value_parser(AnyValue(TRAINERS)),
        "format" if is_report => arg
            .help("text or json")
            .value_parser(AnyValue(REPORT_FORMATS)),
        "format" => arg.value_parser(AnyValue(FORMATS)),
        "allow" => arg.value_parser(AnyValue(RULES)),
        "color" => arg.value_parser(AnyValue(COLORS)),
        _ => arg,
    }
}

pub(super) fn command_of(place: &str, tools: &Tools) -> Command {
    let zlaunch = command(tools);
    zlaunch.find_subcommand(place).cloned().unwrap_or(zlaunch)
}

pub(super) fn describes_launch(command: &Command) -> bool {
    command
        .get_arguments()
        .any(|arg| arg.get_id() == "deepspeed")
}

pub(super) fn takes_command(command: &Command) -> bool {
    command.get_positionals().any(Arg::is_trailing_var_arg_set)
}

pub(super) fn said(text: Option<&StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

pub(super) fn usage_of(command: &Command) -> String {
    said(command.get_overridden_usage())
}

/// The options in the help of a command, but for clap's own --help and --version, which have no heading.
pub fn shown_options(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| {
        !arg.is_positional() && !arg.is_hide_set() && arg.get_help_heading().is_some()
    })
}

/// `A B`; empty for a switch.
pub(super) fn value_of(arg: &Arg) -> String {
    let names = if options::takes_value(arg) {
        arg.get_value_names().unwrap_or_default()
    } else {
        &[]
    };
    names
        .iter()
        .map(clap::builder::Str::as_str)
        .collect::<Vec<_>>()
        .join(" ")
}
