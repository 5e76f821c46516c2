"""The launches of truth.py, as tables. Nothing here says how one ends: the real trainer does.

A row is a name and what is changed of a launch that works: "set" (keys of the DeepSpeed config), "arguments" of the trainer (None: left out), "words"
behind them, "template", "config" (the text of the config file), "files" (None: a folder, =FILE: a copy), "variables", "prefix", "ranks". "cold" marks what is decided
before a trainer's own code runs, so that a process that has imported it already would not see it.
"""
import dataclasses
import hashlib
import json

# Where the trainers are, with what this version of them wants to be told.
ENVIRONMENTS = {
    "": {"swift": {"tuner_type": "full"}, "hf": {}, "trl": {}},
    "llamafactory": {"llamafactory": {}},
    "older": {"swift": {"train_type": "full"}, "hf": {}, "trl": {}},
    "llamafactory-older": {"llamafactory": {}},
}
COMMON = {"output_dir": "out", "max_steps": 1, "report_to": "none", "save_strategy": "no", "use_cpu": "true"}
ARGUMENTS = {
    "swift": {"model": "model", "model_type": "qwen2", "template": "qwen", "dataset": "data.jsonl", "torch_dtype": "float32", "max_length": 128, "dataset_num_proc": 1,
              "dataloader_num_workers": 0, "check_model": "false"},
    "hf": {"model_name_or_path": "model"},
    "trl": {"model_name_or_path": "model", "dataset_name": "data", "max_length": 64, "bf16": "false"},
    "llamafactory": {"model_name_or_path": "model", "stage": "sft", "do_train": "true", "finetuning_type": "full", "dataset": "tiny", "dataset_dir": "data", "template": "qwen",
                     "cutoff_len": 64, "preprocessing_num_workers": 1},
}
# What zlaunch is told the config by: its own options, a file, or the trainer's own argument.
CHANNELS = ("set", "own", "patch", "file")

AUTO = "auto"
ADAMW = {"optimizer.type": "AdamW", "optimizer.params.lr": AUTO, "optimizer.params.betas": AUTO, "optimizer.params.eps": AUTO, "optimizer.params.weight_decay": AUTO}
WARMUP = {"scheduler.type": "WarmupDecayLR", "scheduler.params.warmup_min_lr": AUTO, "scheduler.params.warmup_max_lr": AUTO, "scheduler.params.warmup_num_steps": AUTO,
          "scheduler.params.total_num_steps": AUTO}
# What transformers compares: DeepSpeed's key, the trainer's argument, a value that is nobody's default, another one, and what the key stands among.
COMPARED = [
    ("train_micro_batch_size_per_gpu", ["per_device_train_batch_size"], 3, 4, {}),
    ("gradient_accumulation_steps", ["gradient_accumulation_steps"], 2, 3, {}),
    ("gradient_clipping", ["max_grad_norm"], 0.5, 0.7, {}),
    ("optimizer.params.lr", ["learning_rate"], 0.0003, 0.0007, ADAMW),
    ("optimizer.params.betas", ["adam_beta1", "adam_beta2"], [0.8, 0.97], [0.7, 0.96], ADAMW),
    ("optimizer.params.eps", ["adam_epsilon"], 1e-6, 1e-5, ADAMW),
    ("optimizer.params.weight_decay", ["weight_decay"], 0.03, 0.07, ADAMW),
    ("scheduler.params.warmup_max_lr", ["learning_rate"], 0.0003, 0.0007, ADAMW | WARMUP),
    ("scheduler.params.warmup_num_steps", ["warmup_steps"], 3, 5, ADAMW | WARMUP),
    ("scheduler.params.total_num_steps", ["max_steps"], 2, 5, ADAMW | WARMUP),
    ("bf16.enabled", ["bf16"], True, False, {}),
    ("fp16.enabled", ["fp16"], False, True, {}),
]
# What people take for the defaults. Where one is not this trainer's, the case fails, and zlaunch must know it.
BELIEVED = {
    "train_micro_batch_size_per_gpu": [1, 8], "gradient_accumulation_steps": [1, 16], "gradient_clipping": [1.0, 0], "optimizer.params.lr": [5e-5, 1e-5, 2e-5],
    "optimizer.params.betas": [[0.9, 0.999], [0.9, 0.95]], "optimizer.params.eps": [1e-8], "optimizer.params.weight_decay": [0.0, 0.1],
    "scheduler.params.warmup_max_lr": [5e-5, 1e-5], "scheduler.params.warmup_num_steps": [0, 1], "scheduler.params.total_num_steps": [1], "bf16.enabled": [False, True],
    "fp16.enabled": [False, True],
}

