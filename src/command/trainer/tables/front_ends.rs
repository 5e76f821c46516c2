//! The front ends that take a config, and what is special about each. Their functions are in the files of their names.

use super::super::{axolotl, hf, llamafactory, scripts, swift, trl};
use crate::{
    base::{recorded::Table, vars},
    command::{
        argument_class::ArgumentClass,
        job::{Job, Trainer},
        model::{HiddenSizeLookup, Hub},
        tables::{
            AXOLOTL_INPUTS, AXOLOTL_MODULE, CONFIG_OPTIONS, HF_INPUTS, LLAMAFACTORY_INPUTS,
            SWIFT_INPUTS, TRL_INPUTS, auto_sources,
            front_end::{
                ArgumentParser, ArgumentTraits, AutoFiller, ConfigTraits, Datasets, HandOver,
                LaunchTraits, ModelTraits, OtherHub, RunFilePlace, StarterOption, TrainingCommand,
                TrainingKind,
            },
            training,
        },
    },
};

/// Scripts built on transformers' `Trainer`. The other front ends start from this one.
pub const HF: Trainer = Trainer {
    name: "hf",
    distribution: Some("transformers"),
    recognise: hf::recognise,
    ignores_unknown_options: |_, _| true,
    has_recorded_defaults: |_| true,
    computed: |_, _, _, _| None,
    precision: hf::precision,
    launch: LaunchTraits {
        consoles: &[],
        kinds: &[],
        commands: &[],
        console_modules: &[],
        starter: None,
        one_gpu_per_rank: false,
        has_own_launcher: false,
    },
    config: ConfigTraits {
        filler: Some(AutoFiller::HfTrainer),
        options: CONFIG_OPTIONS,
        hand_over: HandOver::Argument,
        auto_sources: &[],
        refusals: &[],
    },
    arguments: ArgumentTraits {
        inputs: HF_INPUTS,
        datasets: Datasets::Unknown,
        run_file: RunFilePlace::Nowhere,
        parser: ArgumentParser::Script,
        other_parsers: &[],
    },
    model: ModelTraits {
        argument: "model_name_or_path",
        hub: Hub::HuggingFace,
        other_hub: None,
        hidden_size: HiddenSizeLookup::Transformers,
        with_reference: &[],
        needs_weights: false,
        precision_unknown: None,
        training: training::HF,
    },
};

/// For a program whose parser has the option of transformers' arguments alone.
const ONE_OPTION: ConfigTraits = ConfigTraits {
    options: &["deepspeed"],
    ..HF.config
};

/// For a program whose options are not recorded.
pub const UNRECORDED: ArgumentTraits = ArgumentTraits {
    inputs: &[],
    parser: ArgumentParser::Unrecorded,
    ..HF.arguments
};

/// A sub-command of which only the name and the module are known.
const COMMAND: TrainingCommand = TrainingCommand {
    name: "train",
    modules: &[],
    options: &[],
    parsed: None,
    defaults: None,
};

const SWIFT_CLASS: ArgumentClass = ArgumentClass {
    distribution: "ms-swift",
    name: "sft",
};

const TRL_CLASS: ArgumentClass = ArgumentClass {
    distribution: "trl",
    name: "sft",
};

const SWIFT_SFT: Table = Table(include_str!("../../../recorded/swift_sft.txt"));

pub const SWIFT: Trainer = Trainer {
    name: "swift",
    distribution: Some("ms-swift"),
    recognise: swift::recognise,
    ignores_unknown_options: swift::ignores_unknown,
    has_recorded_defaults: swift::has_recorded_defaults,
    computed: swift::computed,
    precision: swift::precision,
    launch: LaunchTraits {
        consoles: &["swift"],
        // Those that swift runs through torchrun.
        commands: &[
            TrainingCommand {
                name: "sft",
                modules: &["swift.cli.sft"],
                options: &[SWIFT_SFT],
                parsed: Some(ArgumentClass {
                    name: "sft",
                    ..SWIFT_CLASS
                }),
                defaults: Some(ArgumentClass {
                    name: "sft",
                    ..SWIFT_CLASS
                }),
            },
            TrainingCommand {
                name: "pt",
                modules: &["swift.cli.pt"],
                options: &[SWIFT_SFT],
                parsed: Some(ArgumentClass {
                    name: "pt",
                    ..SWIFT_CLASS
                }),
                defaults: Some(ArgumentClass {
                    name: "pt",
                    ..SWIFT_CLASS
                }),
            },
            TrainingCommand {
                name: "rlhf",
                modules: &["swift.cli.rlhf"],
                options: &[
                    SWIFT_SFT,
                    Table(include_str!("../../../recorded/swift_rlhf.txt")),
                ],
                parsed: Some(ArgumentClass {
                    name: "rlhf",
                    ..SWIFT_CLASS
                }),
                defaults: Some(ArgumentClass {
                    name: "rlhf",
                    ..SWIFT_CLASS
                }),
            },
            TrainingCommand {
                name: "infer",
                modules: &["swift.cli.infer"],
                options: &[Table(include_str!("../../../recorded/swift_infer.txt"))],
                ..COMMAND
            },
        ],
        console_modules: &["swift.cli.main"],
        one_gpu_per_rank: true,
        kinds: &[TrainingKind {
            before: "rlhf --rlhf_type",
            values: &[
                "dpo", "orpo", "simpo", "kto", "cpo", "rm", "ppo", "grpo", "gkd",
            ],
        }],
        ..HF.launch
    },
    config: ONE_OPTION,
    arguments: ArgumentTraits {
        inputs: SWIFT_INPUTS,
        datasets: Datasets::Files,
        run_file: RunFilePlace::First { since: [4, 1, 0] },
        parser: ArgumentParser::Recorded,
        ..HF.arguments
    },
    model: ModelTraits {
        argument: "model",
        hub: Hub::ModelScope,
        other_hub: Some(OtherHub {
            hub: Hub::HuggingFace,
            argument: Some("use_hf"),
            variable: vars::USE_HF,
        }),
        hidden_size: HiddenSizeLookup::MsSwift,
        needs_weights: true,
        precision_unknown: Some("ms-swift reads it from the model: --torch_dtype is not set"),
        training: training::SWIFT,
        ..HF.model
    },
};

