//! Scripts built on transformers' `Trainer`: `python train.py --deepspeed …`, any module, and whatever else
//! `HfArgumentParser` reads. The other front ends of the family start from this one.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::base::source::{Source, Sourced};
use crate::base::yaml::Dialect;
use crate::command::argv::{Args, OptionList};
use crate::command::front_end::{
    ArgumentParser, ArgumentTraits, AutoFiller, ConfigTraits, Datasets, DefaultArguments, HandOver,
    LaunchTraits, ModelTraits, NoConfig, OnlineDefaults, Precision, TakesConfig, TrainingDefaults,
};
use crate::command::input_paths::{Input, Reads};
use crate::command::job::{Job, Trainer};
use crate::command::model::{HiddenSizeLookup, Hub};
use crate::command::run_file::{self, RunFile};
use crate::command::script::{ArgumentFlow, reads_own_file, uses_handbook};
use crate::command::script_source::ScriptSource;
use crate::command::target::{ParsedCommand, Target};
use crate::host::Host;
use crate::report::reading;

pub(crate) const TRAINER: Trainer = Trainer {
    name: "hf",
    distribution: Some("transformers"),
    recognise,
    launch: LaunchTraits {
        consoles: &[],
        commands: &[],
        console_modules: &[],
        rank_args: |_, _| &[],
        one_gpu_per_rank: false,
        has_own_launcher: false,
    },
    config: ConfigTraits {
        filler: Some(AutoFiller::HfTrainer),
        argument: config_argument,
        hand_over: HandOver::Argument,
        shipped: None,
        reads_base64: true,
        refuses_optimizer: None,
    },
    arguments: ArgumentTraits {
        fields: FIELDS,
        options: |_| OptionList::Open,
        inputs: INPUTS,
        datasets: Datasets::Unknown,
        parser: ArgumentParser::Script,
        besides: &[],
        defaults: DefaultArguments::Script,
        computed: |_, _, _, _| None,
    },
    model: ModelTraits {
        argument: "model_name_or_path",
        hub: |_, _| Hub::HuggingFace,
        hidden_size: HiddenSizeLookup::Transformers,
        fp16: |args| precision(args, "fp16", "fp16_full_eval", "bf16"),
        bf16: |args| precision(args, "bf16", "bf16_full_eval", "fp16"),
        has_reference: |_, _| false,
        needs_weights: false,
        precision_unknown: None,
        training: DEFAULTS,
    },
};

/// For a program whose options are not recorded.
pub(super) const UNRECORDED: ArgumentTraits = ArgumentTraits {
    inputs: &[],
    parser: ArgumentParser::Unrecorded,
    defaults: DefaultArguments::Recorded(|_, _| None),
    ..TRAINER.arguments
};

/// As transformers documents them.
pub(crate) const DEFAULTS: TrainingDefaults = TrainingDefaults {
    micro_batch: 8,
    batch: 0,
    seq_len: None,
    lora: false,
    lora_rank: 8,
    checkpointing: false,
    dropout: false,
    half: false,
    eval_batch: Some(8),
    eval_sets: &[],
    online: Some(OnlineDefaults {
        answer: 256,
        // The default of --beta was 0.04 before TRL 0.19.
        has_reference: |python| {
            python
                .and_then(|it| it.version("trl"))
                .is_some_and(|trl| trl.is_before([0, 19, 0]))
        },
    }),
    own_ppo_and_gkd: false,
    measured_losses: false,
};

/// The names of transformers' examples. Every script accepts `--resume_from_checkpoint`, but not every one reads it.
const INPUTS: &[Input] = &[
    Input::new(
        "model_name_or_path config_name tokenizer_name train_file validation_file test_file",
        Reads::Plain,
    ),
    Input::perhaps("resume_from_checkpoint"),
];

