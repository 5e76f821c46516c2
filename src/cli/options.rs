//! The table of launch options.

/// How often an option may be said, and with what.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Switch,
    One,
    Many,
}

/// One launch option. Its variable is `ZLAUNCH_<NAME>`; help and the README's table come from here.
pub(crate) struct Opt {
    pub(crate) name: &'static str,
    pub(crate) short: Option<char>,
    pub(crate) kind: Kind,
    pub(crate) value: &'static str,
    /// With `_` instead of `-`, as torchrun and deepspeed spell theirs.
    pub(crate) aliases: &'static [&'static str],
    pub(super) heading: &'static str,
    pub(crate) help: &'static str,
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
            kind: Kind::$kind,
            value: $value,
            aliases: &[$($($alias),*)?],
            heading: $heading,
            help: $help,
        }
    };
}

pub(crate) const OPTIONS: &[Opt] = &[
    opt!(CONFIG, "deepspeed", One "NAME|PATH|JSON", "The DeepSpeed config; without it, the trainer's own --deepspeed"),
    opt!(CONFIG, "template-dir", Many "DIR" ["template_dir"], "Search templates here first"),
    opt!(CONFIG, "patch", Many "FILE", "Apply a JSON Patch (list) or a merge patch (object)"),
    opt!(CONFIG, "unset", Many "KEY", "Remove a dotted key"),
    opt!(CONFIG, "set", Many "KEY=VALUE", "Set a dotted key; VALUE is JSON, else a string"),
    opt!(CONFIG, "no-fill", Switch "" ["no_fill"], "Leave every \"auto\" to the trainer"),
    opt!(CONFIG, "config-out", One "PATH" ["config_out"], "Write the resolved config here"),
    opt!(RANKS, "nproc-per-node", One "N" ["nproc_per_node", "num-gpus", "num_gpus"], "Processes on this machine, or `gpu`, `cpu`"),
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
