//! The arguments of a training that decide its memory: the names that front ends have for each.

pub const ALGORITHM: &[&str] = &["rlhf_type", "stage", "rl"];
pub const SEQUENCE_LENGTH: &[&str] = &[
    "max_length",
    "cutoff_len",
    "max_seq_length",
    "max_seq_len",
    "sequence_len",
    "model_max_length",
    "block_size",
];
pub const SEQUENCE_PARALLEL: &[&str] = &[
    "sequence_parallel_size",
    "sequence_parallel_degree",
    "context_parallel_size",
];
pub const TUNER: &[&str] = &[
    "tuner_type",
    "train_type",
    "sft_type",
    "finetuning_type",
    "adapter",
];
pub const LORA_RANK: &[&str] = &["lora_rank", "lora_r"];
pub const LORA_TARGETS: &[&str] = &["target_modules", "lora_target", "lora_target_modules"];
pub const QUANT_BITS: &[&str] = &["quant_bits", "quantization_bit"];
pub const DTYPE: &[&str] = &["torch_dtype", "dtype"];
pub const OPTIMIZER: &[&str] = &["optim", "optimizer"];
pub const ATTENTION: &[&str] = &["attn_impl", "attn_implementation", "flash_attn"];
pub const MICRO_BATCH: &[&str] = &["per_device_train_batch_size"];
pub const GRAD_ACCUM: &[&str] = &["gradient_accumulation_steps"];
pub const LORA_DROPOUT: &[&str] = &["lora_dropout"];
pub const EVAL_STRATEGY: &[&str] = &["eval_strategy", "evaluation_strategy"];
pub const EVAL_BATCH: &[&str] = &["per_device_eval_batch_size", "eval_batch_size"];
pub const NEW_TOKENS: &[&str] = &["max_new_tokens", "generation_max_length"];
pub const ANSWER_LENGTH: &[&str] = &[
    "max_completion_length",
    "response_length",
    "max_new_tokens",
    "generation_max_length",
];
pub const PROMPT_LENGTH: &[&str] = &["max_prompt_length"];
pub const STEPS_PER_GENERATION: &[&str] = &["steps_per_generation"];
pub const GENERATION_BATCH: &[&str] = &["generation_batch_size"];
pub const BETA: &[&str] = &["beta"];
pub const REWARD_MODEL: &[&str] = &[
    "reward_model",
    "reward_model_name_or_path",
    "reward_model_path",
    "teacher_model",
    "teacher_model_name_or_path",
];
pub const VLLM_MODE: &[&str] = &["vllm_mode"];
pub const FUSED_LOSS: &[&str] = &[
    "use_liger_kernel",
    "enable_liger_kernel",
    "liger_fused_linear_cross_entropy",
];
pub const CHECKPOINTING: &[&str] = &["gradient_checkpointing"];
pub const NO_CHECKPOINTING: &[&str] = &["disable_gradient_checkpointing"];
pub const LOAD_IN_4BIT: &[&str] = &["load_in_4bit"];
pub const LOAD_IN_8BIT: &[&str] = &["load_in_8bit"];
pub const USE_PEFT: &[&str] = &["use_peft"];
pub const DO_EVAL: &[&str] = &["do_eval"];
pub const PREDICT_WITH_GENERATE: &[&str] = &["predict_with_generate"];
pub const USE_VLLM: &[&str] = &["use_vllm"];
pub const GATHER_FOR_GENERATION: &[&str] = &["ds3_gather_for_generation"];
pub const FREEZE_TOWER: &[&str] = &["freeze_vit", "freeze_vision_tower"];
pub const FREEZE_PROJECTOR: &[&str] = &["freeze_aligner", "freeze_multi_modal_projector"];
pub const FREEZE_TEXT: &[&str] = &["freeze_llm", "freeze_language_model"];
