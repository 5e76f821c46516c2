//! Every option and sub-command of zlaunch. They are named only here: the command line, its help, the shell completions, the
//! man page, the `ZLAUNCH_*` variables and the tables in the documents all come from these tables, and code refers to an
//! option by its constant.

/// How often an option may be given, and whether it takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arity {
    Switch,
    One,
    Many,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opt {
    pub(crate) name: &'static str,
    pub(crate) short: Option<char>,
    pub(crate) arity: Arity,
    /// What stands for the value in the help.
    pub(crate) value: &'static str,
    /// Other spellings. A name with `-` always has one with `_`, as torchrun and deepspeed spell theirs.
    pub(crate) aliases: &'static [&'static str],
    pub(crate) heading: &'static str,
    pub(crate) help: &'static str,
}

impl Opt {
    /// `--nproc-per-node`.
    pub(crate) fn flag(&self) -> String {
        format!("--{}", self.name)
    }

    /// `ZLAUNCH_NPROC_PER_NODE`. Only the options of a launch have one.
    pub(crate) fn variable(&self) -> String {
        format!("ZLAUNCH_{}", self.name.to_ascii_uppercase().replace('-', "_"))
    }
}

/// A module for each place that has options: a constant for each of them, and `ALL` in the order of the help.
macro_rules! options {
    ($($(#[$about:meta])* $place:ident {
        $($heading:literal {
            $($id:ident = $name:literal $(/ $short:literal)?, $arity:ident $($value:literal)? $([$($alias:literal),*])?, $help:literal;)*
        })*
    })*) => {
        $($(#[$about])* pub(crate) mod $place {
            use super::{Arity, Opt};
            $($(pub(crate) const $id: Opt = Opt {
                name: $name,
                short: options!(@short $($short)?),
                arity: Arity::$arity,
                value: concat!($($value)?),
                aliases: &[$($($alias),*)?],
                heading: $heading,
                help: $help,
            };)*)*
            pub(crate) const ALL: &[Opt] = &[$($($id,)*)*];
        })*
    };
    (@short) => { None };
    (@short $short:literal) => { Some($short) };
}

