//! Scripts built on transformers' `Trainer`: `python train.py --deepspeed …`, any module, and whatever else
//! `HfArgumentParser` reads. The other front ends of the family start from this one.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::command::argv::{Args, Field, Nargs, OptionList};
use crate::command::front_end::{
    ArgumentParser, ArgumentTraits, AutoFiller, ConfigTraits, DefaultArguments, HandOver, LaunchTraits, ModelTraits,
    NoConfig, Precision, TakesConfig, Trainer, TrainingDefaults, Usage,
};
use crate::command::inputs::Input;
use crate::command::job::Job;
use crate::command::model::{HiddenSizeLookup, Hub};
use crate::command::run_file::{self, RunFile};
use crate::command::script::{ArgumentFlow, RunFileReader, run_file_reader};
use crate::command::script_source::ScriptSource;
use crate::command::target::{ParsedCommand, Target};
use crate::host::Host;
use crate::report::reading;

pub(crate) const TRAINER: Trainer = Trainer {
    name: "hf",
    usage: USAGE,
    distribution: Some("transformers"),
    recognise,
    launch: LaunchTraits {
        consoles: &[],
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
    },
    arguments: ArgumentTraits {
        fields: FIELDS,
        options: |_| OptionList::Open,
        inputs: INPUTS,
        parser: ArgumentParser::Script,
        refusals: |_, _, _| Vec::new(),
        defaults: DefaultArguments::Script,
        computed: |_, _, _, _| None,
    },
    model: ModelTraits {
        argument: "model_name_or_path",
        hub: |_, _| Hub::HuggingFace,
        hidden_size: HiddenSizeLookup::Transformers,
        fp16: |args| precision(args, "fp16", "fp16_full_eval", "bf16"),
        bf16: |args| precision(args, "bf16", "bf16_full_eval", "fp16"),
        precision_unknown: None,
        training: DEFAULTS,
    },
};

/// Commands that start with a launcher are here too: behind it is usually an HF script.
const USAGE: &[Usage] = &[
    Usage {
        commands: &["python hf.py …", "python -m hf …"],
        runs: "torchrun on it with `--deepspeed`; if its only argument is a JSON or YAML file that transformers reads, a copy of that file with the config in it",
        runs_zh: "torchrun 运行它，加上 `--deepspeed`；如果唯一的参数是由 transformers 读取的 JSON 或 YAML 文件，就另写一份带配置的",
    },
    Usage {
        commands: &["torchrun script.py …", "python -m torch.distributed.run script.py …", "deepspeed script.py …"],
        runs: "itself, with its own flags; only the config is resolved. `torchrun --nproc_per_node=5 swift sft …` works too",
        runs_zh: "它自己，参数不变，只替换配置。`torchrun --nproc_per_node=5 swift sft …` 也可以",
    },
    Usage {
        commands: &["accelerate launch script.py …"],
        runs: "torchrun and the variables accelerate would set, where its flags alone decide; with a run file of its own or other flags: itself, with the config as `--deepspeed_config_file`. Either way accelerate fills \"auto\"",
        runs_zh: "仅凭命令行参数就能确定时：torchrun 加上 accelerate 会设的变量；用了 accelerate 自己的 run file 或其他参数时：它自己，DeepSpeed 配置写成 `--deepspeed_config_file`。两种情况下 \"auto\" 都由 accelerate 填写",
    },
    Usage {
        commands: &["srun --ntasks=2 python script.py …"],
        runs: "`srun FLAGS zlaunch … -- COMMAND`: each task finds its own place",
        runs_zh: "`srun FLAGS zlaunch … -- COMMAND`：每个任务自己找到自己的位置",
    },
];

/// As transformers documents them.
pub(super) const DEFAULTS: TrainingDefaults =
    TrainingDefaults { micro_batch: 8, seq_len: None, lora: false, lora_rank: 8, checkpointing: false, dropout: false };

/// The names of transformers' examples. Every script accepts `--resume_from_checkpoint`, but not every one reads it.
const INPUTS: &[Input] = &[
    Input::plain("model_name_or_path"),
    Input::plain("config_name"),
    Input::plain("tokenizer_name"),
    Input::plain("train_file"),
    Input::plain("validation_file"),
    Input::plain("test_file"),
    Input::plain("resume_from_checkpoint").perhaps(),
];

