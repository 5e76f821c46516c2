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
    NoConfig, Ranks, Variable, python_of,
};
use crate::command::python::Python;
use crate::command::run_file::{self, RunFile};
use crate::command::script::{ArgumentFlow, ScriptSource};
use crate::command::section_option;
use crate::command::shipped::{self, ShippedConfig, ShippedConfigs};
use crate::command::tables::Keys;
use crate::command::target::{ParsedCommand, Target};
use crate::host::Host;
use crate::report::{Place, Problem, reading};

/// A front end: how its command is recognised, and what is special about it. Each file in `trainer/` holds one.
pub struct Trainer {
    pub name: &'static str,
    /// The package whose version is the trainer's, by the name pip knows.
    pub(crate) distribution: Option<&'static str>,
    pub(crate) recognise: fn(&'static Trainer, &ParsedCommand, &Host) -> Option<Job>,
    pub launch: LaunchTraits,
    pub config: ConfigTraits,
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

    /// The options of the command that the target is.
    pub(crate) fn options(&self, target: &Target) -> OptionList<'static> {
        let rows = self.arguments.options;
        let own = rows.iter().find(|row| target.is_module(row.module));
        match own.or(rows.first()) {
            Some(row) => OptionList::Known(row.lists),
            None => OptionList::Open,
        }
    }

