//! What the options of other programs are called here: torchrun's, deepspeed's, accelerate's, and what people expect.

use crate::base::options::{
    CHECK, DIFF, DOCTOR, EXPLAIN, FIT, GENERATE, Opt, SCHEMA, TEMPLATES, fit, generate, launch, schema,
};

/// What becomes of an option.
#[derive(Clone, Copy)]
pub(super) enum Becomes {
    /// An option of ours, with the same value.
    Ours(Opt),
    /// Other words; `{}` is the value.
    Words(&'static str),
    /// An argument of the training; `{}` is the value.
    Behind(&'static str),
    /// The command is a module of Python.
    Module,
    /// It goes: why.
    Nothing(&'static str),
}

use Becomes::{Behind, Module, Nothing, Ours, Words};

/// The place (a sub-command, or a launch), the options with `_`, and what becomes of them.
const TABLE: &[(&str, &str, Becomes)] = &[
    ("", "num_processes num_procs nproc np ngpus n_gpus gpus_per_node ntasks_per_node", Ours(launch::NPROC_PER_NODE)),
    ("", "num_machines nodes node num_nodes", Ours(launch::NNODES)),
    ("", "machine_rank", Ours(launch::NODE_RANK)),
    ("", "main_process_ip", Ours(launch::MASTER_ADDR)),
    ("", "main_process_port", Ours(launch::MASTER_PORT)),
    ("", "deepspeed_config deepspeed_config_file ds_config ds template", Ours(launch::DEEPSPEED)),
    ("", "templates", Ours(launch::TEMPLATE_DIR)),
    ("", "dryrun dry", Ours(launch::DRY_RUN)),
    ("", "json", Words("--format json")),
    ("", "save_config", Ours(launch::CONFIG_OUT)),
    ("", "logs", Ours(launch::LOG_DIR)),
    ("", "memory mem gpu_mem vram", Ours(launch::GPU_MEMORY)),
    ("", "ram cpu_memory host_mem", Ours(launch::HOST_MEMORY)),
    ("", "stage zero zero_stage", Words("--deepspeed zero{}")),
    ("", "offload cpu_offload", Words("--deepspeed zero3_offload")),
    ("", "standalone", Nothing("on one machine zlaunch tells torchrun so itself")),
    ("", "rdzv_backend rdzv_id rdzv_conf", Nothing("zlaunch sets up the rendezvous itself")),
    ("", "rdzv_endpoint", Words("--master-addr {host} --master-port {port}")),
    ("", "bind_cores_to_rank", Words("--launcher deepspeed --launcher-arg --bind_cores_to_rank")),
    ("", "no_python", Nothing("zlaunch sees what the command is")),
    ("", "use_deepspeed multi_gpu", Nothing("`--deepspeed` and `--nproc-per-node` say it")),
    ("", "config_file", Nothing("a file of accelerate is for `accelerate launch`, which may be the command")),
    ("", "mixed_precision", Behind("--{} true")),
    ("", "module m", Module),
    (FIT.name, "model_name_or_path base_model", Ours(fit::MODEL)),
    (FIT.name, "model_size size parameters num_params", Ours(fit::PARAMS)),
    (FIT.name, "gpu_type gpu_name card", Ours(fit::GPU)),
    (FIT.name, "tuner_type train_type finetuning_type sft_type", Ours(fit::TUNER)),
    (FIT.name, "lora qlora full", Words("--tuner {name}")),
    (FIT.name, "lora_r", Ours(fit::LORA_RANK)),
    (FIT.name, "target_modules lora_target", Ours(fit::LORA_TARGETS)),
    (FIT.name, "quantization_bit bits", Ours(fit::QUANT_BITS)),
    (FIT.name, "torch_dtype precision", Ours(fit::DTYPE)),
    (FIT.name, "bf16 fp16 fp32", Words("--dtype {name}")),
    (FIT.name, "optim", Ours(fit::OPTIMIZER)),
    (FIT.name, "batch_size batch micro_batch_size per_device_train_batch_size", Ours(fit::MICRO_BATCH)),
    (FIT.name, "gradient_accumulation_steps", Ours(fit::GRAD_ACCUM)),
    (FIT.name, "max_length max_seq_length max_seq_len seq_length sequence_len seqlen cutoff_len", Ours(fit::SEQ_LEN)),
    (FIT.name, "attn_impl attn_implementation", Ours(fit::ATTENTION)),
    (
        GENERATE.name,
        "params model",
        Nothing("a config does not depend on it; `zlaunch fit` says which template to take"),
    ),
    (GENERATE.name, "batch batch_size micro_batch_size per_device_train_batch_size", Ours(generate::MICRO_BATCH)),
    (GENERATE.name, "gradient_accumulation_steps", Ours(generate::GRAD_ACCUM)),
    (GENERATE.name, "gpus num_gpus nproc_per_node num_processes", Ours(generate::WORLD_SIZE)),
    (GENERATE.name, "zero zero_stage", Ours(generate::STAGE)),
    (GENERATE.name, "cpu_offload", Ours(generate::OFFLOAD)),
    (GENERATE.name, "template deepspeed", Ours(generate::FROM)),
    (GENERATE.name, "output", Ours(generate::OUT)),
    (SCHEMA.name, "version deepspeed", Ours(schema::DEEPSPEED_VERSION)),
    (SCHEMA.name, "o out output", Nothing("it is printed: zlaunch schema > deepspeed.schema.json")),
    (EXPLAIN.name, "lang language", Nothing("the language is that of ZLAUNCH_LANG, or of the locale")),
    (TEMPLATES.name, "json format", Nothing("a template is printed as JSON")),
    (TEMPLATES.name, "list all", Nothing("`zlaunch templates` alone lists them")),
];

/// What becomes of an option in a place, by its name with `_`.
pub(super) fn elsewhere(name: &str, place: &str) -> Option<Becomes> {
    let find = |place: &str| {
        let is_it = |(of, names, _): &&(&str, &str, Becomes)| *of == place && names.split(' ').any(|it| it == name);
        TABLE.iter().find(is_it).map(|(.., becomes)| *becomes)
    };
    let describes_launch = ["", CHECK.name, DOCTOR.name, FIT.name, DIFF.name].contains(&place);
    find(place).or_else(|| find("").filter(|_| describes_launch))
}
