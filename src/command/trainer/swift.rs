//! ms-swift. `swift sft …` starts torchrun on a file of its own; we run that file directly, so that nothing is launched
//! twice. Sub-commands that swift itself runs as one process are passed through.

use std::ffi::{OsStr, OsString};
use std::ops::Range;

use super::{Defaults, Precision, Recognised, Trainer, Variable, hf, run_file};
use crate::base::vars;
use crate::base::yaml::{Dialect, python_str};
use crate::command::argv::{Args, Field, OptionList, Takes, hf_bool, names};
use crate::command::model::Hub;
use crate::command::python::{Python, Version};
use crate::command::target::{Parts, Target};
use crate::host::Host;
use crate::report::{self, Problem};

pub(crate) const TRAINER: Trainer = Trainer {
    name: "swift",
    consoles: &["swift"],
    distribution: Some("ms-swift"),
    model_argument: "model",
    hub,
    lifts_hidden_size: true,
    reads_base64: false,
    one_gpu_per_rank: true,
    fields: FIELDS,
    options,
    refusals,
    recognise,
    fp16: |args| precision(args, "fp16", "fp16_full_eval", &["float16", "float32"]),
    bf16: |args| precision(args, "bf16", "bf16_full_eval", &["bfloat16"]),
    precision_unknown: Some("ms-swift takes it from the model: --torch_dtype is not given"),
    // Read from the sources of 4.6.
    defaults: Defaults { micro_batch: 1, lora: true, checkpointing: true, dropout: true, ..hf::DEFAULTS },
    ..hf::TRAINER
};

const FIELDS: &[Field] = &[
    // `bool | None` in swift: a bare `--bf16` is refused by its parser.
    ("fp16", Takes::One),
    ("bf16", Takes::One),
    ("model", Takes::One),
    ("use_hf", Takes::Optional),
    ("torch_dtype", Takes::One),
    ("sequence_parallel_size", Takes::One),
    ("callbacks", Takes::One),
    ("rlhf_type", Takes::One),
    ("ignore_args_error", Takes::Optional),
];

/// The version whose options were recorded; another one may know others.
const RECORDED: &str = "4.6.0";

/// One option under three names: the version that brought each, and the one that no longer knows it.
const TUNER: &[(&str, [u32; 3], [u32; 3])] = &[
    ("sft_type", [0, 0, 0], [3, 0, 0]),
    ("train_type", [3, 0, 0], [4, 1, 0]),
    ("tuner_type", [4, 0, 0], [u32::MAX, 0, 0]),
];

/// The sub-commands that swift runs through torchrun, and all of their options.
const COMMANDS: &[(&str, &str)] = &[
    ("sft", include_str!("../../recorded/swift_sft.txt")),
    ("pt", include_str!("../../recorded/swift_pt.txt")),
    ("rlhf", include_str!("../../recorded/swift_rlhf.txt")),
    ("infer", include_str!("../../recorded/swift_infer.txt")),
];

fn recognise(parts: &Parts, host: &Host) -> Option<Recognised> {
    if command_of(&parts.target).is_some() {
        return Some(Recognised::unchanged(parts));
    }
    if !parts.target.is_console("swift") && !parts.target.is_module("swift.cli.main") {
        return None;
    }
    let (command, rest) = parts.args.split_first()?;
    let command = COMMANDS.iter().map(|(name, _)| *name).find(|name| command == name)?;
    let module = format!("swift.cli.{command}");
    let mut recognised = Recognised::behind_console(parts, &module, rest.to_vec(), host);
    // A run file is read by swift's own launcher, not by the file behind it: we put its words in its place.
    if let Some(file) = rest.first().filter(|_| run_file::is_first(rest)) {
        let version = recognised.version();
        // Before 4.1 a file was no argument, and the parser refuses it.
        if version.as_ref().is_none_or(|version| !version.is_before([4, 1, 0])) {
            let env_block =
                if version.is_some_and(|it| it.is_before([4, 2, 2])) { EnvBlock::Wins } else { EnvBlock::Yields };
            recognised.splice_file(0..1, file, false, env_block, host);
        }
    }
    // `--config x.yaml` of ms-swift 3.10 to 4.0, whose words came last and so beat the command line.
    let appended = recognised.args.iter().position(|word| word == "--config");
    if let Some((at, file)) = appended.and_then(|at| Some((at, recognised.args.get(at + 1)?.clone())))
        && recognised.version().is_some_and(|it| !it.is_before([3, 10, 0]) && it.is_before([4, 1, 0]))
    {
        recognised.splice_file(at..at + 2, &file, true, EnvBlock::Yields, host);
    }
    // Ray starts the ranks then.
    (!uses_ray(&recognised.args)).then_some(recognised)
}

