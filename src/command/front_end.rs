//! The properties of a front end, which the files in `trainer/` fill in.

use crate::base::recorded::Version;
use crate::base::source::Sourced;
use crate::command::argument_class::ArgumentClass;
use crate::command::argv::{Args, ArgumentError, OptionList};
use crate::command::input_paths::Input;
use crate::command::model::{HiddenSizeLookup, Hub};
use crate::command::python::Python;
use crate::command::shipped::ShippedConfigs;
use crate::command::target::{ParsedCommand, Target};
use crate::host::Host;

pub(crate) struct LaunchTraits {
    /// Its console scripts, the usual one first. They start ranks themselves, so a launcher must not run them.
    pub(crate) consoles: &'static [&'static str],
    /// Their sub-commands that train, the usual one first.
    pub(crate) commands: &'static [&'static str],
    /// The modules behind them, for `python -m`.
    pub(crate) console_modules: &'static [&'static str],
    pub(crate) rank_args: fn(&Args, Ranks) -> &'static [&'static str],
    /// It refuses DeepSpeed when a process sees several GPUs, so each rank must have exactly one.
    pub(crate) one_gpu_per_rank: bool,
    /// Its console script starts the ranks itself, from NPROC_PER_NODE and related variables.
    pub(crate) has_own_launcher: bool,
}

pub(crate) struct ConfigTraits {
    /// `None`: it takes no config.
    pub(crate) filler: Option<AutoFiller>,
    pub(crate) argument: fn(&Args) -> &'static str,
    pub(crate) hand_over: HandOver,
    /// DeepSpeed configs in its package, which its own argument may name.
    pub(crate) shipped: Option<ShippedConfigs>,
    /// The config may be JSON in base64, as accelerate and DeepSpeed read it.
    pub(crate) reads_base64: bool,
    /// Versions from the first up to the second fail with an `optimizer` section.
    pub(crate) refuses_optimizer: Option<[[u32; 3]; 2]>,
}

pub(crate) struct ArgumentTraits {
    /// Those that zlaunch reads, besides `COMMON_FIELDS` (`argv::fields`).
    pub(crate) fields: &'static str,
    pub(crate) options: fn(&Target) -> OptionList<'static>,
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

pub(crate) struct ModelTraits {
    pub(crate) argument: &'static str,
    /// The hub of a model that is not a folder.
    pub(crate) hub: fn(&Args, &Host) -> Hub,
    pub(crate) hidden_size: HiddenSizeLookup,
    pub(crate) fp16: fn(&Args) -> Precision,
    pub(crate) bf16: fn(&Args) -> Precision,
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
    /// `--name=PATH` (axolotl's inner parser).
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TakesConfig {
    /// `--name PATH`, by a name of its own.
    Named(String),
    /// `--name=PATH` in one word.
    Joined,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks {
    Single,
    /// This plan executes a launcher.
    Launched,
    /// This process is one of them.
    Existing,
}

/// On or off, and the argument that says so; nothing where the arguments do not tell.
pub(crate) type Precision = Result<Option<Sourced<bool>>, ArgumentError>;

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a default of its own"
)]
pub(crate) struct TrainingDefaults {
    pub(crate) micro_batch: u64,
    /// Sequences of a step on all ranks together, up to which gradients are accumulated if nothing is said.
    pub(crate) batch: u64,
    pub(crate) seq_len: Option<u64>,
    pub(crate) lora: bool,
    pub(crate) lora_rank: u64,
    pub(crate) checkpointing: bool,
    /// LoRA has dropout on its inputs.
    pub(crate) dropout: bool,
    /// It loads a model in 16 bits, whatever the model's config says.
    pub(crate) half: bool,
    /// Sequences at once in an evaluation, unless they are as many as in a step.
    pub(crate) eval_batch: Option<u64>,
    /// The arguments that name an evaluation set, if the training is evaluated as soon as it has one.
    pub(crate) eval_sets: &'static [&'static str],
    /// What GRPO does by default; `None` if its arguments are not TRL's.
    pub(crate) online: Option<OnlineDefaults>,
    /// Its PPO and GKD are its own, not TRL's.
    pub(crate) own_ppo_and_gkd: bool,
    /// The memory of its losses was measured, not only that of the usual one.
    pub(crate) measured_losses: bool,
}

#[derive(Clone, Copy)]
pub(crate) struct OnlineDefaults {
    /// Tokens of a generated answer.
    pub(crate) answer: u64,
    pub(crate) has_reference: fn(Option<&Python>) -> bool,
}

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
    /// Unless this holds.
    Refused(fn(&Args, &Host) -> bool),
    /// Something else takes them.
    Ignored,
}

#[derive(Clone, Copy)]
pub(crate) enum DefaultArguments {
    /// Those of a recorded class. `None`: zlaunch does not see everything that may set them.
    Recorded(fn(&Args, &Target) -> Option<ArgumentClass>),
    /// Those of the class that the script uses.
    Script,
}

/// Names of transformers' `TrainingArguments` that every HF front end shares.
pub(crate) const COMMON_FIELDS: &str = "per_device_train_batch_size gradient_accumulation_steps learning_rate weight_decay \
    adam_beta1 adam_beta2 adam_epsilon max_grad_norm max_steps warmup_steps warmup_ratio auto_find_batch_size? \
    parallelism_config fp16? bf16? half_precision_backend fp16_backend fp16_full_eval? bf16_full_eval? deepspeed output_dir \
    model_revision optim fsdp save_only_model? load_best_model_at_end? tuner_type train_type finetuning_type";

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

pub(crate) fn text_of<'a>(command: &'a ParsedCommand, host: &Host) -> Option<&'a str> {
    command.source(host).map(|source| source.text.as_str())
}
