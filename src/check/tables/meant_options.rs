//! Options that no trainer has, and what people mean by them. `tests/cli/arguments.rs` tries them.

pub struct MeantOption {
    pub names: &'static [&'static str],
    pub meant: Meant,
}

pub enum Meant {
    /// This option of the trainer with this value, if it has it.
    Option(&'static str, &'static str),
    /// `--deepspeed zero3`, by the stage that was given.
    Stage,
    /// Nothing that could be pasted.
    Says(&'static str),
}

use Meant::{Option, Says, Stage};

pub const MEANT_OPTIONS: &[MeantOption] = &[
    MeantOption {
        names: &["zero_stage", "stage", "deepspeed_stage", "ds_stage", "zero"],
        meant: Stage,
    },
    MeantOption {
        names: &[
            "offload",
            "cpu_offload",
            "zero_offload",
            "offload_optimizer",
            "offload_optimizer_device",
            "offload_param",
            "offload_param_device",
        ],
        meant: Says(
            "the DeepSpeed config decides this: `--deepspeed zero2_offload` and `--deepspeed zero3_offload` use the memory of the host",
        ),
    },
    MeantOption {
        names: &["use_deepspeed", "config_file"],
        meant: Says(
            "name a DeepSpeed config by `--deepspeed`: this is an option of `accelerate launch`",
        ),
    },
    MeantOption {
        names: &[
            "gpu_ids",
            "gpu_id",
            "cuda_visible_devices",
            "devices",
            "gpus",
        ],
        meant: Says("CUDA_VISIBLE_DEVICES chooses the GPUs: `CUDA_VISIBLE_DEVICES=0,1 zlaunch …`"),
    },
    MeantOption {
        names: &["rlhf_type"],
        meant: Says("`swift rlhf` takes it"),
    },
    MeantOption {
        names: &["mixed_precision", "precision"],
        meant: Says("the trainer has an option for each precision: `--bf16 true`, `--fp16 true`"),
    },
    MeantOption {
        names: &["load_in_4bit"],
        meant: Option("quant_bits", "4 --quant_method bnb"),
    },
    MeantOption {
        names: &["load_in_8bit"],
        meant: Option("quant_bits", "8 --quant_method bnb"),
    },
    MeantOption {
        names: &["group_by_length"],
        meant: Option("train_sampling_strategy", "group_by_length"),
    },
    MeantOption {
        names: &["use_lora"],
        meant: Option("tuner_type", "lora"),
    },
    MeantOption {
        names: &["use_lora"],
        meant: Option("finetuning_type", "lora"),
    },
    MeantOption {
        names: FLASH,
        meant: Option("attn_impl", "flash_attn"),
    },
    MeantOption {
        names: FLASH,
        meant: Option("flash_attn", "fa2"),
    },
    MeantOption {
        names: FLASH,
        meant: Option("attn_implementation", "flash_attention_2"),
    },
];

const FLASH: &[&str] = &[
    "flash_attn",
    "flash_attention",
    "use_flash_attn",
    "use_flash_attention",
    "use_flash_attention_2",
];
