//! axolotl. `axolotl train x.yml --k v` execs accelerate on a module of its own; zlaunch runs that module under torchrun. A
//! command with arguments for its launcher (any that it does not know itself), or with another launcher, is left alone.

use std::ffi::OsString;

use serde_json::{Map, Value};

use super::hf;
use crate::base::recorded::Version;
use crate::base::vars;
use crate::base::yaml::Dialect;
use crate::command::argument_class::ArgumentClass;
use crate::command::front_end::{
    ArgumentParser, ArgumentTraits, ConfigTraits, DefaultArguments, HandOver, LaunchTraits,
    ModelTraits, TrainingDefaults, Variable, python_of,
};
use crate::command::input_paths::{Input, Reads};
use crate::command::job::{Job, Trainer};
use crate::command::python::Python;
use crate::command::run_file;
use crate::command::target::{ParsedCommand, Target};
use crate::host::Host;
use crate::report::{self, Problem};

pub(crate) const TRAINER: Trainer = Trainer {
    name: "axolotl",
    distribution: Some("axolotl"),
    recognise,
    launch: LaunchTraits {
        consoles: &["axolotl"],
        commands: &["train"],
        console_modules: &["axolotl.cli.main"],
        ..hf::TRAINER.launch
    },
    config: ConfigTraits {
        hand_over: HandOver::Joined,
        ..hf::TRAINER.config
    },
    arguments: ArgumentTraits {
        // Not all of its ways to read a dataset are known.
        inputs: &[
            Input::new("model_name_or_path", Reads::Plain),
            Input::perhaps("datasets resume_from_checkpoint"),
        ],
        parser: ArgumentParser::Unrecorded,
        defaults: DefaultArguments::Recorded(|_, _| ArgumentClass::find("axolotl", "train")),
        ..hf::TRAINER.arguments
    },
    model: ModelTraits {
        // As axolotl documents it.
        training: TrainingDefaults {
            micro_batch: 1,
            eval_batch: None,
            eval_sets: &["val_set_size", "test_datasets"],
            online: None,
            ..hf::DEFAULTS
        },
        ..hf::TRAINER.model
    },
};

const MODULE: &str = "axolotl.cli.train";

const COMMAND: ArgumentClass = ArgumentClass {
    distribution: "axolotl",
    name: "train",
};
/// The types of its options, as the table writes them.
const VALUE: &str = "str";
const SWITCH: &str = "switch";

