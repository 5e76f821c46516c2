//! The arguments of a training that decide its memory: the names that front ends have for each.

pub(crate) const ALGORITHM: &[&str] = &["rlhf_type", "stage", "rl"];
pub(crate) const SEQUENCE_LENGTH: &[&str] = &[
    "max_length",
    "cutoff_len",
    "max_seq_length",
    "max_seq_len",
    "sequence_len",
    "model_max_length",
    "block_size",
];
pub(crate) const SEQUENCE_PARALLEL: &[&str] = &[
    "sequence_parallel_size",
    "sequence_parallel_degree",
    "context_parallel_size",
];
pub(crate) const TUNER: &[&str] = &[
    "tuner_type",
    "train_type",
    "sft_type",
    "finetuning_type",
    "adapter",
];
pub(crate) const LORA_RANK: &[&str] = &["lora_rank", "lora_r"];
pub(crate) const LORA_TARGETS: &[&str] = &["target_modules", "lora_target", "lora_target_modules"];
pub(crate) const QUANT_BITS: &[&str] = &["quant_bits", "quantization_bit"];
pub(crate) const DTYPE: &[&str] = &["torch_dtype", "dtype"];
pub(crate) const OPTIMIZER: &[&str] = &["optim", "optimizer"];
pub(crate) const ATTENTION: &[&str] = &["attn_impl", "attn_implementation", "flash_attn"];
pub(crate) const MICRO_BATCH: &[&str] = &["per_device_train_batch_size"];
pub(crate) const GRAD_ACCUM: &[&str] = &["gradient_accumulation_steps"];
pub(crate) const LORA_DROPOUT: &[&str] = &["lora_dropout"];
pub(crate) const EVAL_STRATEGY: &[&str] = &["eval_strategy", "evaluation_strategy"];
pub(crate) const EVAL_BATCH: &[&str] = &["per_device_eval_batch_size", "eval_batch_size"];
pub(crate) const NEW_TOKENS: &[&str] = &["max_new_tokens", "generation_max_length"];
pub(crate) const ANSWER_LENGTH: &[&str] = &[
    "max_completion_length",
    "response_length",
    "max_new_tokens",
    "generation_max_length",
];
pub(crate) const PROMPT_LENGTH: &[&str] = &["max_prompt_length"];
pub(crate) const STEPS_PER_GENERATION: &[&str] = &["steps_per_generation"];
pub(crate) const GENERATION_BATCH: &[&str] = &["generation_batch_size"];
pub(crate) const BETA: &[&str] = &["beta"];
pub(crate) const REWARD_MODEL: &[&str] = &[
    "reward_model",
    "reward_model_name_or_path",
    "reward_model_path",
    "teacher_model",
    "teacher_model_name_or_path",
];
pub(crate) const VLLM_MODE: &[&str] = &["vllm_mode"];
pub(crate) const FUSED_LOSS: &[&str] = &[
    "use_liger_kernel",
    "enable_liger_kernel",
    "liger_fused_linear_cross_entropy",
];
pub(crate) const CHECKPOINTING: &[&str] = &["gradient_checkpointing"];
pub(crate) const NO_CHECKPOINTING: &[&str] = &["disable_gradient_checkpointing"];
pub(crate) const LOAD_IN_4BIT: &[&str] = &["load_in_4bit"];
pub(crate) const LOAD_IN_8BIT: &[&str] = &["load_in_8bit"];
pub(crate) const USE_PEFT: &[&str] = &["use_peft"];
pub(crate) const DO_EVAL: &[&str] = &["do_eval"];
pub(crate) const PREDICT_WITH_GENERATE: &[&str] = &["predict_with_generate"];
pub(crate) const USE_VLLM: &[&str] = &["use_vllm"];
pub(crate) const GATHER_FOR_GENERATION: &[&str] = &["ds3_gather_for_generation"];
pub(crate) const FREEZE_TOWER: &[&str] = &["freeze_vit", "freeze_vision_tower"];
pub(crate) const FREEZE_PROJECTOR: &[&str] = &["freeze_aligner", "freeze_multi_modal_projector"];
pub(crate) const FREEZE_TEXT: &[&str] = &["freeze_llm", "freeze_language_model"];
