//! The whole command line as clap knows it: a launch and the sub-commands. The help, the completions, the man page and the
//! tables in the documents are made from it.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Args, Command, Subcommand};

use super::launch::{self, LaunchArgs};
use super::{diff, fit, generate, rehearse, tools};
use crate::base::options::{self, AnyValue, SUBCOMMANDS};

#[derive(Subcommand)]
pub(super) enum Asked {
    /// Report problems with a launch or a config
    #[command(override_usage = "zlaunch check [OPTIONS] FILE.json...|-- COMMAND [ARGS]...", after_help = launch::ABOUT_CHECK)]
    Check(Box<launch::CheckArgs>),
    /// Try a launch with the real trainer, on the CPU
    #[command(override_usage = "zlaunch rehearse [OPTIONS] -- COMMAND [ARGS]...", after_help = rehearse::ABOUT)]
    Rehearse(Box<rehearse::RehearseArgs>),
    /// Estimate memory, and find a template that fits
    #[command(override_usage = "zlaunch fit [OPTIONS] [-- COMMAND [ARGS]...]", after_help = fit::ABOUT)]
    Fit(Box<fit::FitArgs>),
    /// List the templates, or print one
    #[command(override_usage = "zlaunch templates [OPTIONS] [NAME]")]
    Templates(tools::TemplatesArgs),
    /// Explain a config key, a variable, a template or a rule
    #[command(override_usage = "zlaunch explain [OPTIONS] [WORD]...", after_help = tools::ABOUT_EXPLAIN)]
    Explain(tools::ExplainArgs),
    /// Compare two configs key by key, or a record with a launch
    #[command(override_usage = diff::USAGE, after_help = diff::ABOUT)]
    Diff(Box<diff::DiffArgs>),
    /// Write a complete DeepSpeed config from a few numbers
    #[command(override_usage = "zlaunch generate [OPTIONS]", after_help = generate::ABOUT)]
    Generate(Box<generate::GenerateArgs>),
    /// Report what zlaunch sees on this machine
    #[command(override_usage = "zlaunch doctor [OPTIONS] [-- COMMAND [ARGS]...]", after_help = launch::ABOUT_DOCTOR)]
    Doctor(Box<LaunchArgs>),
    /// Install shims that put zlaunch into existing scripts
    #[command(override_usage = tools::SHIMS_USAGE)]
    Shims(tools::ShimsArgs),
    /// Print a JSON Schema of DeepSpeed's config, for editors
    #[command(override_usage = "zlaunch schema [OPTIONS]", after_help = tools::ABOUT_SCHEMA)]
    Schema(tools::SchemaArgs),
    /// Print completions for a shell
    #[command(override_usage = "zlaunch completions bash|zsh|fish")]
    Completions(tools::CompletionsArgs),
    /// Print this overview, or the help of a command
    #[command(override_usage = "zlaunch help [COMMAND]", after_help = tools::ABOUT_HELP)]
    Help(tools::HelpArgs),
}

pub const FIRST: &str = env!("CARGO_PKG_DESCRIPTION");

pub(super) const USAGE: &str = "zlaunch [OPTIONS] [--] COMMAND [ARGS]...";

pub const ABOUT_VARIABLES: &str =
    "Each of these options has a variable: --template-dir is ZLAUNCH_TEMPLATE_DIR. The option wins.";

pub const EXIT_STATUS: &str =
    "Exit status: 125 zlaunch refused, 126 not executable, 127 not found; anything else is the trainer's.
`check`: 1 if there is an error (with --strict: a warning), else 0. `rehearse`: 1 if refused. `fit`: 1 if nothing fits.";

pub const EXAMPLE: &str = "zlaunch --deepspeed zero3_offload -- swift sft --model Qwen/Qwen3-8B --tuner_type full";

/// Everything that clap knows of zlaunch.
pub fn command() -> Command {
    let after_help = format!("{ABOUT_VARIABLES}\n{EXIT_STATUS}\n\nExamples:\n  {EXAMPLE}");
    let mut zlaunch = Asked::augment_subcommands(launch::with_words(launch_command()))
        .about(FIRST)
        .override_usage(USAGE)
        .after_help(after_help)
        // Behind an option, the first word is a program: `zlaunch -n check` runs one of that name.
        .args_conflicts_with_subcommands(true)
        // The one of that name is ours.
        .disable_help_subcommand(true)
        .mut_subcommands(described);
    zlaunch.build();
    zlaunch
}

/// A launch alone, which is what most command lines are.
pub(super) fn launch_command() -> Command {
    let zlaunch = options::spelled(LaunchArgs::augment_args(Command::new("zlaunch")));
    zlaunch.version(env!("CARGO_PKG_VERSION")).no_binary_name(true).disable_help_flag(true).arg(help_flag())
}

/// A sub-command with what its struct does not say.
pub(super) fn described(command: Command) -> Command {
    let command = match command.get_name() {
        "check" | "rehearse" | "doctor" | "diff" => launch::as_report(command),
        "fit" => fit::describe(command),
        // Without a name the templates are listed, and nothing is changed.
        "templates" => command.mut_args(|arg| match arg.get_id().as_str() {
            "patch" | "unset" | "set" => arg.requires("name"),
            _ => arg,
        }),
        _ => command,
    };
    let has_colour = command.get_arguments().any(|arg| arg.get_id() == "color");
    let color =
        (!has_colour).then(|| Arg::new("color").long("color").value_parser(AnyValue(launch::COLORS)).hide(true));
    options::spelled(command).disable_help_flag(true).arg(help_flag()).args(color)
}

/// The sub-command that the words begin with; empty for a launch.
pub(super) fn place_of(words: &[OsString]) -> &'static str {
    SUBCOMMANDS.iter().copied().find(|name| words.first().is_some_and(|word| word == name)).unwrap_or_default()
}

/// The flag that asks for a page. It has no heading, and is in no list of options.
fn help_flag() -> Arg {
    Arg::new("help").short('h').long("help").action(ArgAction::Help).help_heading(None::<&str>)
}

/// What clap knows of a sub-command, or of a launch.
pub(super) fn command_of(place: &str) -> Command {
    let zlaunch = command();
    zlaunch.find_subcommand(place).cloned().unwrap_or(zlaunch)
}

pub(super) fn usage_of(command: &Command) -> String {
    command.get_overridden_usage().map(ToString::to_string).unwrap_or_default()
}

/// The options in the help of a command, but for clap's own --help and --version, which have no heading.
pub fn shown_options(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| !arg.is_positional() && !arg.is_hide_set() && arg.get_help_heading().is_some())
}

/// What the help says about an option or argument.
pub(super) fn about(arg: &Arg) -> String {
    arg.get_help().map(ToString::to_string).unwrap_or_default()
}

/// `A B`; nothing of a switch.
pub(super) fn value_of(arg: &Arg) -> String {
    if !options::takes_value(arg) {
        return String::new();
    }
    let names = arg.get_value_names().unwrap_or_default();
    names.iter().map(clap::builder::Str::as_str).collect::<Vec<_>>().join(" ")
}
