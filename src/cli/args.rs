//! Options as clap knows them, and their values with where each came from: the command line, else a `ZLAUNCH_*` variable.

use std::ffi::{OsStr, OsString};
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint};

use crate::base::options::{Arity, Opt, Subcommand, launch};
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::cli::refusal::refusal;
use crate::cli::values::{self, Given};
use crate::config::layers::Layers;
use crate::config::template::Search;
use crate::host::{Host, names_in};
use crate::report::{self, Problem};

/// The words of the command to launch, as clap's argument.
const COMMAND: &str = "COMMAND";

/// Variables of ours that are not options.
const NOT_OPTIONS: &[&str] = &[vars::ZLAUNCH_LANG, vars::ZLAUNCH_SHIM, vars::ZLAUNCH_SHIM_OF];

/// What clap must know of an option to read it.
pub(super) fn bare_arg(option: &Opt) -> Arg {
    let arg = Arg::new(option.name)
        .long(option.name)
        .short(option.short)
        .aliases(option.aliases.iter().copied())
        // What is meant for the launcher looks like an option.
        .allow_hyphen_values(*option == launch::LAUNCHER_ARG);
    match option.arity {
        // Not `SetTrue`: a switch that is not given has no value, as any other option.
        Arity::Switch => arg.action(ArgAction::Set).num_args(0),
        Arity::One => arg.action(ArgAction::Set).value_parser(ValueParser::os_string()),
        Arity::Many => arg.action(ArgAction::Append).value_parser(ValueParser::os_string()),
    }
}

/// The same with what the help and the completions show.
pub(super) fn arg(option: &Opt) -> Arg {
    // Numbers below zero are judged by us, as other wrong values.
    let arg = bare_arg(option).help(option.help).help_heading(option.heading);
    let arg = if option.arity == Arity::One { arg.allow_negative_numbers(true) } else { arg };
    let hint = match option.value {
        _ if option.arity == Arity::Switch => return arg,
        "DIR" | "DIR|auto" | "MODEL" => ValueHint::DirPath,
        "FILE" | "PATH" => ValueHint::FilePath,
        _ => ValueHint::Unknown,
    };
    arg.value_name(option.value).value_hint(hint).hide_possible_values(true)
}

/// A parser of words without a sub-command. Of an option that is given twice, the last value counts.
pub(super) fn parser(describe: fn(Command) -> Command) -> Command {
    describe(Command::new("zlaunch")).no_binary_name(true).args_override_self(true)
}

/// Everything from the first word on that is not an option of ours.
pub(super) fn trailing_command() -> Arg {
    Arg::new(COMMAND).num_args(1..).trailing_var_arg(true).value_parser(ValueParser::os_string()).hide(true)
}

/// The same where other words come first: the command stands behind `--`.
pub(super) fn last_command() -> Arg {
    Arg::new(COMMAND).num_args(1..).last(true).value_parser(ValueParser::os_string()).hide(true)
}

/// The command line of one sub-command, or of a launch.
pub(super) struct ParsedArgs<'a> {
    /// The words, without the name of the sub-command.
    pub(super) words: &'a [OsString],
    matches: &'a ArgMatches,
    /// What the variables say, read as if it had been given as options.
    variables: Option<ArgMatches>,
    pub(super) host: &'a Host,
    pub(super) problems: Vec<Problem>,
    /// About variables that no option has.
    pub(super) warnings: Vec<Problem>,
}

impl<'a> ParsedArgs<'a> {
    pub(super) fn new(words: &'a [OsString], matches: &'a ArgMatches, host: &'a Host) -> Self {
        ParsedArgs { words, matches, variables: None, host, problems: Vec::new(), warnings: Vec::new() }
    }