options! {
    /// The options of a launch; `check` and `doctor` take them too.
    launch {
        "Config" {
            DEEPSPEED = "deepspeed", One "CONFIG", "A template, a file, JSON, `-` or `auto`; `-` reads standard input, `auto` takes the fastest that fits; by default the trainer's own";
            TEMPLATE_DIR = "template-dir", Many "DIR" ["template_dir"], "Search this folder for templates first";
            PATCH = "patch", Many "FILE", "Apply a JSON Patch (a list) or a merge patch (an object)";
            UNSET = "unset", Many "KEY", "Remove a dotted key of the config";
            SET = "set", Many "KEY=VALUE", "Set a dotted key of the config; VALUE is JSON, or else a string";
            NO_FILL = "no-fill", Switch ["no_fill"], "Leave every \"auto\" to the trainer";
            CONFIG_OUT = "config-out", One "PATH" ["config_out"], "Write the resolved config to this file";
            GPU_MEMORY = "gpu-memory", One "SIZE" ["gpu_memory"], "Memory of each GPU (80GiB) for `auto` and `fit`; by default known from its name";
            HOST_MEMORY = "host-memory", One "SIZE" ["host_memory"], "Memory of each machine for `auto` and `fit`; by default detected";
        }
        "Ranks" {
            NPROC_PER_NODE = "nproc-per-node", One "N" ["nproc_per_node", "num-gpus", "num_gpus", "gpus"], "Number of ranks on each machine; `gpu` or `cpu`: one for each";
            NNODES = "nnodes", One "N" ["num-nodes", "num_nodes"], "Number of machines";
            NODE_RANK = "node-rank", One "N" ["node_rank"], "Rank of this machine, from 0";
            MASTER_ADDR = "master-addr", One "HOST" ["master_addr"], "Address of machine 0";
            MASTER_PORT = "master-port", One "PORT" ["master_port"], "Port on machine 0";
            HOSTFILE = "hostfile", One "FILE", "Machines for DeepSpeed's runner: lines of `host slots=N`";
            INCLUDE = "include", One "HOST:GPUS", "Use only these GPUs: `host:0,1@host`, or `localhost:0,1` without a hostfile";
            EXCLUDE = "exclude", One "HOST:GPUS", "Use all GPUs but these";
            LAUNCHER = "launcher", One "NAME", "What starts the ranks: auto, torchrun, deepspeed, srun, direct, or local (zlaunch)";
            LAUNCHER_ARG = "launcher-arg", Many "ARG" ["launcher_arg"], "Pass ARG through to the launcher";
            LOG_DIR = "log-dir", One "DIR" ["log_dir"], "Write the output of each rank to files below this folder; with --prefix print it too";
            PREFIX = "prefix", Switch, "Start every line of output with its rank";
            TRAINER = "trainer", One "NAME", "What the command is, if zlaunch cannot tell: swift, llamafactory, axolotl, trl, hf, deepspeed …";
        }
        "Environment" {
            ENV = "env", Many "K=V", "Set an environment variable; overrides the template and the environment";
            UNSET_ENV = "unset-env", Many "K" ["unset_env"], "Remove an environment variable";
        }
        "Output" {
            RECORD = "record", One "DIR|auto", "Write a record of the launch to this folder; `auto`: the trainer's output_dir";
            DRY_RUN = "dry-run" / 'n', Switch ["dry_run"], "Print the plan and do nothing";
            FORMAT = "format", One "FORMAT", "Format of the plan: text, json or shell; `check` and `doctor`: text or json";
            STRICT = "strict", Switch, "Treat warnings as errors";
            ALLOW = "allow", Many "RULE", "Silence a rule by its name";
            QUIET = "quiet" / 'q', Switch, "Print nothing but errors";
            VERBOSE = "verbose" / 'v', Switch, "Print the whole plan before the launch";
        }
    }
    /// What `zlaunch fit` takes besides the options of a launch.
    fit {
        "Model" {
            MODEL = "model", One "MODEL", "A folder, or a name in the Hugging Face or ModelScope cache";
            PARAMS = "params", One "N", "The number of parameters: 8B, 350M";
            GPU = "gpu", One "NAME", "The GPUs by their name, with their number: H100x8, \"RTX 4090\"";
        }
        "Training" {
            TUNER = "tuner", One "NAME", "full, lora or qlora";
            LORA_RANK = "lora-rank", One "N" ["lora_rank"], "Rank of the adapters";
            LORA_TARGETS = "lora-targets", One "NAMES" ["lora_targets"], "Layers with an adapter: all-linear, or names with commas";
            QUANT_BITS = "quant-bits", One "N" ["quant_bits"], "Bits of the frozen weights: 4 or 8";
            DTYPE = "dtype", One "NAME", "bf16, fp16 or fp32";
            OPTIMIZER = "optimizer", One "NAME", "adamw, adamw_8bit, adafactor, lion, muon or sgd";
            MICRO_BATCH = "micro-batch", One "N" ["micro_batch"], "Sequences in one forward pass on one GPU";
            GRAD_ACCUM = "grad-accum", One "N" ["grad_accum"], "Micro batches in one step";
            SEQ_LEN = "seq-len", One "N" ["seq_len"], "Tokens in a sequence";
            GRADIENT_CHECKPOINTING = "gradient-checkpointing", One "BOOL" ["gradient_checkpointing"], "true or false: activations are recomputed in the backward pass";
            ATTENTION = "attention", One "NAME", "flash (or sdpa), or eager";
            FUSED_LOSS = "fused-loss", Switch ["fused_loss"], "The loss never holds all logits at once (Liger)";
        }
        "Output" {
            ACCOUNTING = "accounting", One "NAME", "real: what DeepSpeed allocates; textbook: 2 + 2 + 8 bytes a parameter";
        }
    }
    /// What `zlaunch generate` takes besides `--template-dir`.
    generate {
        "Training" {
            MICRO_BATCH = "micro-batch", One "N" ["micro_batch"], "Sequences in one forward pass on one GPU (1)";
            GRAD_ACCUM = "grad-accum", One "N" ["grad_accum"], "Micro batches in one step (1)";
            WORLD_SIZE = "world-size", One "N" ["world_size"], "GPUs of all machines together (1)";
        }
        "Config" {
            STAGE = "stage", One "N", "ZeRO stage, 0 to 3 (3)";
            OFFLOAD = "offload", Switch, "Keep the optimizer, and at stage 3 the parameters, in host memory";
            BF16 = "bf16", Switch, "Mixed precision with bf16 (the default)";
            FP16 = "fp16", Switch, "Mixed precision with fp16 and dynamic loss scaling";
            FROM = "from", One "TEMPLATE", "Start from this template, which decides the stage and the offloading";
        }
        "Output" {
            OUT = "out" / 'o', One "FILE", "Write the config to this file instead of printing it";
            TIERS = "tiers", Switch, "Write three configs to the folder -o: for little, medium and much GPU memory";
            FORCE = "force", Switch, "Overwrite existing files";
        }
    }
    templates {
        "Output" {
            RAW = "raw", Switch, "Print the file as it is";
        }
    }
    schema {
        "Schema" {
            DEEPSPEED_VERSION = "deepspeed-version", One "VERSION" ["deepspeed_version"], "For this version of DeepSpeed; by default the one that is installed, else the newest known";
            TEMPLATE = "template", Switch, "For templates: with the `$zlaunch` header, and null removes a key";
        }
    }
}

