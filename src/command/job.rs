//! The user's command, recognised: which trainer it is, what each rank runs, and with which arguments.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::{Map, Value};

use crate::base::recorded::Version;
use crate::base::source::{Source, Sourced};
use crate::base::yaml::Dialect;
use crate::command::argv::{Args, OptionList, has_option};
use crate::command::front_end::{
    ArgumentParser, ArgumentTraits, AutoFiller, ConfigTraits, HandOver, LaunchTraits, ModelTraits,
    NoConfig, Ranks, TakesConfig, Variable, python_of,
};
use crate::command::python::Python;
use crate::command::run_file::{self, RunFile};
use crate::command::script::ArgumentFlow;
use crate::command::script_source::ScriptSource;
use crate::command::section_option;
use crate::command::shipped::{self, ShippedConfig, ShippedConfigs};
use crate::command::target::{ParsedCommand, Target};
use crate::host::Host;
use crate::report::{Place, Problem, reading};

/// A front end: how its command is recognised, and what is special about it. Each file in `trainer/` holds one.
pub struct Trainer {
    pub name: &'static str,
    /// The package whose version is the trainer's, by the name pip knows.
    pub(crate) distribution: Option<&'static str>,
    pub(crate) recognise: fn(&'static Trainer, &ParsedCommand, &Host) -> Option<Job>,
    pub(crate) launch: LaunchTraits,
    pub(crate) config: ConfigTraits,
    pub(crate) arguments: ArgumentTraits,
    pub(crate) model: ModelTraits,
}

impl Trainer {
    /// zlaunch executes it as it stands: it neither hands a config over nor starts ranks.
    pub(crate) fn is_passthrough(&self) -> bool {
        self.config.filler.is_none()
    }

    /// transformers reads the config and the arguments.
    pub(crate) fn is_hf(&self) -> bool {
        self.config.filler == Some(AutoFiller::HfTrainer)
    }

    pub(crate) fn is_console(&self, target: &Target) -> bool {
        self.launch
            .consoles
            .iter()
            .any(|name| target.is_console(name))
            || self
                .launch
                .console_modules
                .iter()
                .any(|module| target.is_module(module))
    }

    pub(crate) fn is_raw_deepspeed(&self) -> bool {
        self.config.filler == Some(AutoFiller::Nobody)
    }

    pub(crate) fn uses_accelerate(&self) -> bool {
        matches!(
            self.config.filler,
            Some(AutoFiller::HfTrainer | AutoFiller::Accelerate)
        )
    }

    /// transformers' arguments come from the script's own code or settings, which are not read.
    pub(crate) fn args_set_in_script(&self) -> bool {
        self.is_hf()
            && matches!(
                self.config.hand_over,
                HandOver::Environment { .. } | HandOver::Nested
            )
    }

    pub(crate) fn sets_what_is_absent(&self) -> bool {
        self.config.filler == Some(AutoFiller::IfMissing)
    }

    /// It fills an "auto" itself, from values that zlaunch does not see.
    pub(crate) fn fills_auto(&self) -> bool {
        matches!(
            self.config.filler,
            Some(AutoFiller::Trainer | AutoFiller::Accelerate | AutoFiller::IfMissing)
        )
    }

    /// `None`: it does not fill that key.
    pub fn source_of_auto(&self, key: &str) -> Option<&'static str> {
        let rows = if self.fills_auto() {
            include_str!("trainer/auto_sources.txt")
        } else {
            ""
        }
        .lines();
        let mut own = rows.filter_map(|row| {
            row.strip_prefix(self.name)?
                .strip_prefix(' ')?
                .split_once(" | ")
        });
        let is_it = |known: &str| {
            known
                .strip_suffix('*')
                .map_or(known == key, |start| key.starts_with(start))
        };
        own.find(|(keys, _)| keys.split(' ').any(is_it))
            .map(|(_, source)| source)
    }

    pub(crate) fn sets(&self, key: &str) -> bool {
        self.config.filler == Some(AutoFiller::Trainer) && self.source_of_auto(key).is_some()
    }
}