const FIELDS: &[Field] = &[
    ("model_name_or_path", Nargs::One),
    ("deepspeed_config", Nargs::One),
    ("ds_config", Nargs::One),
    ("deepspeed_config_file", Nargs::One),
    ("deepspeed_config_path", Nargs::One),
    ("ds_config_path", Nargs::One),
    ("ds_config_file", Nargs::One),
    ("deepspeed_path", Nargs::One),
    ("deepspeed_file", Nargs::One),
];

/// Any Python program: a script that calls `deepspeed.initialize` itself was job before. A file `script.args`
/// beside the script holds arguments that `HfArgumentParser` reads first.
fn recognise(command: &ParsedCommand, host: &Host) -> Option<Job> {
    let mut job = Job::of(&TRAINER, command);
    if matches!(command.target, Target::Program(_)) {
        return None;
    }
    if let Target::Script { path, .. } = &command.target {
        let file = host.absolute(Path::new(path)).with_extension("args");
        let text = reading::text_if_any(&file);
        let words = text.iter().flat_map(|text| text.split_whitespace()).map(OsString::from);
        job.effective_words = text.as_ref().map(|_| words.chain(command.args.iter().cloned()).collect());
    }
    let source = command.source(host);
    job.takes_config = source.and_then(|source| takes_config(source, &command.args));
    // A command that names a config in a section is job before.
    if source.is_some_and(|source| source.text.contains("hydra.main")) && job.takes_config.is_none() {
        let why = "hydra reads its arguments, and it is not seen which key names the config";
        job.no_config = Some(NoConfig::new(why, "name it in the command, as hydra has it: KEY.deepspeed=zero3"));
    }
    if let Some(file) = run_file::first(&command.args) {
        take_run_file(&mut job, file, command.args.len() == 1, source.map(|source| &**source), host);
    }
    Some(job)
}

/// A JSON or YAML file that is the only argument holds all the others (`parse_json_file`), unless the script shows that
/// the file is its own. If it cannot be read, the script is not an HF script and the file is its data.
fn take_run_file(job: &mut Job, file: &OsStr, alone: bool, source: Option<&ScriptSource>, host: &Host) {
    let reads = source.map_or(RunFileReader::Transformers, run_file_reader);
    // Only the parser of the alignment handbook takes more behind it.
    if reads == RunFileReader::Nobody || !alone && reads != RunFileReader::Handbook {
        return;
    }
    let Some(run_file) = RunFile::read(file, host) else { return };
    job.read_arguments(&run_file);
    if reads == RunFileReader::Transformers {
        job.run_file = Some(run_file);
    }
}

/// The names by which scripts take a config that they hand to `TrainingArguments`.
pub(super) const CONFIG_OPTIONS: &[&str] = &[
    "deepspeed",
    "deepspeed_config",
    "ds_config",
    "deepspeed_config_file",
    "deepspeed_config_path",
    "ds_config_path",
    "ds_config_file",
    "deepspeed_path",
    "deepspeed_file",
];

fn config_argument(args: &Args) -> &'static str {
    CONFIG_OPTIONS.iter().find(|name| args.raw(name).is_some()).unwrap_or(&CONFIG_OPTIONS[0])
}

/// How the script takes the config, where the usual way would not do.
fn takes_config(source: &ScriptSource, words: &[OsString]) -> Option<TakesConfig> {
    if run_file_reader(source) == RunFileReader::Handbook && run_file::first(words).is_some() {
        return Some(TakesConfig::Joined);
    }
    // `TrainingArguments(deepspeed=args.ds_config)`
    let named = source.text.contains("deepspeed=").then(|| ArgumentFlow::read(source).config_option()).flatten()?;
    (named != CONFIG_OPTIONS[0]).then(|| TakesConfig::Named(named.to_string()))
}

/// The flag or its `_full_eval`. When the *other* precision is on, this one is off: transformers refuses both.
fn precision(args: &Args, name: &str, full_eval: &str, other: &str) -> Precision {
    let own = args.bool(name, true)?;
    let eval = args.bool(full_eval, true)?;
    let other = args.bool(other, true)?;
    if let Some(on) = [&own, &eval].into_iter().flatten().find(|sourced| sourced.value) {
        return Ok(Some((true, on.from.to_string())));
    }
    // A word that may abbreviate it could still turn it on.
    if args.unclear(name).or(args.unclear(full_eval)).is_some() {
        return Ok(None);
    }
    if let Some(own) = own {
        return Ok(Some((false, own.from.to_string())));
    }
    Ok(other.filter(|other| other.value).map(|other| (false, format!("{} excludes it", other.from))))
}
