//! What can be said of a front end: how it is started, how the config reaches it, what its arguments and its model are. The
//! files in `trainer/` say it.

use crate::base::recorded::Version;
use crate::command::argv::{Args, ArgumentError, OptionList};
use crate::command::argument_class::ArgumentClass;
use crate::command::inputs::Input;
use crate::command::model::{HiddenSizeLookup, Hub};
use crate::command::python::Python;
use crate::command::shipped::ShippedConfigs;
use crate::command::target::{ParsedCommand, Target};
use crate::host::Host;
use crate::report::Problem;

/// How a front end is started, and what its ranks need.
pub(crate) struct LaunchTraits {
    /// Its console scripts, the usual one first. They start ranks themselves, so a launcher must not run them as they are.
    pub(crate) consoles: &'static [&'static str],
    /// Their sub-commands that train, the usual one first.
    pub(crate) commands: &'static [&'static str],
    /// The modules behind them, which `python -m` runs.
    pub(crate) console_modules: &'static [&'static str],
    /// Arguments that say who started the ranks, for a trainer that does not find out by itself.
    pub(crate) rank_args: fn(&Args, Ranks) -> &'static [&'static str],
    /// It refuses DeepSpeed when a process sees several GPUs, so each rank must have exactly one.
    pub(crate) one_gpu_per_rank: bool,
    /// Its console script starts the ranks itself, from NPROC_PER_NODE and related variables.
    pub(crate) has_own_launcher: bool,
}

/// How the config reaches it, and who completes the config.
pub(crate) struct ConfigTraits {
    /// Who replaces an "auto" that zlaunch leaves in the config. `None`: it takes no config.
    pub(crate) filler: Option<AutoFiller>,
    /// The argument that names the config.
    pub(crate) argument: fn(&Args) -> &'static str,
    pub(crate) hand_over: HandOver,
    /// DeepSpeed configs in its package, which its own argument may name.
    pub(crate) shipped: Option<ShippedConfigs>,
    /// A config on the command line may be JSON in base64, as accelerate and DeepSpeed read it.
    pub(crate) reads_base64: bool,
    /// Versions from the first up to the second fail with an `optimizer` section.
    pub(crate) refuses_optimizer: Option<[[u32; 3]; 2]>,
}

/// What its arguments are, and what they are without being given.
pub(crate) struct ArgumentTraits {
    /// Those that zlaunch reads, besides `COMMON_FIELDS` (`argv::fields`).
    pub(crate) fields: &'static str,
    /// All of its options.
    pub(crate) options: fn(&Target) -> OptionList<'static>,
    /// Those that name a model, a dataset or a checkpoint.
    pub(crate) inputs: &'static [Input],
    pub(crate) datasets: Datasets,
    /// What reads them.
    pub(crate) parser: ArgumentParser,
    /// Options that its parser has besides those of the recorded class.
    pub(crate) besides: &'static [&'static str],
    /// What the trainer refuses because of them alone.
    pub(crate) refusals: fn(&Args, &Target, Option<&Python>) -> Vec<Problem>,
    /// Where their defaults are.
    pub(crate) defaults: DefaultArguments,
    /// A default that it computes from other arguments, as it is written on a command line.
    pub(crate) computed: fn(argument: &str, &Args, Version, world_size: Option<u64>) -> Option<String>,
}

/// The model, its precision and its memory.
pub(crate) struct ModelTraits {
    /// The argument that names the model.
    pub(crate) argument: &'static str,
    /// Where a model that is not a folder is looked up.
    pub(crate) hub: fn(&Args, &Host) -> Hub,
    pub(crate) hidden_size: HiddenSizeLookup,
    /// What `fp16.enabled` and `bf16.enabled` become.
    pub(crate) fp16: fn(&Args) -> Precision,
    pub(crate) bf16: fn(&Args) -> Precision,
    /// It makes a reference model, which gets the config before transformers fills it.
    pub(crate) has_reference: fn(&Args, &Target) -> bool,
    /// It ends where the model's folder has no weights.
    pub(crate) needs_weights: bool,
    /// Why they may stay "auto".
    pub(crate) precision_unknown: Option<&'static str>,
    pub(crate) training: TrainingDefaults,
}

/// Who replaces an "auto" that is still in the config when the trainer starts.
#[derive(Clone, Copy)]
pub(crate) enum AutoFiller {
    /// transformers and accelerate, by the rules of `config::auto`.
    HfTrainer,
    /// The program itself, from values that zlaunch does not see; it overwrites what is not "auto".
    Trainer(SourceOf),
    /// accelerate, from what the script's own loop prepares. What is not "auto" counts.
    Accelerate(SourceOf),
    /// The program itself, as long as the key is not there: an "auto" is taken out.
    IfMissing(SourceOf),
    /// Nobody: the script passes the config to `deepspeed.initialize` as it is.
    Nobody,
}

/// For the keys that a program fills: where it takes the value from.
type SourceOf = fn(key: &str) -> Option<&'static str>;