    /// Also reads the variables; `describe` tells clap what there is to read.
    pub(super) fn with_variables(mut self, describe: fn(Command) -> Command) -> Self {
        let words = self.words_of_variables();
        if !words.is_empty() {
            match parser(describe).try_get_matches_from(words) {
                Ok(matches) => self.variables = Some(matches),
                Err(why) => self.problems.push(refusal(&why, "zlaunch")),
            }
        }
        self
    }

    /// The value, unless something is wrong.
    pub(super) fn finish<T>(self, value: T) -> Result<T, Vec<Problem>> {
        if self.problems.is_empty() { Ok(value) } else { Err(self.problems) }
    }

    /// The value of an option: of the flag, else of its variable.
    pub(super) fn one<T>(&mut self, option: &Opt, read: impl Fn(&Given) -> Result<T, Problem>) -> Option<Sourced<T>> {
        let given = self.given(option).pop()?;
        self.read(given, read)
    }

    /// The value of an option on the command line.
    pub(super) fn flag<T>(&mut self, option: &Opt, read: impl Fn(&Given) -> Result<T, Problem>) -> Option<Sourced<T>> {
        let given = self.given(option).pop().filter(|given| given.from.is_flag())?;
        self.read(given, read)
    }

    /// The values of an option that may be repeated.
    pub(super) fn many<T>(&mut self, option: &Opt, read: impl Fn(&Given) -> Result<T, Problem>) -> Vec<Sourced<T>> {
        self.given(option).into_iter().filter_map(|given| self.read(given, &read)).collect()
    }

    /// The values of the variable, then the flags, since later ones win.
    fn given(&self, option: &Opt) -> Vec<Given> {
        let variable =
            self.variables.iter().filter_map(|variables| variables.get_many::<OsString>(option.name)).flatten();
        let variable = variable.map(|value| Sourced::new(value.clone(), Source::Variable(option.variable())));
        let flags = self.matches.get_many::<OsString>(option.name).into_iter().flatten();
        let flags = flags.map(|value| Sourced::new(value.clone(), Source::Flag(option.flag())));
        variable.chain(flags).collect()
    }

    /// What turned a switch on.
    pub(super) fn switched_on(&self, option: &Opt) -> Option<Source> {
        if self.matches.contains_id(option.name) {
            return Some(Source::Flag(option.flag()));
        }
        let variable = self.variables.as_ref().is_some_and(|variables| variables.contains_id(option.name));
        variable.then(|| Source::Variable(option.variable()))
    }

    /// Whether the command line has a value of this option.
    pub(super) fn is_given(&self, option: &Opt) -> bool {
        self.matches.contains_id(option.name)
    }

    pub(super) fn is_on(&self, option: &Opt) -> bool {
        self.switched_on(option).is_some()
    }

    /// The values of a positional argument.
    pub(super) fn arguments<T>(
        &mut self,
        id: &str,
        command: &Subcommand,
        read: impl Fn(&Given) -> Result<T, Problem>,
    ) -> Vec<Sourced<T>> {
        let values = self.matches.get_many::<OsString>(id).into_iter().flatten();
        let given = values.map(|value| Sourced::new(value.clone(), Source::Argument(command.name.to_string())));
        given.filter_map(|given| self.read(given, &read)).collect()
    }

    /// The first value of a positional argument, as it was given.
    pub(super) fn first_argument(&self, id: &str) -> Option<String> {
        self.matches.get_one::<OsString>(id)?.to_str().map(str::to_string)
    }

    pub(super) fn has_command(&self) -> bool {
        self.matches.contains_id(COMMAND)
    }

    /// The command to launch.
    pub(super) fn command(&self) -> Vec<OsString> {
        self.matches.get_many(COMMAND).into_iter().flatten().cloned().collect()
    }

    /// The words in front of the command, as they were given.
    pub(super) fn options(&self) -> Vec<OsString> {
        let command = self.matches.get_many::<OsString>(COMMAND).map_or(0, Iterator::count);
        self.words[..self.words.len() - command].to_vec()
    }

