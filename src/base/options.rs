//! The table of launch options.

/// How often an option may be said, and with what.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arity {
    Switch,
    One,
    Many,
}

/// One launch option. Its variable is `ZLAUNCH_<NAME>`; the help and the tables in the documents come from here.
pub(crate) struct Opt {
    pub(crate) name: &'static str,
    pub(crate) short: Option<char>,
    pub(crate) kind: Arity,
    pub(crate) value: &'static str,
    /// With `_` instead of `-`, as torchrun and deepspeed spell theirs.
    pub(crate) aliases: &'static [&'static str],
    pub(crate) heading: &'static str,
    pub(crate) help: &'static str,
    pub(crate) hidden: bool,
}

const CONFIG: &str = "Config";
const RANKS: &str = "Ranks";
const ENVIRONMENT: &str = "Environment";
const OUTPUT: &str = "Output";

macro_rules! opt {
    ($heading:ident, $name:literal $(/ $short:literal)?, $kind:ident $value:literal $([$($alias:literal),*])?, $help:literal) => {
        Opt {
            name: $name,
            short: { let short: Option<char> = None; $(let short = { let _ = short; Some($short) };)? short },
            kind: Arity::$kind,
            value: $value,
            aliases: &[$($($alias),*)?],
            heading: $heading,
            help: $help,
            hidden: false,
        }
    };
}

pub(crate) const OPTIONS: &[Opt] = &[
    opt!(CONFIG, "deepspeed", One "NAME|PATH|JSON|auto", "The DeepSpeed config, or `auto`: the fastest that fits; without it, the trainer's own --deepspeed"),
    opt!(CONFIG, "template-dir", Many "DIR" ["template_dir"], "Search templates here first"),
    opt!(CONFIG, "patch", Many "FILE", "Apply a JSON Patch (list) or a merge patch (object)"),
    opt!(CONFIG, "unset", Many "KEY", "Remove a dotted key"),
    opt!(CONFIG, "set", Many "KEY=VALUE", "Set a dotted key; VALUE is JSON, else a string"),
    opt!(CONFIG, "no-fill", Switch "" ["no_fill"], "Leave every \"auto\" to the trainer"),
    opt!(CONFIG, "config-out", One "PATH" ["config_out"], "Write the resolved config here"),
    opt!(CONFIG, "gpu-memory", One "SIZE" ["gpu_memory"], "Memory of each GPU (80GiB) for `auto` and `fit`, instead of what its name tells"),
    opt!(CONFIG, "host-memory", One "SIZE" ["host_memory"], "Memory of each machine for `auto` and `fit`, instead of what is seen"),
    opt!(RANKS, "nproc-per-node", One "N" ["nproc_per_node", "num-gpus", "num_gpus", "gpus"], "Processes on this machine, or `gpu`, `cpu`"),
    opt!(RANKS, "nnodes", One "N" ["num-nodes", "num_nodes"], "Number of machines"),
    opt!(RANKS, "node-rank", One "N" ["node_rank"], "Number of this machine, from 0"),
    opt!(RANKS, "master-addr", One "HOST" ["master_addr"], "Address of machine 0"),
    opt!(RANKS, "master-port", One "PORT" ["master_port"], "Port on machine 0"),
    opt!(RANKS, "hostfile", One "FILE", "Machines for DeepSpeed's runner: lines of `host slots=N`"),
    opt!(RANKS, "include", One "HOST:GPUS", "Only these: `host:0,1@host`, or `localhost:0,1` without a hostfile"),
    opt!(RANKS, "exclude", One "HOST:GPUS", "All but these"),
    opt!(RANKS, "launcher", One "NAME", "Who starts the ranks: auto, torchrun, deepspeed, srun, direct or local (zlaunch itself)"),
    opt!(RANKS, "launcher-arg", Many "ARG" ["launcher_arg"], "Pass ARG through to the launcher"),
    opt!(RANKS, "log-dir", One "DIR" ["log_dir"], "`local`: what rank N prints goes to DIR/rankN.log; with --prefix it is shown too"),
    opt!(RANKS, "prefix", Switch "", "`local`: start every line with its rank"),
    opt!(RANKS, "trainer", One "NAME", "What the command is, if zlaunch cannot tell: swift, llamafactory, axolotl, trl, hf, deepspeed …"),
    opt!(ENVIRONMENT, "env", Many "K=V", "Set a variable; beats the template and the environment"),
    opt!(ENVIRONMENT, "unset-env", Many "K" ["unset_env"], "Remove a variable"),
    opt!(OUTPUT, "record", One "DIR|auto", "Write the launch record there; auto: into the trainer's output_dir"),
    opt!(OUTPUT, "dry-run" / 'n', Switch "" ["dry_run"], "Print the plan and do nothing"),
    opt!(OUTPUT, "format", One "FORMAT", "Of the plan: text, json or shell; of check: text or json"),
    opt!(OUTPUT, "strict", Switch "", "Warnings are errors"),
    opt!(OUTPUT, "allow", Many "RULE", "Silence a rule by its name"),
    opt!(OUTPUT, "quiet" / 'q', Switch "", "Print nothing but errors"),
    opt!(OUTPUT, "verbose" / 'v', Switch "", "Print the whole plan before the launch"),
];

