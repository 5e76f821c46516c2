//! Options of torchrun, deepspeed, accelerate and the trainers, with what to give instead. `tests/cli/mistakes.rs` tries them.

pub struct ForeignOption {
    pub place: Place,
    /// With `_`.
    pub names: &'static [&'static str],
    pub instead: Instead,
}

#[derive(Debug)]
pub enum Place {
    /// A launch, and every sub-command about one.
    Launch,
    /// These sub-commands.
    Only(&'static [&'static str]),
}

#[derive(Clone, Copy)]
pub enum Instead {
    /// This option, with a value that begins so and ends with the given one.
    Option(&'static str, &'static str),
    /// Nothing, for this reason.
    Needless(&'static str),
    /// Something that the user must write.
    Says(&'static str),
}

use Instead::{Needless, Option, Says};
use Place::{Launch, Only};

pub const FOREIGN_OPTIONS: &[ForeignOption] = &[
    ForeignOption {
        place: Launch,
        names: &["num_processes", "nproc", "np", "ngpus", "n_gpus"],
        instead: Option("--nproc-per-node", ""),
    },
    ForeignOption {
        place: Launch,
        names: &["num_machines", "nodes", "node", "N"],
        instead: Option("--nnodes", ""),
    },
    ForeignOption {
        place: Launch,
        names: &["machine_rank"],
        instead: Option("--node-rank", ""),
    },
    ForeignOption {
        place: Launch,
        names: &["main_process_ip"],
        instead: Option("--master-addr", ""),
    },
    ForeignOption {
        place: Launch,
        names: &["main_process_port"],
        instead: Option("--master-port", ""),
    },
    ForeignOption {
        place: Launch,
        names: &[
            "deepspeed_config",
            "deepspeed_config_file",
            "ds_config",
            "ds",
            "d",
            "deepspeed_template",
        ],
        instead: Option("--deepspeed", ""),
    },
    ForeignOption {
        place: Launch,
        names: &["zero_stage", "stage", "zero"],
        instead: Option("--deepspeed", "zero"),
    },
    ForeignOption {
        place: Launch,
        names: &["gpu_ids"],
        instead: Option("--env", "CUDA_VISIBLE_DEVICES="),
    },
    ForeignOption {
        place: Launch,
        names: &["offload_optimizer_device"],
        instead: Option("--set", "zero_optimization.offload_optimizer.device="),
    },
    ForeignOption {
        place: Launch,
        names: &["hosts", "host"],
        instead: Says("`--hostfile FILE` names the machines, with a line `NAME slots=N` for each"),
    },
    ForeignOption {
        place: Launch,
        names: &["gpu"],
        instead: Needless("`--nproc-per-node` and `--gpu-memory` describe the GPUs of a launch"),
    },
    ForeignOption {
        place: Launch,
        names: &["s", "opt", "key", "override", "overrides"],
        instead: Option("--set", ""),
    },
    ForeignOption {
        place: Launch,
        names: &["e", "x", "set_env", "setenv", "env_var", "envvar"],
        instead: Option("--env", ""),
    },
    ForeignOption {
        place: Launch,
        names: &["port"],
        instead: Option("--master-port", ""),
    },
    ForeignOption {
        place: Launch,
        names: &["master", "master_ip", "master_host", "master_address"],
        instead: Option("--master-addr", ""),
    },
    ForeignOption {
        place: Launch,
        names: &["world_size"],
        instead: Says("`--nnodes` and `--nproc-per-node` say how many ranks there are"),
    },
    ForeignOption {
        place: Launch,
        names: &["rank", "local_rank", "global_rank"],
        instead: Says(
            "each machine has a `--node-rank`, and the launcher gives the ranks on it their numbers",
        ),
    },
    ForeignOption {
        place: Launch,
        names: &["env_file", "dotenv"],
        instead: Says(
            "`--env NAME=VALUE` sets a variable; `set -a; . ./.env; set +a` before zlaunch sets those of a file",
        ),
    },
    ForeignOption {
        place: Only(&["fit"]),
        names: &["size", "model_size", "parameters", "num_params", "n_params"],
        instead: Option("--params", ""),
    },
    ForeignOption {
        place: Launch,
        names: &["standalone"],
        instead: Needless("zlaunch passes it to torchrun on one machine"),
    },
    ForeignOption {
        place: Launch,
        names: &["rdzv_backend", "rdzv_endpoint", "rdzv_id", "rdzv_conf"],
        instead: Needless("zlaunch sets up the rendezvous itself"),
    },
    ForeignOption {
        place: Launch,
        names: &["use_deepspeed", "multi_gpu"],
        instead: Needless("`--deepspeed` and `--nproc-per-node` replace it"),
    },
    ForeignOption {
        place: Only(&["fit"]),
        names: &["model_name_or_path", "base_model"],
        instead: Option("--model", ""),
    },
    ForeignOption {
        place: Only(&["fit"]),
        names: &["tuner_type", "finetuning_type"],
        instead: Option("--tuner", ""),
    },
    ForeignOption {
        place: Only(&["fit"]),
        names: &["max_length", "max_seq_length", "cutoff_len"],
        instead: Option("--seq-len", ""),
    },
    ForeignOption {
        place: Only(&["fit", "generate"]),
        names: &[
            "per_device_train_batch_size",
            "micro_batch_size",
            "batch_size",
        ],
        instead: Option("--micro-batch", ""),
    },
    ForeignOption {
        place: Only(&["fit", "generate"]),
        names: &["gradient_accumulation_steps"],
        instead: Option("--grad-accum", ""),
    },
    ForeignOption {
        place: Only(&["generate"]),
        names: &["train_batch_size", "global_batch_size"],
        instead: Says("it is --micro-batch times --grad-accum times --world-size: give those"),
    },
    ForeignOption {
        place: Only(&["generate"]),
        names: &["gpus", "nproc_per_node", "num_gpus"],
        instead: Option("--world-size", ""),
    },
    ForeignOption {
        place: Only(&["generate"]),
        names: &["zero", "zero_stage"],
        instead: Option("--stage", ""),
    },
    ForeignOption {
        place: Only(&["generate"]),
        names: &["output", "config_out"],
        instead: Option("--out", ""),
    },
];
