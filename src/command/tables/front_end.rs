//! What the row of a front end states: how its command is launched, how it gets the config, what its arguments and its
//! model are. `trainer/tables/front_ends.rs` has the rows.

use crate::{
    base::recorded::Table,
    command::{
        argument_class::ArgumentClass,
        model::{HiddenSizeLookup, Hub},
        tables::{AutoSource, Input, recognition::WithoutConfig, training::TrainingDefaults},
    },
};

pub struct LaunchTraits {
    /// Its console scripts, the usual one first. They start ranks themselves, so a launcher must not run them.
    pub consoles: &'static [&'static str],
    /// Their sub-commands that train, the usual one first.
    pub commands: &'static [TrainingCommand],
    /// Values of an argument that people take for sub-commands: `swift dpo`.
    pub kinds: &'static [TrainingKind],
    /// The modules behind them, for `python -m`.
    pub console_modules: &'static [&'static str],
    /// The option by which each rank is told what has started it.
    pub starter: Option<StarterOption>,
    /// It refuses DeepSpeed when a process sees several GPUs, so each rank must have exactly one.
    pub one_gpu_per_rank: bool,
    /// Its console script starts the ranks itself, from NPROC_PER_NODE and related variables.
    pub has_own_launcher: bool,
}

/// A sub-command that trains.
pub struct TrainingCommand {
    pub name: &'static str,
    /// The module that it runs, by the names in newer and older versions.
    pub modules: &'static [&'static str],
    /// Its options. Nothing where they are not all known.
    pub options: &'static [Table],
    /// The recorded class that its parser fills.
    pub parsed: Option<ArgumentClass>,
    /// The recorded class that has its defaults.
    pub defaults: Option<ArgumentClass>,
}

/// A sub-command whose argument names kinds of training.
pub struct TrainingKind {
    /// The sub-command and its argument.
    pub before: &'static str,
    pub values: &'static [&'static str],
}

pub struct StarterOption {
    pub name: &'static str,
    /// The value for ranks of torchrun.
    pub torchrun: &'static str,
}

pub struct ConfigTraits {
    /// `None`: it takes no config.
    pub filler: Option<AutoFiller>,
    /// The names of the option that takes it, the usual one first.
    pub options: &'static [&'static str],
    pub hand_over: HandOver,
    /// What it fills in itself, if it fills in an "auto".
    pub auto_sources: &'static [AutoSource],
    /// The commands that it recognises and that take no config.
    pub refusals: &'static [WithoutConfig],
}

/// The program that replaces an "auto" which is still in the config when the trainer starts.
#[derive(Clone, Copy, PartialEq)]
pub enum AutoFiller {
    /// transformers and accelerate, by the rules of `config::auto`.
    HfTrainer,
    /// The program itself, from values that zlaunch does not see. It overwrites other values too.
    Trainer,
    /// accelerate, from what the script's own loop prepares. It keeps other values.
    Accelerate,
    /// The program itself, where the key is missing: zlaunch takes an "auto" out.
    IfMissing,
    /// The script passes the config to `deepspeed.initialize` as it is.
    Nobody,
}

#[derive(Clone, Copy, PartialEq)]
pub enum HandOver {
    /// `--name PATH`, in place of one that is given.
    Argument,
    /// `--name=PATH`, for parsers that take one word.
    Joined,
    /// `name=PATH` behind a run file, else like `Argument` (LLaMA-Factory).
    Dotted,
    /// The variable `config` names it, beside `switch=true` where that turns DeepSpeed on.
    Environment {
        config: &'static str,
        switch: Option<&'static str>,
    },
}

pub struct ArgumentTraits {
    /// Those that name a model, a dataset or a checkpoint.
    pub inputs: &'static [Input],
    pub datasets: Datasets,
    pub run_file: RunFilePlace,
    pub parser: ArgumentParser,
    /// With one of these variables, another parser reads the command.
    pub other_parsers: &'static [&'static str],
}

/// Where a file with the arguments stands in the command.
#[derive(Clone, Copy)]
pub enum RunFilePlace {
    Nowhere,
    /// Right behind the sub-command.
    First {
        since: [u32; 3],
    },
    /// Behind this option.
    Option(&'static str),
}

#[derive(Clone, Copy)]
pub enum Datasets {
    Unknown,
    /// By their names in a `dataset_info.json`.
    Listed,
    /// As folders, or by names of the hub.
    Folders,
    /// As files, or by names of the hub.
    Files,
}

#[derive(Clone, Copy, PartialEq)]
pub enum ArgumentParser {
    /// `HfArgumentParser` with the recorded class of the command.
    Recorded,
    /// The parser in the script, which zlaunch reads.
    Script,
    /// Another parser, which is not recorded.
    Unrecorded,
}

pub struct ModelTraits {
    pub argument: &'static str,
    /// The hub of a model that is not a folder.
    pub hub: Hub,
    pub other_hub: Option<OtherHub>,
    pub hidden_size: HiddenSizeLookup,
    /// The sub-commands, or values of `--stage`, with a reference model, which gets the config before transformers fills it.
    pub with_reference: &'static [&'static str],
    /// It fails where the model's folder has no weights.
    pub needs_weights: bool,
    pub precision_unknown: Option<&'static str>,
    pub training: TrainingDefaults,
}

/// The hub that an argument or else a variable selects by being true.
pub struct OtherHub {
    pub hub: Hub,
    pub argument: Option<&'static str>,
    pub variable: &'static str,
}

/// A half precision, by its arguments.
#[derive(Clone, Copy)]
pub struct HalfPrecision {
    pub name: &'static str,
    pub full_eval: &'static str,
    /// The argument of the precision that cannot be on beside it.
    pub other: &'static str,
    /// The values of `--torch_dtype` with which ms-swift trains in it.
    pub swift_dtypes: &'static [&'static str],
}

pub const FP16: HalfPrecision = HalfPrecision {
    name: "fp16",
    full_eval: "fp16_full_eval",
    other: "bf16",
    swift_dtypes: &["float16", "float32"],
};

pub const BF16: HalfPrecision = HalfPrecision {
    name: "bf16",
    full_eval: "bf16_full_eval",
    other: "fp16",
    swift_dtypes: &["bfloat16"],
};
