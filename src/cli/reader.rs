//! Sub-commands, and the reader of their arguments: every value with where it came from, the command line or a
//! `ZLAUNCH_*` variable. Mistakes are gathered.

use std::any::Any;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use clap::{ArgMatches, Args, Command};

use super::values;
use crate::base::options::{Given, LayerOptions, SearchOptions, flag, launch_options, variable};
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::config::layers::Layers;
use crate::config::template::Search;
use crate::host::Host;
use crate::report::{self, Place, Problem, Rule};
use crate::request::Launch;

const NOT_OPTIONS: &[&str] = &[
    vars::ZLAUNCH_LANG,
    vars::ZLAUNCH_SHIM,
    vars::ZLAUNCH_SHIM_OF,
];

/// The arguments of a sub-command, which clap fills.
pub(crate) trait Tool: Args {
    /// The options of a launch that its help shows, if it has them.
    const SHOWN: &'static [&'static str] = &[];

    /// Changes arguments that the struct has from another one.
    fn describe(command: Command) -> Command {
        command
    }

    /// Brings the words into the order that clap wants.
    fn in_order(words: &[OsString], _: &Host) -> Vec<OsString> {
        words.to_vec()
    }

    fn read(self, reader: Reader) -> Requested;
}

pub trait Request: Any {
    /// The exit status, where zlaunch does not become another program.
    fn run(self: Box<Self>, host: &Host) -> Result<u8, Vec<Problem>>;

    /// The launch, where it is about the plan of one.
    fn into_launch(self: Box<Self>) -> Option<Box<Launch>> {
        None
    }
}

impl<F: FnOnce(&Host) -> Result<u8, Vec<Problem>> + 'static> Request for F {
    fn run(self: Box<Self>, host: &Host) -> Result<u8, Vec<Problem>> {
        self(host)
    }
}

pub(crate) type Requested = Result<Box<dyn Request>, Refused>;

pub struct Refused {
    pub problems: Vec<Problem>,
    /// The launch that the words probably mean, without the wrong ones.
    pub(crate) meant: Option<Box<Launch>>,
}

impl From<Vec<Problem>> for Refused {
    fn from(problems: Vec<Problem>) -> Self {
        Refused {
            problems,
            meant: None,
        }
    }
}

pub(crate) struct Subcommand {
    pub(super) name: &'static str,
    pub(super) shown: &'static [&'static str],
    pub(super) arguments: fn(Command) -> Command,
    pub(super) describe: fn(Command) -> Command,
    pub(super) in_order: fn(&[OsString], &Host) -> Vec<OsString>,
    pub(super) read: fn(&mut ArgMatches, Reader) -> Result<Requested, clap::Error>,
}

impl Subcommand {
    pub(crate) const fn of<T: Tool>(name: &'static str) -> Self {
        Subcommand {
            name,
            shown: T::SHOWN,
            arguments: T::augment_args,
            describe: T::describe,
            in_order: T::in_order,
            read: |matches, reader| Ok(T::from_arg_matches_mut(matches)?.read(reader)),
        }
    }
}

pub struct Tools {
    /// It has no name.
    pub(crate) launch: Subcommand,
    /// The first section of the help.
    pub(crate) common: &'static [Subcommand],
    pub(crate) more: &'static [Subcommand],
}

impl Tools {
    pub(super) fn subcommands(&self) -> impl Iterator<Item = &Subcommand> {
        self.common.iter().chain(self.more)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.subcommands().map(|subcommand| subcommand.name)
    }

    pub(super) fn named(&self, word: Option<&OsString>) -> &Subcommand {
        self.subcommands()
            .find(|subcommand| word.is_some_and(|word| word == subcommand.name))
            .unwrap_or(&self.launch)
    }
}

pub(crate) struct Reader<'a> {
    pub(crate) tools: &'static Tools,
    /// The sub-command; empty for a launch.
    pub(crate) place: &'static str,
    /// All words but the sub-command.
    pub(crate) words: &'a [OsString],
    /// Those in front of the command.
    pub(crate) options: &'a [OsString],
    pub(crate) host: &'a Host,
    pub(crate) problems: Vec<Problem>,
    pub(crate) warnings: Vec<Problem>,
    pub(crate) command: &'static Command,
    /// The options of a launch that a variable sets.
    pub(super) variables: Vec<SetVariable>,
}

pub(super) struct SetVariable {
    /// The name of the option's field.
    id: &'static str,
    value: Given,
}

