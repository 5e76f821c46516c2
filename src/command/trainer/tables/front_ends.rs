//! The front ends that take a config, and what is special about each. Their functions are in the files of their names.

use super::super::{
    accelerate, axolotl, deepspeed, hf, in_code, lightning, llamafactory, nested, swift, trl,
    xtuner,
};
use crate::base::recorded::Table;
use crate::base::vars;
use crate::command::front_end::{
    ArgumentParser, ArgumentTraits, AutoFiller, CommandOptions, ConfigTraits, Datasets,
    DefaultArguments, HandOver, LaunchTraits, ModelTraits, UnknownOptions,
};
use crate::command::job::Trainer;
use crate::command::model::HiddenSizeLookup;
use crate::command::shipped::ShippedConfigs;
use crate::command::tables::{
    AXOLOTL_INPUTS, HF_INPUTS, LLAMAFACTORY_INPUTS, SWIFT_INPUTS, TRL_INPUTS, auto_sources,
    training,
};

/// Scripts built on transformers' `Trainer`. The other front ends start from this one.
pub(crate) const HF: Trainer = Trainer {
    name: "hf",
    distribution: Some("transformers"),
    recognise: hf::recognise,
    launch: LaunchTraits {
        consoles: &[],
        commands: &[],
        console_modules: &[],
        rank_args: hf::no_rank_args,
        one_gpu_per_rank: false,
        has_own_launcher: false,
    },
    config: ConfigTraits {
        filler: Some(AutoFiller::HfTrainer),
        argument: hf::config_argument,
        hand_over: HandOver::Argument,
        shipped: None,
        refuses_optimizer: None,
        auto_sources: &[],
        refusals: &[],
    },
    arguments: ArgumentTraits {
        options: &[],
        inputs: HF_INPUTS,
        datasets: Datasets::Unknown,
        parser: ArgumentParser::Script,
        besides: &[],
        defaults: DefaultArguments::Script,
        computed: hf::computes_nothing,
    },
    model: ModelTraits {
        argument: "model_name_or_path",
        hub: hf::hub,
        hidden_size: HiddenSizeLookup::Transformers,
        precision: hf::precision,
        has_reference: hf::has_no_reference,
        needs_weights: false,
        precision_unknown: None,
        training: training::HF,
    },
};

/// For a program whose options are not recorded.
pub(crate) const UNRECORDED: ArgumentTraits = ArgumentTraits {
    inputs: &[],
    parser: ArgumentParser::Unrecorded,
    defaults: DefaultArguments::Unknown,
    ..HF.arguments
};

const SWIFT_SFT: Table = Table(include_str!("../../../recorded/swift_sft.txt"));

pub(crate) const SWIFT: Trainer = Trainer {
    name: "swift",
    distribution: Some("ms-swift"),
    recognise: swift::recognise,
    launch: LaunchTraits {
        consoles: &["swift"],
        commands: swift::COMMANDS,
        console_modules: &["swift.cli.main"],
        one_gpu_per_rank: true,
        ..HF.launch
    },
    config: ConfigTraits {
        shipped: Some(ShippedConfigs {
            yields_to_file: false,
            has_stand_ins: true,
        }),
        refuses_optimizer: Some([4, 2, 0]..[4, 7, 0]),
        ..HF.config
    },
    arguments: ArgumentTraits {
        // The sub-commands that swift runs through torchrun.
        options: &[
            CommandOptions {
                module: "swift.cli.sft",
                lists: &[SWIFT_SFT],
            },
            CommandOptions {
                module: "swift.cli.pt",
                lists: &[SWIFT_SFT],
            },
            CommandOptions {
                module: "swift.cli.rlhf",
                lists: &[
                    SWIFT_SFT,
                    Table(include_str!("../../../recorded/swift_rlhf.txt")),
                ],
            },
            CommandOptions {
                module: "swift.cli.infer",
                lists: &[Table(include_str!("../../../recorded/swift_infer.txt"))],
            },
        ],
        inputs: SWIFT_INPUTS,
        datasets: Datasets::Files,
        parser: ArgumentParser::Recorded {
            class: swift::parsed_class,
            unknown: UnknownOptions::Refused {
                unless: swift::ignores_unknown,
            },
        },
        defaults: DefaultArguments::Recorded(swift::class_of_defaults),
        computed: swift::computed,
        ..HF.arguments
    },
    model: ModelTraits {
        argument: "model",
        hub: swift::hub,
        hidden_size: HiddenSizeLookup::MsSwift,
        precision: swift::precision,
        needs_weights: true,
        precision_unknown: Some("ms-swift reads it from the model: --torch_dtype is not set"),
        training: training::SWIFT,
        ..HF.model
    },
};