ZERO = "zero_optimization."
# Values of DeepSpeed's own that are wrong, or look so.
VALUES = [{"set": row} for row in (
    {ZERO + "stage": 4}, {ZERO + "stage": "two"}, {ZERO + "stage": -1}, {ZERO + "stage": None}, {ZERO + "stage": 2.5}, {ZERO + "overlap_comm": "sometimes"},
    {ZERO + "overlapp_comm": True}, {ZERO + "offload_optimizer.device": "gpu"}, {ZERO + "offload_optimizer": {"devise": "cpu"}}, {ZERO + "reduce_bucket_size": -1},
    {ZERO + "reduce_bucket_size": "big"}, {ZERO + "sub_group_size": "many"}, {ZERO + "stage3_max_live_parameters": -5}, {ZERO + "offload_optimizer.pin_memory": "maybe"},
    {ZERO + "offload_optimizer": {"device": "nvme"}}, {ZERO + "zero_hpz_partition_size": -1}, {ZERO + "ignore_unused_parameters": "x"}, {ZERO + "round_robin_gradients": 7},
    {"zero_optimization": []}, {"zero_optimization": "2"}, {"zero_optimization": {}}, {"fp16": {"enabled": True}, "bf16": {"enabled": True}}, {"fp16.loss_scale": -1},
    {"fp16.initial_scale_power": "x"}, {"fp16": True}, {"bf16": "auto"}, {"train_batch_size": 7}, {"train_batch_size": 0}, {"train_micro_batch_size_per_gpu": 0},
    {"train_micro_batch_size_per_gpu": -1}, {"gradient_accumulation_steps": 0}, {"gradient_accumulation_steps": 1.5}, {"gradient_clipping": "high"}, {"gradient_clipping": -1},
    {"optimizer": {"type": "AdamX", "params": {"lr": AUTO}}}, {"optimizer": {"type": "AdamW", "params": {"learning_rate": 1e-5}}}, {"optimizer": "AdamW"},
    {"optimizer": {"params": {"lr": AUTO}}}, {"optimizer": {"type": "OneBitAdam", "params": {"lr": AUTO}}}, {"optimizer": {"type": "Lion", "params": {"lr": AUTO}}},
    {"optimizer": {"type": "Muon", "params": {"lr": AUTO}}},
    ADAMW | {"scheduler": {"type": "WarmupFoo", "params": {}}}, ADAMW | {"scheduler": {"type": "WarmupLR", "params": {"warmup_steps": 3}}}, ADAMW | {"scheduler": []},
    ADAMW | {"scheduler": {"type": "WarmupDecayLR", "params": {"warmup_num_steps": 1}}}, ADAMW | {"scheduler": {"type": "OneCycle", "params": {}}},
    {"communication_data_type": "fp12"}, {"checkpoint": {"tag_validation": "maybe"}}, {"data_types": {"grad_accum_dtype": "fp12"}}, {"comms_logger": {"enabled": "x"}},
    {"flops_profiler": {"enabled": "x"}}, {"flops_profiler": {"profile_stepp": 1}}, {"tensorboard": {"enabled": "x"}}, {"sequence_parallel_size": 3}, {"amp": {"enabled": True}},
    {"elasticity": {"enabled": True}}, {"activation_checkpointing": {"number_checkpoints": "x"}}, {"steps_per_print": "often"}, {"prescale_gradients": "x"},
    {"dump_state": "x"}, {"my_own_note": 1}, {"wall_clock_breakdown": "x"}, {"zero_allow_untested_optimizer": "x"}, {"gradient_predivide_factor": 0},
    {"hybrid_engine": {"enabled": "x"}}, {"autotuning": {"enabled": "x"}}, {"compression_training": {"x": 1}}, {"csv_monitor": {"enabled": "x"}}, {"aio": {"block_size": "x"}},
    {"torch_autocast": {"enabled": "x"}}, {"tensor_parallel": {"autotp_size": 3}}, {"timers": {"throughput": {"enabled": "x"}}}, {"weight_quantization": {"x": 1}},
    {"curriculum_learning": {"enabled": True}}, {"compile": {"deepcompile": "x"}}, {"pipeline": "x"},
)] + [{"template": "zero3", "set": row} for row in (
    {ZERO + "offload_param.device": "disk"}, {ZERO + "offload_param": {"device": "nvme"}}, {ZERO + "stage3_prefetch_bucket_size": "x"}, {ZERO + "stage3_param_persistence_threshold": -1},
    {ZERO + "stage3_gather_16bit_weights_on_model_save": "x"}, {ZERO + "zero_hpz_partition_size": 3}, {ZERO + "zero_quantized_weights": "x"}, {ZERO + "mics_shard_size": 3},
    {ZERO + "stage3_max_reuse_distance": "far"}, {ZERO + "prefetch_bucket_size": 100, ZERO + "stage3_prefetch_bucket_size": 100}, {ZERO + "cpu_offload": True},
    {ZERO + "offload_optimizer": {"device": "cpu", "ratio": 2}}, {ZERO + "round_robin_gradients": True}, {ZERO + "legacy_stage1": True},
)]
# What should work: what people write.
USUAL = [{"set": row} for row in (
    {}, {ZERO + "overlap_comm": True}, {ZERO + "reduce_bucket_size": 1000000}, {ZERO + "reduce_bucket_size": 5e7, ZERO + "allgather_bucket_size": 5e7}, {ZERO + "contiguous_gradients": False},
    {ZERO + "round_robin_gradients": True}, {ZERO + "reduce_scatter": False}, {ZERO + "allgather_partitions": False}, {"steps_per_print": 10}, {"wall_clock_breakdown": True},
    {"prescale_gradients": True}, {"gradient_predivide_factor": 2.0}, {"zero_allow_untested_optimizer": True}, {"communication_data_type": "fp32"}, {"dump_state": True},
    {"comms_logger": {"enabled": True, "verbose": False}}, {"flops_profiler": {"enabled": True, "profile_step": 1}}, {"checkpoint": {"tag_validation": "Ignore"}},
    {"data_types": {"grad_accum_dtype": "fp32"}}, {"timers": {"throughput": {"enabled": False}}}, {"zero_force_ds_cpu_optimizer": False}, {"fp16": {"enabled": False}, "bf16": {"enabled": False}},
    {"fp16": None}, {"gradient_clipping": None}, {"train_batch_size": None}, ADAMW, ADAMW | WARMUP, {"optimizer": {"type": "Adam", "params": {"lr": AUTO}}},
    {"optimizer": {"type": "AdamW", "params": {"lr": AUTO, "torch_adam": True}}}, ADAMW | {"scheduler": {"type": "WarmupLR", "params": {"warmup_min_lr": 0, "warmup_max_lr": AUTO}}},
    ADAMW | {"scheduler": {"type": "WarmupLR", "params": {"warmup_type": "linear"}}}, ADAMW | {"scheduler": {"type": "WarmupCosineLR", "params": {"total_num_steps": AUTO, "warmup_num_steps": AUTO}}},
    {"activation_checkpointing": {"partition_activations": False}}, {"aio": {"block_size": 1048576}}, {"gradient_accumulation_dtype": "fp32"}, {"tensorboard": {"enabled": False}},
    {"wandb": {"enabled": False}}, {"elasticity": {"enabled": False}}, {"autotuning": {"enabled": False}}, {ZERO + "elastic_checkpoint": False}, {ZERO + "ignore_unused_parameters": False},
    {"optimizer": {"type": "Lion", "params": {"lr": AUTO}}, "zero_allow_untested_optimizer": True}, {ZERO + "cpu_offload": True}, {"communication_data_type": None}, {"seed": 42},
)] + [{"template": name, "ranks": ranks} for name in ("zero0", "zero1", "zero2_offload", "zero3", "zero3_offload") for ranks in (1, 2)] + [
    {"template": "hf_zero2"}, {"template": "hf_zero3"}, {"template": "zero3", "set": {ZERO + "offload_param": {"device": "cpu", "pin_memory": False}}},
    {"template": "zero3", "set": {ZERO + "stage3_param_persistence_threshold": 0}}, {"template": "zero3", "set": {ZERO + "sub_group_size": 1e8, ZERO + "stage3_max_live_parameters": 1e7}},
    {"template": "zero3", "set": {ZERO + "stage3_gather_16bit_weights_on_model_save": False}}, {"template": "zero3", "set": {ZERO + "stage3_prefetch_bucket_size": 0}},
    {"template": "zero3", "set": {ZERO + "zero_hpz_partition_size": 1}}, {"template": "zero3", "set": {ZERO + "reduce_bucket_size": 1e5}, "ranks": 2},
]

