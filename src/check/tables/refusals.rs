//! What trainers refuse once their arguments are read: only what concerns DeepSpeed, batches, ranks, precision, devices and files.
//! Read in the sources of LLaMA-Factory 0.9.1 to 0.9.5, ms-swift 3.2 to 4.6, TRL 0.13 to 1.16 and transformers 4.40 to 5.22.

use super::types::{
    Condition::{self, *},
    Example::*,
    ExampleLaunch,
    KeyState::{Missing, On},
    Refusal,
    Remedy::{self, *},
    WithDefault,
};
use crate::{
    command::{job::Trainer, trainer::tables::front_ends},
    report::fix::Owner::*,
};

/// Every trainer that uses transformers inherits its refusals.
const TRANSFORMERS: &[&Trainer] = &[];
const HF_AND_TRL: &[&Trainer] = &[&front_ends::HF, &front_ends::TRL];
const UNCHANGED: &[&Trainer] = &[&front_ends::HF, &front_ends::TRL, &front_ends::LLAMAFACTORY];
const LLAMAFACTORY: &[&Trainer] = &[&front_ends::LLAMAFACTORY];
const SWIFT: &[&Trainer] = &[&front_ends::SWIFT];
const TRL: &[&Trainer] = &[&front_ends::TRL];

// Where transformers says what it refuses.
const CALLBACKS: &[&str] = &["transformers/integrations/integration_utils.py"];
const FLASH_ATTENTION: &[&str] = &["flash_attn", "kernels", "torch_npu"];
const MODELING: &[&str] = &["transformers/modeling_utils.py"];
const WITHOUT_PACKAGE: &str = "`sdpa` and `eager` need no package";
const NO_ATTENTION: &str = "is not supported. The only possible arguments are";
const QUANTIZERS: &[&str] = &[
    "transformers/quantizers/quantizer_bnb_4bit.py",
    "transformers/quantizers/quantizer_bnb_8bit.py",
];
const TRAINER: &[&str] = &[
    "transformers/trainer.py",
    "transformers/trainer_optimizer.py",
    "transformers/integrations/liger.py",
];

// Where a trainer lists names that its parser takes for any text.
const SWIFT_MODEL_TYPES: &[&str] = &["swift/model/constant.py", "swift/llm/model/constant.py"];
const SWIFT_TEMPLATES: &[&str] = &[
    "swift/template/constant.py",
    "swift/llm/template/constant.py",
];
const SWIFT_TUNERS: &[&str] = &[
    "swift/arguments/base_args/base_args.py",
    "swift/tuner_plugin/mapping.py",
    "swift/llm/argument/base_args/base_args.py",
    "swift/plugin/tuner.py",
];
const SWIFT_AGENTS: &[&str] = &["swift/agent_template/mapping.py"];
const SWIFT_LOSS_SCALES: &[&str] = &["swift/loss_scale/mapping.py", "swift/loss_scale/base.py"];
const BACKENDS: &[&str] = &[
    "transformers/training_args.py",
    "torch/distributed/distributed_c10d.py",
];
/// With those of experiments, and where they were before.
const LOSSES: &[&str] = &[
    "trl/trainer/dpo_trainer.py",
    "trl/trainer/dpo_config.py",
    "trl/trainer/grpo_trainer.py",
    "trl/trainer/grpo_config.py",
    "trl/trainer/sft_trainer.py",
    "trl/trainer/sft_config.py",
    "trl/trainer/kto_trainer.py",
    "trl/trainer/kto_config.py",
    "trl/trainer/rloo_trainer.py",
    "trl/trainer/rloo_config.py",
    "trl/trainer/cpo_trainer.py",
    "trl/trainer/cpo_config.py",
    "trl/trainer/online_dpo_trainer.py",
    "trl/trainer/online_dpo_config.py",
    "trl/trainer/bco_trainer.py",
    "trl/experimental/cpo/cpo_trainer.py",
    "trl/experimental/cpo/cpo_config.py",
    "trl/experimental/kto/kto_trainer.py",
    "trl/experimental/kto/kto_config.py",
    "trl/experimental/online_dpo/online_dpo_trainer.py",
    "swift/rlhf_trainers/grpo_trainer.py",
    "swift/rlhf_trainers/dpo_trainer.py",
    "swift/rlhf_trainers/kto_trainer.py",
    "swift/trainers/rlhf_trainer/grpo_trainer.py",
    "swift/trainers/rlhf_trainer/dpo_trainer.py",
    "swift/trainers/rlhf_trainer/kto_trainer.py",
    "swift/arguments/rlhf_args.py",
    "swift/llm/argument/rlhf_args.py",
];
const GRPO: &[&str] = &["trl/trainer/grpo_trainer.py", "trl/trainer/grpo_config.py"];
const SWIFT_TRAINING: &[&str] = &["swift/trainers/arguments.py"];
const SWIFT_SEQUENCES: &[&str] = &["swift/sequence_parallel/sequence_parallel.py"];
const SWIFT_SFT_ARGUMENTS: &[&str] = &["swift/arguments/sft_args.py"];
const LLAMAFACTORY_METHODS: &[&str] = &["llamafactory/hparams/finetuning_args.py"];
const LLAMAFACTORY_STAGES: &[&str] = &["llamafactory/train/tuner.py"];
const LLAMAFACTORY_TEMPLATES: &[&str] = &["llamafactory/data/template.py"];
const LLAMAFACTORY_ATTENTION: &[&str] = &["llamafactory/extras/constants.py"];
const SWIFT_REWARDS: &[&str] = &[
    "swift/rewards/orm.py",
    "swift/rewards/prm.py",
    "swift/plugin/orm.py",
    "swift/plugin/prm.py",
];
const TRL_REWARDS: &[&str] = &["trl/scripts/grpo.py"];
const DIVERGENCES: &[&str] = &["trl/trainer/dpo_trainer.py"];

const ONE_NAME: &str = "to the trainer it is one name, commas included";
const SPACES: &str = "separate the names by spaces";
const MODEL_KWARGS: &str = "model_kwargs";
const JSON: &str = "write JSON in single quotes, as '{\"key\": true}'";

const SAVING: WithDefault = WithDefault {
    argument: "save_strategy",
    default: "steps",
};
const EVALUATION: WithDefault = WithDefault {
    argument: "eval_strategy",
    default: "no",
};

const SAVE_STEPS: WithDefault = WithDefault {
    argument: "save_steps",
    default: "500",
};
const EVAL_STEPS: WithDefault = WithDefault {
    argument: "eval_steps",
    default: "",
};
const MICRO_BATCH: WithDefault = WithDefault {
    argument: "per_device_train_batch_size",
    default: "8",
};
const ACCUMULATION: WithDefault = WithDefault {
    argument: "gradient_accumulation_steps",
    default: "1",
};

/// Packed, and without one of the kinds of attention that ms-swift wants for it.
const PACKED: [&[Condition]; 2] = [
    &[
        True("packing"),
        FLASH_IS_WANTED,
        Any(&[LeftOut("attn_impl"), IS_NO_FLASH]),
    ],
    &[
        True("padding_free"),
        FLASH_IS_WANTED,
        Any(&[LeftOut("attn_impl"), IS_NO_FLASH]),
    ],
];
const FLASH_IS_WANTED: Condition = FileSays {
    files: SWIFT_SFT_ARGUMENTS,
    text: "supported_impls = ['flash_attn',",
};
const IS_NO_FLASH: Condition = NotNamedIn {
    argument: "attn_impl",
    files: SWIFT_SFT_ARGUMENTS,
};
const WITHOUT_FLASH: &str = "it needs flash attention";
const WITH_FLASH: Remedy = Give {
    owner: Trainer,
    option: "--attn_impl",
    value: "flash_attn",
};

// The launches of the examples.
const LLAMAFACTORY_TRAIN: ExampleLaunch = ExampleLaunch {
    config: Some("zero2"),
    command: "llamafactory-cli train",
    run_file: Some("model_name_or_path: a/b, dataset: tiny"),
    swift: "4.6.0",
};
const SWIFT_SFT: ExampleLaunch = ExampleLaunch {
    config: Some("zero2"),
    command: "swift sft --model a/b --dataset c/d --torch_dtype bfloat16",
    run_file: None,
    swift: "4.6.0",
};
const TRL_SFT: ExampleLaunch = ExampleLaunch {
    config: Some("zero2"),
    command: "trl sft --model_name_or_path a/b --dataset_name c/d",
    run_file: None,
    swift: "4.6.0",
};
const LLAMAFACTORY_TRAIN_WITHOUT_CONFIG: ExampleLaunch = ExampleLaunch {
    config: None,
    ..LLAMAFACTORY_TRAIN
};
const LLAMAFACTORY_TRAIN_WITHOUT_DATA: ExampleLaunch = ExampleLaunch {
    run_file: Some("model_name_or_path: a/b"),
    ..LLAMAFACTORY_TRAIN
};
const LLAMAFACTORY_TRAIN_WITHOUT_MODEL: ExampleLaunch = ExampleLaunch {
    run_file: Some("dataset: tiny"),
    ..LLAMAFACTORY_TRAIN
};
const LLAMAFACTORY_TRAIN_ZERO3: ExampleLaunch = ExampleLaunch {
    config: Some("zero3"),
    ..LLAMAFACTORY_TRAIN
};
const SWIFT_SFT_WITHOUT_DATA: ExampleLaunch = ExampleLaunch {
    command: "swift sft --model a/b --torch_dtype bfloat16",
    ..SWIFT_SFT
};
const SWIFT_SFT_WITHOUT_DATA_3_8: ExampleLaunch = ExampleLaunch {
    command: "swift sft --model a/b --torch_dtype bfloat16",
    swift: "3.8.3",
    ..SWIFT_SFT
};
const SWIFT_SFT_WITHOUT_MODEL: ExampleLaunch = ExampleLaunch {
    command: "swift sft --dataset c/d --torch_dtype bfloat16",
    ..SWIFT_SFT
};
const SWIFT_SFT_WITHOUT_MODEL_3_8: ExampleLaunch = ExampleLaunch {
    command: "swift sft --dataset c/d --torch_dtype bfloat16",
    swift: "3.8.3",
    ..SWIFT_SFT
};
const SWIFT_SFT_ZERO3: ExampleLaunch = ExampleLaunch {
    config: Some("zero3"),
    ..SWIFT_SFT
};
const TRL_GRPO: ExampleLaunch = ExampleLaunch {
    command: "trl grpo --model_name_or_path a/b --dataset_name c/d",
    ..TRL_SFT
};
const TRL_DPO: ExampleLaunch = ExampleLaunch {
    command: "trl dpo --model_name_or_path a/b --dataset_name c/d",
    ..TRL_SFT
};
const SWIFT_GRPO: ExampleLaunch = ExampleLaunch {
    command: "swift rlhf --rlhf_type grpo --model a/b --dataset c/d --torch_dtype bfloat16 --gradient_accumulation_steps 1 --per_device_train_batch_size 4",
    ..SWIFT_SFT
};
const TRL_SFT_WITHOUT_CONFIG: ExampleLaunch = ExampleLaunch {
    config: None,
    ..TRL_SFT
};
const TRL_SFT_WITHOUT_DATA: ExampleLaunch = ExampleLaunch {
    command: "trl sft --model_name_or_path a/b",
    ..TRL_SFT
};
const TRL_SFT_WITHOUT_MODEL: ExampleLaunch = ExampleLaunch {
    command: "trl sft --dataset_name c/d",
    ..TRL_SFT
};
const TRL_SFT_WITH_OPTIMIZER: ExampleLaunch = ExampleLaunch {
    config: Some("hf_zero2"),
    ..TRL_SFT
};

