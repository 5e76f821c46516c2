//! The values of options and arguments: each is read with where it came from, the command line or a `ZLAUNCH_*` variable,
//! and what is wrong about them is gathered.

use std::ffi::{OsStr, OsString};
use std::ops::Bound;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use clap::{ArgAction, Command};

use super::values;
use crate::base::options::{Given, LayerOptions, SearchOptions, launch_options, variable, variable_of};
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::config::layers::Layers;
use crate::config::template::Search;
use crate::host::{Host, names_in};
use crate::plan::Plan;
use crate::report::{self, Problem, Rule, Severity};
use crate::request::Launch;

/// Variables of ours that are not options.
const NOT_OPTIONS: &[&str] = &[vars::ZLAUNCH_LANG, vars::ZLAUNCH_SHIM, vars::ZLAUNCH_SHIM_OF];

/// Why the words are refused.
pub struct Refused {
    pub problems: Vec<Problem>,
    /// The launch that they probably mean, without what is wrong about them.
    pub(crate) meant: Option<Box<Launch>>,
}

/// What can be wrong about a command and its config however zlaunch's own options are meant.
const OF_THE_COMMAND: &[Rule] = &[
    Rule::Template,
    Rule::Json,
    Rule::NotFound,
    Rule::ScriptMissing,
    Rule::ModuleMissing,
    Rule::PathMissing,
    Rule::RunFile,
    Rule::Argument,
];

impl Refused {
    /// The problems of the words, and those of the command behind them: all are told at once.
    pub fn with_those_of_the_command(self, host: &Host) -> Vec<Problem> {
        let Refused { mut problems, meant } = self;
        let Some(mut launch) = meant else { return problems };
        // A template may be in the folder that is not there.
        let says_more = |problem: &Problem| !problems.iter().any(|known| known.rule == problem.rule);
        let is_of_command = |problem: &Problem| OF_THE_COMMAND.contains(&problem.rule) && says_more(problem);
        let planned =
            launch.read_piped_config(host).map_err(|problem| vec![problem]).and_then(|()| Plan::new(&launch, host));
        let found: Vec<Problem> = planned.err().into_iter().flatten().filter(is_of_command).collect();
        problems.extend(found.into_iter().filter(|problem| problem.severity == Severity::Error));
        problems
    }
}

impl From<Vec<Problem>> for Refused {
    fn from(problems: Vec<Problem>) -> Self {
        Refused { problems, meant: None }
    }
}

pub(super) struct Reader<'a> {
    /// All words but the sub-command.
    pub(super) words: &'a [OsString],
    /// Those in front of the command, as they were given.
    pub(super) options: &'a [OsString],
    pub(super) host: &'a Host,
    pub(super) problems: Vec<Problem>,
    /// About variables that no option has.
    pub(super) warnings: Vec<Problem>,
    reads_variables: bool,
    /// What clap has parsed the words by.
    pub(super) command: Command,
}

impl<'a> Reader<'a> {
    pub(super) fn new(words: &'a [OsString], host: &'a Host) -> Self {
        let (problems, warnings, command) = (Vec::new(), Vec::new(), Command::default());
        Reader { words, options: words, host, problems, warnings, reads_variables: false, command }
    }

    /// Tells our words from those of the command.
    pub(super) fn split_off(&mut self, command: &[OsString]) {
        self.options = &self.words[..self.words.len() - command.len()];
    }

    /// Makes the `ZLAUNCH_*` variables the defaults of their options. An empty one counts as unset.
    pub(super) fn with_variables(&mut self, command: Command) -> Command {
        self.reads_variables = true;
        let ours = (Bound::Included(OsStr::new("ZLAUNCH_")), Bound::Excluded(OsStr::new("ZLAUNCH`")));
        let set = self.host.env.range::<OsStr, _>(ours).filter_map(|(name, value)| Some((name.to_str()?, value)));
        let set: Vec<_> = set.filter(|(name, _)| !NOT_OPTIONS.contains(name)).collect();
        if set.is_empty() {
            return command;
        }
        let known: Vec<String> = launch_options().map(variable).collect();
        for (name, _) in set.iter().filter(|(name, _)| !known.iter().any(|known| known == name)) {
            let nearest = report::nearest(name, known.iter().map(String::as_str));
            let all = "`zlaunch --help` lists the options, and each has a variable";
            self.warnings.push(
                Problem::warning(Rule::UnknownVariable, format!("zlaunch does not read `{name}`"))
                    .at(format!("variable {name}"))
                    .help(report::did_you_mean(nearest, all)),
            );
        }
        command.mut_args(|arg| {
            let name = launch_options().find(|option| option.get_id() == arg.get_id()).map(variable);
            let Some((name, value)) =
                set.iter().find(|(set, value)| Some(*set) == name.as_deref() && !value.is_empty())
            else {
                return arg;
            };
            match arg.get_action() {
                // A list with colons, which `Search` reads.
                _ if *name == "ZLAUNCH_TEMPLATE_DIR" => arg,
                ArgAction::SetTrue => match self.switch(name, value) {
                    Some(true) => arg.default_value("true"),
                    _ => arg,
                },
                ArgAction::Append => arg.default_values(lines(value)),
                _ => arg.default_value((*value).clone()),
            }
        })
    }

