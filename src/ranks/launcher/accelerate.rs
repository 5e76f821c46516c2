//! `accelerate launch` with DeepSpeed. If its flags alone decide, it is torchrun with a few variables, which starts
//! seconds faster. With a run file (accelerate also reads its default_config.yaml) or a flag whose effect is not known, the
//! command stays as it is, and only the config among its flags is resolved.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::context::LaunchContext;
use super::spec::{ExistingLauncher, count, default, name_of};
use super::tables::accelerate_settings::{
    BesideConfig, CONFIG, DEFAULT_CONFIG, RUN_FILE, Reads, SETTINGS, SWITCH, Setting, TRANSLATED,
};
use super::tables::launchers::ACCELERATE;
use crate::base::source::{Source, Sourced};
use crate::base::yaml::{self, Dialect};
use crate::base::{json, python_value, vars};
use crate::command::argv::{Args, option_name};
use crate::command::job::Job;
use crate::host::Host;
use crate::ranks::topology::{Processes, RankFlags};
use crate::report::fix::{Owner, drop_word};
use crate::report::{Problem, Rule, reading};

type Variables = Vec<(&'static str, OsString)>;

/// The setting of accelerate that becomes this key of a DeepSpeed config, or a key in this section.
pub(crate) fn setting_of(key: &str) -> Option<&'static str> {
    let mut settings = SETTINGS.iter();
    let setting = settings.find(|setting| setting.key.is_some_and(|it| it.starts_with(key)));
    setting.map(|setting| setting.name)
}

/// What is special about `accelerate launch`. For another launcher each of these has no answer.
impl ExistingLauncher {
    /// True if the launcher takes the config, not the script.
    pub(super) fn is_given_config(&self, job: &Job) -> bool {
        self.is_accelerate() && !job.args.is_given("deepspeed")
    }

    /// Its flags, if it is accelerate.
    fn accelerate(&self) -> Option<&Args> {
        self.is_accelerate().then_some(&self.args)
    }

    pub(crate) fn config(&self, job: &Job, host: &Host) -> Option<Sourced<String>> {
        let args = self.accelerate()?;
        let flag = args.text(CONFIG);
        let in_file = RunFile::read(args, host).and_then(|file| {
            let config = file.of_deepspeed(CONFIG)?.as_str()?.to_string();
            let place = format!("{}, {CONFIG}", file.path.display());
            Some(Sourced::new(config, Source::Argument(place)))
        });
        let named = stronger(job, flag, in_file)?;
        // A bare word that is a file here is that file, not a template.
        let is_file =
            Path::new(&named.value).extension().is_none() && host.cwd.join(&named.value).is_file();
        Some(named.map(|word| if is_file { format!("./{word}") } else { word }))
    }

    /// A copy of the launcher's run file that names this config, if the run file decides; after the path of the original.
    /// accelerate reads JSON in a YAML file too.
    pub(crate) fn run_file(
        &self,
        job: &Job,
        config: &Path,
        host: &Host,
    ) -> Option<(PathBuf, String)> {
        if !self.is_given_config(job) || !run_file_wins(job) {
            return None;
        }
        let mut file = RunFile::read(&self.args, host)?;
        *file.settings.get_mut("deepspeed_config")?.get_mut(CONFIG)? =
            Value::from(config.to_string_lossy());
        Some((file.path, json::write(&file.settings)))
    }

    /// Its flags with the config among them, or with a run file that names the config.
    pub(super) fn flags_with_config(
        &self,
        context: &LaunchContext<'_>,
        config: &OsStr,
    ) -> Vec<OsString> {
        let in_file = self.run_file(context.job, Path::new(config), context.host);
        let option = if in_file.is_some() { RUN_FILE } else { CONFIG };
        if self.args.is_given(option) {
            return self.args.with(option, config);
        }
        let mut flags = self.flags.clone();
        if !self.args.is_given(SWITCH) {
            flags.push(format!("--{SWITCH}").into());
        }
        flags.extend([format!("--{option}").into(), config.to_os_string()]);
        flags
    }