pub const LLAMAFACTORY: Trainer = Trainer {
    name: "llamafactory",
    distribution: Some("llamafactory"),
    recognise: llamafactory::recognise,
    ignores_unknown_options: llamafactory::ignores_unknown,
    has_recorded_defaults: llamafactory::has_recorded_defaults,
    launch: LaunchTraits {
        consoles: &["llamafactory-cli", "lmf"],
        commands: &[TrainingCommand {
            modules: &["llamafactory.launcher"],
            parsed: Some(ArgumentClass {
                distribution: "llamafactory",
                name: "train",
            }),
            defaults: Some(ArgumentClass {
                distribution: "llamafactory",
                name: "TrainingArguments",
            }),
            ..COMMAND
        }],
        console_modules: &["llamafactory.cli"],
        ..HF.launch
    },
    config: ConfigTraits {
        hand_over: HandOver::Dotted,
        ..ONE_OPTION
    },
    arguments: ArgumentTraits {
        inputs: LLAMAFACTORY_INPUTS,
        datasets: Datasets::Listed,
        run_file: RunFilePlace::First { since: [0; 3] },
        parser: ArgumentParser::Recorded,
        // Megatron has arguments of its own, and so has the next generation.
        other_parsers: &[vars::USE_MCA, vars::USE_V1],
    },
    model: ModelTraits {
        other_hub: Some(OtherHub {
            hub: Hub::ModelScope,
            argument: None,
            variable: vars::USE_MODELSCOPE_HUB,
        }),
        with_reference: &["dpo", "kto"],
        needs_weights: true,
        training: training::LLAMAFACTORY,
        ..HF.model
    },
    ..HF
};

pub const AXOLOTL: Trainer = Trainer {
    name: "axolotl",
    distribution: Some("axolotl"),
    recognise: axolotl::recognise,
    ignores_unknown_options: |_, _| true,
    launch: LaunchTraits {
        consoles: &["axolotl"],
        commands: &[TrainingCommand {
            modules: &[AXOLOTL_MODULE],
            defaults: Some(axolotl::COMMAND),
            ..COMMAND
        }],
        console_modules: &["axolotl.cli.main"],
        ..HF.launch
    },
    config: ConfigTraits {
        hand_over: HandOver::Joined,
        ..ONE_OPTION
    },
    arguments: ArgumentTraits {
        inputs: AXOLOTL_INPUTS,
        run_file: RunFilePlace::First { since: [0; 3] },
        parser: ArgumentParser::Unrecorded,
        ..HF.arguments
    },
    model: ModelTraits {
        training: training::AXOLOTL,
        ..HF.model
    },
    ..HF
};

