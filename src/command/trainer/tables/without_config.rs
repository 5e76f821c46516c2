//! Front ends that take no DeepSpeed config: they shard in another way, make a config of their own options, or start
//! their ranks themselves.

use super::super::scripts;
use super::front_ends::{HF, UNRECORDED};
use crate::command::{
    job::Trainer,
    tables::{
        front_end::{AutoFiller, ConfigTraits, LaunchTraits},
        recognition::{
            Example,
            Sign::{Console, Imports, Modules, Text},
            WithoutConfig,
        },
    },
};

/// Any command: executed once and as it stands, with the environment of the plan. Those that start their ranks
/// themselves begin with it.
pub const PASSTHROUGH: Trainer = Trainer {
    name: "command",
    distribution: None,
    recognise: scripts::without_config,
    config: ConfigTraits {
        filler: None,
        ..HF.config
    },
    ..HF
};

/// torchrun starts their ranks.
const RANKS: Trainer = Trainer {
    recognise: scripts::without_config,
    config: ConfigTraits {
        filler: Some(AutoFiller::Nobody),
        ..HF.config
    },
    arguments: UNRECORDED,
    ..HF
};

const MAKES_A_CONFIG: &str = "takes no DeepSpeed config: it builds one from its own options";
const OPENRLHF_OPTIONS: &str = "drop it and use --ds.zero_stage 3; --ds.adam_offload moves the optimizer to the host (before 0.10.2: --zero_stage, --adam_offload)";

pub const MEGATRON: Trainer = Trainer {
    name: "megatron",
    distribution: Some("ms-swift"),
    launch: LaunchTraits {
        consoles: &["megatron"],
        console_modules: &["swift.cli._megatron.main"],
        has_own_launcher: true,
        ..PASSTHROUGH.launch
    },
    config: ConfigTraits {
        refusals: &[WithoutConfig {
            signs: &[Console(None)],
            why: "does not use DeepSpeed, and takes no config for it",
            help: "drop it: --tensor_model_parallel_size, --pipeline_model_parallel_size and its distributed optimizer shard the model; DeepSpeed is for `swift sft`",
            examples: &[
                Example::Command("megatron sft --model a"),
                Example::Command("python -m swift.cli._megatron.main sft"),
            ],
        }],
        ..PASSTHROUGH.config
    },
    ..PASSTHROUGH
};

pub const FABRIC: Trainer = Trainer {
    name: "fabric",
    distribution: Some("lightning"),
    launch: LaunchTraits {
        consoles: &["fabric", "lightning"],
        ..PASSTHROUGH.launch
    },
    config: ConfigTraits {
        refusals: &[WithoutConfig {
            signs: &[Console(Some("run"))],
            why: "starts its ranks itself, and takes no DeepSpeed config",
            help: "run the script itself: zlaunch --deepspeed zero2 --nproc-per-node 2 -- python script.py, with strategy=\"deepspeed\" in it",
            examples: &[
                Example::Command("fabric run --devices=2 x.py"),
                Example::Command("lightning run model x.py"),
                Example::Command("python /opt/bin/fabric run x.py"),
            ],
        }],
        ..PASSTHROUGH.config
    },
    ..PASSTHROUGH
};

/// The next generation of xtuner, as its documents describe it: it is not in a release yet.
pub const XTUNER_V1: Trainer = Trainer {
    name: "xtuner_v1",
    distribution: Some("xtuner"),
    config: ConfigTraits {
        refusals: &[WithoutConfig {
            signs: &[Modules(&["xtuner.v1.train.cli.sft"])],
            why: "does not use DeepSpeed, and takes no config for it",
            help: "drop it: it shards with FSDP; --fsdp-config.cpu-offload moves the model to the host",
            examples: &[Example::Command("python -m xtuner.v1.train.cli.sft")],
        }],
        ..RANKS.config
    },
    ..RANKS
};