    /// `None`: it does not fill that key.
    pub fn source_of_auto(&self, key: &str) -> Option<&'static str> {
        let has_key = |keys: &Keys| match keys {
            Keys::These(keys) => keys.contains(&key),
            Keys::Section(section) => key
                .strip_prefix(section)
                .is_some_and(|rest| rest.starts_with('.')),
        };
        let mut rows = self.config.auto_sources.iter();
        rows.find(|row| has_key(&row.keys)).map(|row| row.source)
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
    /// Read from `words`.
    pub(super) given: Args,
    /// Read from the effective words.
    pub args: Args,
    /// The run file that holds all arguments, where it must be written anew to name the config.
    pub(crate) run_file: Option<RunFile>,
    pub(super) hand_over: HandOver,
    /// The script's own name for the option that takes the config.
    pub(super) config_option: Option<String>,
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
    pub(crate) fn of(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Self {
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
            unread: Vec::new(),
            texts: Vec::new(),
            python: python_of(command, host),
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

    /// The sub-command of a console script, by the file of the first of these modules that its package has; or one of the
    /// modules itself.
    pub(super) fn of_command(
        trainer: &'static Trainer,
        command: &ParsedCommand,
        name: &str,
        modules: &[&str],
        host: &Host,
    ) -> Option<Self> {
        let (first, rest) = command.args.split_first().unzip();
        let is_named = first.is_some_and(|first| first == name);
        let is_command = is_named && trainer.is_console(&command.target);
        if !is_command
            && !modules
                .iter()
                .any(|module| command.target.is_module(module))
        {
            return None;
        }
        let mut job = Self::of(trainer, command, host);
        if is_command {
            let mut files = modules
                .iter()
                .map(|module| module.replace('.', "/") + ".py");
            let file = files.find_map(|file| job.python.as_ref()?.file(&file));
            job.target = file.map_or_else(|| Target::module(modules[0]), Target::script);
            job.words = rest.unwrap_or_default().to_vec();
        }
        Some(job)
    }

    /// The words of the arguments in a run file. With `converts`, its reader makes a number of a text.
    pub(super) fn words_of(
        &mut self,
        entries: &Map<String, Value>,
        converts: bool,
    ) -> Vec<OsString> {
        let mut words = Vec::new();
        for (key, value) in entries {
            if run_file::is_usable(key, value, converts) {
                words.push(run_file::joined_word(key, value));
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
    pub(super) fn read_arguments(&mut self, run_file: &RunFile) {
        let mut words = self.words_of(&run_file.entries, false);
        words.extend_from_slice(&self.words[1..]);
        self.effective_words = Some(words);
    }

    /// A run file, also an empty one. One that cannot be read becomes a problem of the job.
    pub(super) fn read_run_file(
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
        let is_script = matches!(self.trainer.arguments.parser, ArgumentParser::Script);
        if !is_script || !self.trainer.is_hf() {
            return None;
        }
        self.source.as_deref().map(ArgumentFlow::read)
    }

    /// The parser of the user's own script, where it is sure to refuse the option that names the config.
    pub(crate) fn refuses_config_option(&self) -> Option<&'static str> {
        let source = self.source.as_ref()?;
        let is_option = self.hand_over == HandOver::Argument && self.run_file.is_none();
        let is_script = matches!(self.trainer.arguments.parser, ArgumentParser::Script);
        if !is_option || !is_script || source.text.contains("HfArgumentParser") {
            return None;
        }
        ArgumentFlow::read(source).refuses(self.config_argument())
    }

    /// The config that the command or a variable of the trainer names.
    pub(crate) fn own_config(&self, host: &Host) -> Option<Sourced<String>> {
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
                let from = Source::Variable(config.to_string());
                (host.nonempty_var(config)?, from)
            }
            HandOver::Nested => {
                let own = section_option::find(self.command_line(), name)?;
                (own.value, Source::Argument(own.spelled.to_string()))
            }
            _ => return self.args.text(name),
        };
        Some(Sourced::new(value.to_string(), from))
    }

    pub(crate) fn config_variables(&self, path: &OsStr) -> Vec<(&'static str, OsString)> {
        let HandOver::Environment { config, switch } = self.hand_over else {
            return Vec::new();
        };
        let switch = switch.map(|switch| (switch, OsString::from("true")));
        let mut variables = Vec::from_iter(switch);
        variables.push((config, path.to_os_string()));
        variables
    }

    pub(crate) fn command_line(&self) -> &[OsString] {
        self.given.words()
    }

    /// The parser gets a run file as a mapping: no option with dashes can stand beside it.
    pub(crate) fn reads_mapping(&self) -> bool {
        let is_mapping = self.hand_over == HandOver::Dotted || self.run_file.is_some();
        is_mapping && run_file::first(self.command_line()).is_some()
    }

    pub(crate) fn config_argument(&self) -> &str {
        match &self.config_option {
            Some(name) => name,
            None => (self.trainer.config.argument)(&self.args),
        }
    }

    /// True where the options are not known.
    pub(crate) fn takes(&self, name: &str) -> bool {
        match self.trainer.options(&self.target) {
            OptionList::Known(lists) => has_option(lists, name),
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
        let distribution = self.trainer.distribution.unwrap_or_default();
        self.trainer.config.shipped.is_some() && shipped::is_word(distribution, word)
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
        let path = self.beside_target(config.file)?;
        path.is_file().then_some((config, path))
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
        let words = if self.effective_words.is_some() {
            self.given.words()
        } else {
            &[]
        };
        // `name=value` behind a run file wins.
        let assigned = words.iter().filter_map(|word| word.to_str()).find(|word| {
            let pair = word.split_once('=');
            !word.starts_with('-')
                && pair.is_some_and(|(name, given)| name == value || given == value)
        });
        if let Some(word) = assigned {
            return Some(Place::from(word));
        }
        // ms-swift names its run file in a variable.
        let variables = self.variables.iter();
        let named = variables.map(|variable| PathBuf::from(&variable.value));
        let mut files = named.chain(words.iter().map(PathBuf::from));
        files.find_map(|file| {
            if !run_file::is_one(&file) {
                return None;
            }
            let text = reading::read_text(&host.absolute(&file)).ok()?;
            let at = text.find(value)?;
            let line_start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
            let line = text[..at].matches('\n').count() + 1;
            Some(Place::line(file, (line, at - line_start + 1)))
        })
    }

    pub fn launcher_args(&self, ranks: Ranks) -> impl Iterator<Item = OsString> + use<> {
        (self.trainer.launch.rank_args)(&self.args, ranks)
            .iter()
            .map(OsString::from)
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
            HandOver::Nested => section_option::with_value(words, name, config),
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
