//! The launchers: what their command lines are made from, and how one in the user's command is read. `launcher/` has one file
//! for each with a command line of its own, and the choice between them.

pub mod accelerate;
pub mod choice;
pub mod deepspeed;
mod existing;
pub mod srun;
mod tables;
mod torchrun;

use std::{
    ffi::{OsStr, OsString},
    fmt::{self, Display},
    iter,
    path::PathBuf,
    slice::from_ref,
    time::Duration,
};

use crate::{
    base::{
        recorded::{Table, Version},
        shell,
        source::{Given, Sourced},
        vars,
    },
    command::{
        argv::{Args, find, is_value, option_name},
        job::Job,
        python::Python,
        target::{ParsedCommand, Target, base_name, is_python, is_script, of_python},
        trainer,
    },
    host::Host,
    ranks::topology::{HostFlags, RankFlags, Stated, Topology},
    report::prelude::*,
};

use tables::launchers::{
    DEFAULT_GRACE, LAUNCH_MODULE, LauncherSpec, Program, RankOptions, SPECS, TORCHRUN,
    WITHOUT_FOLDER,
};
pub use tables::launchers::{Launcher, STARTERS};

/// True if this option of torchrun, by its name with `_`, takes a value; `None` if torchrun has no such option.
pub fn torchrun_option(name: &str) -> Option<bool> {
    Some(!is_switch(TORCHRUN.line(name)?))
}

/// A command that starts with a launcher.
pub struct ExistingLauncher {
    pub spec: &'static LauncherSpec,
    /// `torchrun`, `python -m torch.distributed.run`, `accelerate launch`.
    pub name: String,
    program: Vec<OsString>,
    flags: Vec<OsString>,
    args: Args,
    /// `python` between the launcher and the script, by mistake. The other fields leave it out.
    second_python: String,
    /// `python` or `python -m`, if `behind` needs one of them to run without the launcher.
    interpreter: Vec<OsString>,
    behind: Vec<OsString>,
}

impl ExistingLauncher {
    pub fn has_option(&self, name: &str) -> bool {
        self.spec.line(name).is_some()
    }

    /// A launcher without a script (`torchrun --help`) launches nothing.
    pub fn split(command: &[OsString]) -> Option<(Self, ParsedCommand)> {
        let (spec, start) = LauncherSpec::of(command)?;
        let (program, rest) = command.split_at(start);
        let (flags, rest) = rest.split_at(spec.split_flags(rest).concat().len());
        let args = spec.parse(flags);
        let rest = rest.strip_prefix(&["--".into()]).unwrap_or(rest);
        let is_module = args.is_given("module");
        let is_program = args.is_given("no_python");
        let second_python = match of_python(rest.get(1..)?) {
            Some((Target::Script { .. }, used))
                if is_python(&rest[0]) && !is_module && !is_program =>
            {
                used
            }
            _ => 0,
        };
        let (second_python, behind) = rest.split_at(second_python);
        let (first, trainer_args) = behind.split_first()?;
        // The launcher itself could not run a console script such as `swift`, but zlaunch rewrites it. Any other word is a
        // file to the launcher.
        let target = if is_module {
            Target::module(first)
        } else if is_program || trainer::is_console(first) {
            Target::Program(first.clone())
        } else {
            Target::script(first)
        };
        let is_python = start > 2 || is_python(&program[0]);
        let mut owner = first;
        if is_python || !matches!(target, Target::Program(_)) {
            owner = &program[0];
        }
        let mut interpreter = vec![];
        if !matches!(target, Target::Program(_)) {
            interpreter.push(
                Some(&program[0])
                    .filter(|_| is_python)
                    .cloned()
                    .unwrap_or_else(|| "python".into()),
            );
            interpreter.extend(is_module.then(|| "-m".into()));
        }
        let launcher = ExistingLauncher {
            spec,
            name: program.join(OsStr::new(" ")).to_string_lossy().into_owned(),
            program: program.to_vec(),
            flags: flags.to_vec(),
            args,
            second_python: shell::text(second_python),
            interpreter,
            behind: behind.to_vec(),
        };
        Some((
            launcher,
            ParsedCommand::new(target, trainer_args, Some(owner.clone())),
        ))
    }

