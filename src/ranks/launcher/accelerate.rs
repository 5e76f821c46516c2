//! `accelerate launch`: it starts the ranks itself, and the config becomes one of its flags, or stands in a copy of its run file.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{
    ExistingLauncher, LaunchContext, count,
    tables::{
        accelerate_settings::{
            BesideConfig, CONFIG, DEFAULT_CONFIG, HOSTFILE, OF_A_SECTION, OF_DEEPSPEED,
            OTHER_SWITCHES, RUN_FILE, RUN_FILE_CLASSES, RUNNER, Reads, SETTINGS, SWITCH, Setting,
            TORCHRUN_SWITCHES,
        },
        launchers::ACCELERATE,
    },
};
use crate::{
    base::{
        json,
        source::{Given, Source, Sourced, default},
        yaml::{self, Dialect},
    },
    command::{
        argv::{Args, option_name},
        job::Job,
    },
    host::Host,
    ranks::topology::{self, Processes, RankFlags, Stated, Topology, devices::Devices},
    report::prelude::*,
};

/// The setting of accelerate that becomes this key of a DeepSpeed config, or a key in this section.
pub fn setting_of(key: &str) -> Option<&'static str> {
    let setting = SETTINGS
        .iter()
        .find(|setting| setting.key.is_some_and(|it| it.starts_with(key)));
    setting.map(|setting| setting.name)
}

/// What is special about `accelerate launch`. For another launcher each of these has no answer.
impl ExistingLauncher {
    /// True if the launcher takes the config, not the script.
    pub fn is_given_config(&self, job: &Job) -> bool {
        self.is_accelerate() && !job.args.is_given("deepspeed")
    }

    /// Its flags, if it is accelerate.
    fn accelerate(&self) -> Option<&Args> {
        self.is_accelerate().then_some(&self.args)
    }

    pub fn config(&self, job: &Job, host: &Host) -> Stated<String> {
        let named = Settings::read(self.accelerate()?, run_file_wins(job), host).get(CONFIG)?;
        let word = named.value.as_str()?;
        // A bare word that is a file here is that file, not a template.
        let is_file = Path::new(word).extension().is_none() && host.cwd.join(word).is_file();
        Some(named.says(if is_file {
            format!("./{word}")
        } else {
            word.to_string()
        }))
    }

    /// A copy of the launcher's run file that names this config, if the run file decides; after the path of the original.
    /// accelerate reads JSON in a YAML file too.
    pub fn run_file(&self, job: &Job, config: &Path, host: &Host) -> Option<(PathBuf, String)> {
        if !self.is_given_config(job) || !run_file_wins(job) {
            return None;
        }
        let mut file = RunFile::read(&self.args, host)?;
        *file.settings.get_mut("deepspeed_config")?.get_mut(CONFIG)? =
            Value::from(config.to_string_lossy());
        Some((file.path, json::write(&file.settings)))
    }

    /// Its flags with the config among them, or with a run file that names the config.
    pub fn flags_with_config(&self, context: &LaunchContext, config: &OsStr) -> Vec<OsString> {
        let in_file = self.run_file(context.job, Path::new(config), context.host);
        let option = if in_file.is_some() { RUN_FILE } else { CONFIG };
        if self.args.is_given(option) {
            return self.args.with(option, config);
        }
        let mut flags = self.flags.clone();
        flags.extend([format!("--{option}").into(), config.to_os_string()]);
        flags
    }

    /// Without its switch it ignores the flag for the config.
    pub fn use_deepspeed(&mut self) {
        if !self.args.is_given(SWITCH) {
            self.flags.push(format!("--{SWITCH}").into());
            self.args = self.spec.parse(&self.flags);
        }
    }

