//! ms-swift. `swift sft …` starts torchrun on a file of its own; zlaunch runs that file directly, so that nothing is
//! launched twice. Sub-commands that swift itself runs as one process are passed through.

use std::ffi::OsStr;
use std::ops::Range;
use std::path::Path;

use serde_json::Value;

use super::hf;
use crate::base::recorded::{Table, Version};
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::base::yaml::{Dialect, python_str};
use crate::command::argument_class::ArgumentClass;
use crate::command::argv::{Args, Nargs, OptionList, hf_bool};
use crate::command::front_end::{
    ArgumentParser, ArgumentTraits, ConfigTraits, Datasets, DefaultArguments, LaunchTraits,
    ModelTraits, OnlineDefaults, Precision, TrainingDefaults, UnknownOptions, Variable, python_of,
};
use crate::command::input_paths::{Input, Reads};
use crate::command::job::{Job, Trainer};
use crate::command::model::{HiddenSizeLookup, Hub};
use crate::command::run_file::{self, RunFile};
use crate::command::shipped::ShippedConfigs;
use crate::command::target::{ParsedCommand, Target};
use crate::host::Host;
use crate::report::{Problem, Rule};

pub(crate) const TRAINER: Trainer = Trainer {
    name: "swift",
    distribution: Some("ms-swift"),
    recognise,
    launch: LaunchTraits {
        consoles: &["swift"],
        commands: &["sft", "pt", "rlhf", "infer"],
        console_modules: &["swift.cli.main"],
        one_gpu_per_rank: true,
        ..hf::TRAINER.launch
    },
    config: ConfigTraits {
        shipped: Some(ShippedConfigs {
            yields_to_file: false,
            has_stand_ins: true,
        }),
        reads_base64: false,
        refuses_optimizer: Some([[4, 2, 0], [4, 7, 0]]),
        ..hf::TRAINER.config
    },
    arguments: ArgumentTraits {
        inputs: INPUTS,
        datasets: Datasets::Files,
        fields: FIELDS,
        options,
        parser: ArgumentParser::Recorded {
            class: |target, _| {
                let name = command_of(target).filter(|command| *command != "infer")?;
                Some(ArgumentClass {
                    distribution: "ms-swift",
                    name,
                })
            },
            unknown: UnknownOptions::Refused(|args, _| is_on(args, "ignore_args_error")),
        },
        defaults: DefaultArguments::Recorded(arguments),
        computed,
        ..hf::TRAINER.arguments
    },
    model: ModelTraits {
        argument: "model",
        hub: |args, host| {
            let given = args
                .bool("use_hf", true)
                .ok()
                .flatten()
                .map(|sourced| sourced.value);
            let use_hf = given
                .or_else(|| host.var(vars::USE_HF).and_then(hf_bool))
                .unwrap_or(false);
            if use_hf {
                Hub::HuggingFace
            } else {
                Hub::ModelScope
            }
        },
        hidden_size: HiddenSizeLookup::MsSwift,
        fp16: |args| precision(args, "fp16", "fp16_full_eval", &["float16", "float32"]),
        bf16: |args| precision(args, "bf16", "bf16_full_eval", &["bfloat16"]),
        needs_weights: true,
        precision_unknown: Some("ms-swift reads it from the model: --torch_dtype is not set"),
        // Read from the sources of 4.6.
        training: TrainingDefaults {
            micro_batch: 1,
            batch: 16,
            lora: true,
            checkpointing: true,
            dropout: true,
            half: true,
            eval_batch: Some(1),
            eval_sets: &["val_dataset", "cached_val_dataset", "split_dataset_ratio"],
            online: Some(OnlineDefaults {
                answer: 512,
                has_reference: |_| true,
            }),
            own_ppo_and_gkd: true,
            ..hf::DEFAULTS
        },
        ..hf::TRAINER.model
    },
};

const INPUTS: &[Input] = &[
    Input::new(
        "model adapters ref_model ref_adapters reward_model teacher_model",
        Reads::SwiftModel,
    ),
    Input::new("dataset val_dataset", Reads::SwiftDataset),
    Input::new(
        "cached_dataset cached_val_dataset custom_dataset_info resume_from_checkpoint",
        Reads::Home,
    ),
    Input::new("external_plugins custom_register_path", Reads::File),
];