/// torchrun starts its modules as well as `deepspeed --module` does: they read LOCAL_RANK.
pub const OPENRLHF: Trainer = Trainer {
    name: "openrlhf",
    distribution: Some("openrlhf"),
    config: ConfigTraits {
        refusals: &[WithoutConfig {
            signs: &[Modules(&[
                "openrlhf.cli.train_sft",
                "openrlhf.cli.train_rm",
                "openrlhf.cli.train_dpo",
                "openrlhf.cli.train_kto",
                "openrlhf.cli.train_kd",
                "openrlhf.cli.train_prm",
                "openrlhf.cli.train_ppo",
            ])],
            why: MAKES_A_CONFIG,
            help: OPENRLHF_OPTIONS,
            examples: &[
                Example::Command("python -m openrlhf.cli.train_sft --zero_stage 3"),
                Example::Command("python -m openrlhf.cli.train_rm"),
                Example::Command("python openrlhf/cli/train_dpo.py"),
                Example::Command("python -m openrlhf.cli.train_kto"),
                Example::Command("python -m openrlhf.cli.train_kd"),
                Example::Command("python -m openrlhf.cli.train_prm"),
                Example::Command("python -m openrlhf.cli.train_ppo"),
            ],
        }],
        ..RANKS.config
    },
    ..RANKS
};

/// Its reinforcement learning starts Ray, and belongs to `RAY`.
pub const VERL: Trainer = Trainer {
    name: "verl",
    distribution: Some("verl"),
    config: ConfigTraits {
        refusals: &[WithoutConfig {
            signs: &[Modules(&[
                "verl.trainer.sft_trainer",
                "verl.trainer.fsdp_sft_trainer",
            ])],
            why: "does not use DeepSpeed, and takes no config for it",
            help: "drop it: engine=fsdp or megatron selects how it shards",
            examples: &[
                Example::Command("python -m verl.trainer.sft_trainer"),
                Example::Command("python -m verl.trainer.fsdp_sft_trainer"),
            ],
        }],
        ..RANKS.config
    },
    ..RANKS
};

/// One driver, for which Ray places the workers.
pub const RAY: Trainer = Trainer {
    name: "ray",
    distribution: Some("ray"),
    launch: LaunchTraits {
        consoles: &["ray"],
        ..PASSTHROUGH.launch
    },
    config: ConfigTraits {
        refusals: &[
            WithoutConfig {
                signs: &[Modules(&["openrlhf.cli.train_ppo_ray"])],
                why: MAKES_A_CONFIG,
                help: OPENRLHF_OPTIONS,
                examples: &[Example::Command("python -m openrlhf.cli.train_ppo_ray")],
            },
            WithoutConfig {
                signs: &[Modules(&[
                    "verl.trainer.main_ppo",
                    "verl.trainer.main_ppo_v0",
                    "verl.trainer.sft_trainer_ray",
                ])],
                why: "does not use DeepSpeed, and takes no config for it",
                help: "drop it: actor_rollout_ref.actor.strategy=fsdp2 or megatron selects how it shards",
                examples: &[
                    Example::Command("python -m verl.trainer.main_ppo a.b=1"),
                    Example::Command("python -m verl.trainer.main_ppo_v0"),
                    Example::Command("python verl/trainer/sft_trainer_ray.py"),
                ],
            },
            WithoutConfig {
                signs: &[Imports(&["roll.distributed", "roll.pipeline"])],
                why: "takes no DeepSpeed config: each of its workers has one in the pipeline's YAML",
                help: "drop it, and give the worker strategy_args: {strategy_name: deepspeed_train, strategy_config: ${deepspeed_zero3}}",
                examples: &[
                    Example::Script("from roll.pipeline.rlvr import x"),
                    Example::Script("import roll.distributed.scheduler"),
                ],
            },
            WithoutConfig {
                signs: &[
                    Console(None),
                    Text {
                        has: "ray.init(",
                        unless: "HfArgumentParser",
                    },
                ],
                why: "starts its workers through Ray: zlaunch cannot pass them a DeepSpeed config",
                help: "drop it, and name the config in the program's own settings; use --trainer hf if it does not use Ray",
                examples: &[
                    Example::Command("ray job submit -- python x.py"),
                    Example::Script("import ray; ray.init()"),
                ],
            },
        ],
        ..PASSTHROUGH.config
    },
    ..PASSTHROUGH
};