# Arguments of transformers, which every trainer takes: misspelt, abbreviated, of the wrong kind, against each other.
OPTIONS = [{"arguments": row} for row in (
    {"per_device_batch_size": 2}, {"learnig_rate": 1e-4}, {"gradient_acumulation_steps": 2}, {"num_epochs": 1}, {"lr": 1e-4}, {"batch_size": 4}, {"bfloat16": "true"},
    {"evaluation_strategy": "no"}, {"warmup_ratio": 0.1}, {"max_steps": "abc"}, {"learning_rate": "fast"}, {"bf16": "maybe"}, {"per_device_train_batch_size": 2.5},
    {"per_device_train_batch_size": "two"}, {"num_train_epochs": "two"}, {"lr_scheduler_type": "cosin"}, {"save_strategy": "sometimes"}, {"optim": "adamx"}, {"logging_strategy": "now"},
    {"gradient_accumulation_steps": "eight"}, {"seed": "x"}, {"warmup_steps": "some"}, {"weight_decay": "x"}, {"logging_steps": 0}, {"warmup_steps": -1}, {"fp16": "true", "bf16": "true"},
    {"load_best_model_at_end": "true"}, {"lr_scheduler_type": "reduce_lr_on_plateau"}, {"dataloader_prefetch_factor": 2, "dataloader_num_workers": 0}, {"save_strategy": "steps", "save_steps": 1.5},
    {"logging_steps": 1.5}, {"torch_empty_cache_steps": -1}, {"fsdp": "full_shard"}, {"per_device_train_batch_size": 0}, {"gradient_accumulation_steps": 0}, {"max_grad_norm": "none"},
    {"adam_beta1": "x"}, {"report_to": "nonsense"}, {"learning_rate": -1}, {"num_train_epochs": -1}, {"eval_strategy": "sometimes"}, {"gradient_checkpointing": "perhaps"}, {"ddp_timeout": "x"},
    {"tf32": "true"}, {"hub_strategy": "x"}, {"neftune_noise_alpha": "x"}, {"optim": "adamw_bnb_8bit"}, {"no_cuda": "true"}, {"output_dir": None}, {"debug": "x"}, {"parallelism_config": "x"},
)]
# The same, as they are meant.
SPELLINGS = [{"words": row} for row in (
    ["--learning_rate", "1e-4"], ["--learning-rate", "1e-4"], ["--learning_rate=1e-4"], ["--per_device_train_batch", "2"], ["--per-device-train-batch-size", "2"], ["--bf16"], ["--bf16", "True"],
    ["--bf16", "yes"], ["--bf16", "0"], ["--max_grad_norm", "1"], ["--max_grad_norm", "0"], ["--gradient_accumulation_steps", "2"], ["--gradient_accumulation_steps", "1", "--gradient_accumulation_steps", "2"],
    ["--num_train_epochs", "2"], ["--num_train_epochs", "0.5"], ["--logging_steps", "0.5"], ["--logging_steps", "1"], ["--lr_scheduler_type", "cosine"], ["--warmup_steps", "2"], ["--weight_decay", "0"],
    ["--gradient_checkpointing", "true"], ["--gradient_checkpointing"], ["--seed", "1"], ["--optim", "adamw_torch"], ["--optim", "adafactor"], ["--optim", "sgd"], ["--adam_beta2", ".95"], ["--dataloader_drop_last"],
    ["--ddp_timeout", "1800"], ["--eval_strategy", "no"], ["--save_strategy", "steps", "--save_steps", "50"], ["--learning_rate", "1E-4"], ["--learning_rate", "0"], ["--disable_tqdm", "true"],
    ["--run_name", "a b"], ["--logging_dir", "logs"], ["--group_by_length"], ["--save_total_limit", "2"], ["--overwrite_output_dir"], ["--ddp_find_unused_parameters", "false"], ["--remove_unused_columns", "false"],
    ["--save_only_model", "true"], ["--no_such_option"], ["stray"], ["--max_steps"], ["--use_cpu"], ["--seed", " 7"], ["--seed", "0x7"], ["--seed", "1_0"], ["--per_device", "2"], ["--lr", "1e-4"],
)]