// `bool | None` in swift: a bare `--bf16` is refused by its parser.
const FIELDS: &str = "deepspeed_config_path fp16 bf16 model use_hf? torch_dtype sequence_parallel_size callbacks rlhf_type ignore_args_error? load_args?";

const SFT: Table = Table(include_str!("../../recorded/swift_sft.txt"));

/// The sub-commands that swift runs through torchrun, with their options.
const COMMANDS: &[(&str, &[Table])] = &[
    ("sft", &[SFT]),
    ("pt", &[SFT]),
    (
        "rlhf",
        &[SFT, Table(include_str!("../../recorded/swift_rlhf.txt"))],
    ),
    (
        "infer",
        &[Table(include_str!("../../recorded/swift_infer.txt"))],
    ),
];

fn recognise(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Option<Job> {
    if command_of(&command.target).is_some() {
        let mut job = Job {
            python: python_of(command, host),
            ..Job::of(trainer, command)
        };
        adapt(&mut job, host);
        return Some(job);
    }
    if !trainer.is_console(&command.target) {
        return None;
    }
    let (first, rest) = command.args.split_first()?;
    let (name, _) = COMMANDS.iter().find(|(name, _)| first == name)?;
    let mut job = Job::behind(trainer, command, &[&format!("swift.cli.{name}")], host);
    adapt(&mut job, host);
    let version = job.version();
    let is_before = |other| version.is_some_and(|version| version.is_before(other));
    // swift's own launcher reads a run file, and the file behind it does not: the words in it take its place.
    if let Some(file) = run_file::first(rest)
        && !is_before([4, 1, 0])
    {
        insert_run_file(&mut job, 0..1, file, false, host);
    }
    // `--config x.yaml` of ms-swift 3.10 to 4.0 put the words of the file last, so they win over the command line.
    let option = job.words.iter().position(|word| word == "--config");
    if let Some((at, file)) = option.and_then(|at| Some((at, job.words.get(at + 1)?.clone())))
        && is_before([4, 1, 0])
        && !is_before([3, 10, 0])
    {
        insert_run_file(&mut job, at..at + 2, &file, true, host);
    }
    // With `--use_ray`, Ray starts the ranks.
    let args = Args::read(
        job.words.clone(),
        &[("use_ray", Nargs::Optional)],
        OptionList::Open,
    );
    (!is_on(&args, "use_ray")).then_some(job)
}

fn is_on(args: &Args, name: &str) -> bool {
    args.bool(name, true)
        .ok()
        .flatten()
        .is_some_and(|sourced| sourced.value)
}

/// Before 4.1 a JSON file may hold all arguments, and no other file any.
fn adapt(job: &mut Job, host: &Host) {
    let is_older = job
        .version()
        .is_some_and(|version| version.is_before([4, 1, 0]));
    if let [file] = &job.words[..]
        && is_older
        && Path::new(file)
            .extension()
            .is_some_and(|ending| ending == "json")
        && let Some(run_file) = RunFile::read(file, host)
    {
        job.read_arguments(&run_file);
        job.run_file = Some(run_file);
    }
}

/// Replaces the words at `place`, which name a run file, by the words in it, there or at the end.
fn insert_run_file(job: &mut Job, place: Range<usize>, file: &OsStr, at_end: bool, host: &Host) {
    match run_file::read(file, Dialect::PyYaml, host) {
        // swift passes the word on, and its parser refuses it.
        Ok(None) => {}
        Ok(Some(mut entries)) => {
            let block = entries.shift_remove("ENV");
            if block
                .as_ref()
                .is_some_and(|block| !block.is_object() && !block.is_null())
            {
                let what = "`ENV` must hold `NAME: value` lines";
                let problem = Problem::error(Rule::RunFile, what)
                    .at(format!("{}, ENV", file.to_string_lossy()));
                job.problems.push(problem.fix("ENV: {NPROC_PER_NODE: 8}"));
            }
            job.variables
                .extend(variables(block.as_ref(), file, job.version(), host));
            job.words.drain(place.clone());
            let at = if at_end { job.words.len() } else { place.start };
            job.words.splice(at..at, run_file::words(&entries));
        }
        Err(problem) => job.problems.push(problem),
    }
}

/// The variables of the `ENV` block, and the one that tells the trainer which file it is.
fn variables(
    block: Option<&Value>,
    file: &OsStr,
    version: Option<Version>,
    host: &Host,
) -> Vec<Variable> {
    const RANKS: &[&str] = &[
        vars::NPROC_PER_NODE,
        vars::NNODES,
        vars::NODE_RANK,
        vars::MASTER_ADDR,
        vars::MASTER_PORT,
    ];
    let why = format!("ENV in {}", file.to_string_lossy());
    let entries = block
        .and_then(|block| block.as_object())
        .into_iter()
        .flatten();
    let named = entries.filter(|(name, _)| vars::is_name(name));
    // In 4.1 to 4.2.1 the block wins over the environment, except for what was read before the file.
    let wins = version
        .is_some_and(|version| !version.is_before([4, 1, 0]) && version.is_before([4, 2, 2]));
    let wanted = named.filter(|(name, _)| {
        if wins {
            !RANKS.contains(&name.as_str())
        } else {
            host.var_os(name).is_none()
        }
    });
    let wanted = wanted.map(|(name, value)| Variable::new(name, python_str(value), &why));
    wanted
        .chain([Variable::new(
            "SWIFT_CONFIG_FILE",
            file.to_string_lossy(),
            "as swift sets it",
        )])
        .collect()
}

fn command_of(target: &Target) -> Option<&'static str> {
    COMMANDS
        .iter()
        .map(|(name, _)| *name)
        .find(|name| target.is_module(&format!("swift.cli.{name}")))
}