    /// Refuses a switch that accelerate does not take together with DeepSpeed. A config for the script is none of its business.
    pub fn refuses_deepspeed(&self, job: &Job, host: &Host) -> Option<Problem> {
        let args = self.accelerate().filter(|_| self.is_given_config(job))?;
        if !args.is_given(SWITCH) && self.config(job, host).is_none() {
            return None;
        }
        let other = OTHER_SWITCHES.iter().find(|name| args.is_given(name))?;
        let what = format!(
            "`{}` takes only one of `--{other}` and `--{SWITCH}`",
            self.name
        );
        Some(
            Rule::Argument
                .error(what)
                .at(Place::option(format!("--{other}"), ""))
                .fix(drop_word(format_args!("--{other}")).of(Owner::Launcher)),
        )
    }

    /// Warns of settings for DeepSpeed where accelerate trains without it: nothing reads them then.
    pub fn without_deepspeed(&self, job: &Job, host: &Host) -> Option<Problem> {
        let args = self.accelerate().filter(|_| self.is_given_config(job))?;
        let settings = Settings::read(args, false, host);
        let is_other = OTHER_SWITCHES.iter().any(|name| args.is_given(name));
        if settings.are_for_deepspeed() || is_other {
            return None;
        }
        let (name, given) = OF_DEEPSPEED
            .iter()
            .find_map(|name| Some((name, settings.get(name)?)))?;
        let fix = if args.is_given(name) {
            give(format!("--{SWITCH}"), "").of(Owner::Launcher)
        } else {
            say("write `distributed_type: DEEPSPEED` there")
        };
        let what = format!(
            "`{}` trains without DeepSpeed here, and ignores this",
            self.name
        );
        Some(
            Rule::ConfigUnused
                .warning(what)
                .at(Place::from(&given.says(yaml::python_str(&given.value))))
                .fix(fix),
        )
    }

    /// Refuses machines that nothing names: without a hostfile, DeepSpeed's runner starts the ranks of one machine.
    pub fn missing_hostfile(&self, ranks: &Topology, host: &Host) -> Option<Problem> {
        let settings = Settings::read(self.accelerate()?, false, host);
        let text = |name: &str| Some(settings.get(name)?.value.as_str()?.to_string());
        let launcher = text(RUNNER).unwrap_or("pdsh".to_string());
        let hosts = text(HOSTFILE).filter(|hosts| host.absolute(Path::new(hosts)).is_file());
        let meets = launcher == "standard" || hosts.is_some();
        if !settings.are_for_deepspeed() || !ranks.has_several_nodes() || meets {
            return None;
        }
        let what = format!(
            "`{}` would start the ranks of this machine alone: `{RUNNER}: {launcher}` needs a hostfile",
            self.name
        );
        let help =
            format!("set {HOSTFILE}, or {RUNNER}: standard and start the command on every machine");
        let place = match &settings.file {
            Some(file) => Place::from(&file.path),
            None => Place::from(RUNNER),
        };
        Some(Rule::Hosts.error(what).at(place).fix(help))
    }

    /// Refuses settings in the run file that accelerate does not take beside a config. It takes a precision as a flag, but not
    /// in the run file.
    pub fn refuses_config(&self, job: &Job, host: &Host) -> Option<Problem> {
        let args = self.accelerate()?;
        let file = RunFile::read(args, host)?;
        let mut refused: Vec<&str> = SETTINGS
            .iter()
            .filter(|setting| setting.key.is_some())
            .map(|setting| setting.name)
            .collect();
        refused.retain(|name| file.settings["deepspeed_config"].get(name).is_some());
        let precision = "mixed_precision";
        if !file.settings[precision].is_null() && !args.is_given(precision) {
            refused.push(precision);
        }
        if refused.is_empty() {
            return None;
        }
        let help =
            "remove them; the DeepSpeed config has them, and --mixed_precision works as a flag";
        Some(
            Rule::RunFile
                .error(format!(
                    "`{}` refuses `{}` in its run file together with a DeepSpeed config",
                    self.name,
                    refused.join("`, `")
                ))
                .at(&file.path)
                .fix(help)
                .into_warning_unless(job.trainer.uses_accelerate()),
        )
    }