fn uses_ray(words: &[OsString]) -> bool {
    let named = words.iter().any(|word| word.as_encoded_bytes().starts_with(b"--use"));
    let read = || Args::read(words.to_vec(), &[("use_ray", Takes::Optional)], OptionList::Open);
    named && read().bool("use_ray", true).ok().flatten().is_some_and(|sourced| sourced.value)
}

impl Recognised {
    fn version(&self) -> Option<Version> {
        self.python.as_ref()?.version("ms-swift")
    }

    /// Puts the words of a run file in the place of those that name it, or at the end.
    fn splice_file(&mut self, place: Range<usize>, file: &OsStr, at_end: bool, env: EnvBlock, host: &Host) {
        match run_file::read(file, Dialect::PyYaml, host) {
            // swift leaves the word alone then, and its parser refuses it.
            Ok(None) => {}
            Ok(Some(mut entries)) => {
                let block = entries.shift_remove("ENV");
                if block.as_ref().is_some_and(|block| !block.is_object() && !block.is_null()) {
                    self.problems.push(report::env_block_is_no_mapping(&file.to_string_lossy()));
                }
                self.variables.extend(variables(block.as_ref(), file, env, host));
                let words = run_file::words(&entries);
                self.args.drain(place.clone());
                let at = if at_end { self.args.len() } else { place.start };
                self.args.splice(at..at, words);
            }
            Err(problem) => self.problems.push(problem),
        }
    }
}

/// Whether the `ENV` block of a run file or the environment has the last word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EnvBlock {
    Yields,
    /// Before 4.2.2, and it came too late to say how many processes there are.
    Wins,
}

/// The variables of the `ENV` block; and swift tells the trainer which file it was.
fn variables(block: Option<&serde_json::Value>, file: &OsStr, env: EnvBlock, host: &Host) -> Vec<Variable> {
    const RANKS: &[&str] = &[vars::NPROC_PER_NODE, vars::NNODES, vars::NODE_RANK, vars::MASTER_ADDR, vars::MASTER_PORT];
    let why = format!("ENV in {}", file.to_string_lossy());
    let entries = block.and_then(|block| block.as_object()).into_iter().flatten();
    let counts = |name: &str| match env {
        EnvBlock::Yields => host.raw(name).is_none(),
        EnvBlock::Wins => !RANKS.contains(&name),
    };
    let wanted = entries.filter(|(name, _)| counts(name) && vars::is_name(name));
    let mut variables: Vec<_> = wanted
        .map(|(name, value)| Variable { name: name.clone(), value: python_str(value), why: why.clone() })
        .collect();
    let value = file.to_string_lossy().into_owned();
    variables.push(Variable { name: "SWIFT_CONFIG_FILE".to_string(), value, why: "as swift sets it".to_string() });
    variables
}

/// `swift.cli.sft` or `…/swift/cli/sft.py`, written out by the user.
fn command_of(target: &Target) -> Option<&'static str> {
    COMMANDS.iter().map(|(name, _)| *name).find(|name| target.is_module(&format!("swift.cli.{name}")))
}

fn options(target: &Target) -> OptionList {
    let command = command_of(target).unwrap_or("sft");
    let list = COMMANDS.iter().find(|(name, _)| *name == command).map_or("", |(_, list)| *list);
    OptionList::Known(list)
}