pub struct Job {
    pub trainer: &'static Trainer,
    pub target: Target,
    pub(super) words: Vec<OsString>,
    /// The words as the trainer reads them, where a run file holds some.
    pub(super) effective_words: Option<Vec<OsString>>,
    /// Read from the effective words.
    pub args: Args,
    /// Read from `words`, where the effective ones differ.
    pub(super) given_args: Option<Args>,
    /// The run file that holds all arguments, where it must be written anew to name the config.
    pub(crate) run_file: Option<RunFile>,
    /// Set where the script takes the config in another way than the front end's own.
    pub(super) takes_config: Option<TakesConfig>,
    /// Arguments in a run file that zlaunch leaves to the trainer.
    pub(crate) unread: Vec<String>,
    /// Arguments in a run file that are texts which nothing converts.
    pub(crate) texts: Vec<(String, String)>,
    /// The interpreter that owns the command, or a better one that the front end found.
    pub(crate) python: Option<Python>,
    /// The front end's own launcher would set these.
    pub variables: Vec<Variable>,
    pub no_config: Option<NoConfig>,
    pub problems: Vec<Problem>,
    /// The target is the file or module behind what the command named.
    pub(crate) rewritten: bool,
    /// The script, if it is the user's own and can be seen.
    pub(crate) source: Option<Rc<ScriptSource>>,
    /// It can be planned, but not started here.
    pub(crate) blocker: Option<Problem>,
    /// The ranks would run a console script, which starts ranks itself.
    pub(crate) starts_ranks: bool,
    pub(crate) is_named: bool,
}

impl Job {
    pub(crate) fn of(trainer: &'static Trainer, command: &ParsedCommand) -> Self {
        Job {
            trainer,
            target: command.target.clone(),
            words: command.args.clone(),
            effective_words: None,
            args: Args::default(),
            given_args: None,
            run_file: None,
            takes_config: None,
            unread: Vec::new(),
            texts: Vec::new(),
            python: None,
            variables: Vec::new(),
            no_config: None,
            problems: Vec::new(),
            rewritten: false,
            source: None,
            blocker: None,
            starts_ranks: false,
            is_named: false,
        }
    }

    /// A console script's sub-command: the first of these modules that its package has, by its file.
    pub(super) fn behind(
        trainer: &'static Trainer,
        command: &ParsedCommand,
        modules: &[&str],
        host: &Host,
    ) -> Self {
        let python = python_of(command, host);
        let file = modules.iter().find_map(|module| {
            python
                .as_ref()?
                .file(&format!("{}.py", module.replace('.', "/")))
        });
        let target = file.map_or_else(|| Target::module(modules[0]), Target::script);
        let words = command.args.iter().skip(1).cloned().collect();
        Job {
            target,
            words,
            python,
            ..Self::of(trainer, command)
        }
    }

    /// Puts the arguments in a run file before those behind it. transformers converts none of them.
    pub(super) fn read_arguments(&mut self, run_file: &RunFile) {
        let mut words = run_file::typed_words(&run_file.entries, false);
        words.extend(self.words.iter().skip(1).cloned());
        self.effective_words = Some(words);
        self.unread = run_file::unread(&run_file.entries, false);
        self.texts = run_file::texts(&run_file.entries);
    }

    /// The entries of a run file. One that cannot be read becomes a problem of the job.
    pub(super) fn read_run_file(
        &mut self,
        file: &OsStr,
        dialect: Dialect,
        host: &Host,
    ) -> Option<Map<String, Value>> {
        let read =
            run_file::read(file, dialect, host).map_err(|problem| self.problems.push(problem));
        read.ok().map(Option::unwrap_or_default)
    }

    pub(crate) fn version(&self) -> Option<Version> {
        self.version_text().as_deref().map(Version::parse)
    }

    /// As the package says it: `5.0.0rc1`.
    pub(crate) fn version_text(&self) -> Option<String> {
        self.python
            .as_ref()?
            .version_text(self.trainer.distribution?)
    }