    /// Warns of flags that a config replaces: accelerate reads only the config then.
    pub fn replaced_settings(&self, spec: &Sourced<String>) -> Option<Problem> {
        let args = self.accelerate()?;
        let given = SETTINGS
            .iter()
            .filter(|setting| setting.beside_config == BesideConfig::Ignored)
            .filter_map(|setting| args.text(setting.name));
        let words: Vec<String> = given.map(|given| given.spelling()).collect();
        if words.is_empty() {
            return None;
        }
        let words = words.join(" ");
        let what = format!("`{spec}` is used, and accelerate ignores `{words}` beside it");
        Some(
            Rule::TwoConfigs
                .warning(what)
                .at(spec)
                .at(&*words)
                .fix(drop_word(&words).of(Owner::Launcher)),
        )
    }

    /// The config that accelerate's `DeepSpeedPlugin` makes of its own settings where no config is named, and the place of the
    /// settings. Beside a config that is `named`, only what they add to it.
    pub fn settings_as_config(
        &self,
        job: &Job,
        named: Option<&Value>,
        host: &Host,
    ) -> Option<(Value, String)> {
        let is_seen = !job.trainer.launch.consoles.is_empty() || job.flow().is_some();
        if !is_seen || !self.is_given_config(job) || !job.trainer.uses_accelerate() {
            return None;
        }
        let settings = Settings::read(&self.args, run_file_wins(job), host);
        let mut config = match named {
            Some(_) => json!({}),
            None if settings.are_for_deepspeed() => json::parse_built_in(DEFAULT_CONFIG),
            None => return None,
        };
        for setting in SETTINGS {
            let (Some(key), Some(stated)) = (setting.key, settings.get(setting.name)) else {
                continue;
            };
            let is_auto = |named| json::get(named, key).is_some_and(|value| value == "auto");
            let fills_auto = setting.beside_config == BesideConfig::FillsAuto;
            if named.is_none_or(|named| fills_auto && is_auto(named)) {
                let mut place = &mut config;
                for part in key.split('.') {
                    place = &mut place[part];
                }
                *place = setting.read(stated.value);
            }
        }
        // transformers takes accelerate's precision for the config where its own arguments ask for none, and then refuses it.
        let precision = settings.get("mixed_precision");
        let is_on = |name| matches!(job.args.bool(name), Ok(Some(given)) if given.value);
        if let Some(precision) = &precision
            && let Some(precision @ ("bf16" | "fp16")) = precision.value.as_str()
            && named
                .and_then(|named| json::get(named, &format!("{precision}.enabled")))
                .is_none_or(|value| value == "auto")
            && !is_on("bf16")
            && !is_on("fp16")
        {
            config[precision] = json!({ "enabled": true });
        }
        let place = match settings.file {
            Some(file) => file.path.display().to_string(),
            None => "accelerate launch".to_string(),
        };
        Some((config, place))
    }

    /// Refuses a run file that cannot be read, and warns of a setting that is silently ignored.
    pub fn run_file_problem(&self, job: &Job, host: &Host) -> Option<Problem> {
        let path = RunFile::path(self.accelerate()?, host)?;
        let refused = |what: &str| Rule::RunFile.error(what).at(&path);
        if !path.is_file() {
            return Some(
                refused("accelerate's config file does not exist")
                    .fix("check the path, or make one: accelerate config"),
            );
        }
        match yaml::parse(&reading::text_if_any(&path)?, Dialect::PyYaml) {
            Ok(Value::Object(settings)) => {
                let classes = job
                    .installed_file(RUN_FILE_CLASSES)
                    .and_then(|file| reading::text_if_any(&file))
                    .unwrap_or_default();
                let lines = classes.lines().filter_map(|line| line.strip_prefix("    "));
                let fields = lines.filter_map(|line| Some(line.split_once(": ")?.0));
                // It replaces old keys itself, which stand in quotes.
                let is_unknown = |key: &&String| {
                    !classes.is_empty()
                        && !classes.contains(&format!("\"{key}\""))
                        && fields.clone().all(|field| field != *key)
                };
                if let Some(key) = settings.keys().find(is_unknown) {
                    let fix = nearest(key, fields).map_or(say(OF_A_SECTION), meant);
                    return Some(refused(&format!("accelerate has no key `{key}` here")).fix(fix));
                }
                let section = settings.get("deepspeed_config")?;
                if let Some(file) = section.as_str() {
                    let problem = refused("accelerate needs a section for deepspeed_config");
                    let section = format!("write `deepspeed_config: {{ {CONFIG}: {file} }}`");
                    return Some(problem.fix(section));
                }
                let key = section
                    .as_object()?
                    .keys()
                    .find(|key| ACCELERATE.line(key).is_none())?;
                let problem = refused(&format!(
                    "accelerate does not read `{key}` in deepspeed_config"
                ));
                let fix = nearest(key, ACCELERATE.options.lines().map(option_name))
                    .map_or(say("a DeepSpeed config can have it"), meant);
                Some(problem.fix(fix).into_warning())
            }
            Ok(_) => Some(
                refused("accelerate's config file is empty").fix("make one: accelerate config"),
            ),
            Err(fault) => Some(fault.problem_in_run_file("YAML", &path.display().to_string())),
        }
    }
}

