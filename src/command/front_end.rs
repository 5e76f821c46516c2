//! The properties of a front end, which the files in `trainer/` fill in.

use std::ops::Range;

use crate::base::recorded::{Table, Version};
use crate::base::source::Sourced;
use crate::command::argument_class::ArgumentClass;
use crate::command::argv::{Args, ArgumentError};
use crate::command::model::{HiddenSizeLookup, Hub};
use crate::command::python::Python;
use crate::command::shipped::ShippedConfigs;
use crate::command::tables::recognition::WithoutConfig;
use crate::command::tables::training::TrainingDefaults;
use crate::command::tables::{AutoSource, Input};
use crate::command::target::{ParsedCommand, Target};
use crate::host::Host;

pub struct LaunchTraits {
    /// Its console scripts, the usual one first. They start ranks themselves, so a launcher must not run them.
    pub consoles: &'static [&'static str],
    /// Their sub-commands that train, the usual one first.
    pub commands: &'static [&'static str],
    /// The modules behind them, for `python -m`.
    pub(crate) console_modules: &'static [&'static str],
    pub(crate) rank_args: fn(&Args, Ranks) -> &'static [&'static str],
    /// It refuses DeepSpeed when a process sees several GPUs, so each rank must have exactly one.
    pub(crate) one_gpu_per_rank: bool,
    /// Its console script starts the ranks itself, from NPROC_PER_NODE and related variables.
    pub(crate) has_own_launcher: bool,
}

pub struct ConfigTraits {
    /// `None`: it takes no config.
    pub(crate) filler: Option<AutoFiller>,
    pub(crate) argument: fn(&Args) -> &'static str,
    pub(crate) hand_over: HandOver,
    /// DeepSpeed configs in its package, which its own argument may name.
    pub(crate) shipped: Option<ShippedConfigs>,
    /// The versions that fail with an `optimizer` section.
    pub(crate) refuses_optimizer: Option<Range<[u32; 3]>>,
    /// What it fills in itself, if it fills in an "auto".
    pub(crate) auto_sources: &'static [AutoSource],
    /// The commands that it recognises and that take no config.
    pub refusals: &'static [WithoutConfig],
}

pub(crate) struct ArgumentTraits {
    /// The options of its commands, the usual one first. Nothing where they are not all known.
    pub(crate) options: &'static [CommandOptions],
    /// Those that name a model, a dataset or a checkpoint.
    pub(crate) inputs: &'static [Input],
    pub(crate) datasets: Datasets,
    pub(crate) parser: ArgumentParser,
    /// Options that its parser has besides those of the recorded class.
    pub(crate) besides: &'static [&'static str],
    pub(crate) defaults: DefaultArguments,
    /// A default that it computes from other arguments, as it is written on a command line.
    pub(crate) computed:
        fn(argument: &str, &Args, Version, world_size: Option<u64>) -> Option<String>,
}

/// The options of one command, by the module that it runs.
pub(crate) struct CommandOptions {
    pub(crate) module: &'static str,
    pub(crate) lists: &'static [Table],
}

pub(crate) struct ModelTraits {
    pub(crate) argument: &'static str,
    /// The hub of a model that is not a folder.
    pub(crate) hub: fn(&Args, &Host) -> Hub,
    pub(crate) hidden_size: HiddenSizeLookup,
    pub(crate) precision: fn(&Args, HalfPrecision) -> Precision,
    /// It makes a reference model, which gets the config before transformers fills it.
    pub(crate) has_reference: fn(&Args, &Target) -> bool,
    /// It fails where the model's folder has no weights.
    pub(crate) needs_weights: bool,
    pub(crate) precision_unknown: Option<&'static str>,
    pub(crate) training: TrainingDefaults,
}

/// The program that replaces an "auto" which is still in the config when the trainer starts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AutoFiller {
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandOver {
    /// `--name PATH`, in place of one that is given.
    Argument,
    /// `--name=PATH`, for parsers that take one word.
    Joined,
    /// `name=PATH` behind a run file, else like `Argument` (LLaMA-Factory).
    Dotted,
    /// In place of the value of `section.name=…` or `--section.name …` (hydra, tyro).
    Nested,
    /// The variable `config` names it, beside `switch=true` where that turns DeepSpeed on.
    Environment {
        config: &'static str,
        switch: Option<&'static str>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks {
    Single,
    /// This plan executes a launcher.
    Launched,
    /// This process is one of them.
    Existing,
}

#[derive(Clone, Copy)]
pub(crate) enum HalfPrecision {
    Fp16,
    Bf16,
}

impl HalfPrecision {
    pub(crate) fn name(self) -> &'static str {
        match self {
            HalfPrecision::Fp16 => "fp16",
            HalfPrecision::Bf16 => "bf16",
        }
    }

    pub(crate) fn full_eval(self) -> &'static str {
        match self {
            HalfPrecision::Fp16 => "fp16_full_eval",
            HalfPrecision::Bf16 => "bf16_full_eval",
        }
    }

    pub(super) fn other(self) -> Self {
        match self {
            HalfPrecision::Fp16 => HalfPrecision::Bf16,
            HalfPrecision::Bf16 => HalfPrecision::Fp16,
        }
    }
}

/// On or off, and the argument that says so; nothing where the arguments do not tell.
pub(crate) type Precision = Result<Option<Sourced<bool>>, ArgumentError>;

#[derive(Clone, Copy)]
pub(crate) enum Datasets {
    Unknown,
    /// By their names in a `dataset_info.json`.
    Listed,
    /// As folders, or by names of the hub.
    Folders,
    /// As files, or by names of the hub.
    Files,
}

#[derive(Clone, Copy)]
pub(crate) enum ArgumentParser {
    /// `HfArgumentParser` with a recorded class. `None`: another parser reads this command.
    Recorded {
        class: fn(&Target, &Host) -> Option<ArgumentClass>,
        unknown: UnknownOptions,
    },
    /// The parser in the script, which zlaunch reads.
    Script,
    /// Another parser, which is not recorded.
    Unrecorded,
}

#[derive(Clone, Copy)]
pub(crate) enum UnknownOptions {
    Refused {
        unless: fn(&Args, &Host) -> bool,
    },
    /// Another program takes the unknown options.
    Ignored,
}

#[derive(Clone, Copy)]
pub(crate) enum DefaultArguments {
    /// Those of a recorded class. `None`: zlaunch does not see everything that may set them.
    Recorded(fn(&Args, &Target) -> Option<ArgumentClass>),
    /// Those of the class that the script uses.
    Script,
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoConfig {
    pub why: String,
    pub help: String,
}

impl NoConfig {
    pub(crate) fn new(why: impl Into<String>, help: impl Into<String>) -> Self {
        NoConfig {
            why: why.into(),
            help: help.into(),
        }
    }
}

/// A variable that a front end sets, even where the user has set it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub value: String,
    pub(crate) why: String,
}

impl Variable {
    pub(crate) fn new(
        name: impl Into<String>,
        value: impl Into<String>,
        why: impl Into<String>,
    ) -> Self {
        Variable {
            name: name.into(),
            value: value.into(),
            why: why.into(),
        }
    }
}

pub(crate) fn python_of(command: &ParsedCommand, host: &Host) -> Option<Python> {
    match &command.python {
        Some(word) => Some(Python::at(host.find_program(word)?, host)),
        None => Python::of_script(&host.find_program(command.owner.as_ref()?)?, host),
    }
}