    /// Nothing where the user's own script is not seen.
    pub(crate) fn flow(&self) -> Option<ArgumentFlow<'_>> {
        let is_script =
            self.trainer.is_hf() && matches!(self.trainer.arguments.parser, ArgumentParser::Script);
        if is_script {
            self.source.as_deref().map(ArgumentFlow::read)
        } else {
            None
        }
    }

    /// The parser of the user's own script, where it is sure to refuse the option that names the config.
    pub(crate) fn refuses_config_option(&self) -> Option<&'static str> {
        let is_option = self.trainer.config.hand_over == HandOver::Argument
            && matches!(self.takes_config, None | Some(TakesConfig::Named(_)))
            && self.run_file.is_none()
            && matches!(self.trainer.arguments.parser, ArgumentParser::Script);
        let source = self
            .source
            .as_ref()
            .filter(|source| is_option && !source.text.contains("HfArgumentParser"))?;
        ArgumentFlow::read(source).refuses(self.config_argument())
    }

    /// The config that the command or a variable of the trainer names.
    pub(crate) fn own_config(&self, host: &Host) -> Option<Sourced<String>> {
        let name = self.config_argument();
        match self.trainer.config.hand_over {
            HandOver::Environment { config, switch } => {
                let switch = switch.map(|name| host.nonempty_var(name).unwrap_or_default());
                if self.no_config.is_some()
                    || switch.is_some_and(|value| !value.eq_ignore_ascii_case("true"))
                {
                    return None;
                }
                Some(Sourced::new(
                    host.nonempty_var(config)?.to_string(),
                    Source::Variable(config.to_string()),
                ))
            }
            HandOver::Nested => {
                let own = section_option::find(self.command_line(), name)?;
                Some(Sourced::new(
                    own.value.to_string(),
                    Source::Argument(own.spelled.to_string()),
                ))
            }
            _ => self.args.text(name),
        }
    }

    pub(crate) fn config_variables(&self, config: &OsStr) -> Vec<(&'static str, OsString)> {
        let HandOver::Environment {
            config: name,
            switch,
        } = self.trainer.config.hand_over
        else {
            return Vec::new();
        };
        let switch = switch.map(|switch| (switch, OsString::from("true")));
        switch
            .into_iter()
            .chain([(name, config.to_os_string())])
            .collect()
    }

    pub(crate) fn command_line(&self) -> &[OsString] {
        self.given_args.as_ref().unwrap_or(&self.args).words()
    }

    /// The parser gets a run file as a mapping: no option with dashes can stand beside it.
    pub(crate) fn reads_mapping(&self) -> bool {
        let is_mapping =
            self.trainer.config.hand_over == HandOver::Dotted || self.run_file.is_some();
        is_mapping && run_file::first(self.command_line()).is_some()
    }

    pub(crate) fn config_argument(&self) -> &str {
        match &self.takes_config {
            Some(TakesConfig::Named(name)) => name,
            _ => (self.trainer.config.argument)(&self.args),
        }
    }

    /// True where the options are not known.
    pub(crate) fn takes(&self, name: &str) -> bool {
        match (self.trainer.arguments.options)(&self.target) {
            OptionList::Known(lists) => lists.iter().any(|list| has_option(*list, name)),
            OptionList::Open => true,
        }
    }

    pub(crate) fn takes_config(&self) -> bool {
        !self.trainer.is_passthrough()
            && self.no_config.is_none()
            && self.takes(self.config_argument())
    }

    /// Some version of the trainer has a config that its own argument names by this word.
    pub(crate) fn ships_config(&self, word: &str) -> bool {
        let ships = self.trainer.config.shipped.is_some();
        ships
            && self
                .trainer
                .distribution
                .is_some_and(|distribution| shipped::is_word(distribution, word))
    }

    /// The file that a word in the trainer's own argument means, in the package or in the current folder.
    pub(crate) fn own_file(&self, word: &str, host: &Host) -> Option<PathBuf> {
        let local = || Some(host.cwd.join(word)).filter(|path| path.is_file());
        let config = || shipped::by_word(self.trainer.distribution?, self.version(), word);
        let installed = |config: ShippedConfig| self.installed_file(config.file);
        match self.trainer.config.shipped {
            None => local(),
            Some(ShippedConfigs {
                yields_to_file: true,
                ..
            }) => local().or_else(|| config().and_then(installed)),
            Some(_) => config().map_or_else(local, installed),
        }
    }

    /// The trainer's own config that has the name of a built-in template, and its file beside the target.
    pub(crate) fn own_config_of_name(&self, name: &str) -> Option<(ShippedConfig, PathBuf)> {
        self.trainer.config.shipped?;
        let config = shipped::by_name(self.trainer.distribution?, self.version(), name)?;
        Some((
            config,
            self.beside_target(config.file)
                .filter(|path| path.is_file())?,
        ))
    }

    /// A file of an installed package. Other folders are looked through only where the target is not in that package.
    pub(crate) fn installed_file(&self, inside: &str) -> Option<PathBuf> {
        match self.beside_target(inside) {
            Some(path) => Some(path).filter(|path| path.is_file()),
            None => self.python.as_ref()?.file(inside),
        }
    }

    /// A file of the package that the target is in; it need not exist.
    fn beside_target(&self, inside: &str) -> Option<PathBuf> {
        let Target::Script { path, .. } = &self.target else {
            return None;
        };
        let (package, _) = inside.split_once('/')?;
        let (site, _) = path.to_str()?.rsplit_once(&format!("/{package}/"))?;
        Some(Path::new(site).join(inside))
    }

    /// `run.yaml:3:8`
    pub(crate) fn place_in_run_file(&self, value: &str, host: &Host) -> Option<Place> {
        // `name=value` behind a run file wins.
        let words = self
            .given_args
            .iter()
            .flat_map(Args::words)
            .filter_map(|word| word.to_str());
        let mut pairs = words
            .filter(|word| !word.starts_with('-'))
            .filter_map(|word| Some((word, word.split_once('=')?)));
        if let Some((word, _)) = pairs.find(|(_, (name, given))| *name == value || *given == value)
        {
            return Some(Place::from(word));
        }
        // ms-swift names its run file in a variable.
        let named = self
            .variables
            .iter()
            .map(|variable| PathBuf::from(&variable.value));
        let given = self
            .given_args
            .iter()
            .flat_map(Args::words)
            .map(PathBuf::from);
        let files = named.chain(given).filter(|path| run_file::is_one(path));
        files.into_iter().find_map(|file| {
            let text = reading::read_text(&host.absolute(&file)).ok()?;
            let place = text
                .lines()
                .zip(1..)
                .find_map(|(text, line)| Some((line, text.find(value)? + 1)))?;
            Some(Place::line(file, place))
        })
    }

    pub fn launcher_args(&self, ranks: Ranks) -> impl Iterator<Item = OsString> + use<> {
        (self.trainer.launch.rank_args)(&self.args, ranks)
            .iter()
            .map(OsString::from)
    }

    /// The arguments of each rank, with the config (or the run file that names it) handed over in the front end's own way.
    pub fn rank_args(&self, config: Option<&OsStr>) -> Vec<OsString> {
        let given = self.given_args.as_ref().unwrap_or(&self.args);
        let Some(config) = config else {
            return given.words().to_vec();
        };
        if self.run_file.is_some() {
            return vec![config.to_os_string()];
        }
        let name = self.config_argument();
        match self.trainer.config.hand_over {
            _ if self.takes_config == Some(TakesConfig::Joined) => {
                with_joined(given.words(), "--", name, config)
            }
            HandOver::Joined => with_joined(given.words(), "--", name, config),
            HandOver::Dotted if run_file::first(given.words()).is_some() => {
                with_joined(given.words(), "", name, config)
            }
            HandOver::Nested => section_option::with_value(given.words(), name, config),
            HandOver::Environment { .. } => given.words().to_vec(),
            HandOver::Argument | HandOver::Dotted => given.with(name, config),
        }
    }
}

/// The words with `--name=value` or `name=value` at the end, instead of any that set it or, as `name.key=…`, a part of it.
fn with_joined(words: &[OsString], dashes: &str, name: &str, value: &OsStr) -> Vec<OsString> {
    let mut joined = OsString::from(format!("{dashes}{name}="));
    let part = format!("{name}.");
    let mut words = words.to_vec();
    words.retain(|word| {
        let word = word.as_encoded_bytes();
        !(word.starts_with(joined.as_encoded_bytes())
            || dashes.is_empty() && word.starts_with(part.as_bytes()))
    });
    joined.push(value);
    words.push(joined);
    words
}
