//! The options of a launch. clap derives the command line, its help, the completions, the man page and the tables in the
//! documents from these structs, and the doc comments on the fields are the help. The options that only a sub-command has
//! are in its file in `tools`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::LazyLock;

use clap::builder::{PossibleValue, TypedValueParser, ValueParserFactory};
use clap::{Arg, Args, Command, ValueHint};

use super::source::{Source, Sourced};

/// A value as it was given. It is read later, because clap would stop at the first wrong one.
pub(crate) type Given = Sourced<OsString>;

// Plain comments, because clap would take doc comments here for the help of the whole command.
#[derive(Args)]
pub(crate) struct LaunchOptions {
    #[command(flatten)]
    pub(crate) config: ConfigOptions,
    #[command(flatten)]
    pub(crate) ranks: RankOptions,
    #[command(flatten)]
    pub(crate) environment: EnvironmentOptions,
    #[command(flatten)]
    pub(crate) output: OutputOptions,
}

#[derive(Args)]
#[command(next_help_heading = "Config")]
pub(crate) struct ConfigOptions {
    /// A template, a file, JSON, `-` or `auto`; `-` reads standard input, `auto` picks the fastest that fits; by default the
    /// trainer's own
    #[arg(long, value_name = "CONFIG")]
    pub(crate) deepspeed: Option<Given>,
    #[command(flatten)]
    pub(crate) search: SearchOptions,
    #[command(flatten)]
    pub(crate) layers: LayerOptions,
    /// Leave every "auto" to the trainer
    #[arg(long)]
    pub(crate) no_fill: bool,
    /// Write the resolved config to this file
    #[arg(long, value_name = "PATH")]
    pub(crate) config_out: Option<Given>,
    /// Memory of each GPU (80GiB) for `auto` and `fit`; by default known from its name
    #[arg(long, value_name = "SIZE")]
    pub(crate) gpu_memory: Option<Given>,
    /// Memory of each machine for `auto` and `fit`; by default detected
    #[arg(long, value_name = "SIZE")]
    pub(crate) host_memory: Option<Given>,
    /// Tokens in a sequence, for `auto` and `fit`; by default those of the command
    #[arg(long, value_name = "N")]
    pub(crate) seq_len: Option<Given>,
}

#[derive(Args)]
pub(crate) struct SearchOptions {
    /// Search this folder for templates first
    #[arg(long, value_name = "DIR")]
    pub(crate) template_dir: Vec<Given>,
}

#[derive(Args)]
pub(crate) struct LayerOptions {
    /// Apply a JSON Patch (a list) or a merge patch (an object)
    #[arg(long, value_name = "FILE")]
    pub(crate) patch: Vec<Given>,
    /// Remove a dotted key of the config
    #[arg(long, value_name = "KEY")]
    pub(crate) unset: Vec<Given>,
    /// Set a dotted key of the config; VALUE is JSON, or else a string
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<Given>,
}

#[derive(Args)]
#[command(next_help_heading = "Ranks")]
pub(crate) struct RankOptions {
    /// Number of ranks on each machine; `gpu` or `cpu`: one per GPU or CPU
    #[arg(long, value_name = "N", aliases = ["num-gpus", "gpus"])]
    pub(crate) nproc_per_node: Option<Given>,
    /// Number of machines
    #[arg(long, value_name = "N", alias = "num-nodes")]
    pub(crate) nnodes: Option<Given>,
    /// Number of this machine, from 0
    #[arg(long, value_name = "N")]
    pub(crate) node_rank: Option<Given>,
    /// Address of machine 0
    #[arg(long, value_name = "HOST")]
    pub(crate) master_addr: Option<Given>,
    /// Port on machine 0
    #[arg(long, value_name = "PORT")]
    pub(crate) master_port: Option<Given>,
    /// Machines for DeepSpeed's runner: lines of `host slots=N`
    #[arg(long, value_name = "FILE")]
    pub(crate) hostfile: Option<Given>,
    /// Use only these GPUs: `host:0,1@host`, or `localhost:0,1` without a hostfile
    #[arg(long, value_name = "HOST:GPUS")]
    pub(crate) include: Option<Given>,
    /// Use all GPUs except these
    #[arg(long, value_name = "HOST:GPUS")]
    pub(crate) exclude: Option<Given>,
    /// What starts the ranks: auto, torchrun, deepspeed, srun, direct, or local (zlaunch)
    #[arg(long, value_name = "NAME")]
    pub(crate) launcher: Option<Given>,
    /// Pass ARG through to the launcher
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) launcher_arg: Vec<Given>,
    /// Write each rank's output to files in this folder; with --prefix, print it too
    #[arg(long, value_name = "DIR")]
    pub(crate) log_dir: Option<Given>,
    /// Prefix every line of output with its rank
    #[arg(long)]
    pub(crate) prefix: bool,
    /// What the command is, if zlaunch cannot tell: swift, llamafactory, axolotl, trl, hf, deepspeed …
    #[arg(long, value_name = "NAME")]
    pub(crate) trainer: Option<Given>,
}

