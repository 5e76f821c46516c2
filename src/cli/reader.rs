//! Sub-commands, and the reader of their arguments: every value with where it came from, the command line or a
//! `ZLAUNCH_*` variable. Mistakes are gathered.

use std::{any::Any, ffi::OsString};

use clap::{Arg, ArgAction, ArgMatches, Args, Command};

use super::{
    tables::words::NOT_OPTIONS,
    values::{self, CONFIGS, FORMATS, LAUNCHERS, REPORT_FORMATS, RULES, TRAINERS},
};
use crate::{
    base::{
        options::{
            AnyValue, Given, launch_options, new_launch_options, spelled, variable, variable_of,
        },
        source::{Source, Sourced},
    },
    config::{layers::Layers, template::Search},
    host::Host,
    report::{self, prelude::*, reading::path_advice},
    request::{Format, Launch},
};

/// The arguments of a sub-command, which clap fills.
pub trait Tool: Args {
    /// The options of a launch that it takes, beside its own.
    const LAUNCH_OPTIONS: LaunchOptions = LaunchOptions::These(&[]);

    /// Changes options of a launch.
    fn describe(command: Command) -> Command {
        command
    }

    /// Brings the words into the order that clap wants.
    fn in_order(words: &[OsString], _: &Host) -> Vec<OsString> {
        words.to_vec()
    }

    fn read(self, reader: Reader) -> Requested;
}

/// The options of a launch that a sub-command takes.
#[derive(Clone, Copy)]
pub enum LaunchOptions {
    These(&'static [&'static str]),
    /// All of them, so that a command can be pasted, although the help shows only these.
    AllShowing(&'static [&'static str]),
    All,
}

pub trait Request: Any {
    /// The exit status, where zlaunch does not become another program.
    fn run(self: Box<Self>, host: &Host) -> Outcome;

    /// The launch, where it is about the plan of one.
    fn into_launch(self: Box<Self>) -> Option<Box<Launch>> {
        None
    }
}

impl<F: FnOnce(&Host) -> Outcome + 'static> Request for F {
    fn run(self: Box<Self>, host: &Host) -> Outcome {
        self(host)
    }
}

/// The exit status, or everything that is wrong.
pub type Outcome = Result<u8, Problems>;

pub type Requested = Result<Box<dyn Request>, Refused>;

pub struct Refused {
    pub problems: Problems,
    /// The launch that the words probably mean, without the wrong ones.
    pub meant: Option<Box<Launch>>,
}

impl From<Problems> for Refused {
    fn from(problems: Problems) -> Self {
        Refused {
            problems,
            meant: None,
        }
    }
}

pub struct Subcommand {
    pub name: &'static str,
    pub launch_options: LaunchOptions,
    pub arguments: fn(Command) -> Command,
    pub describe: fn(Command) -> Command,
    pub in_order: fn(&[OsString], &Host) -> Vec<OsString>,
    pub read: fn(Reader) -> Result<Requested, clap::Error>,
}

impl Subcommand {
    pub const fn of<T: Tool>(name: &'static str) -> Self {
        Subcommand {
            name,
            launch_options: T::LAUNCH_OPTIONS,
            arguments: T::augment_args,
            describe: T::describe,
            in_order: T::in_order,
            read: |mut reader| Ok(T::from_arg_matches_mut(&mut reader.matches)?.read(reader)),
        }
    }

    /// The command line as clap parses it, without the texts of its help.
    pub fn described(&self) -> Command {
        let name = match self.name {
            "" => "zlaunch",
            name => name,
        };
        let taken = new_launch_options().filter_map(|arg| {
            let is_among = |names: &[&str]| names.iter().any(|name| arg.get_id() == name);
            let is_hidden = match self.launch_options {
                LaunchOptions::These(names) if !is_among(names) => {
                    return None;
                }
                LaunchOptions::These(names) | LaunchOptions::AllShowing(names) => !is_among(names),
                LaunchOptions::All => false,
            };
            Some(self.with_words(arg).hide(is_hidden))
        });
        // It has no heading, so it is in no list of options.
        let help = Arg::new("help")
            .short('h')
            .long("help")
            .action(ArgAction::Help)
            .help_heading(None::<&str>);
        let command = (self.arguments)(Command::new(name)).args(taken);
        let command = match self.name {
            "" => command.version(env!("CARGO_PKG_VERSION")),
            _ => (self.describe)(command),
        };
        spelled(command).disable_help_flag(true).arg(help)
    }

    /// An option of a launch with the words that it takes, for the completions.
    fn with_words(&self, arg: Arg) -> Arg {
        match arg.get_id().as_str() {
            "deepspeed" => arg.value_parser(AnyValue(CONFIGS)),
            "launcher" => arg.value_parser(AnyValue(LAUNCHERS)),
            "trainer" => arg.value_parser(AnyValue(TRAINERS)),
            "format" if self.name.is_empty() => arg.value_parser(AnyValue(FORMATS)),
            "format" => arg.value_parser(AnyValue(REPORT_FORMATS)),
            "allow" => arg.value_parser(AnyValue(RULES)),
            _ => arg,
        }
    }
}

pub struct Tools {
    /// It has no name.
    pub launch: Subcommand,
    /// The first section of the help.
    pub common: &'static [Subcommand],
    pub more: &'static [Subcommand],
}

impl Tools {
    pub fn subcommands(&self) -> impl Iterator<Item = &Subcommand> {
        self.common.iter().chain(self.more)
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.subcommands().map(|subcommand| subcommand.name)
    }

