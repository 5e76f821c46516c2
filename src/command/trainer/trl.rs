//! TRL. `trl sft …` runs accelerate in-process on a script of its own; zlaunch runs that script under torchrun.
//! A command with `--accelerate_config` or options of accelerate is left alone.

use super::hf;
use crate::base::vars;
use crate::base::yaml::{Dialect, python_str};
use crate::command::argument_class::ArgumentClass;
use crate::command::argv::{Args, Nargs, OptionList};
use crate::command::front_end::{
    ArgumentParser, ArgumentTraits, ConfigTraits, Datasets, DefaultArguments, LaunchTraits,
    ModelTraits, TrainingDefaults, UnknownOptions, Variable,
};
use crate::command::input_paths::{Input, Reads};
use crate::command::job::{Job, Trainer};
use crate::command::run_file;
use crate::command::target::{ParsedCommand, Target};
use crate::host::Host;

pub(crate) const TRAINER: Trainer = Trainer {
    name: "trl",
    distribution: Some("trl"),
    recognise,
    launch: LaunchTraits {
        consoles: &["trl"],
        commands: &["sft", "dpo", "grpo", "kto", "reward", "rloo"],
        // Before 0.13, up to 0.28, and since.
        console_modules: &["trl.commands.cli", "trl.cli", "trl.cli.main"],
        ..hf::TRAINER.launch
    },
    config: ConfigTraits {
        argument: |_| "deepspeed",
        ..hf::TRAINER.config
    },
    arguments: ArgumentTraits {
        inputs: &[
            Input::new(
                "model_name_or_path dataset_name datasets chat_template_path",
                Reads::Plain,
            ),
            Input::perhaps("resume_from_checkpoint"),
        ],
        datasets: Datasets::Folders,
        besides: &["config"],
        // `trl` would pass unknown options on to accelerate.
        parser: ArgumentParser::Recorded {
            class: |target, _| {
                Some(ArgumentClass {
                    distribution: "trl",
                    name: command_of(target)?.0,
                })
            },
            unknown: UnknownOptions::Ignored,
        },
        defaults: DefaultArguments::Recorded(|_, target| {
            ArgumentClass::find("trl", command_of(target)?.1)
        }),
        ..hf::TRAINER.arguments
    },
    model: ModelTraits {
        // Read from the sources of 0.29.
        training: TrainingDefaults {
            seq_len: Some(1024),
            lora_rank: 16,
            checkpointing: true,
            measured_losses: true,
            ..hf::DEFAULTS
        },
        has_reference: |_, target| {
            command_of(target).is_some_and(|(name, _)| ["dpo", "kto"].contains(&name))
        },
        needs_weights: true,
        ..hf::TRAINER.model
    },
};

/// The classes of their arguments.
const CLASSES: [&str; 6] = [
    "SFTConfig",
    "DPOConfig",
    "GRPOConfig",
    "KTOConfig",
    "RewardConfig",
    "RLOOConfig",
];
/// The packages of their scripts: since 0.13, and before.
const FOLDERS: [&str; 2] = ["trl.scripts", "trl.commands.scripts"];

/// Options of `accelerate launch`, to which TRL's own parser passes them on.
const ACCELERATE: &str = "accelerate_config config_file num_processes num_machines machine_rank main_process_ip \
    main_process_port mixed_precision use_deepspeed deepspeed_config_file zero_stage use_fsdp multi_gpu gpu_ids cpu \
    dynamo_backend num_cpu_threads_per_process";

fn is_for_accelerate(name: &str) -> bool {
    ACCELERATE.split(' ').any(|option| option == name)
}

fn recognise(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Option<Job> {
    let mut job = if trainer.is_console(&command.target) {
        let (script, rest) = command.args.split_first()?;
        let script = trainer
            .launch
            .commands
            .iter()
            .find(|name| script == **name)?;
        let names = rest
            .iter()
            .filter_map(|word| word.to_str()?.strip_prefix("--")?.split('=').next());
        if names
            .map(|name| name.replace('-', "_"))
            .any(|name| is_for_accelerate(&name))
        {
            return None;
        }
        let [module, older] = FOLDERS.map(|folder| format!("{folder}.{script}"));
        Job::behind(trainer, command, &[&module, &older], host)
    } else {
        command_of(&command.target)?;
        Job::of(trainer, command)
    };
    if let Some(file) = Args::read(
        job.words.clone(),
        &[("config", Nargs::One)],
        OptionList::Open,
    )
    .raw("config")
        && let Some(mut entries) = job.read_run_file(file.value, Dialect::PyYaml, host)
    {
        if entries.keys().any(|key| is_for_accelerate(key)) {
            return None;
        }
        job.variables = variables(entries.shift_remove("env").as_ref());
        job.unread = run_file::unread(&entries, true);
        let mut words = run_file::typed_words(&entries, true);
        words.extend(run_file::paths_of(&entries, "datasets"));
        job.effective_words = Some(words.into_iter().chain(job.words.iter().cloned()).collect());
    }
    Some(job)
}

fn command_of(target: &Target) -> Option<(&'static str, &'static str)> {
    let mut commands = TRAINER.launch.commands.iter().copied().zip(CLASSES);
    commands.find(|(name, _)| {
        FOLDERS
            .iter()
            .any(|folder| target.is_module(&format!("{folder}.{name}")))
    })
}

/// The `env` block of the file wins over the environment.
fn variables(block: Option<&serde_json::Value>) -> Vec<Variable> {
    let entries = block
        .and_then(|block| block.as_object())
        .into_iter()
        .flatten();
    let named = entries.filter(|(name, _)| vars::is_name(name));
    named
        .map(|(name, value)| Variable::new(name, python_str(value), "env in the run file"))
        .collect()
}