pub const REFUSALS: &[Refusal] = &[
    Refusal {
        by: TRANSFORMERS,
        argument: "fp16",
        when: &[
            True("fp16"),
            True("bf16"),
            Any(&[Not(&Key("fp16.enabled", On)), Not(&Key("bf16.enabled", On))]),
        ],
        why: "--bf16 is on too",
        fixes: &[Give {
            owner: Trainer,
            option: "--fp16",
            value: "false",
        }],
        examples: &[
            Refused {
                launch: TRL_SFT_WITHOUT_CONFIG,
                with: "--fp16 true --bf16 true",
                argument: "--fp16 true",
                help: "--fp16 false",
            },
            Accepted(TRL_SFT_WITHOUT_CONFIG, "--fp16 true --bf16 false"),
            Accepted(TRL_SFT, "--fp16 true --bf16 true"),
        ],
    },
    Refusal {
        by: UNCHANGED,
        argument: "load_best_model_at_end",
        when: &[
            True("load_best_model_at_end"),
            Not(&Is("save_strategy", "best")),
            Any(&[Given("save_strategy"), LeftOut("save_strategy")]),
            Any(&[Given("eval_strategy"), LeftOut("eval_strategy")]),
            Differ(SAVING, EVALUATION),
        ],
        why: "it must evaluate when it saves, and --eval_strategy differs from --save_strategy",
        fixes: &[
            GiveSame {
                option: "--eval_strategy",
                other: SAVING,
            },
            DropArgument("load_best_model_at_end"),
        ],
        examples: &[
            Refused {
                launch: TRL_SFT,
                with: "--load_best_model_at_end --save_strategy epoch",
                argument: "--load_best_model_at_end",
                help: "--eval_strategy epoch, or drop --load_best_model_at_end",
            },
            Refused {
                launch: TRL_SFT,
                with: "--load_best_model_at_end true",
                argument: "--load_best_model_at_end true",
                help: "--eval_strategy steps, or drop --load_best_model_at_end",
            },
            Refused {
                launch: TRL_SFT,
                with: "--load_best_model_at_end --save_strategy no --eval_strategy steps",
                argument: "--load_best_model_at_end",
                help: "--eval_strategy no, or drop --load_best_model_at_end",
            },
            Refused {
                launch: LLAMAFACTORY_TRAIN,
                with: "load_best_model_at_end: true, val_size: 0.1",
                argument: "load_best_model_at_end: true",
                help: "eval_strategy: steps, or drop load_best_model_at_end",
            },
            Accepted(TRL_SFT, "--load_best_model_at_end --save_strategy best"),
            Accepted(
                TRL_SFT,
                "--load_best_model_at_end --save_strategy best --eval_strategy epoch",
            ),
            Accepted(
                TRL_SFT,
                "--load_best_model_at_end --save_strategy epoch --eval_strategy $EVAL",
            ),
            Accepted(
                TRL_SFT,
                "--load_best_model_at_end --save_strategy $SAVE --eval_strategy epoch",
            ),
            Accepted(
                TRL_SFT,
                "--load_best_model_at_end --save_strategy epoch --eval_strategy epoch",
            ),
            Accepted(TRL_SFT, "--load_best_model_at_end --eval_strategy steps"),
            Accepted(TRL_SFT, "--load_best_model_at_end --save_strategy no"),
        ],
    },
    Refusal {
        by: LLAMAFACTORY,
        argument: "model_name_or_path",
        when: &[
            LeftOut("model_name_or_path"),
            FileSays {
                files: &["llamafactory/hparams/model_args.py"],
                text: "Please provide `model_name_or_path`",
            },
        ],
        why: "it names the model",
        fixes: &[Give {
            owner: Trainer,
            option: "model_name_or_path",
            value: "MODEL",
        }],
        examples: &[
            Refused {
                launch: LLAMAFACTORY_TRAIN_WITHOUT_MODEL,
                with: "",
                argument: "model_name_or_path",
                help: "model_name_or_path: MODEL",
            },
            Accepted(LLAMAFACTORY_TRAIN, ""),
        ],
    },
    Refusal {
        by: LLAMAFACTORY,
        argument: "dataset",
        when: &[
            LeftOut("dataset"),
            True("do_train"),
            FileSays {
                files: &["llamafactory/hparams/parser.py"],
                text: "Please specify dataset for training",
            },
        ],
        why: "it names the data",
        fixes: &[Give {
            owner: Trainer,
            option: "dataset",
            value: "NAME",
        }],
        examples: &[
            Refused {
                launch: LLAMAFACTORY_TRAIN_WITHOUT_DATA,
                with: "do_train: true",
                argument: "dataset",
                help: "dataset: NAME",
            },
            Accepted(
                LLAMAFACTORY_TRAIN_WITHOUT_DATA,
                "do_train: true, dataset: tiny",
            ),
            Accepted(LLAMAFACTORY_TRAIN_WITHOUT_DATA, "do_train: false"),
        ],
    },
    Refusal {
        by: LLAMAFACTORY,
        argument: "use_galore",
        when: &[True("use_galore"), DeepSpeed],
        why: "it cannot be combined with DeepSpeed",
        fixes: &[DropArgument("use_galore"), Say("train without DeepSpeed")],
        examples: &[
            Refused {
                launch: LLAMAFACTORY_TRAIN,
                with: "use_galore: true",
                argument: "use_galore: true",
                help: "drop use_galore, or train without DeepSpeed",
            },
            Accepted(LLAMAFACTORY_TRAIN_WITHOUT_CONFIG, "use_galore: true"),
        ],
    },
    Refusal {
        by: LLAMAFACTORY,
        argument: "use_apollo",
        when: &[True("use_apollo"), DeepSpeed],
        why: "it cannot be combined with DeepSpeed",
        fixes: &[DropArgument("use_apollo"), Say("train without DeepSpeed")],
        examples: &[
            Refused {
                launch: LLAMAFACTORY_TRAIN,
                with: "use_apollo: true",
                argument: "use_apollo: true",
                help: "drop use_apollo, or train without DeepSpeed",
            },
            Accepted(LLAMAFACTORY_TRAIN_WITHOUT_CONFIG, "use_apollo: true"),
        ],
    },
    Refusal {
        by: LLAMAFACTORY,
        argument: "use_badam",
        when: &[True("use_badam"), Is("badam_mode", "ratio")],
        why: "`badam_mode: ratio` is for one process only",
        fixes: &[Give {
            owner: Trainer,
            option: "badam_mode",
            value: "layer",
        }],
        examples: &[
            Refused {
                launch: LLAMAFACTORY_TRAIN_ZERO3,
                with: "use_badam: true, badam_mode: ratio",
                argument: "use_badam: true",
                help: "badam_mode: layer",
            },
            Accepted(
                LLAMAFACTORY_TRAIN_ZERO3,
                "use_badam: true, badam_mode: layer",
            ),
        ],
    },
    Refusal {
        by: LLAMAFACTORY,
        argument: "use_badam",
        when: &[True("use_badam"), Not(&Stage(&[3]))],
        why: "it needs ZeRO-3",
        fixes: &[Give {
            owner: Zlaunch,
            option: "--deepspeed",
            value: "zero3",
        }],
        examples: &[
            Refused {
                launch: LLAMAFACTORY_TRAIN,
                with: "use_badam: true",
                argument: "use_badam: true",
                help: "--deepspeed zero3",
            },
            Accepted(LLAMAFACTORY_TRAIN_ZERO3, "use_badam: true"),
        ],
    },
    Refusal {
        by: LLAMAFACTORY,
        argument: "pissa_init",
        when: &[True("pissa_init"), Stage(&[3])],
        why: "ZeRO-3 shards the weights that it starts from",
        fixes: &[
            Say("initialise with its scripts/pissa_init.py"),
            Give {
                owner: Zlaunch,
                option: "--deepspeed",
                value: "zero2",
            },
        ],
        examples: &[
            Refused {
                launch: LLAMAFACTORY_TRAIN_ZERO3,
                with: "pissa_init: true",
                argument: "pissa_init: true",
                help: "initialise with its scripts/pissa_init.py, or --deepspeed zero2",
            },
            Accepted(LLAMAFACTORY_TRAIN, "pissa_init: true"),
        ],
    },
    Refusal {
        by: LLAMAFACTORY,
        argument: "predict_with_generate",
        when: &[True("predict_with_generate"), Stage(&[3])],
        why: "it cannot be combined with ZeRO-3",
        fixes: &[Give {
            owner: Zlaunch,
            option: "--deepspeed",
            value: "zero2",
        }],
        examples: &[
            Refused {
                launch: LLAMAFACTORY_TRAIN_ZERO3,
                with: "predict_with_generate: true",
                argument: "predict_with_generate: true",
                help: "--deepspeed zero2",
            },
            Accepted(LLAMAFACTORY_TRAIN, "predict_with_generate: true"),
        ],
    },
    Refusal {
        by: LLAMAFACTORY,
        argument: "pure_bf16",
        when: &[True("pure_bf16"), Stage(&[3])],
        why: "it cannot be combined with ZeRO-3",
        fixes: &[Both(
            &DropArgument("pure_bf16"),
            &Give {
                owner: Trainer,
                option: "bf16",
                value: "true",
            },
        )],
        examples: &[
            Refused {
                launch: LLAMAFACTORY_TRAIN_ZERO3,
                with: "pure_bf16: true",
                argument: "pure_bf16: true",
                help: "drop pure_bf16, and bf16: true",
            },
            Accepted(LLAMAFACTORY_TRAIN, "pure_bf16: true"),
        ],
    },
    Refusal {
        by: LLAMAFACTORY,
        argument: "use_unsloth",
        when: &[True("use_unsloth"), Stage(&[3])],
        why: "it cannot be combined with ZeRO-3",
        fixes: &[
            Give {
                owner: Zlaunch,
                option: "--deepspeed",
                value: "zero2",
            },
            DropArgument("use_unsloth"),
        ],
        examples: &[
            Refused {
                launch: LLAMAFACTORY_TRAIN_ZERO3,
                with: "use_unsloth: true",
                argument: "use_unsloth: true",
                help: "--deepspeed zero2, or drop use_unsloth",
            },
            Accepted(LLAMAFACTORY_TRAIN, "use_unsloth: true"),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "model",
        when: &[
            LeftOut("model"),
            LeftOut("adapters"),
            LeftOut("resume_from_checkpoint"),
            LeftOut("ckpt_dir"),
            LeftOut("load_args"),
            FileSays {
                files: &[
                    "swift/arguments/base_args/model_args.py",
                    "swift/llm/argument/base_args/model_args.py",
                ],
                text: "Please set --model",
            },
        ],
        why: "it names the model",
        fixes: &[Give {
            owner: Trainer,
            option: "--model",
            value: "MODEL",
        }],
        examples: &[
            Refused {
                launch: SWIFT_SFT_WITHOUT_MODEL,
                with: "",
                argument: "--model",
                help: "--model MODEL",
            },
            Accepted(SWIFT_SFT, ""),
            Accepted(SWIFT_SFT_WITHOUT_MODEL, "--adapters data"),
            Accepted(SWIFT_SFT_WITHOUT_MODEL, "--resume_from_checkpoint data"),
            Accepted(SWIFT_SFT_WITHOUT_MODEL_3_8, "--ckpt_dir data"),
            Accepted(SWIFT_SFT_WITHOUT_MODEL, "--load_args true"),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "dataset",
        when: &[
            LeftOut("dataset"),
            LeftOut("cached_dataset"),
            LeftOut("adapters"),
            LeftOut("resume_from_checkpoint"),
            LeftOut("ckpt_dir"),
            LeftOut("load_args"),
            FileSays {
                files: &[
                    "swift/arguments/sft_args.py",
                    "swift/llm/argument/train_args.py",
                ],
                text: "Please input the training dataset",
            },
        ],
        why: "it names the data",
        fixes: &[Give {
            owner: Trainer,
            option: "--dataset",
            value: "DATASET",
        }],
        examples: &[
            Refused {
                launch: SWIFT_SFT_WITHOUT_DATA,
                with: "",
                argument: "--dataset",
                help: "--dataset DATASET",
            },
            Accepted(SWIFT_SFT, ""),
            Accepted(SWIFT_SFT_WITHOUT_DATA, "--cached_dataset data"),
            Accepted(SWIFT_SFT_WITHOUT_DATA, "--adapters data"),
            Accepted(SWIFT_SFT_WITHOUT_DATA, "--resume_from_checkpoint data"),
            Accepted(SWIFT_SFT_WITHOUT_DATA_3_8, "--ckpt_dir data"),
            Accepted(SWIFT_SFT_WITHOUT_DATA, "--load_args true"),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "deepspeed_autotp_size",
        when: &[MoreThanRanks("deepspeed_autotp_size")],
        why: "there are fewer ranks",
        fixes: &[Say("give no more than the ranks")],
        examples: &[
            Refused {
                launch: SWIFT_SFT,
                with: "--deepspeed_autotp_size 4",
                argument: "--deepspeed_autotp_size 4",
                help: "give no more than the ranks",
            },
            Accepted(SWIFT_SFT, "--deepspeed_autotp_size 2"),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "sequence_parallel_size",
        when: &[
            NoMultiple {
                factors: &[],
                ranks: true,
                of: "sequence_parallel_size",
            },
            FileSays {
                files: SWIFT_SEQUENCES,
                text: "world_size // self.world_size",
            },
        ],
        why: "it does not divide the number of ranks",
        fixes: &[Say("give a divisor of the number of ranks")],
        examples: &[
            Refused {
                launch: SWIFT_SFT,
                with: "--sequence_parallel_size 3",
                argument: "--sequence_parallel_size 3",
                help: "give a divisor of the number of ranks",
            },
            Refused {
                launch: SWIFT_SFT,
                with: "--sequence_parallel_size 4",
                argument: "--sequence_parallel_size 4",
                help: "give a divisor of the number of ranks",
            },
            Accepted(SWIFT_SFT, "--sequence_parallel_size 2"),
            Accepted(SWIFT_SFT, "--sequence_parallel_size 1"),
        ],
    },
    Refusal {
        by: TRL,
        argument: "model_name_or_path",
        when: &[
            LeftOut("model_name_or_path"),
            ScriptSays("model_args.model_name_or_path"),
        ],
        why: "it names the model",
        fixes: &[Give {
            owner: Trainer,
            option: "--model_name_or_path",
            value: "MODEL",
        }],
        examples: &[
            Refused {
                launch: TRL_SFT_WITHOUT_MODEL,
                with: "",
                argument: "--model_name_or_path",
                help: "--model_name_or_path MODEL",
            },
            Accepted(TRL_SFT, ""),
            Accepted(TRL_SFT_WITHOUT_MODEL, "--config data/trl.yaml"),
        ],
    },
    Refusal {
        by: TRL,
        argument: "dataset_name",
        when: &[
            LeftOut("dataset_name"),
            LeftOut("datasets"),
            ScriptSays("script_args.dataset_name"),
        ],
        why: "it names the data",
        fixes: &[Give {
            owner: Trainer,
            option: "--dataset_name",
            value: "DATASET",
        }],
        examples: &[
            Refused {
                launch: TRL_SFT_WITHOUT_DATA,
                with: "",
                argument: "--dataset_name",
                help: "--dataset_name DATASET",
            },
            Accepted(TRL_SFT, ""),
            Accepted(TRL_SFT_WITHOUT_DATA, "--datasets data"),
            Accepted(TRL_SFT_WITHOUT_DATA, "--config data/trl.yaml"),
        ],
    },
    Refusal {
        by: TRANSFORMERS,
        argument: "report_to",
        when: &[
            Is("report_to", "wandb"),
            NotInstalled(&["wandb"]),
            FileSays {
                files: CALLBACKS,
                text: "WandbCallback requires wandb",
            },
        ],
        why: "the package wandb is not installed",
        fixes: &[
            Run("pip install wandb"),
            Give {
                owner: Trainer,
                option: "--report_to",
                value: "none",
            },
        ],
        examples: &[
            Refused {
                launch: TRL_SFT_WITHOUT_CONFIG,
                with: "--report_to wandb",
                argument: "--report_to wandb",
                help: "pip install wandb, or --report_to none",
            },
            Accepted(TRL_SFT_WITHOUT_CONFIG, "--report_to none"),
        ],
    },
    Refusal {
        by: TRANSFORMERS,
        argument: "report_to",
        when: &[
            Is("report_to", "swanlab"),
            NotInstalled(&["swanlab"]),
            FileSays {
                files: CALLBACKS,
                text: "SwanLabCallback requires swanlab",
            },
        ],
        why: "the package swanlab is not installed",
        fixes: &[
            Run("pip install swanlab"),
            Give {
                owner: Trainer,
                option: "--report_to",
                value: "none",
            },
        ],
        examples: &[
            Refused {
                launch: TRL_SFT_WITHOUT_CONFIG,
                with: "--report_to swanlab",
                argument: "--report_to swanlab",
                help: "pip install swanlab, or --report_to none",
            },
            Accepted(TRL_SFT_WITHOUT_CONFIG, "--report_to none"),
        ],
    },
    Refusal {
        by: TRANSFORMERS,
        argument: "report_to",
        when: &[
            Is("report_to", "tensorboard"),
            NotInstalled(&["tensorboard", "tensorboardX"]),
            FileSays {
                files: CALLBACKS,
                text: "TensorBoardCallback requires tensorboard",
            },
        ],
        why: "the package tensorboard is not installed",
        fixes: &[
            Run("pip install tensorboard"),
            Give {
                owner: Trainer,
                option: "--report_to",
                value: "none",
            },
        ],
        examples: &[
            Refused {
                launch: TRL_SFT_WITHOUT_CONFIG,
                with: "--report_to tensorboard",
                argument: "--report_to tensorboard",
                help: "pip install tensorboard, or --report_to none",
            },
            Accepted(TRL_SFT_WITHOUT_CONFIG, "--report_to none"),
        ],
    },
    Refusal {
        by: TRANSFORMERS,
        argument: "report_to",
        when: &[
            Is("report_to", "mlflow"),
            NotInstalled(&["mlflow"]),
            FileSays {
                files: CALLBACKS,
                text: "MLflowCallback requires mlflow",
            },
        ],
        why: "the package mlflow is not installed",
        fixes: &[
            Run("pip install mlflow"),
            Give {
                owner: Trainer,
                option: "--report_to",
                value: "none",
            },
        ],
        examples: &[
            Refused {
                launch: TRL_SFT_WITHOUT_CONFIG,
                with: "--report_to mlflow",
                argument: "--report_to mlflow",
                help: "pip install mlflow, or --report_to none",
            },
            Accepted(TRL_SFT_WITHOUT_CONFIG, "--report_to none"),
        ],
    },
    Refusal {
        by: TRANSFORMERS,
        argument: "report_to",
        when: &[
            Is("report_to", "trackio"),
            NotInstalled(&["trackio"]),
            FileSays {
                files: CALLBACKS,
                text: "TrackioCallback requires trackio",
            },
        ],
        why: "the package trackio is not installed",
        fixes: &[
            Run("pip install trackio"),
            Give {
                owner: Trainer,
                option: "--report_to",
                value: "none",
            },
        ],
        examples: &[
            Refused {
                launch: TRL_SFT_WITHOUT_CONFIG,
                with: "--report_to trackio",
                argument: "--report_to trackio",
                help: "pip install trackio, or --report_to none",
            },
            Accepted(TRL_SFT_WITHOUT_CONFIG, "--report_to none"),
        ],
    },
    Refusal {
        by: TRANSFORMERS,
        argument: "report_to",
        when: &[
            Is("report_to", "clearml"),
            NotInstalled(&["clearml"]),
            FileSays {
                files: CALLBACKS,
                text: "ClearMLCallback requires 'clearml'",
            },
        ],
        why: "the package clearml is not installed",
        fixes: &[
            Run("pip install clearml"),
            Give {
                owner: Trainer,
                option: "--report_to",
                value: "none",
            },
        ],
        examples: &[
            Refused {
                launch: TRL_SFT_WITHOUT_CONFIG,
                with: "--report_to clearml",
                argument: "--report_to clearml",
                help: "pip install clearml, or --report_to none",
            },
            Accepted(TRL_SFT_WITHOUT_CONFIG, "--report_to none"),
        ],
    },
    Refusal {
        by: TRANSFORMERS,
        argument: "use_liger_kernel",
        when: &[
            True("use_liger_kernel"),
            NotInstalled(&["liger_kernel"]),
            FileSays {
                files: TRAINER,
                text: "You have set `use_liger_kernel` to `True`",
            },
        ],
        why: "the package liger-kernel is not installed",
        fixes: &[
            Run("pip install liger-kernel"),
            Give {
                owner: Trainer,
                option: "--use_liger_kernel",
                value: "false",
            },
        ],
        examples: &[
            Refused {
                launch: TRL_SFT_WITHOUT_CONFIG,
                with: "--use_liger_kernel true",
                argument: "--use_liger_kernel true",
                help: "pip install liger-kernel, or --use_liger_kernel false",
            },
            Accepted(TRL_SFT_WITHOUT_CONFIG, "--use_liger_kernel false"),
        ],
    },
    Refusal {
        by: TRANSFORMERS,
        argument: "optim",
        when: &[
            StartsWith("optim", "galore_"),
            NotInstalled(&["galore_torch"]),
            FileSays {
                files: TRAINER,
                text: "install `galore_torch`",
            },
            Key("optimizer", Missing),
        ],
        why: "the package galore-torch is not installed",
        fixes: &[
            Run("pip install galore-torch"),
            Give {
                owner: Trainer,
                option: "--optim",
                value: "adamw_torch",
            },
        ],
        examples: &[
            Refused {
                launch: TRL_SFT,
                with: "--optim galore_adamw",
                argument: "--optim galore_adamw",
                help: "pip install galore-torch, or --optim adamw_torch",
            },
            Accepted(TRL_SFT, "--optim adamw_torch"),
            Accepted(TRL_SFT_WITH_OPTIMIZER, "--optim galore_adamw"),
        ],
    },
    Refusal {
        by: TRANSFORMERS,
        argument: "optim",
        when: &[
            StartsWith("optim", "apollo_"),
            NotInstalled(&["apollo_torch"]),
            FileSays {
                files: TRAINER,
                text: "install `apollo_torch`",
            },
            Key("optimizer", Missing),
        ],
        why: "the package apollo-torch is not installed",
        fixes: &[
            Run("pip install apollo-torch"),
            Give {
                owner: Trainer,
                option: "--optim",
                value: "adamw_torch",
            },
        ],
        examples: &[
            Refused {
                launch: TRL_SFT,
                with: "--optim apollo_adamw",
                argument: "--optim apollo_adamw",
                help: "pip install apollo-torch, or --optim adamw_torch",
            },
            Accepted(TRL_SFT, "--optim adamw_torch"),
            Accepted(TRL_SFT_WITH_OPTIMIZER, "--optim apollo_adamw"),
        ],
    },
    Refusal {
        by: TRANSFORMERS,
        argument: "optim",
        when: &[
            Is("optim", "lomo"),
            NotInstalled(&["lomo_optim"]),
            FileSays {
                files: TRAINER,
                text: "install `lomo_optim`",
            },
            Key("optimizer", Missing),
        ],
        why: "the package lomo-optim is not installed",
        fixes: &[
            Run("pip install lomo-optim"),
            Give {
                owner: Trainer,
                option: "--optim",
                value: "adamw_torch",
            },
        ],
        examples: &[
            Refused {
                launch: TRL_SFT,
                with: "--optim lomo",
                argument: "--optim lomo",
                help: "pip install lomo-optim, or --optim adamw_torch",
            },
            Accepted(TRL_SFT, "--optim adamw_torch"),
            Accepted(TRL_SFT_WITH_OPTIMIZER, "--optim lomo"),
        ],
    },
    Refusal {
        by: TRANSFORMERS,
        argument: "optim",
        when: &[
            Is("optim", "adalomo"),
            NotInstalled(&["lomo_optim"]),
            FileSays {
                files: TRAINER,
                text: "install `lomo_optim`",
            },
            Key("optimizer", Missing),
        ],
        why: "the package lomo-optim is not installed",
        fixes: &[
            Run("pip install lomo-optim"),
            Give {
                owner: Trainer,
                option: "--optim",
                value: "adamw_torch",
            },
        ],
        examples: &[
            Refused {
                launch: TRL_SFT,
                with: "--optim adalomo",
                argument: "--optim adalomo",
                help: "pip install lomo-optim, or --optim adamw_torch",
            },
            Accepted(TRL_SFT, "--optim adamw_torch"),
            Accepted(TRL_SFT_WITH_OPTIMIZER, "--optim adalomo"),
        ],
    },
    Refusal {
        by: TRANSFORMERS,
        argument: "optim",
        when: &[
            StartsWith("optim", "schedule_free_"),
            NotInstalled(&["schedulefree"]),
            FileSays {
                files: TRAINER,
                text: "install `schedulefree`",
            },
            Key("optimizer", Missing),
        ],
        why: "the package schedulefree is not installed",
        fixes: &[
            Run("pip install schedulefree"),
            Give {
                owner: Trainer,
                option: "--optim",
                value: "adamw_torch",
            },
        ],
        examples: &[
            Refused {
                launch: TRL_SFT,
                with: "--optim schedule_free_adamw",
                argument: "--optim schedule_free_adamw",
                help: "pip install schedulefree, or --optim adamw_torch",
            },
            Accepted(TRL_SFT, "--optim adamw_torch"),
            Accepted(TRL_SFT_WITH_OPTIMIZER, "--optim schedule_free_adamw"),
        ],
    },
    Refusal {
        by: TRANSFORMERS,
        argument: "optim",
        when: &[
            StartsWith("optim", "paged_"),
            NotInstalled(&["bitsandbytes"]),
            FileSays {
                files: TRAINER,
                text: "`bitsandbytes`",
            },
            Key("optimizer", Missing),
        ],
        why: "the package bitsandbytes is not installed",
        fixes: &[
            Run("pip install bitsandbytes"),
            Give {
                owner: Trainer,
                option: "--optim",
                value: "adamw_torch",
            },
        ],
        examples: &[
            Refused {
                launch: TRL_SFT,
                with: "--optim paged_adamw_8bit",
                argument: "--optim paged_adamw_8bit",
                help: "pip install bitsandbytes, or --optim adamw_torch",
            },
            Accepted(TRL_SFT, "--optim adamw_torch"),
            Accepted(TRL_SFT_WITH_OPTIMIZER, "--optim paged_adamw_8bit"),
        ],
    },
    Refusal {
        by: TRANSFORMERS,
        argument: "optim",
        when: &[
            Is("optim", "adamw_8bit"),
            NotInstalled(&["bitsandbytes"]),
            FileSays {
                files: TRAINER,
                text: "`bitsandbytes`",
            },
            Key("optimizer", Missing),
        ],
        why: "the package bitsandbytes is not installed",
        fixes: &[
            Run("pip install bitsandbytes"),
            Give {
                owner: Trainer,
                option: "--optim",
                value: "adamw_torch",
            },
        ],
        examples: &[
            Refused {
                launch: TRL_SFT,
                with: "--optim adamw_8bit",
                argument: "--optim adamw_8bit",
                help: "pip install bitsandbytes, or --optim adamw_torch",
            },
            Accepted(TRL_SFT, "--optim adamw_torch"),
            Accepted(TRL_SFT_WITH_OPTIMIZER, "--optim adamw_8bit"),
        ],
    },
    Refusal {
        by: TRANSFORMERS,
        argument: "optim",
        when: &[
            Is("optim", "adamw_bnb_8bit"),
            NotInstalled(&["bitsandbytes"]),
            FileSays {
                files: TRAINER,
                text: "`bitsandbytes`",
            },
            Key("optimizer", Missing),
        ],
        why: "the package bitsandbytes is not installed",
        fixes: &[
            Run("pip install bitsandbytes"),
            Give {
                owner: Trainer,
                option: "--optim",
                value: "adamw_torch",
            },
        ],
        examples: &[
            Refused {
                launch: TRL_SFT,
                with: "--optim adamw_bnb_8bit",
                argument: "--optim adamw_bnb_8bit",
                help: "pip install bitsandbytes, or --optim adamw_torch",
            },
            Accepted(TRL_SFT, "--optim adamw_torch"),
            Accepted(TRL_SFT_WITH_OPTIMIZER, "--optim adamw_bnb_8bit"),
        ],
    },
    Refusal {
        by: TRANSFORMERS,
        argument: "attn_implementation",
        when: &[
            Is("attn_implementation", "flash_attention_2"),
            NotInstalled(FLASH_ATTENTION),
            FileSays {
                files: MODELING,
                text: "has been toggled on, but it cannot be used",
            },
        ],
        why: "the package flash-attn is not installed",
        fixes: &[
            Run("pip install flash-attn --no-build-isolation"),
            Give {
                owner: Trainer,
                option: "--attn_implementation",
                value: "sdpa",
            },
        ],
        examples: &[
            Refused {
                launch: TRL_SFT_WITHOUT_CONFIG,
                with: "--attn_implementation flash_attention_2",
                argument: "--attn_implementation flash_attention_2",
                help: "pip install flash-attn --no-build-isolation, or --attn_implementation sdpa",
            },
            Accepted(TRL_SFT_WITHOUT_CONFIG, "--attn_implementation sdpa"),
        ],
    },
    Refusal {
        by: TRANSFORMERS,
        argument: "attn_implementation",
        when: &[
            Any(&[
                StartsWith("attn_implementation", "fla"),
                StartsWith("attn_implementation", "fa"),
                Is("attn_implementation", "true"),
            ]),
            Not(&Is("attn_implementation", "flash_attention_2")),
            NotNamedIn {
                argument: "attn_implementation",
                files: MODELING,
            },
            FileSays {
                files: MODELING,
                text: NO_ATTENTION,
            },
        ],
        why: "transformers has no attention implementation of that name",
        fixes: &[
            Give {
                owner: Trainer,
                option: "--attn_implementation",
                value: "flash_attention_2",
            },
            Say(WITHOUT_PACKAGE),
        ],
        examples: &[
            Refused {
                launch: TRL_SFT_WITHOUT_CONFIG,
                with: "--attn_implementation flash-attn2",
                argument: "--attn_implementation flash-attn2",
                help: "--attn_implementation flash_attention_2, or `sdpa` and `eager` need no package",
            },
            Refused {
                launch: TRL_SFT_WITHOUT_CONFIG,
                with: "--attn_implementation true",
                argument: "--attn_implementation true",
                help: "--attn_implementation flash_attention_2, or `sdpa` and `eager` need no package",
            },
            Accepted(TRL_SFT_WITHOUT_CONFIG, "--attn_implementation known"),
            Accepted(TRL_SFT_WITHOUT_CONFIG, ""),
        ],
    },
    Refusal {
        by: TRANSFORMERS,
        argument: "attn_implementation",
        when: &[
            NotNamedIn {
                argument: "attn_implementation",
                files: MODELING,
            },
            Not(&Any(&[
                StartsWith("attn_implementation", "fla"),
                StartsWith("attn_implementation", "fa"),
                Is("attn_implementation", "true"),
                // A kernel of the hub, and other ways to run one.
                Contains("attn_implementation", "/"),
                Contains("attn_implementation", "|"),
                ScriptSays("AttentionInterface"),
            ])),
            FileSays {
                files: MODELING,
                text: NO_ATTENTION,
            },
        ],
        why: "transformers has no attention implementation of that name",
        fixes: &[Say(WITHOUT_PACKAGE)],
        examples: &[
            Refused {
                launch: TRL_SFT_WITHOUT_CONFIG,
                with: "--attn_implementation knwon",
                argument: "--attn_implementation knwon",
                help: WITHOUT_PACKAGE,
            },
            Accepted(TRL_SFT_WITHOUT_CONFIG, "--attn_implementation known"),
            Accepted(
                TRL_SFT_WITHOUT_CONFIG,
                "--attn_implementation kernels-community/flash-attn2",
            ),
            Accepted(TRL_SFT_WITHOUT_CONFIG, "--attn_implementation paged|flash"),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "attn_impl",
        when: &[
            Any(&[
                StartsWith("attn_impl", "fla"),
                StartsWith("attn_impl", "fa"),
                Is("attn_impl", "true"),
            ]),
            Not(&Is("attn_impl", "flash_attn")),
            NotNamedIn {
                argument: "attn_impl",
                files: MODELING,
            },
            FileSays {
                files: MODELING,
                text: NO_ATTENTION,
            },
        ],
        why: "transformers has no attention implementation of that name",
        fixes: &[
            Give {
                owner: Trainer,
                option: "--attn_impl",
                value: "flash_attn",
            },
            Say(WITHOUT_PACKAGE),
        ],
        examples: &[
            Refused {
                launch: SWIFT_SFT,
                with: "--attn_impl flash-attn2",
                argument: "--attn_impl flash-attn2",
                help: "--attn_impl flash_attn, or `sdpa` and `eager` need no package",
            },
            Refused {
                launch: SWIFT_SFT,
                with: "--attn_impl true",
                argument: "--attn_impl true",
                help: "--attn_impl flash_attn, or `sdpa` and `eager` need no package",
            },
            Accepted(SWIFT_SFT, "--attn_impl known"),
            Accepted(SWIFT_SFT, ""),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "attn_impl",
        when: &[
            NotNamedIn {
                argument: "attn_impl",
                files: MODELING,
            },
            Not(&Any(&[
                StartsWith("attn_impl", "fla"),
                StartsWith("attn_impl", "fa"),
                Is("attn_impl", "true"),
                // A kernel of the hub, and other ways to run one.
                Contains("attn_impl", "/"),
                Contains("attn_impl", "|"),
            ])),
            FileSays {
                files: MODELING,
                text: NO_ATTENTION,
            },
        ],
        why: "transformers has no attention implementation of that name",
        fixes: &[Say(WITHOUT_PACKAGE)],
        examples: &[
            Refused {
                launch: SWIFT_SFT,
                with: "--attn_impl knwon",
                argument: "--attn_impl knwon",
                help: WITHOUT_PACKAGE,
            },
            Accepted(SWIFT_SFT, "--attn_impl known"),
            Accepted(SWIFT_SFT, "--attn_impl kernels-community/flash-attn2"),
            Accepted(SWIFT_SFT, "--attn_impl paged|flash"),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "attn_impl",
        when: &[
            Is("attn_impl", "flash_attn"),
            NotInstalled(FLASH_ATTENTION),
            FileSays {
                files: MODELING,
                text: "has been toggled on, but it cannot be used",
            },
        ],
        why: "the package flash-attn is not installed",
        fixes: &[
            Run("pip install flash-attn --no-build-isolation"),
            Give {
                owner: Trainer,
                option: "--attn_impl",
                value: "sdpa",
            },
        ],
        examples: &[
            Refused {
                launch: SWIFT_SFT,
                with: "--attn_impl flash_attn",
                argument: "--attn_impl flash_attn",
                help: "pip install flash-attn --no-build-isolation, or --attn_impl sdpa",
            },
            Accepted(SWIFT_SFT, "--attn_impl sdpa"),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "attn_impl",
        when: &[
            Is("attn_impl", "flash_attention_2"),
            NotInstalled(FLASH_ATTENTION),
            FileSays {
                files: MODELING,
                text: "has been toggled on, but it cannot be used",
            },
        ],
        why: "the package flash-attn is not installed",
        fixes: &[
            Run("pip install flash-attn --no-build-isolation"),
            Give {
                owner: Trainer,
                option: "--attn_impl",
                value: "sdpa",
            },
        ],
        examples: &[
            Refused {
                launch: SWIFT_SFT,
                with: "--attn_impl flash_attention_2",
                argument: "--attn_impl flash_attention_2",
                help: "pip install flash-attn --no-build-isolation, or --attn_impl sdpa",
            },
            Accepted(SWIFT_SFT, "--attn_impl sdpa"),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "quant_method",
        when: &[
            Is("quant_method", "bnb"),
            NotInstalled(&["bitsandbytes"]),
            FileSays {
                files: QUANTIZERS,
                text: "bitsandbytes",
            },
        ],
        why: "the package bitsandbytes is not installed",
        fixes: &[Run("pip install bitsandbytes")],
        examples: &[
            Refused {
                launch: SWIFT_SFT,
                with: "--quant_method bnb --quant_bits 4",
                argument: "--quant_method bnb",
                help: "pip install bitsandbytes",
            },
            Accepted(SWIFT_SFT, ""),
        ],
    },
    Refusal {
        by: TRL,
        argument: "load_in_4bit",
        when: &[
            True("load_in_4bit"),
            NotInstalled(&["bitsandbytes"]),
            FileSays {
                files: QUANTIZERS,
                text: "bitsandbytes",
            },
        ],
        why: "the package bitsandbytes is not installed",
        fixes: &[
            Run("pip install bitsandbytes"),
            Give {
                owner: Trainer,
                option: "--load_in_4bit",
                value: "false",
            },
        ],
        examples: &[
            Refused {
                launch: TRL_SFT,
                with: "--load_in_4bit true",
                argument: "--load_in_4bit true",
                help: "pip install bitsandbytes, or --load_in_4bit false",
            },
            Accepted(TRL_SFT, "--load_in_4bit false"),
        ],
    },
    Refusal {
        by: TRL,
        argument: "load_in_8bit",
        when: &[
            True("load_in_8bit"),
            NotInstalled(&["bitsandbytes"]),
            FileSays {
                files: QUANTIZERS,
                text: "bitsandbytes",
            },
        ],
        why: "the package bitsandbytes is not installed",
        fixes: &[
            Run("pip install bitsandbytes"),
            Give {
                owner: Trainer,
                option: "--load_in_8bit",
                value: "false",
            },
        ],
        examples: &[
            Refused {
                launch: TRL_SFT,
                with: "--load_in_8bit true",
                argument: "--load_in_8bit true",
                help: "pip install bitsandbytes, or --load_in_8bit false",
            },
            Accepted(TRL_SFT, "--load_in_8bit false"),
        ],
    },
    Refusal {
        by: TRL,
        argument: "use_vllm",
        when: &[
            True("use_vllm"),
            NotInstalled(&["vllm"]),
            FileSays {
                files: &[
                    "trl/generation/vllm_generation.py",
                    "trl/trainer/grpo_trainer.py",
                ],
                text: "vLLM is not available and `use_vllm` is set to True",
            },
        ],
        why: "the package vllm is not installed",
        fixes: &[
            Run("pip install vllm"),
            Give {
                owner: Trainer,
                option: "--use_vllm",
                value: "false",
            },
        ],
        examples: &[
            Refused {
                launch: TRL_GRPO,
                with: "--use_vllm true",
                argument: "--use_vllm true",
                help: "pip install vllm, or --use_vllm false",
            },
            Accepted(TRL_GRPO, "--use_vllm false"),
        ],
    },
    Refusal {
        by: LLAMAFACTORY,
        argument: "quantization_bit",
        when: &[
            Given("quantization_bit"),
            NotInstalled(&["bitsandbytes"]),
            FileSays {
                files: &["llamafactory/model/model_utils/quantization.py"],
                text: "check_version(\"bitsandbytes",
            },
            LeftOut("quantization_method"),
        ],
        why: "the package bitsandbytes is not installed",
        fixes: &[Run("pip install bitsandbytes")],
        examples: &[
            Refused {
                launch: LLAMAFACTORY_TRAIN,
                with: "quantization_bit: 4",
                argument: "quantization_bit: 4",
                help: "pip install bitsandbytes",
            },
            Accepted(LLAMAFACTORY_TRAIN, ""),
            Accepted(
                LLAMAFACTORY_TRAIN,
                "quantization_bit: 4, quantization_method: hqq",
            ),
        ],
    },
    Refusal {
        by: LLAMAFACTORY,
        argument: "enable_liger_kernel",
        when: &[
            True("enable_liger_kernel"),
            NotInstalled(&["liger_kernel"]),
            FileSays {
                files: &["llamafactory/model/model_utils/liger_kernel.py"],
                text: "from liger_kernel.transformers import",
            },
        ],
        why: "the package liger-kernel is not installed",
        fixes: &[Run("pip install liger-kernel")],
        examples: &[
            Refused {
                launch: LLAMAFACTORY_TRAIN,
                with: "enable_liger_kernel: true",
                argument: "enable_liger_kernel: true",
                help: "pip install liger-kernel",
            },
            Accepted(LLAMAFACTORY_TRAIN, "enable_liger_kernel: false"),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "device_map",
        when: &[Given("device_map"), Stage(&[3])],
        why: "ZeRO-3 places the parameters itself",
        fixes: &[DropArgument("device_map")],
        examples: &[
            Refused {
                launch: SWIFT_SFT_ZERO3,
                with: "--device_map auto",
                argument: "--device_map auto",
                help: "drop --device_map",
            },
            Accepted(SWIFT_SFT, "--device_map auto"),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "model_type",
        when: &[
            NotNamedIn {
                argument: "model_type",
                files: SWIFT_MODEL_TYPES,
            },
            LeftOut("custom_register_path"),
            LeftOut("external_plugins"),
        ],
        why: "this version has no such type of model",
        fixes: &[GiveNearest {
            argument: "model_type",
            files: SWIFT_MODEL_TYPES,
        }],
        examples: &[
            Refused {
                launch: SWIFT_SFT,
                with: "--model_type knwon",
                argument: "--model_type knwon",
                help: "--model_type known",
            },
            Accepted(SWIFT_SFT, "--model_type known"),
            Accepted(
                SWIFT_SFT,
                "--model_type knwon --external_plugins data/train.py",
            ),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "template",
        when: &[
            NotNamedIn {
                argument: "template",
                files: SWIFT_TEMPLATES,
            },
            LeftOut("custom_register_path"),
            LeftOut("external_plugins"),
        ],
        why: "this version has no such template",
        fixes: &[GiveNearest {
            argument: "template",
            files: SWIFT_TEMPLATES,
        }],
        examples: &[
            Refused {
                launch: SWIFT_SFT,
                with: "--template knwon",
                argument: "--template knwon",
                help: "--template known",
            },
            Accepted(SWIFT_SFT, "--template known"),
            Accepted(
                SWIFT_SFT,
                "--template knwon --external_plugins data/train.py",
            ),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "tuner_type",
        when: &[
            NotNamedIn {
                argument: "tuner_type",
                files: SWIFT_TUNERS,
            },
            LeftOut("external_plugins"),
        ],
        why: "this version has no such tuner",
        fixes: &[GiveNearest {
            argument: "tuner_type",
            files: SWIFT_TUNERS,
        }],
        examples: &[
            Refused {
                launch: SWIFT_SFT,
                with: "--tuner_type knwon",
                argument: "--tuner_type knwon",
                help: "--tuner_type known",
            },
            Accepted(SWIFT_SFT, "--tuner_type known"),
            Accepted(
                SWIFT_SFT,
                "--tuner_type knwon --external_plugins data/train.py",
            ),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "agent_template",
        when: &[
            NotNamedIn {
                argument: "agent_template",
                files: SWIFT_AGENTS,
            },
            LeftOut("external_plugins"),
        ],
        why: "this version has no such agent template",
        fixes: &[GiveNearest {
            argument: "agent_template",
            files: SWIFT_AGENTS,
        }],
        examples: &[
            Refused {
                launch: SWIFT_SFT,
                with: "--agent_template knwon",
                argument: "--agent_template knwon",
                help: "--agent_template known",
            },
            Accepted(SWIFT_SFT, "--agent_template known"),
            Accepted(
                SWIFT_SFT,
                "--agent_template knwon --external_plugins data/train.py",
            ),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "loss_scale",
        when: &[
            NotNamedIn {
                argument: "loss_scale",
                files: SWIFT_LOSS_SCALES,
            },
            Not(&Contains("loss_scale", "+")),
            LeftOut("external_plugins"),
        ],
        why: "this version has no such loss scale",
        fixes: &[GiveNearest {
            argument: "loss_scale",
            files: SWIFT_LOSS_SCALES,
        }],
        examples: &[
            Refused {
                launch: SWIFT_SFT,
                with: "--loss_scale knwon",
                argument: "--loss_scale knwon",
                help: "--loss_scale known",
            },
            Accepted(SWIFT_SFT, "--loss_scale known"),
            Accepted(SWIFT_SFT, "--loss_scale knwon+other"),
            Accepted(
                SWIFT_SFT,
                "--loss_scale knwon --external_plugins data/train.py",
            ),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "loss_type",
        when: &[
            NotNamedIn {
                argument: "loss_type",
                files: LOSSES,
            },
            Given("rlhf_type"),
            LeftOut("external_plugins"),
        ],
        why: "no trainer of this version has such a loss",
        fixes: &[GiveNearest {
            argument: "loss_type",
            files: LOSSES,
        }],
        examples: &[
            Refused {
                launch: SWIFT_GRPO,
                with: "--loss_type knwon",
                argument: "--loss_type knwon",
                help: "--loss_type known",
            },
            Accepted(SWIFT_GRPO, "--loss_type known"),
            Accepted(
                SWIFT_GRPO,
                "--loss_type knwon --external_plugins data/train.py",
            ),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "ddp_backend",
        when: &[
            NotNamedIn {
                argument: "ddp_backend",
                files: BACKENDS,
            },
            LeftOut("external_plugins"),
        ],
        why: "torch has no such backend",
        fixes: &[GiveNearest {
            argument: "ddp_backend",
            files: BACKENDS,
        }],
        examples: &[
            Refused {
                launch: SWIFT_SFT,
                with: "--ddp_backend knwon",
                argument: "--ddp_backend knwon",
                help: "--ddp_backend known",
            },
            Accepted(SWIFT_SFT, "--ddp_backend known"),
            Accepted(
                SWIFT_SFT,
                "--ddp_backend knwon --external_plugins data/train.py",
            ),
        ],
    },
    Refusal {
        by: TRL,
        argument: "loss_type",
        when: &[NotNamedIn {
            argument: "loss_type",
            files: LOSSES,
        }],
        why: "no trainer of this version has such a loss",
        fixes: &[GiveNearest {
            argument: "loss_type",
            files: LOSSES,
        }],
        examples: &[
            Refused {
                launch: TRL_SFT,
                with: "--loss_type knwon",
                argument: "--loss_type knwon",
                help: "--loss_type known",
            },
            Accepted(TRL_SFT, "--loss_type known"),
        ],
    },
    Refusal {
        by: TRL,
        argument: "importance_sampling_level",
        when: &[NotNamedIn {
            argument: "importance_sampling_level",
            files: GRPO,
        }],
        why: "this version has no such level",
        fixes: &[GiveNearest {
            argument: "importance_sampling_level",
            files: GRPO,
        }],
        examples: &[
            Refused {
                launch: TRL_GRPO,
                with: "--importance_sampling_level knwon",
                argument: "--importance_sampling_level knwon",
                help: "--importance_sampling_level known",
            },
            Accepted(TRL_GRPO, "--importance_sampling_level known"),
        ],
    },
    Refusal {
        by: TRL,
        argument: "scale_rewards",
        when: &[
            NotNamedIn {
                argument: "scale_rewards",
                files: GRPO,
            },
            Not(&True("scale_rewards")),
            Not(&Any(&[
                Is("scale_rewards", "False"),
                Is("scale_rewards", "false"),
            ])),
        ],
        why: "this version scales by nothing of that name",
        fixes: &[GiveNearest {
            argument: "scale_rewards",
            files: GRPO,
        }],
        examples: &[
            Refused {
                launch: TRL_GRPO,
                with: "--scale_rewards knwon",
                argument: "--scale_rewards knwon",
                help: "--scale_rewards known",
            },
            Accepted(TRL_GRPO, "--scale_rewards known"),
            Accepted(TRL_GRPO, "--scale_rewards true"),
            Accepted(TRL_GRPO, "--scale_rewards false"),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "target_modules",
        when: &[
            Contains("target_modules", ","),
            Not(&Is("tuner_type", "full")),
            Not(&Is("train_type", "full")),
        ],
        why: ONE_NAME,
        fixes: &[Say(SPACES)],
        examples: &[
            Refused {
                launch: SWIFT_SFT,
                with: "--target_modules q_proj,v_proj",
                argument: "--target_modules q_proj,v_proj",
                help: SPACES,
            },
            Accepted(SWIFT_SFT, "--target_modules q_proj v_proj"),
            Accepted(
                SWIFT_SFT,
                "--target_modules q_proj,v_proj --tuner_type full",
            ),
        ],
    },
    Refusal {
        by: TRL,
        argument: "lora_target_modules",
        when: &[
            Contains("lora_target_modules", ","),
            True("use_peft"),
            // One name is a pattern.
            Not(&Any(&[
                Contains("lora_target_modules", "("),
                Contains("lora_target_modules", "{"),
            ])),
        ],
        why: ONE_NAME,
        fixes: &[Say(SPACES)],
        examples: &[
            Refused {
                launch: TRL_SFT,
                with: "--use_peft --lora_target_modules q_proj,v_proj",
                argument: "--lora_target_modules q_proj,v_proj",
                help: SPACES,
            },
            Accepted(TRL_SFT, "--lora_target_modules q_proj,v_proj"),
            Accepted(TRL_SFT, "--use_peft --lora_target_modules q_proj v_proj"),
            Accepted(TRL_SFT, "--use_peft --lora_target_modules .{1,9}_proj"),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "reward_funcs",
        when: &[Contains("reward_funcs", ",")],
        why: ONE_NAME,
        fixes: &[Say(SPACES)],
        examples: &[
            Refused {
                launch: SWIFT_GRPO,
                with: "--reward_funcs accuracy,format",
                argument: "--reward_funcs accuracy,format",
                help: SPACES,
            },
            Accepted(SWIFT_GRPO, "--reward_funcs accuracy format"),
        ],
    },
    Refusal {
        by: TRL,
        argument: "f_divergence_type",
        when: &[
            NotNamedIn {
                argument: "f_divergence_type",
                files: DIVERGENCES,
            },
            FileSays {
                files: DIVERGENCES,
                text: "Unknown f_divergence_type",
            },
        ],
        why: "this version has no such divergence",
        fixes: &[GiveNearest {
            argument: "f_divergence_type",
            files: DIVERGENCES,
        }],
        examples: &[
            Refused {
                launch: TRL_DPO,
                with: "--f_divergence_type knwon",
                argument: "--f_divergence_type knwon",
                help: "--f_divergence_type known",
            },
            Accepted(TRL_DPO, "--f_divergence_type known"),
        ],
    },
    Refusal {
        by: TRL,
        argument: "reward_funcs",
        when: &[
            NotNamedIn {
                argument: "reward_funcs",
                files: TRL_REWARDS,
            },
            Not(&Contains("reward_funcs", ".")),
            FileSays {
                files: TRL_REWARDS,
                text: "Could not load reward function",
            },
        ],
        why: "TRL has no such function, and it is not a path as in `my.module.function`",
        fixes: &[GiveNearest {
            argument: "reward_funcs",
            files: TRL_REWARDS,
        }],
        examples: &[
            Refused {
                launch: TRL_GRPO,
                with: "--reward_funcs knwon",
                argument: "--reward_funcs knwon",
                help: "--reward_funcs known",
            },
            Accepted(TRL_GRPO, "--reward_funcs known"),
            Accepted(TRL_GRPO, "--reward_funcs my.knwon"),
            Accepted(TRL_GRPO, "--reward_funcs known my.knwon"),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "reward_funcs",
        when: &[
            NotNamedIn {
                argument: "reward_funcs",
                files: SWIFT_REWARDS,
            },
            LeftOut("external_plugins"),
        ],
        why: "this version has no such reward",
        fixes: &[GiveNearest {
            argument: "reward_funcs",
            files: SWIFT_REWARDS,
        }],
        examples: &[
            Refused {
                launch: SWIFT_GRPO,
                with: "--reward_funcs knwon",
                argument: "--reward_funcs knwon",
                help: "--reward_funcs known",
            },
            Refused {
                launch: SWIFT_GRPO,
                with: "--reward_funcs known knwon",
                argument: "--reward_funcs known knwon",
                help: "did you mean `known`?",
            },
            Accepted(SWIFT_GRPO, "--reward_funcs known known"),
            Accepted(
                SWIFT_GRPO,
                "--reward_funcs knwon --external_plugins data/train.py",
            ),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: MODEL_KWARGS,
        when: &[
            Given(MODEL_KWARGS),
            Not(&Any(&[
                StartsWith(MODEL_KWARGS, "{"),
                Contains(MODEL_KWARGS, "."),
                Contains(MODEL_KWARGS, "/"),
            ])),
            FileSays {
                files: &["swift/arguments/base_args/base_args.py"],
                text: "json_parse_to_dict(self.model_kwargs)",
            },
        ],
        why: "it is no JSON",
        fixes: &[Say(JSON)],
        examples: &[
            Refused {
                launch: SWIFT_SFT,
                with: "--model_kwargs fps:2",
                argument: "--model_kwargs fps:2",
                help: JSON,
            },
            Accepted(SWIFT_SFT, r#"--model_kwargs {"max_pixels":1003520}"#),
            // ms-swift repairs it.
            Accepted(SWIFT_SFT, r#"--model_kwargs {"max_pixels":1003520"#),
            Accepted(SWIFT_SFT, "--model_kwargs data/kwargs.json"),
            Accepted(SWIFT_SFT, "--model_kwargs $KWARGS"),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "streaming",
        when: &[
            True("streaming"),
            LeftOut("max_steps"),
            FileSays {
                files: TRAINER,
                text: "max_steps has to be specified",
            },
        ],
        why: "the length of the data is not known then, and --max_steps is not given",
        fixes: &[Give {
            owner: Trainer,
            option: "--max_steps",
            value: "NUMBER",
        }],
        examples: &[
            Refused {
                launch: SWIFT_SFT,
                with: "--streaming true",
                argument: "--streaming true",
                help: "--max_steps NUMBER",
            },
            Accepted(SWIFT_SFT, "--streaming true --max_steps 100"),
            Accepted(SWIFT_SFT, "--streaming false"),
        ],
    },
    Refusal {
        by: TRANSFORMERS,
        argument: "warmup_steps",
        when: &[
            StartsWith("warmup_steps", "-"),
            FileSays {
                files: &["transformers/training_args.py"],
                text: "warmup_steps must be an integer or a float",
            },
        ],
        why: "it is below 0",
        fixes: &[Say(
            "give a number of steps, or a part of all steps from 0 to 1",
        )],
        examples: &[
            Refused {
                launch: TRL_SFT,
                with: "--warmup_steps -5",
                argument: "--warmup_steps -5",
                help: "give a number of steps, or a part of all steps from 0 to 1",
            },
            Accepted(TRL_SFT, "--warmup_steps 5"),
        ],
    },
    Refusal {
        by: LLAMAFACTORY,
        argument: "flash_attn",
        when: &[
            NotNamedIn {
                argument: "flash_attn",
                files: LLAMAFACTORY_ATTENTION,
            },
            FileSays {
                files: LLAMAFACTORY_ATTENTION,
                text: "AttentionFunction",
            },
        ],
        why: "this version has no such attention",
        fixes: &[GiveNearest {
            argument: "flash_attn",
            files: LLAMAFACTORY_ATTENTION,
        }],
        examples: &[
            Refused {
                launch: LLAMAFACTORY_TRAIN,
                with: "flash_attn: knwon",
                argument: "flash_attn: knwon",
                help: "flash_attn: known",
            },
            Accepted(LLAMAFACTORY_TRAIN, "flash_attn: known"),
        ],
    },
    Refusal {
        by: LLAMAFACTORY,
        argument: "template",
        when: &[NotNamedIn {
            argument: "template",
            files: LLAMAFACTORY_TEMPLATES,
        }],
        why: "this version has no such template",
        fixes: &[GiveNearest {
            argument: "template",
            files: LLAMAFACTORY_TEMPLATES,
        }],
        examples: &[
            Refused {
                launch: LLAMAFACTORY_TRAIN,
                with: "template: knwon",
                argument: "template: knwon",
                help: "template: known",
            },
            Accepted(LLAMAFACTORY_TRAIN, "template: known"),
        ],
    },
    Refusal {
        by: LLAMAFACTORY,
        argument: "finetuning_type",
        when: &[NotNamedIn {
            argument: "finetuning_type",
            files: LLAMAFACTORY_METHODS,
        }],
        why: "this version has no such method",
        fixes: &[GiveNearest {
            argument: "finetuning_type",
            files: LLAMAFACTORY_METHODS,
        }],
        examples: &[
            Refused {
                launch: LLAMAFACTORY_TRAIN,
                with: "finetuning_type: knwon",
                argument: "finetuning_type: knwon",
                help: "finetuning_type: known",
            },
            Accepted(LLAMAFACTORY_TRAIN, "finetuning_type: known"),
        ],
    },
    Refusal {
        by: LLAMAFACTORY,
        argument: "stage",
        when: &[NotNamedIn {
            argument: "stage",
            files: LLAMAFACTORY_STAGES,
        }],
        why: "this version has no such stage",
        fixes: &[GiveNearest {
            argument: "stage",
            files: LLAMAFACTORY_STAGES,
        }],
        examples: &[
            Refused {
                launch: LLAMAFACTORY_TRAIN,
                with: "stage: knwon",
                argument: "stage: knwon",
                help: "stage: known",
            },
            Accepted(LLAMAFACTORY_TRAIN, "stage: known"),
        ],
    },
    Refusal {
        by: LLAMAFACTORY,
        argument: "eval_strategy",
        when: &[
            Given("eval_strategy"),
            Not(&Is("eval_strategy", "no")),
            LeftOut("eval_dataset"),
            Not(&AtLeast("val_size", 1e-6)),
            FileSays {
                files: &["llamafactory/hparams/parser.py"],
                text: "Please make sure eval_dataset be provided",
            },
        ],
        why: "it has nothing to evaluate with: neither `eval_dataset` nor `val_size`",
        fixes: &[With {
            remark: "a tenth of the dataset, for example",
            remedy: &Give {
                owner: Trainer,
                option: "val_size",
                value: "0.1",
            },
        }],
        examples: &[
            Refused {
                launch: LLAMAFACTORY_TRAIN,
                with: "eval_strategy: steps",
                argument: "eval_strategy: steps",
                help: "val_size: 0.1 (a tenth of the dataset, for example)",
            },
            Accepted(LLAMAFACTORY_TRAIN, "eval_strategy: 'no'"),
            Accepted(LLAMAFACTORY_TRAIN, "eval_strategy: steps, val_size: 0.1"),
            Accepted(
                LLAMAFACTORY_TRAIN,
                "eval_strategy: steps, eval_dataset: tiny",
            ),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "load_best_model_at_end",
        when: &[
            True("load_best_model_at_end"),
            Not(&Is("save_strategy", "no")),
            Not(&Is("save_strategy", "best")),
            LeftOut("val_dataset"),
            LeftOut("cached_val_dataset"),
            LeftOut("eval_dataset"),
            Not(&AtLeast("split_dataset_ratio", 1e-6)),
            FileSays {
                files: SWIFT_SFT_ARGUMENTS,
                text: "if not (self.eval_dataset or self._val_dataset_exists)",
            },
        ],
        why: "without `--val_dataset` or `--split_dataset_ratio` it never evaluates",
        fixes: &[
            With {
                remark: "a tenth of the dataset, for example",
                remedy: &Give {
                    owner: Trainer,
                    option: "--split_dataset_ratio",
                    value: "0.1",
                },
            },
            DropArgument("load_best_model_at_end"),
        ],
        examples: &[
            Refused {
                launch: SWIFT_SFT,
                with: "--load_best_model_at_end true",
                argument: "--load_best_model_at_end true",
                help: "--split_dataset_ratio 0.1 (a tenth of the dataset, for example), or drop --load_best_model_at_end",
            },
            Accepted(
                SWIFT_SFT,
                "--load_best_model_at_end true --save_strategy no",
            ),
            Accepted(
                SWIFT_SFT,
                "--load_best_model_at_end true --split_dataset_ratio 0.1",
            ),
            Accepted(SWIFT_SFT, "--load_best_model_at_end true --val_dataset e/f"),
            Accepted(SWIFT_SFT, "--load_best_model_at_end false"),
            Accepted(
                SWIFT_SFT,
                "--load_best_model_at_end true --cached_val_dataset e",
            ),
            Accepted(
                SWIFT_SFT,
                "--load_best_model_at_end true --eval_dataset gsm8k",
            ),
        ],
    },
    Refusal {
        by: HF_AND_TRL,
        argument: "gradient_checkpointing_kwargs",
        when: &[NoJson("gradient_checkpointing_kwargs")],
        why: "it is no JSON",
        fixes: &[Say(JSON)],
        examples: &[
            Refused {
                launch: TRL_SFT,
                with: "--gradient_checkpointing_kwargs {a:1}",
                argument: "--gradient_checkpointing_kwargs {a:1}",
                help: JSON,
            },
            Accepted(TRL_SFT, r#"--gradient_checkpointing_kwargs {"a":1}"#),
            Accepted(TRL_SFT, "--gradient_checkpointing_kwargs $KWARGS"),
        ],
    },
    Refusal {
        by: HF_AND_TRL,
        argument: "lr_scheduler_kwargs",
        when: &[NoJson("lr_scheduler_kwargs")],
        why: "it is no JSON",
        fixes: &[Say(JSON)],
        examples: &[
            Refused {
                launch: TRL_SFT,
                with: "--lr_scheduler_kwargs {a:1}",
                argument: "--lr_scheduler_kwargs {a:1}",
                help: JSON,
            },
            Accepted(TRL_SFT, r#"--lr_scheduler_kwargs {"a":1}"#),
            Accepted(TRL_SFT, "--lr_scheduler_kwargs $KWARGS"),
        ],
    },
    Refusal {
        by: HF_AND_TRL,
        argument: "logging_steps",
        when: &[
            Is("logging_steps", "0"),
            Any(&[LeftOut("logging_strategy"), Is("logging_strategy", "steps")]),
        ],
        why: "it must be above 0, or --logging_strategy no",
        fixes: &[Give {
            owner: Trainer,
            option: "--logging_strategy",
            value: "no",
        }],
        examples: &[
            Refused {
                launch: TRL_SFT,
                with: "--logging_steps 0",
                argument: "--logging_steps 0",
                help: "--logging_strategy no",
            },
            Accepted(TRL_SFT, "--logging_steps 0 --logging_strategy no"),
            Accepted(TRL_SFT, "--logging_steps 1"),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "resume_from_checkpoint",
        when: &[Is("resume_from_checkpoint", "true")],
        why: "it takes the folder of a checkpoint",
        fixes: &[Say(
            "name the folder: --resume_from_checkpoint output/…/checkpoint-N",
        )],
        examples: &[
            Refused {
                launch: SWIFT_SFT,
                with: "--resume_from_checkpoint true",
                argument: "--resume_from_checkpoint true",
                help: "name the folder: --resume_from_checkpoint output/…/checkpoint-N",
            },
            Accepted(SWIFT_SFT, "--resume_from_checkpoint $CHECKPOINT"),
        ],
    },
    Refusal {
        by: TRL,
        argument: "num_generations",
        when: &[
            Any(&[
                Is("num_generations", "0"),
                Is("num_generations", "1"),
                StartsWith("num_generations", "-"),
            ]),
            FileSays {
                files: &["trl/trainer/grpo_config.py"],
                text: "requires at least 2 generations",
            },
        ],
        why: "GRPO compares at least 2 answers",
        fixes: &[Say("give at least 2")],
        examples: &[
            Refused {
                launch: TRL_GRPO,
                with: "--num_generations 1",
                argument: "--num_generations 1",
                help: "give at least 2",
            },
            Refused {
                launch: TRL_GRPO,
                with: "--num_generations 0",
                argument: "--num_generations 0",
                help: "give at least 2",
            },
            Accepted(TRL_GRPO, "--num_generations 2"),
        ],
    },
    Refusal {
        by: LLAMAFACTORY,
        argument: "flash_attn",
        when: &[
            Any(&[
                Is("flash_attn", "flash_attention_2"),
                Is("flash_attn", "flash_attn"),
                Is("flash_attn", "true"),
            ]),
            FileSays {
                files: &["llamafactory/model/model_utils/attention.py"],
                text: "Unknown attention type",
            },
        ],
        why: "it calls this `fa2`",
        fixes: &[Give {
            owner: Trainer,
            option: "flash_attn",
            value: "fa2",
        }],
        examples: &[
            Refused {
                launch: LLAMAFACTORY_TRAIN,
                with: "flash_attn: flash_attention_2",
                argument: "flash_attn: flash_attention_2",
                help: "flash_attn: fa2",
            },
            Accepted(LLAMAFACTORY_TRAIN, "flash_attn: fa2"),
        ],
    },
    Refusal {
        by: TRANSFORMERS,
        argument: "load_best_model_at_end",
        when: &[
            True("load_best_model_at_end"),
            Is("eval_strategy", "steps"),
            Not(&Differ(SAVING, EVALUATION)),
            NoMultiple {
                factors: &[SAVE_STEPS],
                ranks: false,
                of: "eval_steps",
            },
        ],
        why: "it saves every --save_steps, which is no multiple of --eval_steps",
        fixes: &[
            GiveSame {
                option: "--save_steps",
                other: EVAL_STEPS,
            },
            DropArgument("load_best_model_at_end"),
        ],
        examples: &[
            Refused {
                launch: TRL_SFT,
                with: "--load_best_model_at_end --eval_strategy steps --eval_steps 200",
                argument: "--load_best_model_at_end",
                help: "--save_steps 200, or drop --load_best_model_at_end",
            },
            Refused {
                launch: SWIFT_SFT,
                with: "--load_best_model_at_end true --eval_strategy steps --eval_steps 30 --save_steps 50",
                argument: "--load_best_model_at_end true",
                help: "--save_steps 30, or drop --load_best_model_at_end",
            },
            Accepted(
                TRL_SFT,
                "--load_best_model_at_end --eval_strategy steps --eval_steps 250",
            ),
            Accepted(
                TRL_SFT,
                "--load_best_model_at_end --eval_strategy steps --eval_steps 0.1",
            ),
            Accepted(
                TRL_SFT,
                "--load_best_model_at_end --eval_strategy steps --eval_steps 200 --save_steps $SAVE",
            ),
            Accepted(
                TRL_SFT,
                "--load_best_model_at_end --eval_strategy epoch --save_strategy epoch --eval_steps 200",
            ),
        ],
    },
    Refusal {
        by: TRL,
        argument: "num_generations",
        when: &[
            Given("num_generations"),
            FileSays {
                files: &["trl/trainer/grpo_config.py"],
                text: "must be divisible by num_generations",
            },
            Not(&Given("generation_batch_size")),
            Not(&Given("steps_per_generation")),
            NoMultiple {
                factors: &[MICRO_BATCH, ACCUMULATION],
                ranks: true,
                of: "num_generations",
            },
        ],
        why: "it does not divide --per_device_train_batch_size × --gradient_accumulation_steps × ranks",
        fixes: &[Say(
            "give a micro batch or accumulation steps that it divides",
        )],
        examples: &[
            Refused {
                launch: TRL_GRPO,
                with: "--num_generations 7",
                argument: "--num_generations 7",
                help: "give a micro batch or accumulation steps that it divides",
            },
            Refused {
                launch: TRL_GRPO,
                with: "--num_generations 8 --per_device_train_batch_size 2",
                argument: "--num_generations 8",
                help: "give a micro batch or accumulation steps that it divides",
            },
            Accepted(TRL_GRPO, "--num_generations 16"),
            Accepted(
                TRL_GRPO,
                "--num_generations 8 --per_device_train_batch_size 2 --gradient_accumulation_steps 2",
            ),
            Accepted(TRL_GRPO, "--num_generations 7 --steps_per_generation 7"),
            Accepted(TRL_GRPO, "--num_generations 7 --generation_batch_size 112"),
            Accepted(
                TRL_GRPO,
                "--num_generations 7 --gradient_accumulation_steps $STEPS",
            ),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "num_generations",
        when: &[
            Given("num_generations"),
            Is("rlhf_type", "grpo"),
            FileSays {
                files: &["swift/rlhf_trainers/args_mixin.py"],
                text: "must be evenly divisible by",
            },
            Not(&Given("generation_batch_size")),
            Not(&Given("steps_per_generation")),
            // Left out, they follow from the ranks.
            Given(ACCUMULATION.argument),
            Given(MICRO_BATCH.argument),
            NoMultiple {
                factors: &[MICRO_BATCH, ACCUMULATION],
                ranks: true,
                of: "num_generations",
            },
        ],
        why: "it does not divide --per_device_train_batch_size × --gradient_accumulation_steps × ranks",
        fixes: &[Say(
            "give a micro batch or accumulation steps that it divides",
        )],
        examples: &[
            Refused {
                launch: SWIFT_GRPO,
                with: "--num_generations 7",
                argument: "--num_generations 7",
                help: "give a micro batch or accumulation steps that it divides",
            },
            Accepted(SWIFT_GRPO, "--num_generations 8"),
            Accepted(SWIFT_GRPO, "--num_generations 1"),
            Accepted(SWIFT_GRPO, "--num_generations 7 --steps_per_generation 7"),
            Accepted(SWIFT_GRPO, "--num_generations 7 --generation_batch_size 56"),
            Accepted(
                SWIFT_GRPO,
                "--num_generations 7 --gradient_accumulation_steps $STEPS",
            ),
            Accepted(
                SWIFT_GRPO,
                "--num_generations 7 --per_device_train_batch_size $BATCH",
            ),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "warmup_ratio",
        when: &[
            AtLeast("warmup_ratio", 1.0),
            FileSays {
                files: SWIFT_TRAINING,
                text: "must be less than 1.",
            },
        ],
        why: "it is a part of all steps, below 1",
        fixes: &[Say(
            "0.05 is a twentieth of the steps; --warmup_steps takes their number",
        )],
        examples: &[
            Refused {
                launch: SWIFT_SFT,
                with: "--warmup_ratio 5",
                argument: "--warmup_ratio 5",
                help: "0.05 is a twentieth of the steps; --warmup_steps takes their number",
            },
            Accepted(SWIFT_SFT, "--warmup_ratio 0.05"),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "warmup_ratio",
        when: &[
            AtLeast("warmup_ratio", f64::MIN_POSITIVE),
            AtLeast("warmup_steps", f64::MIN_POSITIVE),
            FileSays {
                files: SWIFT_TRAINING,
                text: "`warmup_ratio` and `warmup_steps` cannot be set at the same time",
            },
        ],
        why: "it cannot stand beside --warmup_steps",
        fixes: &[DropArgument("warmup_ratio"), DropArgument("warmup_steps")],
        examples: &[
            Refused {
                launch: SWIFT_SFT,
                with: "--warmup_ratio 0.05 --warmup_steps 10",
                argument: "--warmup_ratio 0.05",
                help: "drop --warmup_ratio, or drop --warmup_steps",
            },
            Accepted(SWIFT_SFT, "--warmup_ratio 0 --warmup_steps 10"),
            Accepted(SWIFT_SFT, "--warmup_ratio 0.05 --warmup_steps 0"),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "packing",
        when: PACKED[0],
        why: WITHOUT_FLASH,
        fixes: &[WITH_FLASH, DropArgument("packing")],
        examples: &[
            Refused {
                launch: SWIFT_SFT,
                with: "--packing true",
                argument: "--packing true",
                help: "--attn_impl flash_attn, or drop --packing",
            },
            Refused {
                launch: SWIFT_SFT,
                with: "--packing true --attn_impl sdpa",
                argument: "--packing true",
                help: "--attn_impl flash_attn, or drop --packing",
            },
            Accepted(SWIFT_SFT, "--packing true --attn_impl $ATTN"),
            Accepted(SWIFT_SFT, "--packing false"),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "padding_free",
        when: PACKED[1],
        why: WITHOUT_FLASH,
        fixes: &[WITH_FLASH, DropArgument("padding_free")],
        examples: &[
            Refused {
                launch: SWIFT_SFT,
                with: "--padding_free true --attn_impl eager",
                argument: "--padding_free true",
                help: "--attn_impl flash_attn, or drop --padding_free",
            },
            Accepted(SWIFT_SFT, "--padding_free true --attn_impl $ATTN"),
            Accepted(SWIFT_SFT, "--padding_free false"),
        ],
    },
    Refusal {
        by: SWIFT,
        argument: "optimizer",
        when: &[
            Given("optimizer"),
            NotNamedIn {
                argument: "optimizer",
                files: &["swift/optimizers/mapping.py"],
            },
            LeftOut("external_plugins"),
        ],
        why: "it is none of ms-swift's own; those of transformers and torch are for --optim",
        fixes: &[GiveNearest {
            argument: "optimizer",
            files: &["swift/optimizers/mapping.py"],
        }],
        examples: &[
            Refused {
                launch: SWIFT_SFT,
                with: "--optimizer knwon",
                argument: "--optimizer knwon",
                help: "--optimizer known",
            },
            Accepted(SWIFT_SFT, "--optimizer known"),
            Accepted(SWIFT_SFT, "--optimizer mine --external_plugins plugin.py"),
        ],
    },
];
