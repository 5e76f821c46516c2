//! The user's command, recognised: which trainer it is, what each rank runs, and with which arguments.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::command::argv::{Args, OptionList};
use crate::command::front_end::{HandOver, Ranks, ShippedConfigs, Trainer, Variable};
use crate::command::option_names;
use crate::command::python::{Python, Version};
use crate::command::run_file;
use crate::command::target::Target;
use crate::host::Host;
use crate::report::{Problem, reading};

pub(crate) struct Job {
    pub(crate) trainer: &'static Trainer,
    pub(crate) target: Target,
    /// The target is not what the command named, but the file or module behind it.
    pub(crate) rewritten: bool,
    /// The arguments as the trainer will read them.
    pub(crate) args: Args,
    /// The arguments each rank gets, where they differ because one of them is a run file.
    pub(super) given_args: Option<Args>,
    /// The run file that holds all arguments.
    pub(crate) run_file: Option<Map<String, Value>>,
    /// Arguments in a run file whose values are left to the trainer.
    pub(crate) unread: Vec<String>,
    /// Arguments in a run file that are texts, and that nothing converts.
    pub(crate) texts: Vec<(String, String)>,
    pub(crate) python: Option<Python>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) problems: Vec<Problem>,
    /// Why it cannot be started here, though it can be planned.
    pub(crate) blocker: Option<Problem>,
    /// The ranks would run a console script, which starts ranks itself.
    pub(crate) starts_ranks: bool,
}

impl Job {
    pub(crate) fn version(&self) -> Option<Version> {
        self.python.as_ref()?.version(self.trainer.distribution?)
    }

    /// The words that the trainer's parser gets.
    pub(crate) fn command_line(&self) -> &[OsString] {
        self.given_args.as_ref().unwrap_or(&self.args).words()
    }

    /// Whether a run file is handed to the parser as a mapping, which is not read like words.
    pub(crate) fn reads_mapping(&self) -> bool {
        self.trainer.hand_over == HandOver::Dotted && run_file::first(self.command_line()).is_some()
    }

    /// Whether the trainer has an argument of that name, as far as its options are known.
    pub(crate) fn takes(&self, name: &str) -> bool {
        match (self.trainer.options)(&self.target) {
            OptionList::Known(list) => option_names::contains(list, name),
            OptionList::Open => true,
        }
    }

    /// Whether the trainer's own argument, with this value, names a config of its package.
    pub(crate) fn ships_config(&self, name: &str) -> bool {
        self.trainer.shipped_configs.is_some_and(|shipped| shipped.names.contains(&name))
    }

    /// The file that a trainer with configs of its own takes for this word: a file of that name in the current folder, else
    /// the config in the package that is installed.
    pub(crate) fn shipped_config(&self, name: &str, host: &Host) -> Option<PathBuf> {
        let ShippedConfigs { folder, names } = self.trainer.shipped_configs?;
        let local = Some(host.cwd.join(name)).filter(|path| path.is_file());
        let shipped = || self.python.as_ref()?.file(&format!("{folder}/{name}.json"));
        local.or_else(|| names.contains(&name).then(shipped).flatten())
    }

    /// Where a run file of the command has this value: `run.yaml:3:8`.
    pub(crate) fn place_in_run_file(&self, value: &str, host: &Host) -> Option<String> {
        let swift =
            self.variables.iter().filter(|it| it.name == "SWIFT_CONFIG_FILE").map(|it| PathBuf::from(&it.value));
        let given = self.given_args.iter().flat_map(Args::words).map(PathBuf::from);
        let files = swift.chain(given).filter(|path| run_file::is_one(path));
        files.into_iter().find_map(|file| {
            let text = reading::read_text(&host.absolute(&file)).ok()?;
            let mut lines = text.lines().enumerate();
            let (line, column) = lines.find_map(|(line, text)| Some((line + 1, text.find(value)? + 1)))?;
            Some(format!("{}:{line}:{column}", file.display()))
        })
    }

    /// What the trainer must be told about who started the ranks.
    pub(crate) fn launcher_args(&self, ranks: Ranks) -> impl Iterator<Item = OsString> + use<> {
        (self.trainer.launcher_args)(&self.args, ranks).iter().map(OsString::from)
    }

    /// The arguments of each rank, with the config (or the run file that names it) handed over in the front end's own way.
    pub(crate) fn rank_args(&self, config: Option<&OsStr>) -> Vec<OsString> {
        let given = self.given_args.as_ref().unwrap_or(&self.args);
        let Some(config) = config else { return given.words().to_vec() };
        if self.run_file.is_some() {
            return vec![config.to_os_string()];
        }
        let name = (self.trainer.config_argument)(given);
        match self.trainer.hand_over {
            HandOver::Joined => with_joined(given.words(), "--", name, config),
            HandOver::Dotted if run_file::first(given.words()).is_some() => {
                with_joined(given.words(), "", name, config)
            }
            HandOver::Argument | HandOver::Dotted => given.with(name, config),
        }
    }
}

/// The words with `--name=value` or `name=value` at the end, instead of any that set the same name. Without dashes
/// `name.key=…` sets a part of it.
fn with_joined(words: &[OsString], dashes: &str, name: &str, value: &OsStr) -> Vec<OsString> {
    let sets = |word: &OsString| {
        word.to_str().is_some_and(|word| {
            word.starts_with(&format!("{dashes}{name}=")) || dashes.is_empty() && word.starts_with(&format!("{name}."))
        })
    };
    let mut words: Vec<OsString> = words.iter().filter(|word| !sets(word)).cloned().collect();
    let mut word = OsString::from(format!("{dashes}{name}="));
    word.push(value);
    words.push(word);
    words
}