    pub fn named(&self, word: Option<&OsString>) -> &Subcommand {
        self.subcommands()
            .find(|subcommand| word.is_some_and(|word| word == subcommand.name))
            .unwrap_or(&self.launch)
    }
}

pub struct Reader<'a> {
    pub tools: &'static Tools,
    /// The sub-command; empty for a launch.
    pub place: &'static str,
    /// All words but the sub-command.
    pub words: &'a [OsString],
    /// Those in front of the command.
    pub options: &'a [OsString],
    pub host: &'a Host,
    pub problems: Problems,
    pub warnings: Problems,
    pub command: &'static Command,
    /// The options of a launch that are given.
    pub matches: ArgMatches,
}

impl Reader<'_> {
    /// The `ZLAUNCH_*` variable of an option, which counts where a launch is described. An empty one counts as unset.
    fn variable(&self, id: &str) -> Option<Given> {
        let name = variable_of(id);
        let value = self.host.var_os(&name);
        let value = value.filter(|value| !value.is_empty() && describes_launch(self.command))?;
        Some(Sourced::new(value.to_os_string(), Source::Variable(name)))
    }

    pub fn answer(self, request: impl Request) -> Requested {
        if self.problems.is_empty() {
            Ok(Box::new(request))
        } else {
            Err(self.problems.into())
        }
    }

    pub fn one<T>(
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

    /// The values of an option of a launch on the command line.
    pub fn given(&mut self, id: &str) -> Vec<Given> {
        self.matches.remove_many(id).into_iter().flatten().collect()
    }

    /// An option of a launch: its variable counts where it is not given.
    pub fn option<T>(
        &mut self,
        id: &str,
        read: impl Fn(&Given) -> Result<T, Problem>,
    ) -> Option<Sourced<T>> {
        let mut given = self.given(id);
        let last = given.pop();
        let earlier = given.iter().find(|given| Some(*given) != last.as_ref());
        if let (Some(earlier), Some(last)) = (earlier, &last) {
            self.warnings.push(given_twice(earlier, last));
        }
        self.one(last.or_else(|| self.variable(id)), read)
    }

    /// An option of a launch that may be repeated: the values of its variable, one per line, and then those that are given.
    pub fn options<T>(
        &mut self,
        id: &str,
        read: impl Fn(&Given) -> Result<T, Problem>,
    ) -> Vec<Sourced<T>> {
        let mut all = vec![];
        if let Some(set) = self.variable(id) {
            all.extend(
                set.value
                    .to_string_lossy()
                    .lines()
                    .map(|line| set.says(line.into())),
            );
        }
        all.extend(self.given(id));
        self.many(all, read)
    }

    /// What turned a switch of a launch on.
    pub fn switch(&mut self, id: &str) -> Option<Source> {
        if self.matches.get_flag(id) {
            return Some(Source::Flag(format!("--{}", id.replace('_', "-"))));
        }
        let variable = self.variable(id);
        let set = self.one(variable, values::on_or_off)?;
        set.value.then_some(set.from)
    }

    pub fn many<T>(
        &mut self,
        given: Vec<Given>,
        read: impl Fn(&Given) -> Result<T, Problem>,
    ) -> Vec<Sourced<T>> {
        given
            .into_iter()
            .filter_map(|given| self.one(Some(given), &read))
            .collect()
    }

    /// The `--format` of a report, without its variable, which is about plans.
    pub fn report_format(&mut self) -> Format {
        let given = self.given("format").pop();
        self.one(given, values::one_of(REPORT_FORMATS))
            .map_or(Format::Text, |format| format.value)
    }

    pub fn search(&mut self) -> Search {
        let given = self.given("template_dir");
        let folders = self.many(given, values::path);
        for folder in &folders {
            let path = self.host.absolute(&folder.value);
            if !path.is_dir() {
                let given = folder.says(folder.value.display());
                self.problems.push(
                    Rule::Template
                        .error(format!("there is no folder `{given}` with templates"))
                        .at(&given)
                        .fix(path_advice(&path)),
                );
            }
        }
        self.warnings.extend(Search::missing_site(self.host));
        Search::new(
            folders.into_iter().map(|folder| folder.value).collect(),
            self.host,
        )
    }

    pub fn layers(&mut self) -> Layers {
        Layers {
            patch: self.options("patch", values::path),
            unset: self.options("unset", values::dotted_key),
            set: self.options("set", values::config_assignment),
        }
    }
}

pub fn describes_launch(command: &Command) -> bool {
    command
        .get_arguments()
        .any(|arg| arg.get_id() == "deepspeed")
}

/// Warns of a `ZLAUNCH_*` variable that is not that of an option.
pub fn unknown_variable(name: &str) -> Option<Problem> {
    let known: Vec<String> = launch_options()
        .map(variable)
        .chain(NOT_OPTIONS.map(String::from))
        .collect();
    if known.iter().any(|known| known == name) {
        return None;
    }
    let nearest = report::nearest(name, known.iter().map(String::as_str));
    let help = report::did_you_mean(
        nearest,
        "`zlaunch --help` lists the options, and each has a variable",
    );
    Some(
        Rule::UnknownVariable
            .warning(format!("zlaunch does not read `{name}`"))
            .at(Place::variable(name, ""))
            .fix(help),
    )
}

/// Of an option that takes one value and has two, the last counts, as a wrapper script may want it.
fn given_twice(earlier: &Given, last: &Given) -> Problem {
    let [earlier, last] = [earlier, last].map(|it| it.says(it.value.display()));
    let what = format!("`{}` is set twice; `{last}` is used", last.from);
    Rule::GivenTwice
        .warning(what)
        .at(&earlier)
        .at(&last)
        .fix(drop_given(&earlier))
}