# Numbers that YAML reads as texts, and that nobody converts.
TEXTS = {name: f'"{value}"' for name, value in {
    "learning_rate": 1e-4, "weight_decay": 0.1, "adam_beta1": 0.9, "adam_beta2": 0.99, "adam_epsilon": 1e-6, "max_grad_norm": 1.0, "num_train_epochs": 2, "max_steps": 1, "warmup_steps": 2,
    "warmup_ratio": 0.1, "logging_steps": 5, "save_steps": 5, "eval_steps": 5, "gradient_accumulation_steps": 2, "per_device_train_batch_size": 2, "per_device_eval_batch_size": 2, "seed": 7, "save_total_limit": 2,
    "dataloader_num_workers": 0, "ddp_timeout": 1800, "neftune_noise_alpha": 5, "cutoff_len": 64, "max_samples": 5, "val_size": 0.1, "preprocessing_num_workers": 1, "preprocessing_batch_size": 8,
    "lora_rank": 8, "label_smoothing_factor": 0.1, "torch_empty_cache_steps": 5, "buffer_size": 64, "ignore_pad_token_for_loss": "x",
}.items()}
# Arguments of one trainer.
OWN = {
    "swift": [{"arguments": row} for row in (
        {"model": None}, {"dataset": None}, {"tuner_type": "everything"}, {"train_type": "everything"}, {"template": "qwenn"}, {"model_type": "qwen22"}, {"torch_dtype": "int8"}, {"quant_method": "bnb"},
        {"quant_method": "nothing", "quant_bits": 4}, {"rope_scaling": "cubic"}, {"packing": "true", "lazy_tokenize": "true"}, {"streaming": "true", "lazy_tokenize": "true"}, {"loss_scale": "everything"},
        {"freeze_llm": "maybe"}, {"attn_impl": "flash_attentionn"}, {"truncation_strategy": "middle"}, {"padding_side": "top"}, {"split_dataset_ratio": 2}, {"split_dataset_ratio": 0.1},
        {"system": "notthere.txt"}, {"resume_from_checkpoint": "./notthere"}, {"custom_register_path": "notthere.py"}, {"external_plugins": "notthere.py"}, {"model_author": "a b"},
        {"lora_rank": "eight"}, {"lora_rank": 16}, {"max_length": "long"}, {"deepspeed_autotp_size": 3}, {"zero_hpz_partition_size": 2}, {"streaming": "true"}, {"use_hf": "true"},
        {"dataset": "data.jsonl#20"}, {"dataset": "data.jsonl#abc"}, {"val_dataset": "data.jsonl"}, {"logging_steps": 5, "save_steps": 100}, {"target_modules": "all-linear"}, {"freeze_parameters_ratio": 1.5},
        {"metric": "nothing"}, {"optimizer": "nothing"}, {"agent_template": "nothing"}, {"train_dataloader_shuffle": "false"}, {"gradient_checkpointing": "false"}, {"add_version": "false"}, {"num_labels": 2},
        {"task_type": "nothing"}, {"task_type": "causal_lm"}, {"dataset_shuffle": "x"}, {"lazy_tokenize": "true"}, {"max_pixels": 100}, {"callbacks": "nothing"}, {"fsdp": "fsdp2"}, {"sequence_parallel_size": 2},
    )],
    "hf": [],
    "trl": [{"arguments": row} for row in (
        {"dataset_name": None}, {"model_name_or_path": None}, {"dataset_train_split": "nothing"}, {"eos_token": "<nothing>"}, {"pad_token": "<nothing>"}, {"max_length": "long"}, {"max_seq_length": 64},
        {"packing": "true"}, {"packing_strategy": "x", "packing": "true"}, {"use_peft": "true"}, {"lora_r": "x", "use_peft": "true"}, {"lora_task_type": "x", "use_peft": "true"}, {"dtype": "float8"},
        {"torch_dtype": "float32"}, {"dtype": "float32"}, {"load_in_4bit": "true", "load_in_8bit": "true"}, {"attn_implementation": "flash"}, {"attn_implementation": "eager"}, {"assistant_only_loss": "true"},
        {"completion_only_loss": "true"}, {"padding_free": "true"}, {"eval_strategy": "steps"}, {"dataset_text_field": "text"}, {"loss_type": "x"}, {"activation_offloading": "true"}, {"chat_template_path": "./notthere"},
        {"dataset_num_proc": 1}, {"dataset_num_proc": "x"}, {"model_init_kwargs": "x"}, {"shuffle_dataset": "true"}, {"dataset_streaming": "true"}, {"use_liger_kernel": "true"}, {"neftune_noise_alpha": 5},
    )],
    "llamafactory": [{"arguments": row} for row in (
        {"stage": "sftt"}, {"stage": "ppo"}, {"finetuning_type": "everything"}, {"finetuning_type": "lora"}, {"finetuning_type": "freeze"}, {"template": "qwenn"}, {"dataset": "other"}, {"dataset": None},
        {"dataset_dir": "./notthere"}, {"quantization_bit": 4}, {"quantization_bit": 4, "finetuning_type": "lora", "template_": None}, {"use_llama_pro": "true"}, {"use_galore": "true"}, {"use_badam": "true"},
        {"loraplus_lr_ratio": 16.0}, {"use_dora": "true"}, {"pissa_init": "true"}, {"pure_bf16": "true"}, {"streaming": "true", "max_steps": -1}, {"streaming": "true", "max_samples": 5},
        {"val_size": 0.1}, {"do_eval": "true"}, {"eval_strategy": "steps"}, {"predict_with_generate": "true"}, {"do_predict": "true"}, {"neat_packing": "true"}, {"packing": "true"}, {"mask_history": "true", "train_on_prompt": "true"},
        {"mask_history": "true"}, {"cutoff_len": "long"}, {"cutoff_len": 0}, {"adapter_name_or_path": "adapter"}, {"interleave_probs": "0.5,0.5"}, {"mix_strategy": "x"}, {"lora_rank": "x"}, {"infer_backend": "vllm"},
        {"flash_attn": "x"}, {"flash_attn": "sdpa"}, {"rope_scaling": "x"}, {"resize_vocab": "true"}, {"plot_loss": "true"}, {"overwrite_cache": "true"}, {"max_samples": 10}, {"ddp_timeout": 180000000},
        {"freeze_trainable_layers": 3, "finetuning_type": "freeze"}, {"image_max_pixels": 1, "image_min_pixels": 100}, {"overwrite_output_dir": "true"}, {"model_name_or_path": None}, {"shift_attn": "true"},
        {"report_to": "['none']"}, {"save_strategy": "NO"}, {"learning_rate": "1.0e-4"}, {"bf16": "yes"}, {"preprocessing_num_workers": "x"}, {"dataset": "tiny,tiny"}, {"template": None}, {"trust_remote_code": "true"}, {"use_unsloth": "true"},
        {"pref_loss": "x"}, {"compute_accuracy": "true"}, {"enable_liger_kernel": "true"}, {"template": "default"}, {"disable_gradient_checkpointing": "true"}, {"tokenized_path": "tokens"},
    )] + [{"arguments": {name: value}} for name, value in TEXTS.items()] + [{"arguments": row} for row in (
        # The same kind of thing, as it is meant.
        {"learning_rate": "1e-4"}, {"weight_decay": "1e-2"}, {"stage": "pt"}, {"finetuning_type": "lora", "use_dora": "true"}, {"finetuning_type": "lora", "use_rslora": "true"}, {"finetuning_type": "lora", "pissa_init": "true"},
        {"finetuning_type": "lora", "loraplus_lr_ratio": 16.0}, {"use_rslora": "true"}, {"finetuning_type": "lora", "use_galore": "true"}, {"finetuning_type": "freeze", "use_llama_pro": "true"}, {"streaming": "true"},
        {"streaming": "true", "val_size": 0.1}, {"val_size": 0.1, "do_eval": "true"}, {"val_size": 0.1, "eval_strategy": "steps"}, {"eval_dataset": "tiny"}, {"eval_dataset": "tiny", "val_size": 0.1}, {"eval_dataset": "tiny", "do_eval": "true"},
        {"train_on_prompt": "true"}, {"stage": "pt", "mask_history": "true"}, {"interleave_probs": "0.5,0.5", "mix_strategy": "interleave_under", "dataset": "tiny,tiny"}, {"interleave_probs": "1.0", "mix_strategy": "interleave_under", "dataset": "tiny,tiny"},
        {"image_max_pixels": 4096}, {"image_max_pixels": 1000}, {"video_max_pixels": 100}, {"stage": "kto"}, {"stage": "dpo", "pissa_init": "true", "finetuning_type": "lora"}, {"do_train": "false"}, {"dataset": "tiny, tiny"},
        {"dataset": "tiny,other"}, {"dataset_dir": None}, {"eval_dataset": "other"}, {"tokenized_path": "tokens", "dataset": "other"}, {"infer_backend": "huggingface"}, {"stage": "ppo", "reward_model": "model"},
        {"adapter_name_or_path": "saves/a/b/c", "finetuning_type": "lora"}, {"predict_with_generate": "true", "eval_dataset": "tiny", "do_eval": "true"}, {"split_special_tokens": "true"}, {"enable_liger_kernel": "false"},
    )] + [{"arguments": row, "template": "zero3"} for row in (
        {"pissa_init": "true", "finetuning_type": "lora"}, {"use_badam": "true"}, {"finetuning_type": "lora", "quantization_bit": 4}, {"val_size": 0.1, "predict_with_generate": "true"}, {"use_unsloth": "true"}, {}, {"finetuning_type": "lora"},
    )],
}
MODEL = {"swift": "model", "hf": "model_name_or_path", "trl": "model_name_or_path", "llamafactory": "model_name_or_path"}
DATA = {"swift": "dataset", "trl": "dataset_name"}
CONFIGS = ['{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2},}', "", "[]", '"zero2"', "{", "\ufeff" + '{"zero_optimization": {"stage": 2}}', "not json",
           '{"train_micro_batch_size_per_gpu": "auto", /* all */ "zero_optimization": {"stage": 2}}', '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 1, "stage": 2}}',
           "{'zero_optimization': {'stage': 2}}", '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}', '{"zero_optimization": {"stage": 2}}', "{}",
           '{"train_micro_batch_size_per_gpu": "auto", "gradient_clipping": NaN, "zero_optimization": {"stage": 2}}', '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}, "a": Infinity}',
           '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2, "reduce_bucket_size": 2e8}}\n\n', '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": True}}', None]