impl Setting {
    /// The value as it stands in a DeepSpeed config.
    fn read(&self, value: Value) -> Value {
        match (self.reads, value) {
            (Reads::Number, Value::String(text)) => match serde_json::from_str(&text) {
                Ok(number @ Value::Number(_)) => number,
                _ => text.into(),
            },
            (Reads::Device, value) => yaml::python_str(&value).to_lowercase().into(),
            (Reads::Switch, value) => yaml::python_str(&value).eq_ignore_ascii_case("true").into(),
            (Reads::Number | Reads::Text, value) => value,
        }
    }
}

/// Before accelerate 1.5, the run file beats a flag.
fn run_file_wins(job: &Job) -> bool {
    let python = job.python.as_ref();
    let version = python.and_then(|python| python.version("accelerate"));
    version.is_some_and(|version| version.is_before([1, 5, 0]))
}

/// What accelerate is told by its flags and its run file.
struct Settings<'a> {
    args: &'a Args,
    file: Option<RunFile>,
    file_wins: bool,
}

impl<'a> Settings<'a> {
    fn read(args: &'a Args, file_wins: bool, host: &Host) -> Self {
        Settings {
            args,
            file: RunFile::read(args, host),
            file_wins,
        }
    }

    fn get(&self, name: &str) -> Stated<Value> {
        let flag = self.args.text(name).map(|flag| flag.map(Value::from));
        let in_file = self.file.as_ref().and_then(|file| {
            let value = [&file.settings["deepspeed_config"], &file.settings]
                .into_iter()
                .filter_map(|section| section.get(name))
                .find(|value| !value.is_null())?
                .clone();
            Some(Sourced::new(
                value,
                Source::Argument(format!("{}, {name}", file.path.display())),
            ))
        });
        // accelerate keeps the precision of a flag whatever its version.
        if self.file_wins && name != "mixed_precision" {
            in_file.or(flag)
        } else {
            flag.or(in_file)
        }
    }

    fn number(&self, name: &str) -> Stated<u32> {
        count(self.args, name).or_else(|| {
            let stated = self.get(name)?;
            let value = u32::try_from(stated.value.as_u64()?).ok()?;
            Some(stated.says(value))
        })
    }

    /// The processes of all machines. Without a run file accelerate counts the GPUs.
    fn total(&self, host: &Host) -> Stated<u32> {
        let counted = self.file.is_none().then(|| Devices::detect(host));
        self.number("num_processes")
            .or_else(|| counted?.processes(None, None, host))
    }

    /// True if accelerate starts one process here, whatever number it is told, and no torchrun (`_validate_launch_command`,
    /// alike in 1.0 to 1.15).
    fn starts_one_process(&self, host: &Host) -> bool {
        let is_given = |name: &&str| self.args.is_given(name);
        if ["tpu", "mpirun_hostfile", SWITCH].iter().any(&is_given)
            || TORCHRUN_SWITCHES.iter().any(is_given)
        {
            return false;
        }
        let is_one = match &self.file {
            Some(file) => file.settings["distributed_type"] == "NO",
            // It sees itself whether there are several GPUs.
            None => {
                let gpus = Devices::detect(host).names;
                self.total(host).value() == Some(1) || gpus.is_some_and(|gpus| gpus.len() < 2)
            }
        };
        is_one || is_given(&"cpu")
    }