fn options(target: &Target) -> OptionList<'static> {
    let command = command_of(target).unwrap_or("sft");
    OptionList::Known(
        COMMANDS
            .iter()
            .find(|(name, _)| *name == command)
            .map_or(&[], |(_, lists)| *lists),
    )
}

/// With `--load_args`, a file beside a checkpoint has defaults too.
fn arguments(args: &Args, target: &Target) -> Option<ArgumentClass> {
    let loads = args.is_given("load_args")
        && !matches!(args.bool("load_args", true), Ok(Some(loads)) if !loads.value);
    if loads {
        None
    } else {
        ArgumentClass::find("ms-swift", command_of(target)?)
    }
}

/// The tuner decides `learning_rate`, and there are as many accumulation steps as make 16 samples.
fn computed(
    argument: &str,
    args: &Args,
    version: Version,
    world_size: Option<u64>,
) -> Option<String> {
    match argument {
        "learning_rate" => {
            // The names of the option in 4 and 3.
            let tuner = args.text("tuner_type").or_else(|| args.text("train_type"));
            let trains_all = tuner.is_some_and(|tuner| tuner.value == "full");
            Some(if trains_all { "1e-5" } else { "1e-4" }.to_string())
        }
        "gradient_accumulation_steps" => {
            if args
                .text("rlhf_type")
                .is_some_and(|rlhf| rlhf.value == "grpo")
            {
                return (!version.is_before([3, 7, 0])).then(|| "1".to_string());
            }
            let micro = args
                .int("per_device_train_batch_size")
                .ok()?
                .map_or(1, |micro| micro.value);
            let samples = u64::try_from(micro)
                .ok()?
                .checked_mul(world_size?)
                .filter(|samples| *samples > 0)?;
            Some(16_u64.div_ceil(samples).to_string())
        }
        _ => None,
    }
}

/// `--fp16`/`--bf16` if given, else the dtype decides; float32 trains in fp16 (`_init_mixed_precision`). Without
/// either, swift looks at its model registry and at the GPU.
fn precision(args: &Args, name: &str, full_eval: &str, dtypes: &[&str]) -> Precision {
    let given = args.bool(full_eval, true)?.filter(|sourced| sourced.value);
    let given = if given.is_some() {
        given
    } else {
        args.bool(name, false)?
    };
    Ok(given.or_else(|| {
        let Sourced { value, from } = args
            .text("torch_dtype")
            .filter(|dtype| dtype.value != "None")?;
        Some(Sourced::new(
            dtypes.contains(&&*value),
            Source::Implied(Box::new([from.to_string(), value])),
        ))
    }))
}