#[derive(Args)]
#[command(next_help_heading = "Environment")]
pub(crate) struct EnvironmentOptions {
    /// Set an environment variable; overrides the template and the environment
    #[arg(long, value_name = "K=V")]
    pub(crate) env: Vec<Given>,
    /// Remove an environment variable
    #[arg(long, value_name = "K")]
    pub(crate) unset_env: Vec<Given>,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[derive(Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputOptions {
    /// Write a record of the launch to this folder; `auto`: the trainer's output_dir
    #[arg(long, value_name = "DIR|auto")]
    pub(crate) record: Option<Given>,
    /// Print the plan and do nothing
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,
    /// Format of the plan: text, json or shell; `check` and `doctor`: text or json
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Given>,
    /// Treat warnings as errors
    #[arg(long)]
    pub(crate) strict: bool,
    /// Silence a rule by its name
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<Given>,
    /// Use colours: auto, always or never
    #[arg(long, value_name = "WHEN", alias = "colour")]
    pub(crate) color: Option<Given>,
    /// Print only errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Print the whole plan before the launch
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

/// Marks a value that an option's variable gave. No word of a command line has this byte.
pub(crate) const FROM_VARIABLE: &[u8] = b"\0";

/// Takes any value, keeps where it came from, and gives the completions these words.
#[derive(Clone)]
pub struct AnyValue<T = ()>(pub(crate) fn() -> Vec<(&'static str, T)>);

impl ValueParserFactory for Given {
    type Parser = AnyValue;

    fn value_parser() -> AnyValue {
        AnyValue(Vec::new)
    }
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for AnyValue<T> {
    type Value = Given;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<Given, clap::Error> {
        let of_variable = value.as_bytes().strip_prefix(FROM_VARIABLE);
        let from = match arg.filter(|arg| !arg.is_positional()) {
            Some(arg) if of_variable.is_some() => Source::Variable(variable(arg)),
            Some(arg) => Source::Flag(flag(arg)),
            None => Source::Operand(command.get_name().to_string()),
        };
        Ok(Sourced::new(of_variable.map_or(value, OsStr::from_bytes).to_os_string(), from))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let words = (self.0)();
        if words.is_empty() {
            return None;
        }
        Some(Box::new(words.into_iter().map(|(word, _)| PossibleValue::new(word))))
    }
}

/// Adds the spellings and hints that all options have.
pub(crate) fn spelled(command: Command) -> Command {
    command.args_override_self(true).mut_args(|arg| {
        let Some(long) = arg.get_long() else { return arg };
        let spellings = arg.get_all_aliases().unwrap_or_default().into_iter().chain([long]);
        // As torchrun and deepspeed spell theirs.
        let underscored: Vec<String> =
            spellings.filter(|spelling| spelling.contains('-')).map(|spelling| spelling.replace('-', "_")).collect();
        let hint = match arg.get_value_names().and_then(<[_]>::first).map_or("", |name| name.as_str()) {
            "DIR" | "DIR|auto" | "MODEL" => ValueHint::DirPath,
            "FILE" | "PATH" => ValueHint::FilePath,
            _ => ValueHint::Unknown,
        };
        let takes_value = takes_value(&arg);
        let arg = arg.aliases(underscored);
        // Numbers below zero are judged by us, as other wrong values.
        if takes_value { arg.value_hint(hint).allow_negative_numbers(true) } else { arg }
    })
}

/// `--nproc-per-node`.
pub fn flag(arg: &Arg) -> String {
    format!("--{}", arg.get_long().unwrap_or_default())
}

/// `ZLAUNCH_NPROC_PER_NODE`. Only the options of a launch have one.
pub fn variable(arg: &Arg) -> String {
    format!("ZLAUNCH_{}", arg.get_id().as_str().to_ascii_uppercase())
}

pub fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

pub fn launch_options() -> impl Iterator<Item = &'static Arg> {
    static OPTIONS: LazyLock<Command> = LazyLock::new(|| spelled(LaunchOptions::augment_args(Command::new("zlaunch"))));
    OPTIONS.get_arguments()
}

/// The option of a launch with this name, which may be an alias or be followed by `=VALUE`.
pub(crate) fn launch_option(long: &str) -> Option<&'static Arg> {
    option_named(launch_options, long)
}

pub(crate) fn option_named<'a, I: Iterator<Item = &'a Arg>>(options: impl Fn() -> I, long: &str) -> Option<&'a Arg> {
    let name = long.split('=').next()?;
    let has_alias = |arg: &&Arg| arg.get_all_aliases().unwrap_or_default().contains(&name);
    options().find(|arg| arg.get_long() == Some(name)).or_else(|| options().find(has_alias))
}