    fn are_for_deepspeed(&self) -> bool {
        let kind = self.get("distributed_type");
        self.args.is_given(SWITCH) || kind.is_some_and(|kind| kind.value == "DEEPSPEED")
    }
}

struct RunFile {
    path: PathBuf,
    settings: Value,
}

impl RunFile {
    /// `--config_file`, else the default one, if it exists.
    fn path(args: &Args, host: &Host) -> Option<PathBuf> {
        if let Some(file) = args.text(RUN_FILE) {
            return Some(host.absolute(Path::new(&file.value)));
        }
        let default = host.hf_home()?.join("accelerate/default_config.yaml");
        default.exists().then_some(default)
    }

    fn read(args: &Args, host: &Host) -> Option<Self> {
        let path = Self::path(args, host)?;
        let text = reading::text_if_any(&path)?;
        host.has_read(&text);
        let settings = yaml::parse(&text, Dialect::PyYaml).ok()?;
        Some(RunFile { path, settings })
    }
}

/// True if the machines are numbered when they meet, or started from here through a hostfile.
pub fn numbers_machines(args: &Args, host: &Host) -> bool {
    let settings = Settings::read(args, false, host);
    let backend = settings.get("rdzv_backend");
    backend.is_some_and(|backend| backend.value != "static") || settings.get(HOSTFILE).is_some()
}

/// The GPUs of `--gpu_ids`, which accelerate gives to the ranks in the place of those that a variable lists.
pub fn gpus(args: &Args, host: &Host) -> Option<(Vec<String>, Stated<String>)> {
    let ids = Settings::read(args, false, host).get("gpu_ids")?;
    let ids = ids.says(yaml::python_str(&ids.value));
    let gpus = ids.value.split(',').map(|gpu| gpu.trim().to_string());
    (ids.value != "all").then(|| (gpus.collect(), Some(ids.clone())))
}

/// Refuses to start fewer ranks than are asked for.
pub fn starts_fewer(args: &Args, host: &Host) -> Option<Problem> {
    let settings = Settings::read(args, false, host);
    let machines = settings.number("num_machines").unwrap_or(default(1));
    let total = settings.number("num_processes").unwrap_or(machines.clone());
    let refused = |what: String| topology::refused(what).at(&total).at(&machines);
    if settings.starts_one_process(host) && (total.value > 1 || machines.value > 1) {
        let what = "accelerate would start one process here, without the variables of a rank";
        let fixes = give(format!("--{SWITCH}"), "")
            .of(Owner::Launcher)
            .or(give("--multi_gpu", "").of(Owner::Launcher));
        return Some(refused(what.to_string()).fix(fixes));
    }
    if total.value.is_multiple_of(machines.value.max(1)) {
        return None;
    }
    let what = format!("{total} ranks cannot be divided among {machines} machines");
    Some(refused(what).fix("give the ranks of all machines together"))
}

/// `--num_processes` is the total over all machines. The run file may state what the flags leave open.
pub fn counts(flags: RankFlags, args: &Args, host: &Host) -> RankFlags {
    let settings = Settings::read(args, false, host);
    let nnodes = settings.number("num_machines").unwrap_or(default(1));
    let total = settings.total(host);
    let nproc = if settings.starts_one_process(host) {
        Some(total.map_or(default(1), |total| total.says(1)))
    } else {
        total.and_then(|total| {
            let each = total.value.checked_div(nnodes.value)?;
            (each > 0).then(|| total.says(each))
        })
    };
    let nproc = nproc.map(|each| each.map(Processes::Count));
    RankFlags {
        nproc_per_node: nproc,
        nnodes: Some(nnodes),
        node_rank: settings.number("machine_rank"),
        master_port: flags.master_port.filter(|port| port.value > 0),
        ..flags
    }
}