pub(crate) const LLAMAFACTORY: Trainer = Trainer {
    name: "llamafactory",
    distribution: Some("llamafactory"),
    recognise: llamafactory::recognise,
    launch: LaunchTraits {
        consoles: &["llamafactory-cli", "lmf"],
        commands: &["train"],
        console_modules: &["llamafactory.cli"],
        ..HF.launch
    },
    config: ConfigTraits {
        hand_over: HandOver::Dotted,
        ..HF.config
    },
    arguments: ArgumentTraits {
        inputs: LLAMAFACTORY_INPUTS,
        datasets: Datasets::Listed,
        parser: ArgumentParser::Recorded {
            class: llamafactory::parsed_class,
            unknown: UnknownOptions::Refused {
                unless: llamafactory::ignores_unknown,
            },
        },
        defaults: DefaultArguments::Recorded(llamafactory::class_of_defaults),
        ..HF.arguments
    },
    model: ModelTraits {
        hub: llamafactory::hub,
        has_reference: llamafactory::has_reference,
        needs_weights: true,
        training: training::LLAMAFACTORY,
        ..HF.model
    },
};

pub(crate) const AXOLOTL: Trainer = Trainer {
    name: "axolotl",
    distribution: Some("axolotl"),
    recognise: axolotl::recognise,
    launch: LaunchTraits {
        consoles: &["axolotl"],
        commands: &["train"],
        console_modules: &["axolotl.cli.main"],
        ..HF.launch
    },
    config: ConfigTraits {
        hand_over: HandOver::Joined,
        ..HF.config
    },
    arguments: ArgumentTraits {
        inputs: AXOLOTL_INPUTS,
        parser: ArgumentParser::Unrecorded,
        defaults: DefaultArguments::Recorded(axolotl::class_of_defaults),
        ..HF.arguments
    },
    model: ModelTraits {
        training: training::AXOLOTL,
        ..HF.model
    },
};

pub(crate) const TRL: Trainer = Trainer {
    name: "trl",
    distribution: Some("trl"),
    recognise: trl::recognise,
    launch: LaunchTraits {
        consoles: &["trl"],
        commands: &["sft", "dpo", "grpo", "kto", "reward", "rloo"],
        // Before 0.13, up to 0.28, and since.
        console_modules: &["trl.commands.cli", "trl.cli", "trl.cli.main"],
        ..HF.launch
    },
    config: ConfigTraits {
        argument: trl::config_argument,
        ..HF.config
    },
    arguments: ArgumentTraits {
        inputs: TRL_INPUTS,
        datasets: Datasets::Folders,
        besides: &["config"],
        // `trl` would pass unknown options on to accelerate.
        parser: ArgumentParser::Recorded {
            class: trl::parsed_class,
            unknown: UnknownOptions::Ignored,
        },
        defaults: DefaultArguments::Recorded(trl::class_of_defaults),
        ..HF.arguments
    },
    model: ModelTraits {
        has_reference: trl::has_reference,
        needs_weights: true,
        training: training::TRL,
        ..HF.model
    },
};

pub(crate) const XTUNER: Trainer = Trainer {
    name: "xtuner",
    distribution: Some("xtuner"),
    recognise: xtuner::recognise,
    launch: LaunchTraits {
        consoles: &["xtuner"],
        rank_args: xtuner::rank_args,
        ..HF.launch
    },
    config: ConfigTraits {
        filler: Some(AutoFiller::Trainer),
        shipped: Some(ShippedConfigs {
            yields_to_file: true,
            has_stand_ins: false,
        }),
        auto_sources: auto_sources::XTUNER,
        ..HF.config
    },
    arguments: ArgumentTraits {
        // The same in 0.1.23 and 0.2.0.
        options: &[CommandOptions {
            module: xtuner::MODULE,
            lists: &[Table(include_str!("../../../recorded/xtuner.txt"))],
        }],
        ..HF.arguments
    },
    ..HF
};

pub(crate) const LIGHTNING: Trainer = Trainer {
    name: "lightning",
    distribution: Some("lightning"),
    recognise: lightning::recognise,
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

/// Scripts whose options have sections: hydra's `training.deepspeed=zero3`, tyro's `--training.deepspeed zero3`.
pub(crate) const NESTED: Trainer = Trainer {
    name: "nested",
    recognise: nested::recognise,
    config: ConfigTraits {
        hand_over: HandOver::Nested,
        ..HF.config
    },
    ..HF
};

/// As `accelerate launch --use_deepspeed --deepspeed_config_file` sets them.
const ACCELERATE_VARIABLES: HandOver = HandOver::Environment {
    config: "ACCELERATE_DEEPSPEED_CONFIG_FILE",
    switch: Some("ACCELERATE_USE_DEEPSPEED"),
};

pub(crate) const ACCELERATE: Trainer = Trainer {
    name: "accelerate",
    distribution: Some("accelerate"),
    recognise: accelerate::recognise,
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
pub(crate) const IN_CODE: Trainer = Trainer {
    name: "in_code",
    recognise: in_code::recognise,
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
pub(crate) const DEEPSPEED: Trainer = Trainer {
    name: "deepspeed",
    distribution: Some("deepspeed"),
    recognise: deepspeed::recognise,
    config: ConfigTraits {
        filler: Some(AutoFiller::Nobody),
        argument: deepspeed::config_argument,
        ..HF.config
    },
    ..HF
};
