//! Reads the words of a launcher that the user's command starts with.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;

use super::context::LaunchContext;
use super::tables::launchers::{
    LAUNCH_MODULE, Launcher, LauncherSpec, Program, RankOptions, SPECS,
};
use crate::base::recorded::Table;
use crate::base::shell;
use crate::base::source::{Source, Sourced};
use crate::command::argv::{Args, OptionList, is_value, option_name};
use crate::command::target::{ParsedCommand, Target, base_name, is_python, is_script, of_python};
use crate::command::trainer;

/// A command that starts with a launcher.
pub(crate) struct ExistingLauncher {
    pub(crate) spec: &'static LauncherSpec,
    /// `torchrun`, `python -m torch.distributed.run`, `accelerate launch`.
    pub(crate) name: String,
    pub(super) program: Vec<OsString>,
    pub(super) flags: Vec<OsString>,
    pub(super) args: Args,
    /// `python` between the launcher and the script, by mistake. The other fields leave it out.
    pub(super) second_python: String,
    /// `python` or `python -m`, if `behind` needs one of them to run without the launcher.
    pub(super) interpreter: Vec<OsString>,
    pub(super) behind: Vec<OsString>,
}

impl ExistingLauncher {
    /// A launcher without a script (`torchrun --help`) launches nothing.
    pub(crate) fn split(command: &[OsString]) -> Option<(Self, ParsedCommand)> {
        let mut named = SPECS
            .iter()
            .map(|spec| (*spec, spec.program_words(command)));
        let (spec, start) = named.find_map(|(spec, words)| Some((spec, words?)))?;
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
        let python = (start > 2 || is_python(&program[0])).then(|| program[0].clone());
        let mut owner = first;
        let mut interpreter = Vec::new();
        if !matches!(target, Target::Program(_)) {
            owner = &program[0];
            interpreter.push(python.clone().unwrap_or_else(|| "python".into()));
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
        let parsed = ParsedCommand::new(target, trainer_args, python, Some(owner.clone()));
        Some((launcher, parsed))
    }

    /// True if the command starts with a launcher, even one that launches nothing: `torchrun --help`, `accelerate env`. The
    /// module that DeepSpeed's runner starts on each machine counts too:
    /// written out by hand it says in its own way who starts which ranks.
    pub(crate) fn is_one(command: &[OsString]) -> bool {
        let runs_launch_module = || {
            let (first, rest) = command.split_first()?;
            let (target, _) = of_python(rest).filter(|_| is_python(first))?;
            target.is_module(LAUNCH_MODULE).then_some(())
        };
        SPECS.iter().any(|spec| spec.named_by(command).is_some()) || runs_launch_module().is_some()
    }
}

impl RankOptions {
    /// Each of them behind the name of our own option.
    pub(super) fn pairs(self) -> [(&'static str, &'static str); 5] {
        [
            ("nproc-per-node", self.nproc_per_node),
            ("nnodes", self.nnodes),
            ("node-rank", self.node_rank),
            ("master-addr", self.master_addr),
            ("master-port", self.master_port),
        ]
    }
}

impl LauncherSpec {
    /// Counts the words of the program and its sub-command.
    fn program_words(&self, command: &[OsString]) -> Option<usize> {
        let (program, used) = self.named_by(command)?;
        match program.sub_command {
            Some(word) => (command.get(used)? == word).then_some(used + 1),
            None => Some(used),
        }
    }

    /// The console script (with `python` in front of it or not), the module or its file, and the number of words that name
    /// it.
    fn named_by(&self, command: &[OsString]) -> Option<(&'static Program, usize)> {
        let (first, rest) = command.split_first()?;
        let mut programs = self.programs.iter();
        if !is_python(first) {
            let program = programs.find(|program| program.name == base_name(first))?;
            return Some((program, 1));
        }
        let (target, used) = of_python(rest)?;
        let mut modules = self.modules.iter();
        let program = programs
            .find(|program| target.is_console(program.name))
            .or_else(|| modules.find(|module| target.is_module(module.name)))?;
        Some((program, used + 1))
    }

    pub(super) fn words(&self, context: &LaunchContext<'_>) -> Vec<OsString> {
        let mut programs = self.programs.iter();
        let script = programs.find(|program| program.sub_command.is_none());
        context.launcher_words(script.map(|script| script.name), self.modules[0].name)
    }

    pub(super) fn parse(&self, flags: &[OsString]) -> Args {
        // `-i VALUE` and `-iVALUE` mean `--include VALUE`.
        let mut long: Vec<OsString> = Vec::new();
        for flag in flags {
            let text = flag.to_str().unwrap_or_default();
            let mut short = self.short_options.iter();
            match short.find(|option| text.starts_with(option.short)) {
                Some(option) => {
                    long.push(format!("--{}", option.long).into());
                    let value = &text[option.short.len()..];
                    long.extend((!value.is_empty()).then(|| value.into()));
                }
                None => long.push(flag.clone()),
            }
        }
        Args::read(long, OptionList::Known(&[Table(self.options)]))
    }

    /// The flags at the start of these words, each with its value. An unexpanded `$FLAGS` stands for flags, not for the script.
    pub(super) fn split_flags<'w>(&self, mut words: &'w [OsString]) -> Vec<&'w [OsString]> {
        let mut flags = Vec::new();
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

    pub(super) fn has_flag(&self, word: &str) -> bool {
        let name = name_of(word);
        word.starts_with('$')
            || self.option(word).is_some_and(|line| match self.launcher {
                // DeepSpeed's runner takes no dashes inside a name, and accelerate no abbreviations.
                Launcher::Deepspeed => !name.contains('-'),
                Launcher::Accelerate => {
                    !word.starts_with("--") || option_name(line) == name.replace('-', "_")
                }
                _ => true,
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
        let mut short = self.short_options.iter();
        let name = match short.find(|option| word.starts_with(option.short)) {
            Some(option) => option.long.to_string(),
            None if word.starts_with("--") => name_of(word).replace('-', "_"),
            None => return None,
        };
        let whole = self.options.lines().find(|line| option_name(line) == name);
        whole.or_else(|| self.options.lines().find(|line| line.starts_with(&name)))
    }
}

/// The name of an option without dashes and value: `nnodes` of `--nnodes=2`.
pub(super) fn name_of(word: &str) -> &str {
    let option = word.split('=').next().unwrap_or_default();
    option.trim_start_matches('-')
}

pub(super) fn is_switch(line: &str) -> bool {
    line.ends_with('!')
}

pub(super) fn count<T: TryFrom<i64>>(args: &Args, name: &str) -> Option<Sourced<T>> {
    let number = args.int(name).ok().flatten()?;
    Some(Sourced::new(T::try_from(number.value).ok()?, number.from))
}

/// `--name value` for each option that has a value.
pub(super) fn option_words(
    options: impl IntoIterator<Item = (&'static str, Option<OsString>)>,
) -> impl Iterator<Item = OsString> {
    let given = options
        .into_iter()
        .filter_map(|(name, value)| Some([format!("--{name}").into(), value?]));
    given.flatten()
}

pub(super) fn value_word<T: Display>(value: Option<&Sourced<T>>) -> Option<OsString> {
    value.map(|value| value.to_string().into())
}

pub(super) fn default<T>(value: T) -> Sourced<T> {
    Sourced::new(value, Source::Default)
}