def files(trainer):
    """What is not there, and what is there and broken."""
    model, data = MODEL[trainer], DATA.get(trainer)
    rows = [{"arguments": {model: path}} for path in ("./notthere", "no/such/folder/model", "/no/such/model", "../notthere", "model/")]
    broken = {"config.json": "{", "tokenizer.json": "{}"}
    rows += [{"arguments": {model: "broken"}, "files": {f"broken/{name}": text}} for name, text in broken.items()]
    rows += [{"arguments": {model: "empty"}, "files": {"empty": None}}, {"arguments": {model: "data.jsonl"}},
             {"arguments": {model: "other"}, "files": {"other/config.json": '{"model_type": "no_such_type"}'}}, {"arguments": {model: "bare"}, "files": {"bare/config.json": '{"hidden_size": 64}'}}]
    rows += [{"arguments": {model: "weightless"}, "files": {f"weightless/{name}": f"=model/{name}" for name in ("config.json", "tokenizer.json", "tokenizer_config.json")}}]
    if data:
        rows += [{"arguments": {data: path}} for path in ("./notthere.jsonl", "no/such/data.jsonl", "/no/such/data.jsonl", "notthere.jsonl")]
        rows += [{"arguments": {data: "empty.jsonl"}, "files": {"empty.jsonl": ""}}, {"arguments": {data: "bad.jsonl"}, "files": {"bad.jsonl": "{\n"}}]
    rows += [{"channel": "own", "config": text} for text in CONFIGS if text is not None] + [{"channel": "own", "files": {"ds.json": None}, "config": None}]
    rows += [{"channel": "own", "config_path": path} for path in ("notthere.json", "./configs/zero2.json", "/no/such/zero2.json", "zero22")]
    return rows