/// swift refuses an option it does not know, once everything is imported.
fn refusals(args: &Args, target: &Target, python: Option<&Python>) -> Vec<Problem> {
    let (OptionList::Known(list), Some(python)) = (options(target), python) else { return Vec::new() };
    let unknown: Vec<&str> = args.unknown(list).collect();
    let tolerated = args.bool("ignore_args_error", true).ok().flatten().is_some_and(|sourced| sourced.value);
    // Only now is the version worth a look at site-packages.
    let named = |name: &str| args.words().iter().any(|word| option_name(word).as_deref() == Some(name));
    if tolerated || unknown.is_empty() && !named("tuner_type") {
        return Vec::new();
    }
    let Some(version) = python.version("ms-swift") else { return Vec::new() };
    let now = TUNER.iter().rev().find(|(_, since, gone)| !version.is_before(*since) && version.is_before(*gone));
    let renamed = |name: &str| now.map(|(now, ..)| *now).filter(|now| *now != name && is_tuner(name));
    let refused = |word: &str, meant: Option<&str>| {
        let tolerant = "--ignore_args_error true makes it tolerate unknown options";
        report::trainer_has_no_option(&format!("ms-swift {version}"), word, meant, tolerant)
    };
    if version.0 != RECORDED {
        // Of other versions only this much is known.
        let known =
            |(_, since, gone): &(&str, [u32; 3], [u32; 3])| !version.is_before(*since) && version.is_before(*gone);
        let wrong = TUNER.iter().filter(|option| named(option.0) && !known(option));
        return wrong
            .map(|(name, ..)| refused(&format!("--{name}"), renamed(name).map(|now| format!("--{now}")).as_deref()))
            .collect();
    }
    let all: Vec<String> = names(list).map(|name| format!("--{name}")).collect();
    let meant = |word: &str| {
        let renamed = option_name(OsStr::new(word)).and_then(|name| renamed(&name)).map(|now| format!("--{now}"));
        renamed.or_else(|| report::nearest(word, all.iter().map(String::as_str)).map(str::to_string))
    };
    unknown.into_iter().map(|word| refused(word, meant(word).as_deref())).collect()
}

/// `train_type` of `--train-type=full`.
fn option_name(word: &OsStr) -> Option<String> {
    let name = word.to_str()?.strip_prefix("--")?;
    Some(name.split('=').next().unwrap_or(name).replace('-', "_"))
}

fn is_tuner(name: &str) -> bool {
    TUNER.iter().any(|(known, ..)| *known == name)
}

/// ModelScope unless told otherwise.
fn hub(args: &Args, host: &Host) -> Hub {
    let sourced = args.bool("use_hf", true).ok().flatten().map(|sourced| sourced.value);
    let use_hf = sourced.or_else(|| host.var(vars::USE_HF).and_then(hf_bool)).unwrap_or(false);
    if use_hf { Hub::HuggingFace } else { Hub::ModelScope }
}

/// `--fp16`/`--bf16` if given, else the dtype decides; float32 trains in fp16 (`_init_mixed_precision`). Without
/// either, swift looks at its model registry and at the GPU.
fn precision(args: &Args, name: &str, full_eval: &str, dtypes: &[&str]) -> Precision {
    if let Some(sourced) = args.bool(full_eval, true)?.filter(|sourced| sourced.value) {
        return Ok(Some((true, sourced.from.to_string())));
    }
    if let Some(sourced) = args.bool(name, false)? {
        return Ok(Some((sourced.value, sourced.from.to_string())));
    }
    let dtype = args.text("torch_dtype").filter(|sourced| sourced.value != "None");
    Ok(dtype.map(|sourced| (dtypes.contains(&sourced.value.as_str()), format!("{} {}", sourced.from, sourced.value))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infer_takes_no_config_and_the_others_do() {
        for (command, list) in COMMANDS {
            assert_eq!(list.lines().any(|line| line == "deepspeed"), *command != "infer", "{command}");
        }
    }

    #[test]
    fn words_of_a_run_file() {
        let entries = serde_json::json!({"model": "a/b", "dataset": ["x", "y"], "lr": 1e-5, "packing": true, "deepspeed": {"a": 1}});
        let words = run_file::words(entries.as_object().unwrap());
        let expected = [
            "--model",
            "a/b",
            "--dataset",
            "x",
            "y",
            "--lr",
            "1e-05",
            "--packing",
            "True",
            "--deepspeed",
            "{\"a\": 1}",
        ];
        assert_eq!(words, expected.map(OsString::from));
    }
}