fn recognise(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Option<Job> {
    let mut job = if trainer.is_console(&command.target) {
        let (_, rest) = command
            .args
            .split_first()
            .filter(|(mode, _)| *mode == "train")?;
        // axolotl downloads a config that is a URL.
        run_file::first(rest).filter(|file| !file.to_string_lossy().contains("://"))?;
        let python = python_of(command, host);
        let version = python
            .as_ref()
            .and_then(|python| python.version_text(COMMAND.distribution));
        let (words, problems) = module_args(rest, version.as_deref())?;
        let variables = variables(
            python.as_ref(),
            version.as_deref().map(Version::parse),
            host,
        );
        // By name, as axolotl itself does: the current folder is then on `sys.path`.
        Job {
            target: Target::module(MODULE),
            words,
            python,
            variables,
            problems,
            ..Job::of(trainer, command)
        }
    } else {
        command
            .target
            .is_module(MODULE)
            .then(|| Job::of(trainer, command))?
    };
    if let Some(file) = run_file::first(&job.words).cloned()
        && let Some(entries) = job.read_run_file(&file, Dialect::PyYaml, host)
    {
        let mut words = run_file::paths_of(&entries, "datasets");
        let entries = renamed(entries);
        job.unread = run_file::unread(&entries, true);
        words.extend(run_file::typed_words(&entries, true));
        let flags = job.words[1..].iter().map(|word| {
            let flag = word
                .to_str()
                .and_then(|word| word.strip_prefix("--"))
                .unwrap_or_default();
            let name = flag.split('=').next().unwrap_or_default();
            let renamed =
                hf_name(&name.replace('-', "_")).map(|hf| format!("--{hf}{}", &flag[name.len()..]));
            renamed.map_or_else(|| word.clone(), OsString::from)
        });
        job.effective_words = Some(words.into_iter().chain(flags).collect());
    }
    Some(job)
}

/// The arguments that `axolotl train` passes to its module. `None`: some words are for its launcher.
fn module_args(words: &[OsString], version: Option<&str>) -> Option<(Vec<OsString>, Vec<Problem>)> {
    // Its options have dashes only.
    let kind = |name: &str| {
        let own = name.replace('-', "_");
        if name.contains('_') {
            None
        } else {
            COMMAND.written_type(&own, version.map(Version::parse))
        }
    };
    let (file, rest) = words.split_first()?;
    let (mut args, mut problems) = (vec![file.clone()], Vec::new());
    let mut rest = rest.iter().peekable();
    while let Some(word) = rest.next() {
        let text = word.to_str()?.strip_prefix("--")?;
        let (name, value) = text
            .split_once('=')
            .map_or((text, None), |(name, value)| (name, Some(value)));
        let (key, value) = match (kind(name), value) {
            (Some(VALUE), Some(value)) => (name, value.into()),
            (Some(VALUE), None) => (name, rest.next()?.clone()),
            (Some(SWITCH), None) => (name, "True".into()),
            (None, None)
                if name
                    .strip_prefix("no-")
                    .is_some_and(|name| kind(name) == Some(SWITCH)) =>
            {
                (&name["no-".len()..], "False".into())
            }
            (None, _) if kind(&name.replace('_', "-")).is_some() => {
                let (meant, own) = (format!("--{}", name.replace('_', "-")), TRAINER.name);
                let trainer =
                    version.map_or_else(|| own.to_string(), |version| format!("{own} {version}"));
                problems.push(report::trainer_has_no_option(
                    &trainer,
                    &format!("--{name}"),
                    Some(&meant),
                ));
                rest.next_if(|word| value.is_none() && !word.as_encoded_bytes().starts_with(b"-"));
                continue;
            }
            _ => return None,
        };
        let mut word = OsString::from(format!("--{key}="));
        word.push(value);
        args.push(word);
    }
    Some((args, problems))
}

fn renamed(entries: Map<String, Value>) -> Map<String, Value> {
    let usable = entries
        .into_iter()
        .filter(|(key, value)| match key.as_str() {
            // `bf16: auto` depends on the GPU, and `full` casts the whole model: neither says whether mixed precision is on.
            "bf16" | "fp16" => value.is_boolean(),
            // axolotl makes two of one.
            "warmup_steps" => *value != 1,
            _ => true,
        });
    usable
        .map(|(key, value)| (hf_name(&key).unwrap_or(&key).to_string(), value))
        .collect()
}

fn hf_name(own: &str) -> Option<&'static str> {
    match own {
        "micro_batch_size" => Some("per_device_train_batch_size"),
        "base_model" => Some("model_name_or_path"),
        _ => None,
    }
}

fn variables(python: Option<&Python>, version: Option<Version>, host: &Host) -> Vec<Variable> {
    let is_before = |other| version.is_some_and(|version| version.is_before(other));
    let torch = python.and_then(|python| python.version("torch"));
    let torch_from = |version| torch.is_some_and(|torch| !torch.is_before(version));
    let unset = |name: &str| host.var_os(name).is_none();
    let rounded = "expandable_segments:True,roundup_power2_divisions:16";
    let plain = if is_before([0, 16, 0]) {
        rounded
    } else {
        "expandable_segments:True"
    };
    let mut set = Vec::new();
    if torch_from([2, 9, 0]) && !is_before([0, 13, 0]) && unset(vars::PYTORCH_ALLOC_CONF) {
        set.push((vars::PYTORCH_ALLOC_CONF, plain));
    } else if torch_from([2, 2, 0]) && unset(vars::PYTORCH_CUDA_ALLOC_CONF) {
        set.push((vars::PYTORCH_CUDA_ALLOC_CONF, rounded));
    }
    let other = if is_before([0, 13, 0]) {
        "HF_HUB_ENABLE_HF_TRANSFER"
    } else {
        "XFORMERS_IGNORE_FLASH_VERSION_CHECK"
    };
    if unset(other) {
        set.push((other, "1"));
    }
    set.into_iter()
        .map(|(name, value)| Variable::new(name, value, "as axolotl sets it"))
        .collect()
}
