//! The arguments of a training that decide its memory, with the names that front ends have for them.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    Algorithm,
    SequenceLength,
    SequenceParallel,
    Tuner,
    LoraRank,
    LoraTargets,
    LoraDropout,
    QuantBits,
    Dtype,
    Optimizer,
    Attention,
    MicroBatch,
    GradAccum,
    EvalStrategy,
    EvalBatch,
    NewTokens,
    AnswerLength,
    PromptLength,
    StepsPerGeneration,
    GenerationBatch,
    Beta,
    RewardModel,
    VllmMode,
    FusedLoss,
    Checkpointing,
    NoCheckpointing,
    LoadIn4Bit,
    LoadIn8Bit,
    UsePeft,
    DoEval,
    PredictWithGenerate,
    UseVllm,
    GatherForGeneration,
}

pub(crate) struct ArgumentRow {
    pub(crate) argument: Argument,
    pub(crate) names: &'static [&'static str],
}

pub(crate) const ARGUMENTS: &[ArgumentRow] = &[
    ArgumentRow {
        argument: Argument::Algorithm,
        names: &["rlhf_type", "stage", "rl"],
    },
    ArgumentRow {
        argument: Argument::SequenceLength,
        names: &[
            "max_length",
            "cutoff_len",
            "max_seq_length",
            "max_seq_len",
            "sequence_len",
            "model_max_length",
            "block_size",
        ],
    },
    ArgumentRow {
        argument: Argument::SequenceParallel,
        names: &[
            "sequence_parallel_size",
            "sequence_parallel_degree",
            "context_parallel_size",
        ],
    },
    ArgumentRow {
        argument: Argument::Tuner,
        names: &[
            "tuner_type",
            "train_type",
            "sft_type",
            "finetuning_type",
            "adapter",
        ],
    },
    ArgumentRow {
        argument: Argument::LoraRank,
        names: &["lora_rank", "lora_r"],
    },
    ArgumentRow {
        argument: Argument::LoraTargets,
        names: &["target_modules", "lora_target", "lora_target_modules"],
    },
    ArgumentRow {
        argument: Argument::QuantBits,
        names: &["quant_bits", "quantization_bit"],
    },
    ArgumentRow {
        argument: Argument::Dtype,
        names: &["torch_dtype", "dtype"],
    },
    ArgumentRow {
        argument: Argument::Optimizer,
        names: &["optim", "optimizer"],
    },
    ArgumentRow {
        argument: Argument::Attention,
        names: &["attn_impl", "attn_implementation", "flash_attn"],
    },
    ArgumentRow {
        argument: Argument::MicroBatch,
        names: &["per_device_train_batch_size"],
    },
    ArgumentRow {
        argument: Argument::GradAccum,
        names: &["gradient_accumulation_steps"],
    },
    ArgumentRow {
        argument: Argument::LoraDropout,
        names: &["lora_dropout"],
    },
    ArgumentRow {
        argument: Argument::EvalStrategy,
        names: &["eval_strategy", "evaluation_strategy"],
    },
    ArgumentRow {
        argument: Argument::EvalBatch,
        names: &["per_device_eval_batch_size", "eval_batch_size"],
    },
    ArgumentRow {
        argument: Argument::NewTokens,
        names: &["max_new_tokens", "generation_max_length"],
    },
    ArgumentRow {
        argument: Argument::AnswerLength,
        names: &["max_completion_length", "response_length"],
    },
    ArgumentRow {
        argument: Argument::PromptLength,
        names: &["max_prompt_length"],
    },
    ArgumentRow {
        argument: Argument::StepsPerGeneration,
        names: &["steps_per_generation"],
    },
    ArgumentRow {
        argument: Argument::GenerationBatch,
        names: &["generation_batch_size"],
    },
    ArgumentRow {
        argument: Argument::Beta,
        names: &["beta"],
    },
    ArgumentRow {
        argument: Argument::RewardModel,
        names: &[
            "reward_model",
            "reward_model_name_or_path",
            "reward_model_path",
            "teacher_model",
            "teacher_model_name_or_path",
        ],
    },
    ArgumentRow {
        argument: Argument::VllmMode,
        names: &["vllm_mode"],
    },
    ArgumentRow {
        argument: Argument::FusedLoss,
        names: &[
            "use_liger_kernel",
            "enable_liger_kernel",
            "liger_fused_linear_cross_entropy",
        ],
    },
    ArgumentRow {
        argument: Argument::Checkpointing,
        names: &["gradient_checkpointing"],
    },
    ArgumentRow {
        argument: Argument::NoCheckpointing,
        names: &["disable_gradient_checkpointing"],
    },
    ArgumentRow {
        argument: Argument::LoadIn4Bit,
        names: &["load_in_4bit"],
    },
    ArgumentRow {
        argument: Argument::LoadIn8Bit,
        names: &["load_in_8bit"],
    },
    ArgumentRow {
        argument: Argument::UsePeft,
        names: &["use_peft"],
    },
    ArgumentRow {
        argument: Argument::DoEval,
        names: &["do_eval"],
    },
    ArgumentRow {
        argument: Argument::PredictWithGenerate,
        names: &["predict_with_generate"],
    },
    ArgumentRow {
        argument: Argument::UseVllm,
        names: &["use_vllm"],
    },
    ArgumentRow {
        argument: Argument::GatherForGeneration,
        names: &["ds3_gather_for_generation"],
    },
];