    /// True if the command starts with a launcher, even one that launches nothing: `torchrun --help`, `accelerate env`. The
    /// module that DeepSpeed's runner starts on each machine counts too:
    /// written out by hand it says in its own way who starts which ranks.
    pub fn is_one(command: &[OsString]) -> bool {
        let runs_launch_module = || {
            let (first, rest) = command.split_first()?;
            let (target, _) = of_python(rest).filter(|_| is_python(first))?;
            target.is_module(LAUNCH_MODULE).then_some(())
        };
        SPECS.iter().any(|spec| spec.named_by(command).is_some()) || runs_launch_module().is_some()
    }
}

impl RankOptions {
    fn names(self) -> [&'static str; 5] {
        [
            self.nproc_per_node,
            self.nnodes,
            self.node_rank,
            self.master_addr,
            self.master_port,
        ]
    }

    /// Each of them with what our own flags state.
    fn of(self, flags: &RankFlags) -> [(&'static str, Stated<String>); 5] {
        let mut stated = flags.texts().into_iter();
        self.names().map(|name| (name, stated.next().flatten()))
    }
}

impl LauncherSpec {
    /// The launcher that the command starts with, and the number of words of its program and sub-command.
    fn of(command: &[OsString]) -> Option<(&'static Self, usize)> {
        SPECS.iter().find_map(|spec| {
            let (program, used) = spec.named_by(command)?;
            match program.sub_command {
                Some(word) if command.get(used)? != word => None,
                Some(_) => Some((*spec, used + 1)),
                None => Some((*spec, used)),
            }
        })
    }

    /// The console script (with `python` in front of it or not), the module or its file, and the number of words that name
    /// it.
    fn named_by(&self, command: &[OsString]) -> Option<(&'static Program, usize)> {
        let (first, rest) = command.split_first()?;
        let mut programs = self.programs.iter();
        if !is_python(first) {
            return Some((
                programs.find(|program| program.name == base_name(first))?,
                1,
            ));
        }
        let (target, used) = of_python(rest)?;
        let mut modules = self.modules.iter();
        let program = programs
            .find(|program| target.is_console(program.name))
            .or_else(|| modules.find(|module| target.is_module(module.name)))?;
        Some((program, used + 1))
    }

    fn words(&self, context: &LaunchContext) -> Vec<OsString> {
        let script = self
            .programs
            .iter()
            .find(|program| program.sub_command.is_none());
        context.launcher_words(script.map(|script| script.name), self.modules[0].name)
    }

    fn parse(&self, flags: &[OsString]) -> Args {
        // `-i VALUE` and `-iVALUE` mean `--include VALUE`.
        let mut long: Vec<OsString> = vec![];
        for flag in flags {
            match self.short_option(flag.to_str().unwrap_or_default()) {
                Some((option, value)) => {
                    long.push(format!("--{option}").into());
                    long.extend((!value.is_empty()).then(|| value.into()));
                }
                None => long.push(flag.clone()),
            }
        }
        Args::read(long, &[Table(self.options)])
    }

