//! The whole command line as clap knows it: a launch and the sub-commands. The help, the completions, the man page and the
//! tables in the documents are made from it. `pages.txt` and `options.txt` have the texts.

use clap::{Arg, ArgAction, Command, builder::PossibleValuesParser};

use super::{
    reader::{LaunchOptions, Subcommand, Tools},
    values::{COLORS, CONFIGS, FORMATS, LAUNCHERS, REPORT_FORMATS, RULES, TRAINERS},
};
use crate::base::{
    options::{AnyValue, flag, new_launch_options, spelled, takes_value},
    texts::{self, Entry},
};

const PAGES: &str = include_str!("pages.txt");
const OPTIONS: &str = include_str!("options.txt");

pub fn command(tools: &Tools) -> Command {
    let names = PossibleValuesParser::new(tools.names());
    let subcommands = tools.subcommands();
    let mut zlaunch = explained(described(&tools.launch))
        // Behind an option, the first word is a program: `zlaunch -n check` runs one of that name.
        .args_conflicts_with_subcommands(true)
        .disable_help_subcommand(true)
        .subcommands(subcommands.map(|subcommand| explained(described(subcommand))))
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

pub fn described(subcommand: &Subcommand) -> Command {
    let name = match subcommand.name {
        "" => "zlaunch",
        name => name,
    };
    let taken = new_launch_options().filter_map(|arg| {
        let is_among = |names: &[&str]| names.iter().any(|name| arg.get_id() == name);
        let is_hidden = match subcommand.launch_options {
            LaunchOptions::These(names) if !is_among(names) && arg.get_id() != "color" => {
                return None;
            }
            LaunchOptions::These(names) | LaunchOptions::AllShowing(names) => !is_among(names),
            LaunchOptions::All => false,
        };
        Some(with_words(subcommand, arg).hide(is_hidden))
    });
    // It has no heading, so it is in no list of options.
    let help = Arg::new("help")
        .short('h')
        .long("help")
        .action(ArgAction::Help)
        .help_heading(None::<&str>);
    let command = (subcommand.arguments)(Command::new(name)).args(taken);
    let command = match subcommand.name {
        "" => command.version(env!("CARGO_PKG_VERSION")),
        _ => (subcommand.describe)(command),
    };
    spelled(command).disable_help_flag(true).arg(help)
}

/// An option of a launch with the words that it takes, for the completions.
fn with_words(subcommand: &Subcommand, arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "deepspeed" => arg.value_parser(AnyValue(CONFIGS)),
        "launcher" => arg.value_parser(AnyValue(LAUNCHERS)),
        "trainer" => arg.value_parser(AnyValue(TRAINERS)),
        "format" if subcommand.name.is_empty() => arg.value_parser(AnyValue(FORMATS)),
        "format" => arg.value_parser(AnyValue(REPORT_FORMATS)),
        "allow" => arg.value_parser(AnyValue(RULES)),
        "color" => arg.value_parser(AnyValue(COLORS)),
        _ => arg,
    }
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