pub const TRL: Trainer = Trainer {
    name: "trl",
    distribution: Some("trl"),
    recognise: trl::recognise,
    ignores_unknown_options: trl::ignores_unknown,
    launch: LaunchTraits {
        consoles: &["trl"],
        // The folders of the scripts: since 0.13, and before.
        commands: &[
            TrainingCommand {
                name: "sft",
                modules: &["trl.scripts.sft", "trl.commands.scripts.sft"],
                parsed: Some(ArgumentClass {
                    name: "sft",
                    ..TRL_CLASS
                }),
                defaults: Some(ArgumentClass {
                    name: "SFTConfig",
                    ..TRL_CLASS
                }),
                ..COMMAND
            },
            TrainingCommand {
                name: "dpo",
                modules: &["trl.scripts.dpo", "trl.commands.scripts.dpo"],
                parsed: Some(ArgumentClass {
                    name: "dpo",
                    ..TRL_CLASS
                }),
                defaults: Some(ArgumentClass {
                    name: "DPOConfig",
                    ..TRL_CLASS
                }),
                ..COMMAND
            },
            TrainingCommand {
                name: "grpo",
                modules: &["trl.scripts.grpo", "trl.commands.scripts.grpo"],
                parsed: Some(ArgumentClass {
                    name: "grpo",
                    ..TRL_CLASS
                }),
                defaults: Some(ArgumentClass {
                    name: "GRPOConfig",
                    ..TRL_CLASS
                }),
                ..COMMAND
            },
            TrainingCommand {
                name: "kto",
                modules: &["trl.scripts.kto", "trl.commands.scripts.kto"],
                parsed: Some(ArgumentClass {
                    name: "kto",
                    ..TRL_CLASS
                }),
                defaults: Some(ArgumentClass {
                    name: "KTOConfig",
                    ..TRL_CLASS
                }),
                ..COMMAND
            },
            TrainingCommand {
                name: "reward",
                modules: &["trl.scripts.reward", "trl.commands.scripts.reward"],
                parsed: Some(ArgumentClass {
                    name: "reward",
                    ..TRL_CLASS
                }),
                defaults: Some(ArgumentClass {
                    name: "RewardConfig",
                    ..TRL_CLASS
                }),
                ..COMMAND
            },
            TrainingCommand {
                name: "rloo",
                modules: &["trl.scripts.rloo", "trl.commands.scripts.rloo"],
                parsed: Some(ArgumentClass {
                    name: "rloo",
                    ..TRL_CLASS
                }),
                defaults: Some(ArgumentClass {
                    name: "RLOOConfig",
                    ..TRL_CLASS
                }),
                ..COMMAND
            },
        ],
        // Before 0.13, up to 0.28, and since.
        console_modules: &["trl.commands.cli", "trl.cli", "trl.cli.main"],
        ..HF.launch
    },
    config: ONE_OPTION,
    arguments: ArgumentTraits {
        inputs: TRL_INPUTS,
        datasets: Datasets::Folders,
        run_file: RunFilePlace::Option("--config"),
        parser: ArgumentParser::Recorded,
        ..HF.arguments
    },
    model: ModelTraits {
        with_reference: &["dpo", "kto"],
        needs_weights: true,
        training: training::TRL,
        ..HF.model
    },
    ..HF
};

pub const XTUNER: Trainer = Trainer {
    // `xtuner train CONFIG …` starts `tools/train.py` of its package: alone, or with torchrun and `--launcher pytorch` where
    // NPROC_PER_NODE or NNODES is more than 1. zlaunch runs that file directly. CONFIG is a Python file with model, batch and
    // optimizer, which is not read. With `framework = 'huggingface'` in it, transformers fills more keys than told here.
    name: "xtuner",
    distribution: Some("xtuner"),
    recognise: Job::of_command,
    launch: LaunchTraits {
        consoles: &["xtuner"],
        commands: &[TrainingCommand {
            modules: &["xtuner.tools.train"],
            // The same in 0.1.23 and 0.2.0.
            options: &[Table(include_str!("../../../recorded/xtuner.txt"))],
            ..COMMAND
        }],
        starter: Some(StarterOption {
            name: "launcher",
            torchrun: "pytorch",
        }),
        ..HF.launch
    },
    config: ConfigTraits {
        filler: Some(AutoFiller::Trainer),
        auto_sources: auto_sources::XTUNER,
        ..ONE_OPTION
    },
    ..HF
};

pub const LIGHTNING: Trainer = Trainer {
    name: "lightning",
    distribution: Some("lightning"),
    recognise: scripts::lightning,
    config: ConfigTraits {
        filler: Some(AutoFiller::IfMissing),
        hand_over: HandOver::Environment {
            config: vars::PL_DEEPSPEED_CONFIG_PATH,
            switch: None,
        },
        auto_sources: auto_sources::LIGHTNING,
        ..HF.config
    },
    arguments: UNRECORDED,
    ..HF
};

/// As `accelerate launch --use_deepspeed --deepspeed_config_file` sets them.
const ACCELERATE_VARIABLES: HandOver = HandOver::Environment {
    config: "ACCELERATE_DEEPSPEED_CONFIG_FILE",
    switch: Some("ACCELERATE_USE_DEEPSPEED"),
};

pub const ACCELERATE: Trainer = Trainer {
    name: "accelerate",
    distribution: Some("accelerate"),
    recognise: scripts::accelerate,
    config: ConfigTraits {
        filler: Some(AutoFiller::Accelerate),
        hand_over: ACCELERATE_VARIABLES,
        auto_sources: auto_sources::ACCELERATE,
        ..HF.config
    },
    arguments: UNRECORDED,
    ..HF
};

/// Scripts that make their `TrainingArguments` in code. transformers finds the config in accelerate's variables.
pub const IN_CODE: Trainer = Trainer {
    name: "in_code",
    recognise: scripts::in_code,
    config: ConfigTraits {
        hand_over: ACCELERATE_VARIABLES,
        ..HF.config
    },
    arguments: ArgumentTraits {
        inputs: &[],
        ..HF.arguments
    },
    ..HF
};

/// Scripts that call `deepspeed.initialize` themselves.
pub const DEEPSPEED: Trainer = Trainer {
    name: "deepspeed",
    distribution: Some("deepspeed"),
    recognise: scripts::deepspeed,
    config: ConfigTraits {
        filler: Some(AutoFiller::Nobody),
        options: &["deepspeed_config", "deepspeed"],
        ..HF.config
    },
    ..HF
};
