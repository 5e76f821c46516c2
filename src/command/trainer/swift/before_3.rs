//! ms-swift 2: classes of its own, which do not derive from transformers' and name some arguments otherwise. What is not
//! here is as in later versions.

use std::ffi::OsString;

use super::common::{TOLERANT, accumulation_steps, learning_rate, tolerates};
use crate::base::vars;
use crate::command::argv::{Args, Field, Nargs, hf_bool};
use crate::command::defaults::ArgumentClass;
use crate::command::front_end::{
    ArgumentParser, DefaultArguments, RankCommand, Trainer, TrainingDefaults, UnknownOptions,
};
use crate::command::inputs::Input;
use crate::command::model::Hub;
use crate::command::python::Version;
use crate::command::shipped::ShippedConfigs;
use crate::command::target::Target;
use crate::command::trainer::hf;
use crate::host::Host;

/// The first version that is not meant here.
pub(super) const UNTIL: [u32; 3] = [3, 0, 0];

pub(super) const TRAINER: Trainer = Trainer {
    name: "swift",
    usage: &[],
    consoles: &["swift"],
    console_modules: &["swift.cli.main"],
    distribution: Some("ms-swift"),
    config_argument,
    shipped_configs: Some(ShippedConfigs { yields_to_file: false, has_stand_ins: true }),
    model_argument: "model_id_or_path",
    hub,
    reads_base64: false,
    one_gpu_per_rank: true,
    inputs: INPUTS,
    fields: FIELDS,
    // Only the later one recognises commands.
    recognise: |_, _| None,
    fp16: |args| Ok(precision(args, "fp16")),
    bf16: |args| Ok(precision(args, "bf16")),
    precision_unknown: Some("ms-swift takes it from the model: --dtype is not given"),
    parser: ArgumentParser::Recorded {
        class: |target, _| parser_of(target),
        unknown: UnknownOptions::Refused { unless: |args, _| tolerates(args), tolerant: TOLERANT },
    },
    arguments: DefaultArguments::Recorded(arguments),
    computed,
    // Read from the sources of 2.6.
    defaults: TrainingDefaults {
        micro_batch: 1,
        seq_len: Some(2048),
        lora: true,
        checkpointing: true,
        dropout: true,
        ..hf::DEFAULTS
    },
    ..hf::TRAINER
};

/// What names a dataset may be registered, a path, several of them with commas, or a sample of one: not looked at.
const INPUTS: &[Input] = &[
    Input::with_home("model_id_or_path"),
    Input::with_home("resume_from_checkpoint"),
    Input::with_home("custom_dataset_info"),
    Input::file("custom_register_path"),
];

const FIELDS: &[Field] = &[
    ("model_id_or_path", Nargs::One),
    ("dtype", Nargs::One),
    ("sft_type", Nargs::One),
    ("rlhf_type", Nargs::One),
    ("train_backend", Nargs::One),
    ("sequence_parallel_size", Nargs::One),
    ("ignore_args_error", Nargs::Optional),
    (OLD_CONFIG_ARGUMENT, Nargs::One),
];

/// It counts before `--deepspeed`.
const OLD_CONFIG_ARGUMENT: &str = "deepspeed_config_path";

/// The modules, and the classes that read their arguments.
const CLASSES: &[(&str, &str)] = &[
    ("swift.cli.sft", "SftArguments"),
    ("swift.cli.pt", "PtArguments"),
    ("swift.cli.rlhf", "RLHFArguments"),
    ("swift.cli.dpo", "DPOArguments"),
    ("swift.cli.orpo", "ORPOArguments"),
    ("swift.cli.simpo", "SimPOArguments"),
];

/// The arguments under the names of later versions.
pub(super) fn rename_arguments(rank: &mut RankCommand) {
    let words = rank.effective_args.as_ref().unwrap_or(&rank.args);
    let is_given = words.iter().any(|word| name_of(word).is_some_and(|name| name == "per_device_train_batch_size"));
    if !is_given && words.iter().any(is_batch_size) {
        rank.effective_args = Some(words.iter().map(renamed).collect());
    }
}

/// The name of an option, with underscores.
fn name_of(word: &OsString) -> Option<String> {
    Some(word.to_str()?.strip_prefix("--")?.split('=').next()?.replace('-', "_"))
}

/// `--batch_size`; no other option begins with its first two letters.
fn is_batch_size(word: &OsString) -> bool {
    name_of(word).is_some_and(|name| name.len() > 1 && "batch_size".starts_with(&name))
}