/// The option of a launch with this name, which may be an alias or be followed by `=VALUE`.
pub(crate) fn launch_option(long: &str) -> Option<&'static Opt> {
    let name = long.split('=').next()?;
    launch::ALL.iter().find(|option| option.name == name || option.aliases.contains(&name))
}

/// The options of a launch that matter to `fit`. The others are accepted, so that a command can be pasted.
pub(crate) const FIT_OF_LAUNCH: &[Opt] = &[
    launch::DEEPSPEED,
    launch::TEMPLATE_DIR,
    launch::GPU_MEMORY,
    launch::HOST_MEMORY,
    launch::NPROC_PER_NODE,
    launch::NNODES,
    launch::TRAINER,
    launch::FORMAT,
];

/// The options of a launch that the help of `check` shows. The others are accepted, so that a command can be pasted.
pub(crate) const CHECK_OF_LAUNCH: &[Opt] = &[
    launch::DEEPSPEED,
    launch::TEMPLATE_DIR,
    launch::PATCH,
    launch::UNSET,
    launch::SET,
    launch::NO_FILL,
    launch::NPROC_PER_NODE,
    launch::NNODES,
    launch::LAUNCHER,
    launch::TRAINER,
    launch::ENV,
    launch::FORMAT,
    launch::STRICT,
    launch::ALLOW,
    launch::QUIET,
];

/// The same for `doctor`.
pub(crate) const DOCTOR_OF_LAUNCH: &[Opt] = &[
    launch::DEEPSPEED,
    launch::TEMPLATE_DIR,
    launch::NPROC_PER_NODE,
    launch::NNODES,
    launch::NODE_RANK,
    launch::MASTER_ADDR,
    launch::MASTER_PORT,
    launch::LAUNCHER,
    launch::TRAINER,
    launch::ENV,
    launch::UNSET_ENV,
    launch::FORMAT,
];

/// The options of a launch that the help of `diff` shows; the others are for the launch that is compared.
pub(crate) const DIFF_OF_LAUNCH: &[Opt] = &[launch::DEEPSPEED, launch::TEMPLATE_DIR, launch::SET, launch::FORMAT];

/// The options that `zlaunch -h` shows.
pub(crate) const MOST_USED: &[Opt] = &[
    launch::DEEPSPEED,
    launch::SET,
    launch::NPROC_PER_NODE,
    launch::NNODES,
    launch::LAUNCHER,
    launch::ENV,
    launch::RECORD,
    launch::DRY_RUN,
    launch::QUIET,
    launch::VERBOSE,
];

/// A word in the place of the first argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subcommand {
    pub name: &'static str,
    pub usage: &'static str,
    pub about: &'static str,
}

macro_rules! subcommands {
    ($launch:literal $($id:ident = $name:literal $arguments:literal, $about:literal;)*) => {
        $(pub const $id: Subcommand =
            Subcommand { name: $name, usage: concat!("zlaunch ", $name, " ", $arguments), about: $about };)*
        pub const SUBCOMMANDS: &[Subcommand] = &[$($id,)*];
        /// A line for a launch and for each sub-command.
        pub const USAGE: &str = concat!($launch $(, "\n       zlaunch ", $name, " ", $arguments)*);
    };
}

subcommands! {
    "zlaunch [OPTIONS] [--] COMMAND [ARGS]..."
    CHECK = "check" "[OPTIONS] FILE.json...|-- COMMAND [ARGS]...", "Report what is wrong or odd about a launch or a config";
    TEMPLATES = "templates" "[OPTIONS] [NAME]", "List the templates, or print one resolved";
    EXPLAIN = "explain" "[OPTIONS] [WORD]...", "Explain a config key, a variable, a template or a rule";
    FIT = "fit" "[OPTIONS] [-- COMMAND [ARGS]...]", "Tell whether it fits into memory, and which template to use";
    GENERATE = "generate" "[OPTIONS]", "Write a ready DeepSpeed config from a few numbers";
    DOCTOR = "doctor" "[OPTIONS] [-- COMMAND [ARGS]...]", "Report what zlaunch sees on this machine";
    DIFF = "diff" "[OPTIONS] A B|A -- COMMAND [ARGS]...", "Compare two configs by key, or a record with a launch";
    SHIMS = "shims" "install|remove|list [DIR]", "Install shims, so that existing scripts run unchanged";
    SCHEMA = "schema" "[OPTIONS]", "Print a JSON Schema of DeepSpeed's config, for editors";
    COMPLETIONS = "completions" "bash|zsh|fish", "Print completions for a shell";
    HELP = "help" "[COMMAND]", "Print this overview, or the help of a command";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_accepted_with_underscores() {
        let tables = [launch::ALL, fit::ALL, generate::ALL, templates::ALL, schema::ALL];
        for option in tables.into_iter().flatten().filter(|option| option.name.contains('-')) {
            assert!(option.aliases.contains(&option.name.replace('-', "_").as_str()), "{}", option.name);
        }
    }
}
