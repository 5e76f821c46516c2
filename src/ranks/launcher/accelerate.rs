//! `accelerate launch` with DeepSpeed. If its flags alone decide, it is torchrun with a few variables, which starts
//! seconds faster. With a run file (accelerate also reads its default_config.yaml) or a flag whose effect is not known, the
//! command stays as it is, and only the config among its flags is resolved.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::context::{LaunchContext, Launcher};
use super::spec::{CountMeaning, ExistingLauncher, LauncherSpec, count, default};
use crate::base::source::{Source, Sourced};
use crate::base::yaml::{self, Dialect};
use crate::base::{json, python_value, vars};
use crate::command::argv::{Args, option_name};
use crate::command::job::Job;
use crate::host::Host;
use crate::ranks::topology::{Processes, RankFlags};
use crate::report::fix::{Owner, drop_word};
use crate::report::{Problem, Rule, reading};

pub(super) type Variables = Vec<(&'static str, OsString)>;

pub(super) const SPEC: LauncherSpec = LauncherSpec {
    launcher: Launcher::Existing("accelerate"),
    programs: &[("accelerate", Some("launch")), ("accelerate-launch", None)],
    modules: &[
        ("accelerate.commands.launch", None),
        ("accelerate.commands.accelerate_cli", Some("launch")),
    ],
    options: include_str!("../../recorded/accelerate.txt"),
    short_options: &[("-m", "module"), ("-h", "help"), ("-q", "quiet")],
    rank_options: [
        "num_processes",
        "num_machines",
        "machine_rank",
        "main_process_ip",
        "main_process_port",
    ],
    count_options: &["num_processes"],
    count_meaning: CountMeaning::Total,
    counts,
    numbers_machines: |args, host| {
        let (_, settings) = settings(args, host).unwrap_or_default();
        let backend = args.text("rdzv_backend").map(|backend| backend.value);
        let backend = backend.or_else(|| Some(settings.get("rdzv_backend")?.as_str()?.to_string()));
        backend.is_some_and(|backend| backend != "static")
            || args.is_given("deepspeed_hostfile")
            || settings["deepspeed_config"]
                .get("deepspeed_hostfile")
                .is_some()
    },
};

pub(super) const CONFIG: &str = "deepspeed_config_file";

/// Without this switch, the flag for the config has no effect.
pub(super) const SWITCH: &str = "use_deepspeed";

pub(super) const RUN_FILE: &str = "config_file";

/// Flags besides those about the ranks whose whole effect is known: on a variable, or none with DeepSpeed.
const TRANSLATED: &str = "same_network use_deepspeed deepspeed_config_file deepspeed_multinode_launcher mixed_precision \
     gradient_clipping dynamo_backend num_cpu_threads_per_process module";

/// Flags that only become a variable, with their value in lower case.
const VARIABLES: &[(&str, &str)] = &[
    ("zero_stage", vars::ACCELERATE_DEEPSPEED_ZERO_STAGE),
    (
        "offload_optimizer_device",
        vars::ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE,
    ),
    (
        "offload_param_device",
        vars::ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE,
    ),
    (
        "gradient_accumulation_steps",
        "ACCELERATE_GRADIENT_ACCUMULATION_STEPS",
    ),
    ("zero3_init_flag", "ACCELERATE_DEEPSPEED_ZERO3_INIT"),
    (
        "zero3_save_16bit_model",
        vars::ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL,
    ),
];

/// Entries of the run file's section that accelerate refuses beside a config, because the config has them too.
const REFUSED_BESIDE_CONFIG: &str = "gradient_accumulation_steps gradient_clipping zero_stage offload_optimizer_device \
     offload_param_device offload_optimizer_nvme_path offload_param_nvme_path zero3_save_16bit_model";

/// Of other launchers, none of this is asked.
impl ExistingLauncher {
    pub(crate) fn takes_config(&self) -> bool {
        self.spec.launcher == SPEC.launcher
    }

    /// The launcher takes the config, not the script.
    pub(super) fn is_given_config(&self, job: &Job) -> bool {
        self.takes_config() && !job.args.is_given("deepspeed")
    }

    pub(crate) fn config(&self, job: &Job, host: &Host) -> Option<Sourced<String>> {
        if !self.takes_config() {
            return None;
        }
        let flag = || self.args.text(CONFIG);
        let in_file = || {
            let (file, settings) = settings(&self.args, host)?;
            let config = settings["deepspeed_config"][CONFIG].as_str()?.to_string();
            Some(Sourced::new(
                config,
                Source::Argument(format!("{}, {CONFIG}", file.display())),
            ))
        };
        let named = if run_file_wins(job) {
            in_file().or_else(flag)
        } else {
            flag().or_else(in_file)
        }?;
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
        let (file, mut settings) = settings(&self.args, host)?;
        *settings.get_mut("deepspeed_config")?.get_mut(CONFIG)? =
            Value::from(config.to_string_lossy());
        Some((file, json::write(&settings)))
    }

    /// accelerate takes a precision as a flag, but not in the run file.
    pub(crate) fn refuses_config(&self, job: &Job, host: &Host) -> Option<Problem> {
        let (file, settings) = if self.takes_config() {
            settings(&self.args, host)?
        } else {
            return None;
        };
        let mut refused: Vec<&str> = REFUSED_BESIDE_CONFIG.split(' ').collect();
        refused.retain(|name| settings["deepspeed_config"].get(name).is_some());
        if !settings["mixed_precision"].is_null() && !self.args.is_given("mixed_precision") {
            refused.push("mixed_precision");
        }
        if refused.is_empty() {
            return None;
        }
        let (name, listed) = (&self.name, refused.join("`, `"));
        let what =
            format!("`{name}` refuses `{listed}` in its run file together with a DeepSpeed config");
        let help =
            "remove them; the DeepSpeed config has them, and --mixed_precision works as a flag";
        let problem = Problem::error(Rule::RunFile, what).at(&*file).fix(help);
        Some(if job.trainer.uses_accelerate() {
            problem
        } else {
            problem.into_warning()
        })
    }

    /// The launcher's settings that a config replaces: accelerate reads only the config then.
    pub(crate) fn replaced_settings(&self, spec: &Sourced<String>) -> Option<Problem> {
        let names = [
            "zero_stage",
            "offload_optimizer_device",
            "offload_param_device",
            "zero3_save_16bit_model",
        ];
        let given = names
            .iter()
            .filter_map(|name| Some(self.args.text(name)?.spelling()));
        let words = given.collect::<Vec<_>>().join(" ");
        if !self.takes_config() || words.is_empty() {
            return None;
        }
        let what = format!(
            "`{}` is used, and accelerate ignores `{words}` beside it",
            spec.value
        );
        Some(
            Problem::warning(Rule::TwoConfigs, what)
                .at(spec)
                .at(&*words)
                .fix(drop_word(&words).of(Owner::Launcher)),
        )
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
        let (file, settings) = settings(&self.args, host).unwrap_or_default();
        let in_file = |name: &str| {
            settings
                .get("deepspeed_config")?
                .get(name)
                .filter(|value| !value.is_null())
        };
        let flag = |name: &str| self.args.text(name).map(|text| Value::from(text.value));
        let file_wins = run_file_wins(job);
        let setting = |name: &str| {
            let (flag, in_file) = (flag(name), in_file(name).cloned());
            if file_wins {
                in_file.or(flag)
            } else {
                flag.or(in_file)
            }
        };
        let is_switched_on =
            self.args.is_given(SWITCH) || settings["distributed_type"] == "DEEPSPEED";
        if !is_switched_on && named.is_none() {
            return None;
        }
        let number = |name: &str, default: Value| match setting(name) {
            Some(Value::String(text)) => serde_json::from_str(&text)
                .ok()
                .filter(Value::is_number)
                .unwrap_or(text.into()),
            Some(number) => number,
            None => default,
        };
        let word = |name: &str| {
            setting(name).map_or("none".into(), |value| {
                yaml::python_str(&value).to_lowercase()
            })
        };
        let mut config = match named {
            // It fills an "auto" before transformers compares it.
            Some(named) => ["gradient_accumulation_steps", "gradient_clipping"]
                .into_iter()
                .filter(|key| {
                    named.get(key).is_some_and(|value| value == "auto") && setting(key).is_some()
                })
                .map(|key| (key.to_string(), number(key, Value::Null)))
                .collect(),
            None => json!({
                "train_batch_size": "auto",
                "train_micro_batch_size_per_gpu": "auto",
                "gradient_accumulation_steps": number("gradient_accumulation_steps", "auto".into()),
                "gradient_clipping": number("gradient_clipping", "auto".into()),
                "zero_optimization": {
                    "stage": number("zero_stage", 2.into()),
                    "offload_optimizer": {
                        "device": word("offload_optimizer_device"),
                        "nvme_path": setting("offload_optimizer_nvme_path"),
                    },
                    "offload_param": {
                        "device": word("offload_param_device"),
                        "nvme_path": setting("offload_param_nvme_path"),
                    },
                },
            }),
        };
        if let (None, Some(saves)) = (named, setting("zero3_save_16bit_model")) {
            let saves = yaml::python_str(&saves).eq_ignore_ascii_case("true");
            config["zero_optimization"]["stage3_gather_16bit_weights_on_model_save"] = saves.into();
        }
        // transformers takes accelerate's precision for the config where its own arguments ask for none, and then refuses it.
        let precision =
            flag("mixed_precision").or_else(|| settings.get("mixed_precision").cloned());
        let is_on = |name| {
            job.args
                .bool(name, true)
                .is_ok_and(|given| given.is_some_and(|given| given.value))
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
        let place = if settings.is_null() {
            "accelerate launch".to_string()
        } else {
            file.display().to_string()
        };
        Some((config, place))
    }

    /// A run file that cannot be read, or a setting that is silently ignored. What accelerate refuses, it says at once.
    pub(crate) fn run_file_problem(&self, host: &Host) -> Option<Problem> {
        let file = if self.takes_config() {
            settings_file(&self.args, host)?
        } else {
            return None;
        };
        let refused =
            |what: &str, help: &str| Some(Problem::error(Rule::RunFile, what).at(&*file).fix(help));
        if !file.exists() {
            return refused(
                "accelerate's config file does not exist",
                "check the path, or make one: accelerate config",
            );
        }
        let settings = match yaml::parse(&reading::text_if_any(&file)?, Dialect::PyYaml) {
            Ok(settings) if settings.is_object() => settings,
            Ok(_) => {
                return refused(
                    "accelerate's config file is empty",
                    "make one: accelerate config",
                );
            }
            Err(fault) => {
                return Some(fault.problem_in_run_file("YAML", &file.display().to_string()));
            }
        };
        let mut keys = settings["deepspeed_config"].as_object()?.keys();
        let key = keys.find(|key| SPEC.options.lines().all(|line| option_name(line) != *key))?;
        let what = format!("accelerate does not read `{key}` in deepspeed_config");
        refused(&what, "remove it").map(Problem::into_warning)
    }

    /// The variables with which torchrun makes exactly the same launch without this launcher, if there are such.
    pub(crate) fn as_torchrun(
        &self,
        context: &LaunchContext<'_>,
        config: Option<&OsStr>,
    ) -> Option<Variables> {
        let LaunchContext {
            job,
            topology,
            host,
            ..
        } = context;
        if !self.is_given_config(job)
            || !topology.can_rendezvous()
            || topology.nproc_per_node.is_none()
        {
            return None;
        }
        let config = config?;
        let mut flags = self
            .args
            .words()
            .iter()
            .filter_map(|word| word.to_str())
            .filter(|word| word.starts_with('-'));
        let are_known = flags.all(|flag| {
            let name = flag
                .trim_start_matches('-')
                .split('=')
                .next()
                .unwrap_or_default()
                .replace('-', "_");
            let variables = VARIABLES.iter().map(|(flag, _)| *flag);
            SPEC.rank_options
                .into_iter()
                .chain(TRANSLATED.split(' '))
                .chain(variables)
                .any(|known| known == name)
        });
        let precision = self
            .args
            .text("mixed_precision")
            .map_or_else(|| "no".to_string(), |precision| precision.value);
        let standard = self
            .args
            .text("deepspeed_multinode_launcher")
            .is_some_and(|launcher| launcher.value == "standard");
        let exact = are_known
            && ["no", "fp16", "bf16"].contains(&precision.as_str())
            && (!topology.has_several_nodes() || standard)
            && settings_file(&self.args, host).is_none();
        // For these GPUs accelerate disables peer-to-peer transfers, depending on the driver.
        let gpus = host.gpus();
        if !exact || gpus.len() > 1 && gpus.iter().any(|model| model.contains("RTX 40")) {
            return None;
        }
        // accelerate appends the current folder and drops empty entries.
        let old = host.var_os(vars::PYTHONPATH).unwrap_or_default();
        let entries = std::env::split_paths(old)
            .filter(|entry| !entry.as_os_str().is_empty())
            .chain([host.cwd.clone()]);
        let python_path = std::env::join_paths(entries).ok()?;
        let mut variables: Variables = vec![
            ("ACCELERATE_USE_DEEPSPEED", "true".into()),
            ("ACCELERATE_MIXED_PRECISION", precision.into()),
            ("ACCELERATE_CONFIG_DS_FIELDS", "".into()),
            ("ACCELERATE_DEEPSPEED_CONFIG_FILE", config.into()),
            (vars::PYTHONPATH, python_path),
        ];
        for (flag, name) in VARIABLES {
            variables.extend(
                self.args
                    .text(flag)
                    .map(|text| (*name, OsString::from(text.value.to_lowercase()))),
            );
        }
        // As Python's `str(float(…))`. If it is not a number, accelerate refuses it itself.
        if let Some(clipping) = self.args.float("gradient_clipping").ok()? {
            variables.push((
                "ACCELERATE_GRADIENT_CLIPPING",
                python_value::repr_float(clipping.value).into(),
            ));
        }
        Some(variables)
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

/// The run file: `--config_file`, else the default one, if it exists.
fn settings_file(args: &Args, host: &Host) -> Option<PathBuf> {
    match args.text("config_file") {
        Some(file) => Some(host.absolute(Path::new(&file.value))),
        None => Some(host.hf_home()?.join("accelerate/default_config.yaml"))
            .filter(|file| file.exists()),
    }
}

fn settings(args: &Args, host: &Host) -> Option<(PathBuf, Value)> {
    let file = settings_file(args, host)?;
    let text = reading::text_if_any(&file)?;
    host.has_read(&text);
    Some((file, yaml::parse(&text, Dialect::PyYaml).ok()?))
}

/// `--num_processes` is the total over all machines. The run file may state what the flags leave open.
fn counts(flags: RankFlags, args: &Args, host: &Host) -> RankFlags {
    let settings = settings(args, host);
    let number = |name: &str| {
        count(args, name).or_else(|| {
            let (file, settings) = settings.as_ref()?;
            let value = u32::try_from(settings.get(name)?.as_u64()?).ok()?;
            Some(Sourced::new(
                value,
                Source::Argument(file.display().to_string()),
            ))
        })
    };
    let nnodes = number("num_machines").unwrap_or(default(1));
    let total =
        number("num_processes").filter(|total| nnodes.value > 0 && total.value % nnodes.value == 0);
    let nproc =
        total.map(|total| Sourced::new(Processes::Count(total.value / nnodes.value), total.from));
    RankFlags {
        nproc_per_node: nproc.filter(|nproc| nproc.value != Processes::Count(0)),
        nnodes: Some(nnodes),
        node_rank: number("machine_rank"),
        master_port: flags.master_port.filter(|port| port.value > 0),
        ..flags
    }
}