    /// The flags at the start of these words, each with its value. An unexpanded `$FLAGS` stands for flags, not for the script.
    fn split_flags<'w>(&self, mut words: &'w [OsString]) -> Vec<&'w [OsString]> {
        let mut flags = vec![];
        while let Some(word) = words.first().and_then(|word| word.to_str())
            && word.starts_with(['-', '$'])
            && word != "--"
        {
            let has_value = words.len() > 1 && self.takes_value(word, &words[1]);
            let (flag, rest) = words.split_at(if has_value { 2 } else { 1 });
            flags.push(flag);
            words = rest;
        }
        flags
    }

    fn has_flag(&self, word: &str) -> bool {
        let name = name_of(word);
        word.starts_with('$')
            || self.option(word).is_some_and(|line| match self.launcher {
                // DeepSpeed's runner takes no dashes inside a name, and accelerate no abbreviations.
                Launcher::Deepspeed => !name.contains('-'),
                Launcher::Accelerate => {
                    !word.starts_with("--") || option_name(line) == name.replace('-', "_")
                }
                // `--nproc` may be short for an option with dashes or with underscores, so argparse refuses it.
                _ => {
                    let option = option_name(line);
                    option.len() == name.len() || !option.contains('_') || name.contains(['-', '_'])
                }
            })
    }

    fn takes_value(&self, word: &str, next: &OsStr) -> bool {
        let is_joined = match word.strip_prefix("--") {
            Some(name) => name.contains('='),
            None => word.len() > 2,
        };
        match self.option(word) {
            _ if is_joined || word.starts_with('$') => false,
            Some(line) => !is_switch(line) && is_value(next),
            None if !word.starts_with("--") => false,
            // An option of another version. A script after it is more likely the script than a value.
            None => !is_script(next) && !next.as_encoded_bytes().starts_with(b"-"),
        }
    }

    /// The recorded line of the option that this word gives or abbreviates.
    fn option(&self, word: &str) -> Option<&'static str> {
        match self.short_option(word) {
            Some((option, _)) => self.line(option),
            None if word.starts_with("--") => find(&[Table(self.options)], name_of(word)),
            None => None,
        }
    }

    /// The long name of the short option at the start of this word, and what is joined to it.
    fn short_option<'w>(&self, word: &'w str) -> Option<(&'static str, &'w str)> {
        self.short_options
            .iter()
            .find_map(|option| Some((option.long, word.strip_prefix(option.short)?)))
    }

    /// The recorded line of the option.
    fn line(&self, name: &str) -> Option<&'static str> {
        self.options.lines().find(|line| option_name(line) == name)
    }
}

/// The name of an option without dashes and value: `nnodes` of `--nnodes=2`.
fn name_of(word: &str) -> &str {
    word.split('=')
        .next()
        .unwrap_or_default()
        .trim_start_matches('-')
}

/// True if the word stands in quotes there.
fn names(source: &str, word: &str) -> bool {
    !word.is_empty() && source.contains(&format!("\"{word}\""))
}

fn is_switch(line: &str) -> bool {
    line.ends_with('!')
}

fn count<T: TryFrom<i64>>(args: &Args, name: &str) -> Stated<T> {
    let number = args.int(name).ok().flatten()?;
    Some(number.says(T::try_from(number.value).ok()?))
}

/// `--name value` for each option that has a value.
fn option_words(
    options: impl IntoIterator<Item = (&'static str, Option<OsString>)>,
) -> impl Iterator<Item = OsString> {
    options
        .into_iter()
        .filter_map(|(name, value)| Some([format!("--{name}").into(), value?]))
        .flatten()
}

fn value_word<T: Display>(value: Option<&Sourced<T>>) -> Option<OsString> {
    value.map(|value| value.to_string().into())
}

/// A launcher that cannot start the ranks.
fn refused(what: impl Into<String>) -> Problem {
    Rule::Launcher.error(what)
}

impl Launcher {
    /// True if it starts zlaunch again, which then writes the files and starts the ranks.
    pub fn runs_zlaunch(self) -> bool {
        matches!(self, Launcher::Srun | Launcher::Prefix(_))
    }
}

impl Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let option = Launcher::NAMES
            .iter()
            .find(|(_, launcher)| *launcher == Some(*self));
        f.write_str(match self {
            Launcher::Accelerate => "accelerate",
            Launcher::Prefix(name) => name,
            _ => option.map_or("", |(name, _)| name),
        })
    }
}

pub struct LaunchContext<'a> {
    pub job: &'a Job,
    pub topology: &'a Topology,
    pub flags: &'a RankFlags,
    pub hosts: &'a HostFlags,
    /// The user's options for the launcher.
    pub extra: &'a [OsString],
    pub host: &'a Host,
}

