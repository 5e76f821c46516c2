//! LLaMA-Factory. `llamafactory-cli train x.yaml k=v` starts torchrun on its own launcher module (and splits arguments
//! with spaces on the way); zlaunch runs that module directly, without the word `train`.

use serde_json::{Map, Value};

use super::hf;
use crate::base::recorded::Version;
use crate::base::vars;
use crate::base::yaml::{Dialect, scalar};
use crate::command::argument_class::ArgumentClass;
use crate::command::argv::Args;
use crate::command::front_end::{
    ArgumentParser, ArgumentTraits, ConfigTraits, Datasets, DefaultArguments, HandOver,
    LaunchTraits, ModelTraits, TrainingDefaults, UnknownOptions, Variable, python_of,
};
use crate::command::input_paths::{Input, Reads};
use crate::command::job::{Job, Trainer};
use crate::command::model::Hub;
use crate::command::run_file::{self, RunFile};
use crate::command::target::{ParsedCommand, Target};
use crate::host::Host;
use crate::report::fix::{Owner, rename_option};
use crate::report::{Problem, Rule};

pub(crate) const TRAINER: Trainer = Trainer {
    name: "llamafactory",
    distribution: Some("llamafactory"),
    recognise,
    launch: LaunchTraits {
        consoles: &["llamafactory-cli", "lmf"],
        commands: &["train"],
        console_modules: &["llamafactory.cli"],
        ..hf::TRAINER.launch
    },
    config: ConfigTraits {
        hand_over: HandOver::Dotted,
        ..hf::TRAINER.config
    },
    arguments: ArgumentTraits {
        fields: "model_name_or_path stage",
        inputs: &[
            Input::new("model_name_or_path", Reads::Plain),
            Input::new("adapter_name_or_path", Reads::Commas),
            Input::new(
                "dataset_dir ref_model reward_model resume_from_checkpoint",
                Reads::Plain,
            ),
        ],
        datasets: Datasets::Listed,
        parser: ArgumentParser::Recorded {
            class: |_, host| {
                // Megatron has arguments of its own, and so has the next generation.
                let others = [vars::USE_MCA, vars::USE_V1]
                    .iter()
                    .any(|name| host.var(name).is_some_and(is_on));
                (!others).then_some(ArgumentClass {
                    distribution: "llamafactory",
                    name: "train",
                })
            },
            unknown: UnknownOptions::Refused(|_, host| {
                host.var(vars::ALLOW_EXTRA_ARGS).is_some_and(is_on)
            }),
        },
        defaults: DefaultArguments::Recorded(arguments),
        ..hf::TRAINER.arguments
    },
    model: ModelTraits {
        hub: |_, host| match host.var(vars::USE_MODELSCOPE_HUB) {
            Some("1" | "true" | "y") => Hub::ModelScope,
            _ => Hub::HuggingFace,
        },
        has_reference: |args, _| {
            args.text("stage")
                .is_some_and(|stage| ["dpo", "kto"].contains(&&*stage.value))
        },
        needs_weights: true,
        // Read from the sources of 0.9.5.
        training: TrainingDefaults {
            seq_len: Some(2048),
            lora: true,
            checkpointing: true,
            half: true,
            ..hf::DEFAULTS
        },
        ..hf::TRAINER.model
    },
};

/// The trainer of its PPO does not compare the config with the arguments.
fn arguments(args: &Args, _: &Target) -> Option<ArgumentClass> {
    let is_ppo = args.text("stage").is_some_and(|stage| stage.value == "ppo");
    if is_ppo {
        None
    } else {
        ArgumentClass::find("llamafactory", "TrainingArguments")
    }
}

const MODULE: &str = "llamafactory.launcher";