/// The later name, spelt with dashes where the old one was.
fn renamed(word: &OsString) -> OsString {
    if !is_batch_size(word) {
        return word.clone();
    }
    let text = word.to_string_lossy();
    let (old, value) = text.split_once('=').map_or((&*text, None), |(old, value)| (old, Some(value)));
    let is_dashed = old.trim_start_matches('-').contains('-');
    let name = if is_dashed { "--per-device-train-batch-size" } else { "--per_device_train_batch_size" };
    value.map_or_else(|| name.into(), |value| format!("{name}={value}").into())
}

fn config_argument(args: &Args) -> &'static str {
    if args.is_given(OLD_CONFIG_ARGUMENT) { OLD_CONFIG_ARGUMENT } else { "deepspeed" }
}

fn hub(_: &Args, host: &Host) -> Hub {
    if host.var(vars::USE_HF).and_then(hf_bool) == Some(true) { Hub::HuggingFace } else { Hub::ModelScope }
}

/// `--dtype`, unless it is AUTO: then the model registry and the GPU decide.
fn precision(args: &Args, dtype: &str) -> Option<(bool, String)> {
    let given = args.text("dtype").filter(|sourced| sourced.value != "AUTO");
    given.map(|sourced| (sourced.value == dtype, format!("{} {}", sourced.from, sourced.value)))
}

fn parser_of(target: &Target) -> Option<ArgumentClass> {
    let class = CLASSES.iter().find(|(module, _)| target.is_module(module));
    class.map(|(_, name)| ArgumentClass { distribution: "ms-swift", name })
}

/// All have the same defaults, except for the tuner of `swift pt`. PPO counts batches in its own way.
fn arguments(args: &Args, target: &Target) -> Option<ArgumentClass> {
    let has_own_batches = args.text("rlhf_type").is_some_and(|rlhf| rlhf.value == "ppo");
    let pretrains = target.is_module("swift.cli.pt") && !args.is_given("sft_type");
    let name = if pretrains { "PtArguments" } else { "SftArguments" };
    (!has_own_batches).then(|| ArgumentClass::find("ms-swift", name)).flatten()
}

fn computed(argument: &str, args: &Args, _: &Version, world_size: Option<u64>) -> Option<String> {
    let is_hidden = ["sft_type", "train_backend"].iter().any(|name| args.unclear(name).is_some());
    match argument {
        // Megatron trains all parameters, whatever the type says.
        "learning_rate" if !is_hidden && !args.is_given("train_backend") => {
            Some(learning_rate(args.text("sft_type").is_some_and(|tuner| tuner.value == "full")))
        }
        "gradient_accumulation_steps" => accumulation_steps(args, world_size),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::fake::Sandbox;

    #[test]
    fn arguments_of_ms_swift_2() {
        let files = ["swift/cli/sft.py", "swift/cli/pt.py", "swift/cli/rlhf.py"];
        let old = Sandbox::with_trainer("swift", "ms_swift", "2.6.1", &files);
        let job = old.job("swift sft --batch_size 2 --dtype bf16 --model_id_or_path m");
        assert_eq!(job.trainer.model_argument, "model_id_or_path");
        assert_eq!(job.args.int("per_device_train_batch_size").unwrap().unwrap().value, 2);
        assert_eq!((job.trainer.bf16)(&job.args).unwrap().unwrap(), (true, "--dtype bf16".to_string()));
        assert!(!(job.trainer.fp16)(&job.args).unwrap().unwrap().0);
        // As it is written, and with the config where ms-swift looks first.
        let rank = |line: &str| old.rank(line).1.replace("SITE/swift/cli/", "");
        assert_eq!(rank("swift sft --batch_size 2"), "sft.py --batch_size 2 --deepspeed CONFIG");
        assert_eq!(
            rank("swift sft --deepspeed a.json --deepspeed_config_path b.json"),
            "sft.py --deepspeed a.json --deepspeed_config_path CONFIG"
        );
        for (line, micro) in [
            ("--batch=4", Some(4)),
            ("--batch-size=5", Some(5)),
            ("--per_device_train_batch_size 3 --batch_size 4", Some(3)),
            ("--b 4", None),
        ] {
            let found = old.job(&format!("swift pt {line}")).args.int("per_device_train_batch_size").unwrap();
            assert_eq!(found.map(|sourced| sourced.value), micro, "{line}");
        }
        let new = Sandbox::with_trainer("swift", "ms_swift", "3.0.0", &files);
        assert_eq!(new.job("swift sft --batch_size 2").trainer.model_argument, "model");
    }
}