const MODEL: &str = "Model";
const TRAINING: &str = "Training";

/// What `zlaunch fit` takes besides.
pub(crate) const FIT: &[Opt] = &[
    opt!(MODEL, "model", One "MODEL", "A folder, or a name in the Hugging Face or ModelScope cache"),
    opt!(MODEL, "params", One "N", "The number of parameters: 8B, 350M"),
    opt!(TRAINING, "tuner", One "NAME", "full, lora or qlora"),
    opt!(TRAINING, "lora-rank", One "N" ["lora_rank"], "Rank of the adapters"),
    opt!(TRAINING, "lora-targets", One "NAMES" ["lora_targets"], "What they adapt: all-linear, or names with commas"),
    opt!(TRAINING, "quant-bits", One "N" ["quant_bits"], "Bits of the frozen weights: 4 or 8"),
    opt!(TRAINING, "dtype", One "NAME", "bf16, fp16 or fp32"),
    opt!(TRAINING, "optimizer", One "NAME", "adamw, adamw_8bit, adafactor, lion, muon or sgd"),
    opt!(TRAINING, "micro-batch", One "N" ["micro_batch"], "Sequences of one forward pass on one GPU"),
    opt!(TRAINING, "grad-accum", One "N" ["grad_accum"], "Micro batches of one step"),
    opt!(TRAINING, "seq-len", One "N" ["seq_len"], "Tokens of a sequence"),
    opt!(TRAINING, "gradient-checkpointing", One "BOOL" ["gradient_checkpointing"], "Whether activations are computed again"),
    opt!(TRAINING, "attention", One "NAME", "flash (or sdpa), or eager"),
    opt!(TRAINING, "fused-loss", Switch "" ["fused_loss"], "The loss never sees all logits at once (Liger)"),
    opt!(OUTPUT, "accounting", One "NAME", "real: what DeepSpeed allocates; textbook: 2 + 2 + 8 bytes a parameter"),
];

/// What `zlaunch generate` takes.
pub(crate) const GENERATE: &[Opt] = &[
    opt!(TRAINING, "micro-batch", One "N" ["micro_batch"], "Sequences of one forward pass on one GPU (1)"),
    opt!(TRAINING, "grad-accum", One "N" ["grad_accum"], "Micro batches of one step (1)"),
    opt!(TRAINING, "world-size", One "N" ["world_size"], "GPUs of all machines together (1)"),
    opt!(CONFIG, "stage", One "N", "ZeRO stage, 0 to 3 (3)"),
    opt!(CONFIG, "offload", Switch "", "Optimizer, and at stage 3 parameters, in host memory"),
    opt!(CONFIG, "bf16", Switch "", "Mixed precision with bf16: this is so if nothing is said"),
    opt!(CONFIG, "fp16", Switch "", "Mixed precision with fp16 and dynamic loss scaling"),
    opt!(CONFIG, "from", One "TEMPLATE", "Start from this template; --stage and --offload are its own"),
    opt!(OUTPUT, "out" / 'o', One "FILE", "Write it here; without, it is printed"),
    opt!(OUTPUT, "tiers", Switch "", "Three files in the folder -o: for little, medium and much GPU memory"),
    opt!(OUTPUT, "force", Switch "", "Overwrite what is there"),
];

/// Words in the place of the first argument.
pub(crate) const COMMANDS: &[(&str, &str)] = &[
    ("check", "Say everything that is wrong or odd about a launch"),
    ("templates", "List the templates, or print one"),
    ("explain", "Say what a key, a variable or a diagnostic means"),
    ("fit", "Tell what a training needs under each template"),
    ("generate", "Write a ready config from a few numbers"),
    ("doctor", "Report what zlaunch sees here"),
    ("replay", "Launch a record again"),
    ("shims", "Install, remove or list PATH shims"),
    ("completions", "Print completions for a shell"),
];

/// Whether the value of an option, given without its `--`, is the word behind it.
pub(crate) fn takes_next_word(long: &str) -> bool {
    !long.contains('=') && option_of(long).is_some_and(|option| option.kind != Arity::Switch)
}

pub(crate) fn option_of(long: &str) -> Option<&'static Opt> {
    let name = long.split('=').next()?;
    OPTIONS.iter().find(|option| option.name == name || option.aliases.contains(&name))
}

pub(crate) fn variable_of(option: &str) -> String {
    format!("ZLAUNCH_{}", option.to_ascii_uppercase().replace('-', "_"))
}

/// The launch options that matter to `fit`; the others are accepted.
pub(crate) const FIT_LAUNCH: &[&str] =
    &["deepspeed", "template-dir", "gpu-memory", "host-memory", "nproc-per-node", "nnodes", "trainer", "format"];