    /// Refuses settings in the run file that accelerate does not take beside a config. It takes a precision as a flag, but not
    /// in the run file.
    pub(crate) fn refuses_config(&self, job: &Job, host: &Host) -> Option<Problem> {
        let args = self.accelerate()?;
        let file = RunFile::read(args, host)?;
        let settings = SETTINGS.iter().filter(|setting| setting.key.is_some());
        let mut refused: Vec<&str> = settings.map(|setting| setting.name).collect();
        refused.retain(|name| file.settings["deepspeed_config"].get(name).is_some());
        let precision = "mixed_precision";
        if !file.settings[precision].is_null() && !args.is_given(precision) {
            refused.push(precision);
        }
        if refused.is_empty() {
            return None;
        }
        let what = format!(
            "`{}` refuses `{}` in its run file together with a DeepSpeed config",
            self.name,
            refused.join("`, `")
        );
        let help =
            "remove them; the DeepSpeed config has them, and --mixed_precision works as a flag";
        let problem = Problem::error(Rule::RunFile, what).at(&file.path).fix(help);
        Some(if job.trainer.uses_accelerate() {
            problem
        } else {
            problem.into_warning()
        })
    }

    /// Warns of flags that a config replaces: accelerate reads only the config then.
    pub(crate) fn replaced_settings(&self, spec: &Sourced<String>) -> Option<Problem> {
        let args = self.accelerate()?;
        let settings = SETTINGS
            .iter()
            .filter(|setting| setting.beside_config == BesideConfig::Ignored);
        let given = settings.filter_map(|setting| args.text(setting.name));
        let words: Vec<String> = given.map(|given| given.spelling()).collect();
        if words.is_empty() {
            return None;
        }
        let words = words.join(" ");
        let what = format!("`{spec}` is used, and accelerate ignores `{words}` beside it");
        let problem = Problem::warning(Rule::TwoConfigs, what)
            .at(spec)
            .at(&*words);
        Some(problem.fix(drop_word(&words).of(Owner::Launcher)))
    }

    /// The config that accelerate's `DeepSpeedPlugin` makes of its own settings where no config is named, and the place of the
    /// settings. Beside a config that is `named`, only what they add to it.
    pub(crate) fn settings_as_config(
        &self,
        job: &Job,
        named: Option<&Value>,
        host: &Host,
    ) -> Option<(Value, String)> {
        let is_seen = !job.trainer.launch.consoles.is_empty() || job.flow().is_some();
        if !is_seen || !self.is_given_config(job) || !job.trainer.uses_accelerate() {
            return None;
        }
        let file = RunFile::read(&self.args, host);
        let of_file = |name: &str| Some(file.as_ref()?.settings.get(name)?.clone());
        let flag = |name: &str| self.args.text(name).map(|text| Value::from(text.value));
        let is_deepspeed = of_file("distributed_type").is_some_and(|kind| kind == "DEEPSPEED");
        let mut config = match named {
            Some(_) => json!({}),
            None if is_deepspeed || self.args.is_given(SWITCH) => {
                json::parse_built_in(DEFAULT_CONFIG)
            }
            None => return None,
        };
        for setting in SETTINGS {
            let in_file = file
                .as_ref()
                .and_then(|file| file.of_deepspeed(setting.name));
            let value = stronger(job, flag(setting.name), in_file.cloned());
            let (Some(key), Some(value)) = (setting.key, value) else {
                continue;
            };
            let is_auto = |named| json::get(named, key).is_some_and(|value| value == "auto");
            let fills_auto = setting.beside_config == BesideConfig::FillsAuto;
            if named.is_none_or(|named| fills_auto && is_auto(named)) {
                let mut place = &mut config;
                for part in key.split('.') {
                    place = &mut place[part];
                }
                *place = setting.read(value);
            }
        }
        // transformers takes accelerate's precision for the config where its own arguments ask for none, and then refuses it.
        let precision = flag("mixed_precision").or_else(|| of_file("mixed_precision"));
        let is_on = |name| {
            let given = job.args.bool(name, true).ok().flatten();
            given.is_some_and(|given| given.value)
        };
        if let Some(precision @ ("bf16" | "fp16")) = precision.as_ref().and_then(Value::as_str)
            && named
                .and_then(|named| json::get(named, &format!("{precision}.enabled")))
                .is_none_or(|value| value == "auto")
            && !is_on("bf16")
            && !is_on("fp16")
        {
            config[precision] = json!({ "enabled": true });
        }
        let place = match file {
            Some(file) => file.path.display().to_string(),
            None => "accelerate launch".to_string(),
        };
        Some((config, place))
    }