    pub(super) fn search(&mut self) -> Search {
        let folders = self.many(&launch::TEMPLATE_DIR, values::path);
        let missing = folders.iter().filter(|folder| !self.host.absolute(&folder.value).is_dir());
        self.problems.extend(missing.map(|folder| no_template_folder(folder, self.host)));
        self.warnings.extend(Search::missing_site(self.host));
        Search::new(folders.into_iter().map(|folder| folder.value).collect(), self.host)
    }

    pub(super) fn layers(&mut self) -> Layers {
        Layers {
            patch: self.many(&launch::PATCH, values::path),
            unset: self.many(&launch::UNSET, values::dotted_key),
            set: self.many(&launch::SET, values::config_assignment(self.words)),
        }
    }

    fn read<T>(&mut self, given: Given, read: impl Fn(&Given) -> Result<T, Problem>) -> Option<Sourced<T>> {
        match read(&given) {
            Ok(value) => Some(Sourced::new(value, given.from)),
            Err(problem) => {
                self.problems.push(problem);
                None
            }
        }
    }

    /// The `ZLAUNCH_*` variables as options: `--deepspeed=zero3`. An empty one counts as unset.
    fn words_of_variables(&mut self) -> Vec<OsString> {
        let ours = (Bound::Included(OsStr::new("ZLAUNCH_")), Bound::Excluded(OsStr::new("ZLAUNCH`")));
        let mut words = Vec::new();
        for (name, value) in self.host.env.range::<OsStr, _>(ours) {
            let Some(name) = name.to_str().filter(|name| !NOT_OPTIONS.contains(name)) else { continue };
            match launch::ALL.iter().find(|option| option.variable() == name) {
                None => self.warnings.push(unknown_variable(name)),
                // A list with colons, which `Search` reads.
                Some(&launch::TEMPLATE_DIR) => {}
                Some(_) if value.is_empty() => {}
                Some(option) => match option.arity {
                    Arity::Switch => words.extend(self.word_of_switch(option, value)),
                    Arity::One => words.push(joined(option, value.as_bytes())),
                    Arity::Many => words.extend(lines(value).map(|line| joined(option, line))),
                },
            }
        }
        words
    }

    fn word_of_switch(&mut self, option: &Opt, value: &OsStr) -> Option<OsString> {
        if self.matches.contains_id(option.name) {
            return None;
        }
        let from = Source::Variable(option.variable());
        let text = self.read(Sourced::new(value.to_os_string(), from), values::text)?;
        match text.value.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => return Some(option.flag().into()),
            "0" | "false" | "no" | "off" => {}
            _ => self.problems.push(report::not_a_switch(&text)),
        }
        None
    }
}

fn no_template_folder(folder: &Sourced<PathBuf>, host: &Host) -> Problem {
    let path = host.absolute(&folder.value);
    if path.is_file() {
        return report::file_for_template_folder(folder);
    }
    let beside = path.parent().unwrap_or(&path);
    let names: Vec<String> = names_in(beside).filter(|name| beside.join(name).is_dir()).collect();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let near = report::nearest(&name, names.iter().map(String::as_str));
    report::no_template_folder(folder, near.map(|near| folder.value.with_file_name(near)))
}

fn joined(option: &Opt, value: &[u8]) -> OsString {
    let mut word = OsString::from(option.flag() + "=");
    word.push(OsStr::from_bytes(value));
    word
}

/// The values in the variable of an option that may be repeated, a line each.
fn lines(value: &OsStr) -> impl Iterator<Item = &[u8]> {
    let text = value.as_bytes();
    let lines = text.strip_suffix(b"\n").unwrap_or(text).split(|byte| *byte == b'\n');
    lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

fn unknown_variable(name: &str) -> Problem {
    let known: Vec<_> = launch::ALL.iter().map(Opt::variable).collect();
    report::unknown_variable(name, report::nearest(name, known.iter().map(String::as_str)))
}