impl AutoFiller {
    pub(crate) fn source(self) -> Option<SourceOf> {
        match self {
            AutoFiller::Trainer(source) | AutoFiller::Accelerate(source) | AutoFiller::IfMissing(source) => {
                Some(source)
            }
            AutoFiller::HfTrainer | AutoFiller::Nobody => None,
        }
    }
}

/// How the config reaches the trainer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandOver {
    /// `--name PATH`, in place of the one that is there.
    Argument,
    /// `--name=PATH` (axolotl's inner parser).
    Joined,
    /// `name=PATH` behind a run file, else like `Argument` (LLaMA-Factory).
    Dotted,
    /// In place of the value of `section.name=…` or `--section.name …` (hydra, tyro).
    Nested,
    /// The variable `config` names it, beside `switch=true` where that turns DeepSpeed on.
    Environment { config: &'static str, switch: Option<&'static str> },
}

/// How a script takes the config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TakesConfig {
    /// `--name PATH`, by a name of its own.
    Named(String),
    /// `--name=PATH` in one word.
    Joined,
}

/// Who starts the ranks, as far as they must be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks {
    /// There is only one process.
    Single,
    /// A launcher that this plan executes.
    Launched,
    /// They exist already: this process is one of them.
    Existing,
}

/// Whether half precision is on, as far as the arguments say, and which of them says so.
pub(crate) type Precision = Result<Option<(bool, String)>, ArgumentError>;

/// What a front end does without being told, as far as it affects memory.
#[expect(clippy::struct_excessive_bools, reason = "each is a default of its own")]
pub(crate) struct TrainingDefaults {
    pub(crate) micro_batch: u64,
    pub(crate) seq_len: Option<u64>,
    pub(crate) lora: bool,
    pub(crate) lora_rank: u64,
    pub(crate) checkpointing: bool,
    /// LoRA has dropout on its inputs.
    pub(crate) dropout: bool,
    /// It loads a model in 16 bits, whatever the model's config says.
    pub(crate) half: bool,
    /// The memory of its losses was measured, not only that of the usual one.
    pub(crate) measured_losses: bool,
}

/// How a front end finds its datasets, as far as zlaunch looks for them.
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

/// What reads the arguments of a front end.
#[derive(Clone, Copy)]
pub(crate) enum ArgumentParser {
    /// `HfArgumentParser` with a class that is recorded. `None`: something else reads them this time.
    Recorded { class: fn(&Target, &Host) -> Option<ArgumentClass>, unknown: UnknownOptions },
    /// The script, which zlaunch reads.
    Script,
    /// Something that is not recorded.
    Unrecorded,
}

/// What becomes of options that the parser does not have.
#[derive(Clone, Copy)]
pub(crate) enum UnknownOptions {
    /// They are refused, unless this option or variable says otherwise.
    Refused {
        unless: fn(&Args, &Host) -> bool,
        tolerant: &'static str,
    },
    Ignored,
}

/// Where the defaults of a front end's arguments are.
#[derive(Clone, Copy)]
pub(crate) enum DefaultArguments {
    /// In a class that is recorded. `None`: something that zlaunch does not see may set them.
    Recorded(fn(&Args, &Target) -> Option<ArgumentClass>),
    /// In the script, which zlaunch reads.
    Script,
}

/// Names of transformers' `TrainingArguments` that every HF front end shares.
pub(crate) const COMMON_FIELDS: &str = "per_device_train_batch_size gradient_accumulation_steps learning_rate weight_decay \
    adam_beta1 adam_beta2 adam_epsilon max_grad_norm max_steps warmup_steps warmup_ratio auto_find_batch_size? \
    parallelism_config fp16? bf16? half_precision_backend fp16_backend fp16_full_eval? bf16_full_eval? deepspeed output_dir \
    model_revision optim fsdp save_only_model? load_best_model_at_end? tuner_type train_type finetuning_type";

/// Why a command takes no config, and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoConfig {
    pub why: String,
    pub help: String,
}

impl NoConfig {
    pub(crate) fn new(why: impl Into<String>, help: impl Into<String>) -> Self {
        NoConfig { why: why.into(), help: help.into() }
    }
}

/// A variable that a front end sets. The front end has already decided whether the user's own value wins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub value: String,
    pub(crate) why: String,
}

impl Variable {
    pub(crate) fn new(name: impl Into<String>, value: impl Into<String>, why: impl Into<String>) -> Self {
        Variable { name: name.into(), value: value.into(), why: why.into() }
    }
}

/// The interpreter of a command: the one that it names, else that of the console script. The trainers' own launchers do not
/// pass on its options.
pub(crate) fn python_of(command: &ParsedCommand, host: &Host) -> Option<Python> {
    match &command.python {
        Some(word) => Some(Python::at(host.find_program(word)?, host)),
        None => Python::of_script(&host.find_program(command.owner.as_ref()?)?, host),
    }
}

/// The text of the script that a command runs, or of the module, if that is below the current folder.
pub(crate) fn text_of<'a>(command: &'a ParsedCommand, host: &Host) -> Option<&'a str> {
    command.source(host).map(|source| source.text.as_str())
}