    /// Refuses a run file that cannot be read, and warns of a setting that is silently ignored.
    pub(crate) fn run_file_problem(&self, host: &Host) -> Option<Problem> {
        let path = RunFile::path(self.accelerate()?, host)?;
        let refused = |what: &str| Problem::error(Rule::RunFile, what).at(&path);
        if !path.exists() {
            let problem = refused("accelerate's config file does not exist");
            return Some(problem.fix("check the path, or make one: accelerate config"));
        }
        match yaml::parse(&reading::text_if_any(&path)?, Dialect::PyYaml) {
            Ok(settings) if settings.is_object() => {
                let mut keys = settings["deepspeed_config"].as_object()?.keys();
                let known = ACCELERATE.options.lines().map(option_name);
                let key = keys.find(|key| known.clone().all(|name| name != *key))?;
                let problem = refused(&format!(
                    "accelerate does not read `{key}` in deepspeed_config"
                ));
                Some(problem.fix("remove it").into_warning())
            }
            Ok(_) => {
                let problem = refused("accelerate's config file is empty");
                Some(problem.fix("make one: accelerate config"))
            }
            Err(fault) => Some(fault.problem_in_run_file("YAML", &path.display().to_string())),
        }
    }

    /// The variables with which torchrun makes exactly the same launch without this launcher, if there are such.
    pub(crate) fn as_torchrun(
        &self,
        context: &LaunchContext<'_>,
        config: Option<&OsStr>,
    ) -> Option<Variables> {
        let topology = context.topology;
        let host = context.host;
        let args = &self.args;
        let config = config.filter(|_| self.is_given_config(context.job))?;
        topology.nproc_per_node.as_ref()?;
        let precision = args.text("mixed_precision");
        let precision = precision.map_or("no".to_string(), |precision| precision.value);
        let multinode = args.text("deepspeed_multinode_launcher");
        let is_standard = multinode.is_some_and(|launcher| launcher.value == "standard");
        let exact = topology.can_rendezvous()
            && self.has_known_flags()
            && ["no", "fp16", "bf16"].contains(&precision.as_str())
            && (is_standard || !topology.has_several_nodes())
            && RunFile::path(args, host).is_none();
        // For these GPUs accelerate disables peer-to-peer transfers, depending on the driver.
        let gpus = host.gpus();
        if !exact || gpus.len() > 1 && gpus.iter().any(|model| model.contains("RTX 40")) {
            return None;
        }
        // accelerate appends the current folder and drops empty entries.
        let old = host.var_os(vars::PYTHONPATH).unwrap_or_default();
        let entries = std::env::split_paths(old).filter(|entry| !entry.as_os_str().is_empty());
        let python_path = std::env::join_paths(entries.chain([host.cwd.clone()])).ok()?;
        let mut variables: Variables = vec![
            ("ACCELERATE_USE_DEEPSPEED", "true".into()),
            ("ACCELERATE_MIXED_PRECISION", precision.into()),
            ("ACCELERATE_CONFIG_DS_FIELDS", "".into()),
            ("ACCELERATE_DEEPSPEED_CONFIG_FILE", config.into()),
            (vars::PYTHONPATH, python_path),
        ];
        for setting in SETTINGS {
            if let (Some(variable), Some(given)) = (setting.variable, args.text(setting.name)) {
                variables.push((variable, given.value.to_lowercase().into()));
            }
        }
        // As Python's `str(float(…))`. If it is not a number, accelerate refuses it itself.
        if let Some(clipping) = args.float("gradient_clipping").ok()? {
            let clipping = python_value::repr_float(clipping.value);
            variables.push(("ACCELERATE_GRADIENT_CLIPPING", clipping.into()));
        }
        Some(variables)
    }

