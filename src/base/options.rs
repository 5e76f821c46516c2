//! The options of a launch as clap knows them: the command line, its help, the completions, the man page and the tables in
//! the documents are made from them.

use std::{
    ffi::{OsStr, OsString},
    sync::LazyLock,
};

use clap::{
    Arg, ArgAction, Command,
    builder::{PossibleValue, TypedValueParser, ValueParserFactory},
};

use super::{
    source::{Source, Sourced},
    tables::options::{LAUNCH_OPTIONS, LaunchOption, OptionKind},
};

/// A value as it was given. It is read later, because clap would stop at the first wrong one.
pub type Given = Sourced<OsString>;

/// The words that an option takes, and what they stand for.
pub type Words<T> = fn() -> Vec<(&'static str, T)>;

/// Takes any value, keeps where it came from, and gives the completions these words.
#[derive(Clone)]
pub struct AnyValue<T = ()>(pub Words<T>);

impl ValueParserFactory for Given {
    type Parser = AnyValue;

    fn value_parser() -> AnyValue {
        AnyValue(Vec::new)
    }
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for AnyValue<T> {
    type Value = Given;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Given, clap::Error> {
        let from = match arg.filter(|arg| !arg.is_positional()) {
            Some(arg) => Source::Flag(flag(arg)),
            None => Source::Operand(command.get_name().to_string()),
        };
        Ok(Sourced::new(value.to_os_string(), from))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let words = Some((self.0)()).filter(|words| !words.is_empty())?;
        Some(Box::new(
            words.into_iter().map(|(word, _)| PossibleValue::new(word)),
        ))
    }
}

impl LaunchOption {
    fn arg(&self) -> Arg {
        let arg = Arg::new(self.id)
            .help_heading(self.heading)
            .short(self.short)
            .aliases(self.aliases);
        let action = match self.kind {
            OptionKind::Switch => return arg.action(ArgAction::SetTrue),
            OptionKind::Value => ArgAction::Set,
            OptionKind::List | OptionKind::Words => ArgAction::Append,
        };
        arg.action(action)
            .value_parser(Given::value_parser())
            .allow_hyphen_values(matches!(self.kind, OptionKind::Words))
    }
}

/// New arguments for a command that takes them.
pub fn new_launch_options() -> impl Iterator<Item = Arg> {
    LAUNCH_OPTIONS.iter().map(LaunchOption::arg)
}

/// Adds the spellings that all options have. An argument under a heading is an option, any other one an operand.
pub fn spelled(command: Command) -> Command {
    command.args_override_self(true).mut_args(|mut arg| {
        if arg.get_long().is_none() && arg.get_help_heading().is_some() {
            let name = arg.get_id().as_str().replace('_', "-");
            arg = arg.long(name);
            // clap lets a list of operands take several words.
            if takes_value(&arg) {
                arg = arg.num_args(1);
            }
        }
        let aliases = arg.get_all_aliases().unwrap_or_default();
        // As torchrun and deepspeed spell theirs.
        let underscored: Vec<String> = aliases
            .into_iter()
            .chain(arg.get_long())
            .filter(|spelling| spelling.contains('-'))
            .map(|spelling| spelling.replace('-', "_"))
            .collect();
        if arg.get_long().is_none() {
            return arg;
        }
        // Numbers below zero are judged by us, as other wrong values. clap would make a list of all possible values to
        // learn whether its own help could be longer.
        let takes_value = takes_value(&arg);
        arg.aliases(underscored)
            .allow_negative_numbers(takes_value)
            .hide_possible_values(takes_value)
    })
}

/// `--nproc-per-node`.
pub fn flag(arg: &Arg) -> String {
    format!("--{}", arg.get_long().unwrap_or_default())
}

/// `ZLAUNCH_NPROC_PER_NODE`. Only the options of a launch have one.
pub fn variable(arg: &Arg) -> String {
    variable_of(arg.get_id().as_str())
}

pub fn variable_of(id: &str) -> String {
    format!("ZLAUNCH_{}", id.to_ascii_uppercase())
}

pub fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

pub fn launch_options() -> impl Iterator<Item = &'static Arg> {
    static OPTIONS: LazyLock<Command> =
        LazyLock::new(|| spelled(Command::new("zlaunch").args(new_launch_options())));
    OPTIONS.get_arguments()
}

/// The option of a launch with this name, which may be an alias or be followed by `=VALUE`.
pub fn launch_option(long: &str) -> Option<&'static Arg> {
    option_named(launch_options(), long)
}

pub fn is_launch_option(arg: &Arg) -> bool {
    LAUNCH_OPTIONS
        .iter()
        .any(|option| arg.get_id() == option.id)
}

pub fn option_named<'a>(mut options: impl Iterator<Item = &'a Arg>, long: &str) -> Option<&'a Arg> {
    let name = long.split('=').next()?;
    options.find(|arg| {
        let aliases = arg.get_all_aliases().unwrap_or_default();
        arg.get_long() == Some(name) || aliases.contains(&name)
    })
}
