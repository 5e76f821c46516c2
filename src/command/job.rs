//! The user's command, recognised: which trainer it is, what each rank runs, and with which arguments.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    rc::Rc,
};

use serde_json::{Map, Value};

use crate::{
    base::{
        recorded::{Table, Version, at},
        source::{Source, Sourced},
        yaml::Dialect,
    },
    command::{
        argument_class::ArgumentClass,
        argv::{Args, has_option, hf_bool},
        front_end::{NoConfig, Precision, Ranks, Variable},
        model::Hub,
        python::Python,
        run_file::{self, RunFile},
        script::{ScriptSource, flow::ArgumentFlow},
        tables::{
            Keys,
            front_end::{
                ArgumentParser, ArgumentTraits, AutoFiller, ConfigTraits, HalfPrecision, HandOver,
                LaunchTraits, ModelTraits, OtherHub, StarterOption, TrainingCommand,
            },
        },
        target::{ParsedCommand, Target},
    },
    host::Host,
    report::prelude::*,
};

/// DeepSpeed configs in a trainer's package that its own argument names by a word (`tools/record shipped`).
const SHIPPED: Table = Table(include_str!("../recorded/shipped_configs.txt"));

/// A front end: how its command is recognised, and what is special about it. `trainer/tables/front_ends.rs` has them.
pub struct Trainer {
    pub name: &'static str,
    /// The package whose version is the trainer's, by the name pip knows.
    pub distribution: Option<&'static str>,
    pub recognise: fn(&'static Trainer, &ParsedCommand, &Host) -> Option<Job>,
    /// If not, it refuses options that its recorded parser does not have.
    pub ignores_unknown_options: fn(&Job, &Host) -> bool,
    /// False if an argument leads to defaults that were not recorded.
    pub has_recorded_defaults: fn(&Args) -> bool,
    /// A default that it computes from other arguments, as it is written on a command line.
    pub computed: fn(argument: &str, &Args, Version, world_size: Option<u64>) -> Option<String>,
    pub precision: fn(&Args, HalfPrecision) -> Precision,
    pub launch: LaunchTraits,
    pub config: ConfigTraits,
    pub arguments: ArgumentTraits,
    pub model: ModelTraits,
}

impl Trainer {
    /// zlaunch executes it as it stands: it neither hands a config over nor starts ranks.
    pub fn is_passthrough(&self) -> bool {
        self.config.filler.is_none()
    }

    /// transformers reads the config and the arguments.
    pub fn is_hf(&self) -> bool {
        self.config.filler == Some(AutoFiller::HfTrainer)
    }

    pub fn is_console(&self, target: &Target) -> bool {
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

    pub fn is_raw_deepspeed(&self) -> bool {
        self.config.filler == Some(AutoFiller::Nobody)
    }

    pub fn uses_accelerate(&self) -> bool {
        matches!(
            self.config.filler,
            Some(AutoFiller::HfTrainer | AutoFiller::Accelerate)
        )
    }

    /// transformers' arguments come from the script's own code or settings, which are not read.
    pub fn args_set_in_script(&self) -> bool {
        self.is_hf() && matches!(self.config.hand_over, HandOver::Environment { .. })
    }

    pub fn sets_what_is_absent(&self) -> bool {
        self.config.filler == Some(AutoFiller::IfMissing)
    }

    /// It fills an "auto" itself, from values that zlaunch does not see.
    pub fn fills_auto(&self) -> bool {
        matches!(
            self.config.filler,
            Some(AutoFiller::Trainer | AutoFiller::Accelerate | AutoFiller::IfMissing)
        )
    }

    fn command_of(&self, target: &Target) -> Option<&'static TrainingCommand> {
        let is_it = |module: &&str| target.is_module(module);
        self.launch
            .commands
            .iter()
            .find(|command| command.modules.iter().any(is_it))
    }

    /// What fills in an "auto" of this key behind zlaunch. `None`: nothing does.
    pub fn source_of_auto(&self, key: &str) -> Option<&'static str> {
        let has_key = |keys: &Keys| match keys {
            Keys::These(keys) => keys.contains(&key),
            Keys::Section(section) => key
                .strip_prefix(section)
                .is_some_and(|rest| rest.starts_with('.')),
        };
        self.config
            .auto_sources
            .iter()
            .find(|row| has_key(&row.keys))
            .map(|row| row.source)
    }

    pub fn sets(&self, key: &str) -> bool {
        self.config.filler == Some(AutoFiller::Trainer) && self.source_of_auto(key).is_some()
    }
}