    /// True if the whole effect of every flag is known.
    fn has_known_flags(&self) -> bool {
        let is_known = |flag: &str| {
            let name = name_of(flag).replace('-', "_");
            let mut ranks = ACCELERATE.rank_options.pairs().into_iter();
            let mut settings = SETTINGS.iter();
            TRANSLATED.contains(&name.as_str())
                || ranks.any(|(_, option)| option == name)
                || settings.any(|setting| setting.variable.is_some() && setting.name == name)
        };
        let words = self.args.words().iter().filter_map(|word| word.to_str());
        words.filter(|word| word.starts_with('-')).all(is_known)
    }
}

impl Setting {
    /// The value as it stands in a DeepSpeed config.
    fn read(&self, value: Value) -> Value {
        match (self.reads, value) {
            (Reads::Number, Value::String(text)) => {
                let number = serde_json::from_str(&text).ok().filter(Value::is_number);
                number.unwrap_or(text.into())
            }
            (Reads::Device, value) => yaml::python_str(&value).to_lowercase().into(),
            (Reads::Switch, value) => yaml::python_str(&value).eq_ignore_ascii_case("true").into(),
            (Reads::Number | Reads::Text, value) => value,
        }
    }
}

/// Before accelerate 1.5, the run file beats a flag.
fn run_file_wins(job: &Job) -> bool {
    let version = job
        .python
        .as_ref()
        .and_then(|python| python.version("accelerate"));
    version.is_some_and(|version| version.is_before([1, 5, 0]))
}

fn stronger<T>(job: &Job, flag: Option<T>, in_file: Option<T>) -> Option<T> {
    if run_file_wins(job) {
        in_file.or(flag)
    } else {
        flag.or(in_file)
    }
}

struct RunFile {
    path: PathBuf,
    settings: Value,
}

impl RunFile {
    /// `--config_file`, else the default one, if it exists.
    fn path(args: &Args, host: &Host) -> Option<PathBuf> {
        match args.text(RUN_FILE) {
            Some(file) => Some(host.absolute(Path::new(&file.value))),
            None => Some(host.hf_home()?.join("accelerate/default_config.yaml"))
                .filter(|file| file.exists()),
        }
    }

    fn read(args: &Args, host: &Host) -> Option<Self> {
        let path = Self::path(args, host)?;
        let text = reading::text_if_any(&path)?;
        host.has_read(&text);
        let settings = yaml::parse(&text, Dialect::PyYaml).ok()?;
        Some(RunFile { path, settings })
    }

    /// A setting for DeepSpeed.
    fn of_deepspeed(&self, name: &str) -> Option<&Value> {
        let setting = self.settings.get("deepspeed_config")?.get(name)?;
        (!setting.is_null()).then_some(setting)
    }
}

/// True if the machines are numbered when they meet, or started from here through a hostfile.
pub(super) fn numbers_machines(args: &Args, host: &Host) -> bool {
    let settings = RunFile::read(args, host).map_or(Value::Null, |file| file.settings);
    let backend = args.text("rdzv_backend").map(|backend| backend.value);
    let backend = backend.or_else(|| Some(settings["rdzv_backend"].as_str()?.to_string()));
    let in_file = settings["deepspeed_config"].get("deepspeed_hostfile");
    backend.is_some_and(|backend| backend != "static")
        || args.is_given("deepspeed_hostfile")
        || in_file.is_some()
}

/// `--num_processes` is the total over all machines. The run file may state what the flags leave open.
pub(super) fn counts(flags: RankFlags, args: &Args, host: &Host) -> RankFlags {
    let file = RunFile::read(args, host);
    let number = |name: &str| {
        count(args, name).or_else(|| {
            let file = file.as_ref()?;
            let value = u32::try_from(file.settings.get(name)?.as_u64()?).ok()?;
            let place = file.path.display().to_string();
            Some(Sourced::new(value, Source::Argument(place)))
        })
    };
    let nnodes = number("num_machines").unwrap_or(default(1));
    let nproc = number("num_processes").and_then(|total| {
        let each = total.value.checked_div(nnodes.value)?;
        let is_whole = each > 0 && each * nnodes.value == total.value;
        is_whole.then(|| Sourced::new(Processes::Count(each), total.from))
    });
    RankFlags {
        nproc_per_node: nproc,
        nnodes: Some(nnodes),
        node_rank: number("machine_rank"),
        master_port: flags.master_port.filter(|port| port.value > 0),
        ..flags
    }
}