impl LaunchContext<'_> {
    /// The interpreter of the command. If it is not known, a name for the error message.
    fn python(&self) -> OsString {
        let python = self.job.python.as_ref();
        python.map_or_else(
            || "python3".into(),
            |python| python.program.clone().into_os_string(),
        )
    }

    /// The interpreter runs a launcher as the launcher's console script would: without the current folder on `sys.path`.
    fn launcher_words(&self, script: Option<&str>, module: &str) -> Vec<OsString> {
        let python = self.job.python.as_ref();
        let version = python.and_then(Python::own_version);
        if version.is_some_and(|version| !Version::parse(&version).is_before([3, 11, 0])) {
            return vec![self.python(), "-P".into(), "-m".into(), module.into()];
        }
        match python.and_then(|python| Some(python.program.parent()?.join(script?))) {
            Some(script) if script.is_file() => vec![self.python(), script.into_os_string()],
            _ => vec![
                self.python(),
                "-c".into(),
                WITHOUT_FOLDER.into(),
                module.into(),
            ],
        }
    }

    /// One process without a launcher, up to the trainer's arguments.
    fn process_words(&self) -> Vec<OsString> {
        match &self.job.target {
            Target::Script { options, path } => {
                [&[self.python()], &options[..], from_ref(path)].concat()
            }
            Target::Module { options, name } => {
                [&[self.python()], &options[..], &["-m".into(), name.clone()]].concat()
            }
            Target::Program(word) => {
                vec![
                    self.host
                        .find_program(word)
                        .map_or_else(|| word.clone(), PathBuf::into_os_string),
                ]
            }
        }
    }

    /// A launcher starts this as each rank: a script, a module after the launcher's option for one, or a program.
    fn rank_words(&self, module_option: &str) -> Vec<OsString> {
        // Launchers start each rank with `python -u`, and cannot pass other options to the interpreter.
        let plain = |options: &[OsString]| options.iter().all(|option| option == "-u");
        match &self.job.target {
            Target::Script { options, path } if plain(options) => vec![path.clone()],
            Target::Module { options, name } if plain(options) => {
                vec![module_option.into(), name.clone()]
            }
            _ => iter::once("--no_python".into())
                .chain(self.process_words())
                .collect(),
        }
    }
}

/// Refuses options for the launcher that state ranks: zlaunch must know those itself.
pub fn check_extra(launcher: Launcher, extra: &[OsString]) -> Problems {
    let Some(spec) = SPECS.iter().find(|spec| spec.launcher == launcher) else {
        return vec![];
    };
    let args = spec.parse(extra);
    let given = spec
        .rank_options
        .names()
        .into_iter()
        .filter_map(|name| args.text(name));
    let given = given.map(|given| {
        let option = &given.from;
        let what = format!("`{option}` changes the ranks, so it must be an option of zlaunch");
        refused(what)
            .at(Place::option("--launcher-arg", given.spelling()))
            .fix("give --nproc-per-node, --nnodes, --node-rank, --master-addr and --master-port to zlaunch itself")
    });
    let first = extra.first().and_then(|word| word.to_str());
    let stray = first.filter(|word| !word.starts_with('-')).map(|word| {
        let option = Place::option("--launcher-arg", word);
        refused(format!("the launcher would take `{word}` for the script"))
            .fix(rename_option(&option, format!("--launcher-arg=--{word}")))
            .at(option)
    });
    given.chain(stray).collect()
}

/// The ranks of this machine that zlaunch starts itself, in the environment that torchrun would give them. `exec` starts and
/// supervises them.
pub struct LocalRanks {
    pub count: u32,
    /// The time between asking them to stop and killing them.
    pub grace: Duration,
}

impl LocalRanks {
    pub fn new(topology: &Topology, host: &Host) -> Self {
        let seconds = host
            .nonempty_var(vars::TORCH_ELASTIC_SHUTDOWN_TIMEOUT)
            .and_then(|text| text.trim().parse().ok());
        let grace = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        LocalRanks {
            count: topology.nproc_per_node.value().unwrap_or(1),
            grace: grace.unwrap_or(DEFAULT_GRACE),
        }
    }
}
