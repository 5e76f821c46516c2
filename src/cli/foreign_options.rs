//! What the options of other programs are called here: torchrun's, deepspeed's, accelerate's, and what people expect.

/// What to give instead of an option. In the words, `{}` stands for its value and `{name}` for its name.
#[derive(Clone)]
pub(super) enum Replacement {
    /// Words in the same place.
    Words(String),
    /// An argument of the training.
    Behind(&'static str),
    /// Nothing: why it is not needed.
    Nothing(&'static str),
}

/// The place (a sub-command, or a launch), the options with `_`, and the words to give instead; behind `!` the reason why
/// none are needed, behind `>` what the training gets.
pub const TABLE: &[(&str, &str, &str)] = &[
    ("", "num_processes num_procs nproc np ngpus n_gpus gpus_per_node ntasks_per_node", "--nproc-per-node {}"),
    ("", "num_machines nodes node num_nodes", "--nnodes {}"),
    ("", "machine_rank", "--node-rank {}"),
    ("", "main_process_ip", "--master-addr {}"),
    ("", "main_process_port", "--master-port {}"),
    ("", "deepspeed_config deepspeed_config_file ds_config ds template", "--deepspeed {}"),
    ("", "templates", "--template-dir {}"),
    ("", "dryrun dry", "--dry-run"),
    ("", "json", "--format json"),
    ("", "save_config", "--config-out {}"),
    ("", "logs", "--log-dir {}"),
    ("", "memory mem gpu_mem vram", "--gpu-memory {}"),
    ("", "ram cpu_memory host_mem", "--host-memory {}"),
    ("", "stage zero zero_stage", "--deepspeed zero{}"),
    ("", "offload cpu_offload", "--deepspeed zero3_offload"),
    ("", "standalone", "! on one machine zlaunch tells torchrun so itself"),
    ("", "rdzv_backend rdzv_id rdzv_conf", "! zlaunch sets up the rendezvous itself"),
    ("", "rdzv_endpoint", "--master-addr {host} --master-port {port}"),
    ("", "bind_cores_to_rank", "--launcher deepspeed --launcher-arg --bind_cores_to_rank"),
    ("", "no_python", "! zlaunch sees what the command is"),
    ("", "use_deepspeed multi_gpu", "! `--deepspeed` and `--nproc-per-node` say it"),
    ("", "config_file", "! a file of accelerate is for `accelerate launch`, which may be the command"),
    ("", "mixed_precision", "> --{} true"),
    ("", "module m", "-- python -m {}"),
    ("fit", "model_name_or_path base_model", "--model {}"),
    ("fit", "model_size size parameters num_params", "--params {}"),
    ("fit", "gpu_type gpu_name card", "--gpu {}"),
    ("fit", "tuner_type train_type finetuning_type sft_type", "--tuner {}"),
    ("fit", "lora qlora full", "--tuner {name}"),
    ("fit", "lora_r", "--lora-rank {}"),
    ("fit", "target_modules lora_target", "--lora-targets {}"),
    ("fit", "quantization_bit bits", "--quant-bits {}"),
    ("fit", "torch_dtype precision", "--dtype {}"),
    ("fit", "bf16 fp16 fp32", "--dtype {name}"),
    ("fit", "optim", "--optimizer {}"),
    ("fit", "batch_size batch micro_batch_size per_device_train_batch_size", "--micro-batch {}"),
    ("fit", "gradient_accumulation_steps", "--grad-accum {}"),
    ("fit", "max_length max_seq_length max_seq_len seq_length sequence_len seqlen cutoff_len", "--seq-len {}"),
    ("fit", "attn_impl attn_implementation", "--attention {}"),
    ("generate", "params model", "! a config does not depend on it; `zlaunch fit` says which template to take"),
    ("generate", "batch batch_size micro_batch_size per_device_train_batch_size", "--micro-batch {}"),
    ("generate", "gradient_accumulation_steps", "--grad-accum {}"),
    ("generate", "gpus num_gpus nproc_per_node num_processes", "--world-size {}"),
    ("generate", "zero zero_stage", "--stage {}"),
    ("generate", "cpu_offload", "--offload"),
    ("generate", "template deepspeed", "--from {}"),
    ("generate", "output", "--out {}"),
    ("schema", "version deepspeed", "--deepspeed-version {}"),
    ("schema", "o out output", "! it is printed: zlaunch schema > deepspeed.schema.json"),
];

/// What to give in a place instead of an option, by its name with `_`.
pub(super) fn replacement(name: &str, place: &str) -> Option<Replacement> {
    let find = |place: &str| {
        let is_it = |(of, names, _): &&(&str, &str, &str)| *of == place && names.split(' ').any(|known| known == name);
        TABLE.iter().find(is_it).map(|(.., words)| *words)
    };
    let describes_launch = ["", "check", "rehearse", "doctor", "fit", "diff"].contains(&place);
    let words = find(place).or_else(|| find("").filter(|_| describes_launch))?;
    Some(match words.split_once(' ') {
        Some(("!", why)) => Replacement::Nothing(why),
        Some((">", words)) => Replacement::Behind(words),
        _ => Replacement::Words(words.to_string()),
    })
}