pub struct Job {
    pub trainer: &'static Trainer,
    pub target: Target,
    pub words: Vec<OsString>,
    /// The words as the trainer reads them, where a run file holds some.
    pub effective_words: Option<Vec<OsString>>,
    /// Read from `words`.
    pub given: Args,
    /// Read from the effective words.
    pub args: Args,
    /// The run file that holds all arguments, where it must be written anew to name the config.
    pub run_file: Option<RunFile>,
    pub hand_over: HandOver,
    /// The script's own name for the option that takes the config.
    pub config_option: Option<String>,
    /// Arguments in a run file that zlaunch leaves to the trainer.
    pub unread: Vec<String>,
    /// Arguments in a run file that are texts which nothing converts.
    pub texts: Vec<(String, String)>,
    /// The interpreter that owns the command, or a better one that the front end found.
    pub python: Option<Python>,
    /// The front end's own launcher would set these.
    pub variables: Vec<Variable>,
    pub no_config: Option<NoConfig>,
    pub problems: Problems,
    /// The target is the file or module behind what the command named.
    pub rewritten: bool,
    /// The script, if it is the user's own and can be seen.
    pub source: Option<Rc<ScriptSource>>,
    /// It can be planned, but not started here.
    pub blocker: Option<Problem>,
    /// The ranks would run a console script, which starts ranks itself.
    pub starts_ranks: bool,
    /// `--trainer` names the front end.
    pub is_named: bool,
}

impl Job {
    pub fn of(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Self {
        Job {
            trainer,
            target: command.target.clone(),
            words: command.args.clone(),
            effective_words: None,
            given: Args::default(),
            args: Args::default(),
            run_file: None,
            hand_over: trainer.config.hand_over,
            config_option: None,
            unread: vec![],
            texts: vec![],
            python: command
                .owner
                .as_ref()
                .and_then(|word| Python::of_program(word, host)),
            variables: vec![],
            no_config: None,
            problems: vec![],
            rewritten: false,
            source: None,
            blocker: None,
            starts_ranks: false,
            is_named: false,
        }
    }

    /// A sub-command that trains, by the first of its modules that the package has; or one of those modules itself.
    pub fn of_command(
        trainer: &'static Trainer,
        command: &ParsedCommand,
        host: &Host,
    ) -> Option<Self> {
        if !trainer.is_console(&command.target) {
            trainer.command_of(&command.target)?;
            return Some(Self::of(trainer, command, host));
        }
        let (name, words) = command.args.split_first()?;
        let modules = trainer
            .launch
            .commands
            .iter()
            .find(|command| name == command.name)?
            .modules;
        let mut job = Self::of(trainer, command, host);
        let file = modules
            .iter()
            .map(|module| module.replace('.', "/") + ".py")
            .find_map(|file| job.python.as_ref()?.file(&file));
        job.target = file.map_or_else(|| Target::module(modules[0]), Target::script);
        job.words = words.to_vec();
        Some(job)
    }

    /// The words of the arguments in a run file. With `converts`, its reader makes a number of a text.
    pub fn words_of(&mut self, entries: &Map<String, Value>, converts: bool) -> Vec<OsString> {
        let mut words = vec![];
        for (key, value) in entries {
            if run_file::is_usable(key, value, converts) {
                words.push(format!("--{key}={}", run_file::text_of(value)).into());
            } else {
                self.unread.push(key.clone());
            }
            if let Some(text) = value.as_str()
                && !converts
                && !text.contains("${")
            {
                self.texts.push((key.clone(), text.to_string()));
            }
        }
        words
    }

    /// Puts the arguments in a run file, which is the first word, before the other words.
    pub fn read_arguments(&mut self, run_file: &RunFile) {
        let mut words = self.words_of(&run_file.entries, false);
        words.extend_from_slice(&self.words[1..]);
        self.effective_words = Some(words);
    }

    /// A run file, also an empty one. One that cannot be read becomes a problem of the job.
    pub fn read_run_file(
        &mut self,
        file: &OsStr,
        dialect: Dialect,
        host: &Host,
    ) -> Option<RunFile> {
        match RunFile::read(file, dialect, host) {
            Ok(run_file) => Some(run_file.unwrap_or_default()),
            Err(problem) => {
                self.problems.push(problem);
                None
            }
        }
    }

    pub fn version(&self) -> Option<Version> {
        self.version_text().as_deref().map(Version::parse)
    }

    /// True if the trainer is known to be older than this version.
    pub fn is_before(&self, version: [u32; 3]) -> bool {
        self.version().is_some_and(|own| own.is_before(version))
    }

    /// As the package says it: `5.0.0rc1`.
    pub fn version_text(&self) -> Option<String> {
        self.python
            .as_ref()?
            .version_text(self.trainer.distribution?)
    }

    /// True if its environment is known to have an older version.
    pub fn has_older(&self, distribution: &str, version: [u32; 3]) -> bool {
        let python = self.python.as_ref();
        let found = python.and_then(|python| python.version(distribution));
        found.is_some_and(|found| found.is_before(version))
    }

    /// The way of the arguments through the user's own script, if it can be read.
    pub fn flow(&self) -> Option<ArgumentFlow<'_>> {
        let is_script = matches!(self.trainer.arguments.parser, ArgumentParser::Script);
        if !is_script || !self.trainer.is_hf() {
            return None;
        }
        self.source.as_deref().map(ArgumentFlow::read)
    }