    fn switch(&mut self, name: &str, value: &OsStr) -> Option<bool> {
        let given = Sourced::new(value.to_os_string(), Source::Variable(name.to_string()));
        let text = self.one(Some(given), values::text)?;
        match text.value.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Some(true),
            "0" | "false" | "no" | "off" => Some(false),
            _ => {
                let what = format!("`{}` is neither on nor off", text.value);
                self.problems.push(Problem::error(Rule::Usage, what).at(text.spelling()).help(text.from.with("1")));
                None
            }
        }
    }

    /// What turned a switch on.
    pub(super) fn source_of_switch(&self, flag: &str) -> Source {
        let flag = flag.to_string();
        if self.options.iter().any(|word| *word == *flag) {
            Source::Flag(flag)
        } else {
            Source::Variable(variable_of(&flag))
        }
    }

    /// The value, unless something is wrong.
    pub(super) fn finish<T>(self, value: T) -> Result<T, Vec<Problem>> {
        if self.problems.is_empty() { Ok(value) } else { Err(self.problems) }
    }

    /// The value of an option or argument.
    pub(super) fn one<T>(
        &mut self,
        given: Option<Given>,
        read: impl Fn(&Given) -> Result<T, Problem>,
    ) -> Option<Sourced<T>> {
        let given = given?;
        let value = read(&given).map_err(|problem| self.problems.push(problem)).ok()?;
        Some(Sourced::new(value, given.from))
    }

    /// The values of an option that may be repeated. Those of its variable come first, since later ones win.
    pub(super) fn many<T>(
        &mut self,
        given: Vec<Given>,
        read: impl Fn(&Given) -> Result<T, Problem>,
    ) -> Vec<Sourced<T>> {
        let variable = match given.first().map(|given| &given.from) {
            Some(Source::Flag(flag)) if self.reads_variables => Some(variable_of(flag)),
            _ => None,
        };
        let host = self.host;
        let value = variable.as_ref().and_then(|name| host.var_os(name)).filter(|value| !value.is_empty());
        let of_variable = value.into_iter().flat_map(lines);
        let from = Source::Variable(variable.clone().unwrap_or_default());
        let of_variable = of_variable.map(|line| Sourced::new(line, from.clone()));
        of_variable.chain(given).filter_map(|given| self.one(Some(given), &read)).collect()
    }

    pub(super) fn search(&mut self, options: SearchOptions) -> Search {
        let folders: Vec<_> =
            options.template_dir.into_iter().filter_map(|folder| self.one(Some(folder), values::path)).collect();
        let missing = folders.iter().filter(|folder| !self.host.absolute(&folder.value).is_dir());
        self.problems.extend(missing.map(|folder| no_template_folder(folder, self.host)));
        self.warnings.extend(Search::missing_site(self.host));
        Search::new(folders.into_iter().map(|folder| folder.value).collect(), self.host)
    }

    pub(super) fn layers(&mut self, options: LayerOptions) -> Layers {
        Layers {
            patch: self.many(options.patch, values::path),
            unset: self.many(options.unset, values::dotted_key),
            set: self.many(options.set, values::config_assignment(self.words)),
        }
    }
}

fn no_template_folder(folder: &Sourced<PathBuf>, host: &Host) -> Problem {
    let (path, shown) = (host.absolute(&folder.value), folder.value.display());
    let refused =
        |what: String, help: String| Problem::error(Rule::Template, what).at(folder.from.with(&shown)).help(help);
    if path.is_file() {
        let what = format!("`{shown}` is a file, not a folder with templates");
        return refused(what, format!("--deepspeed {shown}"));
    }
    let beside = path.parent().unwrap_or(&path);
    let names: Vec<String> = names_in(beside).filter(|name| beside.join(name).is_dir()).collect();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let help = match report::nearest(&name, names.iter().map(String::as_str)) {
        Some(near) => folder.from.with(folder.value.with_file_name(near).display()),
        None => "check the path (it is relative to the current folder)".to_string(),
    };
    refused(format!("there is no folder `{shown}` with templates"), help)
}

/// The values in the variable of an option that may be repeated, a line each.
fn lines(value: &OsStr) -> Vec<OsString> {
    let text = value.as_bytes();
    let lines = text.strip_suffix(b"\n").unwrap_or(text).split(|byte| *byte == b'\n');
    lines.map(|line| OsString::from_vec(line.strip_suffix(b"\r").unwrap_or(line).to_vec())).collect()
}