impl Reader<'_> {
    pub(crate) fn split_off(&mut self, command: &[OsString]) {
        self.options = &self.words[..self.words.len() - command.len()];
    }

    /// The options that `ZLAUNCH_*` variables set. An empty variable counts as unset.
    pub(super) fn read_variables(&mut self) {
        for (name, value) in self.host.vars_from("ZLAUNCH_") {
            if NOT_OPTIONS.contains(&name) {
                continue;
            }
            let Some(option) = launch_options().find(|option| variable(option) == name) else {
                self.warnings.push(unknown_variable(name));
                continue;
            };
            if !value.is_empty() {
                self.variables.push(SetVariable {
                    id: option.get_id().as_str(),
                    value: Sourced::new(value.to_os_string(), Source::Variable(name.to_string())),
                });
            }
        }
    }

    fn variable(&self, id: &str) -> Option<Given> {
        let set = self.variables.iter().find(|set| set.id == id)?;
        Some(set.value.clone())
    }

    pub(crate) fn answer(self, request: impl Request) -> Requested {
        if self.problems.is_empty() {
            Ok(Box::new(request))
        } else {
            Err(self.problems.into())
        }
    }

    pub(crate) fn one<T>(
        &mut self,
        given: Option<Given>,
        read: impl Fn(&Given) -> Result<T, Problem>,
    ) -> Option<Sourced<T>> {
        let given = given?;
        let value = read(&given)
            .map_err(|problem| self.problems.push(problem))
            .ok()?;
        Some(Sourced::new(value, given.from))
    }

    /// An option of a launch: its variable counts where it is not given.
    pub(super) fn option<T>(
        &mut self,
        id: &str,
        given: Option<Given>,
        read: impl Fn(&Given) -> Result<T, Problem>,
    ) -> Option<Sourced<T>> {
        let given = given.or_else(|| self.variable(id));
        self.one(given, read)
    }

    /// An option of a launch that may be repeated: the values of its variable, one per line, and then those that are given.
    pub(super) fn options<T>(
        &mut self,
        id: &str,
        given: Vec<Given>,
        read: impl Fn(&Given) -> Result<T, Problem>,
    ) -> Vec<Sourced<T>> {
        let mut all = Vec::new();
        if let Some(set) = self.variable(id) {
            let lines = lines(set.value.as_bytes());
            all.extend(
                lines.map(|line| Sourced::new(OsStr::from_bytes(line).into(), set.from.clone())),
            );
        }
        all.extend(given);
        self.many(all, read)
    }

    /// What turned a switch of a launch on.
    pub(super) fn switch(&mut self, id: &str, is_given: bool) -> Option<Source> {
        if is_given {
            let option = launch_options().find(|option| option.get_id() == id);
            return option.map(|option| Source::Flag(flag(option)));
        }
        let set = self.option(id, None, values::on_or_off)?;
        set.value.then_some(set.from)
    }

    pub(crate) fn many<T>(
        &mut self,
        given: Vec<Given>,
        read: impl Fn(&Given) -> Result<T, Problem>,
    ) -> Vec<Sourced<T>> {
        given
            .into_iter()
            .filter_map(|given| self.one(Some(given), &read))
            .collect()
    }

    pub(crate) fn search(&mut self, options: SearchOptions) -> Search {
        let folders = self.many(options.template_dir, values::path);
        for folder in folders
            .iter()
            .filter(|folder| !self.host.absolute(&folder.value).is_dir())
        {
            let given = folder.clone().map(|path| path.display().to_string());
            let what = format!("there is no folder `{}` with templates", given.value);
            let fix = report::reading::path_advice(&self.host.absolute(&folder.value));
            self.problems
                .push(Problem::error(Rule::Template, what).at(&given).fix(fix));
        }
        self.warnings.extend(Search::missing_site(self.host));
        Search::new(
            folders.into_iter().map(|folder| folder.value).collect(),
            self.host,
        )
    }

    pub(crate) fn layers(&mut self, options: LayerOptions) -> Layers {
        Layers {
            patch: self.options("patch", options.patch, values::path),
            unset: self.options("unset", options.unset, values::dotted_key),
            set: self.options("set", options.set, values::config_assignment(self.words)),
        }
    }
}

fn unknown_variable(name: &str) -> Problem {
    let known: Vec<String> = launch_options().map(variable).collect();
    let nearest = report::nearest(name, known.iter().map(String::as_str));
    let help = report::did_you_mean(
        nearest,
        "`zlaunch --help` lists the options, and each has a variable",
    );
    let what = format!("zlaunch does not read `{name}`");
    Problem::warning(Rule::UnknownVariable, what)
        .at(Place::bare_variable(name))
        .fix(help)
}

/// The values in the variable of an option that may be repeated, one per line.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = text
        .strip_suffix(b"\n")
        .unwrap_or(text)
        .split(|byte| *byte == b'\n');
    lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}
