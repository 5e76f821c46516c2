//! Lists of arguments, by their names with underscores, and of variables.

/// Names that scripts have for the option that takes the config, the usual one first.
pub const CONFIG_OPTIONS: &[&str] = &[
    "deepspeed",
    "deepspeed_config",
    "ds_config",
    "deepspeed_config_file",
    "deepspeed_config_path",
    "ds_config_path",
    "ds_config_file",
    "deepspeed_path",
    "deepspeed_file",
];

/// Options of `accelerate launch`, to which TRL's own parser passes them on.
pub const ACCELERATE_OPTIONS: &[&str] = &[
    "accelerate_config",
    "config_file",
    "num_processes",
    "num_machines",
    "machine_rank",
    "main_process_ip",
    "main_process_port",
    "mixed_precision",
    "use_deepspeed",
    "deepspeed_config_file",
    "zero_stage",
    "use_fsdp",
    "multi_gpu",
    "gpu_ids",
    "cpu",
    "dynamo_backend",
    "num_cpu_threads_per_process",
];

/// Arguments that are numbers. HF's `parse_dict` converts nothing: `max_grad_norm: false` becomes a `gradient_clipping` of false.
pub const NUMBERS: &[&str] = &[
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "learning_rate",
    "weight_decay",
    "adam_beta1",
    "adam_beta2",
    "adam_epsilon",
    "max_grad_norm",
    "max_steps",
    "warmup_steps",
];

/// Arguments that are true or false.
pub const SWITCHES: &[&str] = &[
    "fp16",
    "bf16",
    "fp16_full_eval",
    "bf16_full_eval",
    "auto_find_batch_size",
];

/// Since then every command of `trl` passes unknown options on to accelerate, which refuses them. Before, only `sft` did.
pub const ALL_REFUSE_SINCE: [u32; 3] = [0, 29, 0];