fn recognise(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Option<Job> {
    let console = trainer.is_console(&command.target);
    // Ray starts the ranks then.
    if console && host.var(vars::USE_RAY).is_some_and(is_on) {
        return None;
    }
    let mut job = if console {
        command.args.first().filter(|mode| *mode == "train")?;
        let behind = Job::behind(trainer, command, &[MODULE], host);
        Job {
            variables: variables(behind.version(), host),
            ..behind
        }
    } else {
        command
            .target
            .is_module(MODULE)
            .then(|| Job::of(trainer, command))?
    };
    let Some(file) = run_file::first(&job.words).cloned() else {
        return Some(job);
    };
    let python = job.python.clone().or_else(|| python_of(command, host));
    let version = python.and_then(|python| python.version_text("llamafactory"));
    let is_before = |other| {
        version
            .as_deref()
            .is_some_and(|version| Version::parse(version).is_before(other))
    };
    // To PyYAML `1e-5` is a text.
    let dialect = if is_before([0, 9, 4]) {
        Dialect::PyYaml
    } else {
        Dialect::OmegaConf
    };
    // Up to 0.9.2 a run file is the only argument.
    if is_before([0, 9, 3]) && job.words.len() > 1 {
        let version = version.as_deref().unwrap_or_default();
        let what = format!(
            "LLaMA-Factory {version} takes no argument after a run file; 0.9.3 and later do"
        );
        let (file, behind) = (file.to_string_lossy(), job.words[1].to_string_lossy());
        let problem = Problem::error(Rule::RunFile, what).at(format!("{file} {behind}"));
        job.problems
            .push(problem.fix(format!("write it into {file}")));
    } else if let Some(mut entries) = job.read_run_file(&file, dialect, host) {
        let words = job.words[1..].iter().map(|word| word.to_string_lossy());
        let (set, others): (Vec<_>, Vec<_>) =
            words.partition(|word| word.contains('=') && !word.starts_with('-'));
        for (key, value) in set.iter().filter_map(|word| word.split_once('=')) {
            insert(&mut entries, key, scalar(value, Dialect::OmegaConf));
        }
        job.problems
            .extend((!others.is_empty()).then(|| not_assigned(&others.join(" "), host)));
        job.unread = run_file::unread(&entries, false);
        job.texts = run_file::texts(&entries);
        job.effective_words = Some(run_file::typed_words(&entries, false));
        job.run_file = is_before([0, 9, 3])
            .then(|| RunFile::read(&file, host))
            .flatten();
    }
    Some(job)
}

/// Every word after a run file becomes a key, with its dashes.
fn not_assigned(given: &str, host: &Host) -> Problem {
    let options = given
        .split("--")
        .map(str::trim)
        .filter(|option| !option.is_empty());
    let assigned = options.map(|name| {
        if name.contains([' ', '=']) {
            name.replacen(' ', "=", 1)
        } else {
            format!("{name}=true")
        }
    });
    let what = format!("LLaMA-Factory reads `name=value` after a run file, not `{given}`");
    let fix = rename_option(given, assigned.collect::<Vec<_>>().join(" ")).of(Owner::Trainer);
    let problem = Problem::error(Rule::Argument, what).at(given).fix(fix);
    if host.var(vars::ALLOW_EXTRA_ARGS).is_some_and(is_on) {
        problem.into_warning()
    } else {
        problem
    }
}

/// `a.b=1` reaches into a section.
fn insert(entries: &mut Map<String, Value>, key: &str, value: Value) {
    let Some((section, rest)) = key.split_once('.') else {
        entries.insert(key.to_string(), value);
        return;
    };
    let section = entries.entry(section).or_insert(Value::Null);
    if !section.is_object() {
        *section = Value::Object(Map::new());
    }
    if let Some(section) = section.as_object_mut() {
        insert(section, rest, value);
    }
}

fn is_on(value: &str) -> bool {
    ["true", "y", "1"].contains(&value.to_ascii_lowercase().as_str())
}

/// `OPTIM_TORCH` (on unless switched off) sets two; and up to 0.9.0 RANK was the number of the machine.
fn variables(version: Option<Version>, host: &Host) -> Vec<Variable> {
    let is_before = |other| version.is_some_and(|version| version.is_before(other));
    let mut variables = Vec::new();
    if host.var(vars::OPTIM_TORCH).is_none_or(is_on) && !is_before([0, 9, 3]) {
        let why = "as llamafactory-cli sets it (OPTIM_TORCH=0 does not)";
        variables.push(Variable::new(
            vars::PYTORCH_CUDA_ALLOC_CONF,
            "expandable_segments:True",
            why,
        ));
        variables.push(Variable::new("TORCH_NCCL_AVOID_RECORD_STREAMS", "1", why));
    }
    if let Some(rank) = host.nonempty_var(vars::RANK)
        && host.nonempty_var(vars::LOCAL_RANK).is_none()
        && is_before([0, 9, 1])
    {
        variables.push(Variable::new(
            vars::NODE_RANK,
            rank,
            "RANK, as LLaMA-Factory before 0.9.1 reads it",
        ));
    }
    variables
}