    /// The parser of the user's own script, where it is sure to refuse the option that names the config.
    pub fn refuses_config_option(&self) -> Option<&'static str> {
        let is_option = self.hand_over == HandOver::Argument && self.run_file.is_none();
        self.script_refuses(self.config_argument())
            .filter(|_| is_option)
    }

    /// The same for any option.
    pub fn script_refuses(&self, option: &str) -> Option<&'static str> {
        let source = self.source.as_ref()?;
        let is_script = matches!(self.trainer.arguments.parser, ArgumentParser::Script);
        if !is_script || source.text.contains("HfArgumentParser") {
            return None;
        }
        ArgumentFlow::read(source).refuses(option)
    }

    /// The config that the command or a variable of the trainer names.
    pub fn own_config(&self, host: &Host) -> Option<Sourced<String>> {
        let name = self.config_argument();
        let (value, from) = match self.hand_over {
            HandOver::Environment { config, switch } => {
                let is_on = switch.is_none_or(|switch| {
                    let value = host.nonempty_var(switch);
                    value.is_some_and(|value| value.eq_ignore_ascii_case("true"))
                });
                if !is_on || self.no_config.is_some() {
                    return None;
                }
                (
                    host.nonempty_var(config)?,
                    Source::Variable(config.to_string()),
                )
            }
            _ => return self.args.text(name),
        };
        Some(Sourced::new(value.to_string(), from))
    }

    /// The variables that hand the config over, for front ends that take it so.
    pub fn config_variables(&self, path: &OsStr) -> Vec<(&'static str, OsString)> {
        let HandOver::Environment { config, switch } = self.hand_over else {
            return vec![];
        };
        let switch = switch.map(|switch| (switch, OsString::from("true")));
        let named = (config, path.to_os_string());
        switch.into_iter().chain([named]).collect()
    }

    /// The trainer's arguments as they were typed, with a run file as one word.
    pub fn command_line(&self) -> &[OsString] {
        self.given.words()
    }

    /// The parser gets a run file as a mapping: no option with dashes can stand beside it.
    pub fn reads_mapping(&self) -> bool {
        let is_mapping = self.hand_over == HandOver::Dotted || self.run_file.is_some();
        is_mapping && run_file::first(self.command_line()).is_some()
    }

    /// The name of the option that takes the config: the script's own, the one that is given, or the trainer's first.
    pub fn config_argument(&self) -> &str {
        match &self.config_option {
            Some(name) => name,
            None => {
                let options = self.trainer.config.options;
                options
                    .iter()
                    .find(|name| self.args.text(name).is_some())
                    .unwrap_or(&options[0])
            }
        }
    }

    /// The sub-command that runs, or the only one that the trainer has.
    pub fn sub_command(&self) -> Option<&'static TrainingCommand> {
        let only = match self.trainer.launch.commands {
            [only] => Some(only),
            _ => None,
        };
        self.trainer.command_of(&self.target).or(only)
    }

    /// All options of the command; nothing where they are not known.
    pub fn options(&self) -> &'static [Table] {
        self.sub_command().map_or(&[], |command| command.options)
    }

    /// True if the command has this option, or if nobody knows its options.
    pub fn takes(&self, name: &str) -> bool {
        let lists = self.options();
        lists.is_empty() || has_option(lists, name)
    }

    /// The recorded class that its parser fills. `None`: another parser reads this command.
    pub fn parsed_class(&self, host: &Host) -> Option<ArgumentClass> {
        let is_other = self
            .trainer
            .arguments
            .other_parsers
            .iter()
            .any(|name| host.var(name).and_then(hf_bool) == Some(true));
        self.sub_command().filter(|_| !is_other)?.parsed
    }

    /// The recorded class with its defaults. `None`: zlaunch does not see everything that may set them.
    pub fn recorded_defaults(&self) -> Option<ArgumentClass> {
        let are_recorded = (self.trainer.has_recorded_defaults)(&self.args);
        self.sub_command().filter(|_| are_recorded)?.defaults
    }

    /// The hub of a model that is not a folder.
    pub fn hub(&self, host: &Host) -> Hub {
        let usual = self.trainer.model.hub;
        let Some(OtherHub {
            hub,
            argument,
            variable,
        }) = self.trainer.model.other_hub
        else {
            return usual;
        };
        let given = argument.and_then(|name| self.args.bool(name).ok().flatten());
        let set = host.var(variable).and_then(hf_bool);
        if given.map(|given| given.value).or(set) == Some(true) {
            hub
        } else {
            usual
        }
    }

    /// It makes a reference model, which gets the config before transformers fills it.
    pub fn has_reference(&self) -> bool {
        let stage = self.args.text("stage").map(|stage| stage.value);
        let command = self.sub_command().map(|command| command.name);
        let kind = stage.as_deref().or(command);
        kind.is_some_and(|kind| self.trainer.model.with_reference.contains(&kind))
    }

    /// The trainer takes a config from us, in one way or another.
    pub fn takes_config(&self) -> bool {
        !self.trainer.is_passthrough()
            && self.no_config.is_none()
            && self.takes(self.config_argument())
    }

    /// Some version of the trainer has a config that its own argument names by this word.
    pub fn ships_config(&self, word: &str) -> bool {
        let distribution = self.trainer.distribution.unwrap_or_default();
        SHIPPED.find(&[distribution, word]).is_some()
    }

    /// The file that a word in the trainer's own argument means, in the package or in the current folder.
    pub fn own_file(&self, word: &str, host: &Host) -> Option<PathBuf> {
        let local = || Some(host.cwd.join(word)).filter(|path| path.is_file());
        let installed = |file: &str| self.installed_file(file);
        self.shipped_config(word).map_or_else(local, installed)
    }

    /// The file that its version has under this word, relative to the folder of packages.
    pub fn shipped_config(&self, word: &str) -> Option<&'static str> {
        let history = SHIPPED.find(&[self.trainer.distribution?, word])?;
        let newest = Version([u32::MAX; 3]);
        at(history, self.version().unwrap_or(newest))
            .filter(|file| *file != "-")?
            .split('#')
            .next()
    }

    /// A file of an installed package. Other folders are looked through only where the target is not in that package.
    pub fn installed_file(&self, inside: &str) -> Option<PathBuf> {
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

    /// Where the run file has this key or value, as `run.yaml:3:8`, or the word behind it that does.
    pub fn place_in_run_file(&self, value: &str, host: &Host) -> Option<Place> {
        let words = if self.effective_words.is_some() {
            self.given.words()
        } else {
            &[]
        };
        // `name=value` behind a run file wins.
        let is_assigned = |word: &&str| {
            word.split_once('=')
                .filter(|_| !word.starts_with('-'))
                .is_some_and(|(name, given)| name == value || given == value)
        };
        if let Some(word) = words
            .iter()
            .filter_map(|word| word.to_str())
            .find(is_assigned)
        {
            return Some(Place::from(word));
        }
        // ms-swift names its run file in a variable.
        self.variables
            .iter()
            .map(|variable| PathBuf::from(&variable.value))
            .chain(words.iter().map(PathBuf::from))
            .find_map(|file| {
                if !run_file::is_one(&file) {
                    return None;
                }
                let text = reading::read_text(&host.absolute(&file)).ok()?;
                let (before, _) = text.split_once(value)?;
                let (line, start) = before.split('\n').enumerate().last()?;
                Some(Place::line(file, (line + 1, start.len() + 1)))
            })
    }

    /// The option that tells each rank what has started it, unless the user has given it.
    pub fn starter_option(&self, ranks: Ranks) -> Option<[OsString; 2]> {
        let StarterOption { name, torchrun } = self.trainer.launch.starter.as_ref()?;
        let is_needed = ranks != Ranks::Single && !self.args.is_given(name);
        is_needed.then(|| [format!("--{name}").into(), torchrun.into()])
    }

    /// The arguments of each rank, with the config (or the run file that names it) handed over in the front end's own way.
    pub fn rank_args(&self, config: Option<&OsStr>) -> Vec<OsString> {
        let words = self.command_line();
        let Some(config) = config else {
            return words.to_vec();
        };
        if self.run_file.is_some() {
            return vec![config.to_os_string()];
        }
        let name = self.config_argument();
        match self.hand_over {
            HandOver::Joined => with_joined(words, "--", name, config),
            HandOver::Dotted if run_file::first(words).is_some() => {
                with_joined(words, "", name, config)
            }
            HandOver::Environment { .. } => words.to_vec(),
            HandOver::Argument | HandOver::Dotted => self.given.with(name, config),
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