# Who looks at these, looks at them before or while a trainer is imported.
VARIABLES = [{"variables": row} for row in (
    {"DS_ACCELERATOR": "nonsense"}, {"OMP_NUM_THREADS": "abc"}, {"OMP_NUM_THREADS": "0"}, {"OMP_NUM_THREADS": "2"}, {"PYTORCH_CUDA_ALLOC_CONF": "nonsense"}, {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
    {"NPROC_PER_NODE": "0"}, {"NPROC_PER_NODE": "two"}, {"NNODES": "0"}, {"NNODES": "x"}, {"NODE_RANK": "5"}, {"MASTER_PORT": "abc"}, {"MASTER_PORT": "99999"}, {"MASTER_PORT": "BUSY"}, {"CUDA_VISIBLE_DEVICES": "nonsense"},
    {"CUDA_VISIBLE_DEVICES": "0,0"}, {"ACCELERATE_MIXED_PRECISION": "fp12"}, {"ACCELERATE_USE_DEEPSPEED": "maybe"}, {"TORCH_DISTRIBUTED_DEBUG": "x"}, {"TORCH_EXTENSIONS_DIR": "/proc/nowhere"}, {"HF_HUB_OFFLINE": "1"},
    {"PET_NPROC_PER_NODE": "x"}, {"PET_NNODES": "x"}, {"TORCH_LOGS": "nonsense"}, {"NCCL_DEBUG": "x"}, {"PYTHONPATH": "/no/such"}, {"HF_HOME": "/proc/nowhere"},
)]
# The rank's own variables, which somebody else has set.
PLACES = [{"place": row} for row in (
    {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "FREE"}, {"RANK": "2", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "FREE"},
    {"RANK": "x", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "FREE"}, {"RANK": "0", "WORLD_SIZE": "x", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "FREE"},
    {"RANK": "0", "WORLD_SIZE": "0", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "FREE"}, {"RANK": "-1", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "FREE"},
    {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "BUSY"}, {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "x"},
    {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1"}, {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_PORT": "FREE"}, {"WORLD_SIZE": "16"}, {"RANK": "0", "WORLD_SIZE": "1"},
)]
PREFIXES = [["env", "A=1"], ["nice", "-n", "1"], ["timeout", "600"], ["nohup"], ["setsid", "-w"], ["stdbuf", "-oL"], ["uv", "run", "--no-project"], ["bash", "-c"], ["env", "-u", "A", "nice"]]
# Scripts that leave the defaults of transformers alone, or do not. Each is train_hf.py with one line replaced.
SCRIPTS = {
    "as it is": ("", ""),
    "a class of its own": ("parser = HfArgumentParser((ModelArguments, TrainingArguments))", """
    @dataclasses.dataclass
    class Own(TrainingArguments):
        max_grad_norm: float = 0.5
        per_device_train_batch_size: int = 3
    parser = HfArgumentParser((ModelArguments, Own))"""),
    "set_defaults": ("parser = HfArgumentParser((ModelArguments, TrainingArguments))",
                     "parser = HfArgumentParser((ModelArguments, TrainingArguments))\n    parser.set_defaults(max_grad_norm=0.5, per_device_train_batch_size=3)"),
    "afterwards": ("    model = Qwen2", "    arguments.max_grad_norm, arguments.per_device_train_batch_size = 0.5, 3\n    model = Qwen2"),
}


@dataclasses.dataclass
class Case:
    environment: str
    trainer: str
    kind: str
    set: dict = dataclasses.field(default_factory=dict)
    arguments: dict = dataclasses.field(default_factory=dict)
    words: list = dataclasses.field(default_factory=list)
    template: str = "zero2"
    channel: str = None
    config: str = ""
    config_path: str = "ds.json"
    files: dict = dataclasses.field(default_factory=dict)
    variables: dict = dataclasses.field(default_factory=dict)
    place: dict = None
    prefix: list = dataclasses.field(default_factory=list)
    script: str = "as it is"
    ranks: int = None
    cold: bool = False

    def __post_init__(self):
        self.id = hashlib.sha256(json.dumps(dataclasses.asdict(self)).encode()).hexdigest()[:12]
        draw = int(self.id, 16)
        # Where a row leaves it open, every way of telling it and every number of ranks has its share.
        self.channel = self.channel or CHANNELS[draw % len(CHANNELS)]
        # On the CPU two ranks have not met yet when ZeRO-3 makes the model, and all trainers that load one then fail for that.
        alone = self.trainer != "hf" and "zero3" in self.template
        self.ranks = self.ranks or (1 if alone else 1 + draw // 7 % 2)

    def all_arguments(self):
        given = COMMON | ARGUMENTS[self.trainer] | ENVIRONMENTS[self.environment][self.trainer] | self.arguments
        return {name: value for name, value in given.items() if value is not None}


def compared(trainer):
    """A key and its argument: equal, unequal, one of them left out, of another type."""
    for key, names, value, other, among in COMPARED:
        arguments = dict(zip(names, value if isinstance(value, list) else [value]))
        arguments = {name: str(it).lower() if isinstance(it, bool) else it for name, it in arguments.items()}
        text = json.dumps(value) if not isinstance(value, list) else [str(it) for it in value]
        yield from ({"kind": kind, "set": among | {key: it}, "arguments": arguments} for kind, it in (("value equal", value), ("value against argument", other), ("value of another type", text)))
        yield from ({"kind": "value against default", "set": among | {key: it}} for it in (value, other, *BELIEVED[key]) if names != ["max_steps"])
    for batch, micro, steps in ((4, 2, 1), (8, 2, 2), (6, 2, 2), (16, 2, 4), (2, 2, 1)):
        arguments = {"per_device_train_batch_size": micro, "gradient_accumulation_steps": steps}
        yield {"kind": "batch", "set": {"train_batch_size": batch}, "arguments": arguments}
        yield {"kind": "batch", "set": {"train_batch_size": batch}}
        yield {"kind": "batch", "set": {"train_batch_size": batch, "train_micro_batch_size_per_gpu": micro, "gradient_accumulation_steps": steps}, "arguments": arguments}


def scripts():
    for script in SCRIPTS:
        for row in ({"gradient_clipping": 0.5}, {"gradient_clipping": 1.0}, {"train_micro_batch_size_per_gpu": 3}, {"train_micro_batch_size_per_gpu": 8}, {}):
            for arguments in ({}, {"max_grad_norm": 1.0, "per_device_train_batch_size": 8}):
                yield {"kind": "script's defaults", "script": script, "set": row, "arguments": arguments}


def prefixes(trainer):
    failing = {"set": {ZERO + "stage": 4}}, {"arguments": {MODEL[trainer]: "./notthere"}}, {"set": {"gradient_clipping": 0.5}, "arguments": {"max_grad_norm": 0.7}}
    for prefix in PREFIXES:
        # Nobody can hand a config to the text of a shell.
        own = {"channel": "own"} if prefix[-1] == "-c" else {}
        yield from ({"kind": "prefix", "prefix": prefix} | own | row for row in (*failing, {}, {"set": {ZERO + "overlap_comm": True}}))


def rows(environment, trainer):
    yield from compared(trainer)
    tables = {"DeepSpeed's value": VALUES, "DeepSpeed, as usual": USUAL, "argument": OPTIONS, "spelling": SPELLINGS, "trainer's own argument": OWN[trainer], "file": files(trainer),
              "rank's variables": PLACES}
    for kind, table in tables.items():
        yield from ({"kind": kind} | row for row in table)
    if trainer == "hf":
        yield from scripts()
    yield from prefixes(trainer)
    launchers = ("NPROC_PER_NODE", "NNODES", "NODE_RANK", "MASTER_PORT")
    yield from ({"kind": "variable", "cold": True} | row for row in VARIABLES if trainer in ("swift", "llamafactory") or not set(row["variables"]) & set(launchers))


def all_cases(environments):
    """In an order that is as good as random and the same every time, so that the first N are a sample. One of five of those that take long is enough."""
    made = [Case(environment, trainer, **row) for environment in environments for trainer in ENVIRONMENTS[environment] for row in rows(environment, trainer)]
    unique = {case.id: case for case in made if not case.cold or (case.environment, case.trainer) == ("", "hf") or int(case.id, 16) % 5 == 0}
    return [unique[it] for it in sorted(unique)]