/// Any Python program that no other front end has recognised.
fn recognise(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Option<Job> {
    if matches!(command.target, Target::Program(_)) {
        return None;
    }
    let mut job = Job::of(trainer, command);
    // `HfArgumentParser` first reads the arguments in a file `script.args` beside the script.
    if let Target::Script { path, .. } = &command.target
        && let Some(text) =
            reading::text_if_any(&host.absolute(Path::new(path)).with_extension("args"))
    {
        let words = text.split_whitespace().map(OsString::from);
        job.effective_words = Some(words.chain(command.args.iter().cloned()).collect());
    }
    let source = command.source(host);
    job.takes_config = source.and_then(|source| takes_config(source, &command.args));
    if source.is_some_and(|source| source.text.contains("hydra.main")) && job.takes_config.is_none()
    {
        let why = "the script uses hydra, and zlaunch cannot see which key names the config";
        job.no_config = Some(NoConfig::new(
            why,
            "set it in the command, in hydra's syntax: KEY.deepspeed=zero3",
        ));
    }
    if let Some(file) = run_file::first(&command.args) {
        take_run_file(
            &mut job,
            file,
            command.args.len() == 1,
            source.map(|source| &**source),
            host,
        );
    }
    Some(job)
}

/// A JSON or YAML file that is the only argument holds all the others (`parse_json_file`), unless the script reads it
/// itself. If it cannot be read, it may be data of a script that is not transformers'.
fn take_run_file(
    job: &mut Job,
    file: &OsStr,
    alone: bool,
    source: Option<&ScriptSource>,
    host: &Host,
) {
    // The alignment handbook's parser takes `--name=value` behind it.
    let of_handbook = source.is_some_and(uses_handbook);
    if !of_handbook && (!alone || source.is_some_and(reads_own_file)) {
        return;
    }
    let Some(run_file) = RunFile::read(file, host) else {
        let hands_over = source.filter(|source| source.mentions("parse_json_file"));
        return job
            .problems
            .extend(hands_over.and_then(|_| run_file::read(file, Dialect::PyYaml, host).err()));
    };
    job.read_arguments(&run_file);
    if !of_handbook {
        job.run_file = Some(run_file);
    }
}

pub(super) fn config_options() -> impl Iterator<Item = &'static str> {
    FIELDS.split(' ').skip(1)
}

const FIELDS: &str = "model_name_or_path deepspeed deepspeed_config ds_config deepspeed_config_file deepspeed_config_path \
    ds_config_path ds_config_file deepspeed_path deepspeed_file";

fn config_argument(args: &Args) -> &'static str {
    config_options()
        .find(|name| args.raw(name).is_some())
        .unwrap_or("deepspeed")
}

/// Set where the script does not take the config by an option that `config_argument` finds.
fn takes_config(source: &ScriptSource, words: &[OsString]) -> Option<TakesConfig> {
    if uses_handbook(source) && run_file::first(words).is_some() {
        return Some(TakesConfig::Joined);
    }
    // `TrainingArguments(deepspeed=args.ds_config)`
    let named = source
        .text
        .contains("deepspeed=")
        .then(|| ArgumentFlow::read(source).config_option())
        .flatten()?;
    (named != "deepspeed").then(|| TakesConfig::Named(named.to_string()))
}

/// The flag or its `_full_eval`. Where the *other* precision is on, this one is off: transformers refuses both.
fn precision(args: &Args, name: &str, full_eval: &str, other: &str) -> Precision {
    let own = args.bool(name, true)?;
    let eval = args.bool(full_eval, true)?;
    let other = args.bool(other, true)?.filter(|other| other.value);
    if let Some(on) = [&own, &eval]
        .into_iter()
        .flatten()
        .find(|sourced| sourced.value)
    {
        return Ok(Some(on.clone()));
    }
    // A word that may abbreviate it may still turn it on.
    if args.unclear(name).or(args.unclear(full_eval)).is_some() {
        return Ok(None);
    }
    let excluded =
        other.map(|other| Source::Implied(Box::new([other.from.to_string(), "true".to_string()])));
    Ok(own.or_else(|| Some(Sourced::new(false, excluded?))))
}
