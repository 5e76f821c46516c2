//! The options of a launch. clap derives the command line, its help, the completions, the man page and the tables in the
//! documents from these structs. The options that only a sub-command has are in its file in `tools`. A field under a heading
//! is an option, any other one an operand.

use std::ffi::{OsStr, OsString};
use std::sync::LazyLock;

use clap::builder::{PossibleValue, TypedValueParser, ValueParserFactory};
use clap::{Arg, Args, Command};

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
    pub(crate) deepspeed: Option<Given>,
    #[command(flatten)]
    pub(crate) search: SearchOptions,
    #[command(flatten)]
    pub(crate) layers: LayerOptions,
    pub(crate) no_fill: bool,
    pub(crate) config_out: Option<Given>,
    pub(crate) gpu_memory: Option<Given>,
    pub(crate) host_memory: Option<Given>,
    pub(crate) seq_len: Option<Given>,
}

#[derive(Args)]
pub(crate) struct SearchOptions {
    pub(crate) template_dir: Vec<Given>,
}

#[derive(Args)]
pub(crate) struct LayerOptions {
    pub(crate) patch: Vec<Given>,
    pub(crate) unset: Vec<Given>,
    pub(crate) set: Vec<Given>,
}

#[derive(Args)]
#[command(next_help_heading = "Ranks")]
pub(crate) struct RankOptions {
    #[arg(aliases = ["num-gpus", "gpus"])]
    pub(crate) nproc_per_node: Option<Given>,
    #[arg(alias = "num-nodes")]
    pub(crate) nnodes: Option<Given>,
    pub(crate) node_rank: Option<Given>,
    pub(crate) master_addr: Option<Given>,
    pub(crate) master_port: Option<Given>,
    pub(crate) hostfile: Option<Given>,
    pub(crate) include: Option<Given>,
    pub(crate) exclude: Option<Given>,
    pub(crate) launcher: Option<Given>,
    #[arg(allow_hyphen_values = true)]
    pub(crate) launcher_arg: Vec<Given>,
    pub(crate) log_dir: Option<Given>,
    pub(crate) prefix: bool,
    pub(crate) trainer: Option<Given>,
}

#[derive(Args)]
#[command(next_help_heading = "Environment")]
pub(crate) struct EnvironmentOptions {
    pub(crate) env: Vec<Given>,
    pub(crate) unset_env: Vec<Given>,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
#[derive(Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputOptions {
    pub(crate) record: Option<Given>,
    #[arg(short = 'n')]
    pub(crate) dry_run: bool,
    pub(crate) format: Option<Given>,
    pub(crate) strict: bool,
    pub(crate) allow: Vec<Given>,
    #[arg(alias = "colour")]
    pub(crate) color: Option<Given>,
    #[arg(short)]
    pub(crate) quiet: bool,
    #[arg(short)]
    pub(crate) verbose: bool,
}

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

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Given, clap::Error> {
        let from = match arg.filter(|arg| !arg.is_positional()) {
            Some(arg) => Source::Flag(flag(arg)),
            None => Source::Operand(command.get_name().to_string()),
        };
        Ok(Sourced::new(value.to_os_string(), from))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let words = Some((self.0)()).filter(|words| !words.is_empty())?;
        Some(Box::new(
            words.into_iter().map(|(word, _)| PossibleValue::new(word)),
        ))
    }
}

/// Adds the spellings that all options have.
pub(crate) fn spelled(command: Command) -> Command {
    command.args_override_self(true).mut_args(|arg| {
        let is_named = arg.get_long().is_some() || arg.get_help_heading().is_none();
        let name = arg.get_id().as_str().replace('_', "-");
        // clap lets a list of operands take several words.
        let arg = if !is_named && takes_value(&arg) {
            arg.num_args(1)
        } else {
            arg
        };
        let arg = if is_named { arg } else { arg.long(name) };
        let Some(long) = arg.get_long() else {
            return arg;
        };
        let spellings = arg
            .get_all_aliases()
            .unwrap_or_default()
            .into_iter()
            .chain([long]);
        // As torchrun and deepspeed spell theirs.
        let underscored: Vec<String> = spellings
            .filter(|spelling| spelling.contains('-'))
            .map(|spelling| spelling.replace('-', "_"))
            .collect();
        let takes_value = takes_value(&arg);
        let arg = arg.aliases(underscored);
        // Numbers below zero are judged by us, as other wrong values.
        if takes_value {
            arg.allow_negative_numbers(true)
        } else {
            arg
        }
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
    static OPTIONS: LazyLock<Command> =
        LazyLock::new(|| spelled(LaunchOptions::augment_args(Command::new("zlaunch"))));
    OPTIONS.get_arguments()
}

/// The option of a launch with this name, which may be an alias or be followed by `=VALUE`.
pub(crate) fn launch_option(long: &str) -> Option<&'static Arg> {
    option_named(launch_options, long)
}

pub(crate) fn option_named<'a, I: Iterator<Item = &'a Arg>>(
    options: impl Fn() -> I,
    long: &str,
) -> Option<&'a Arg> {
    let name = long.split('=').next()?;
    let named = options().find(|arg| arg.get_long() == Some(name));
    named
        .or_else(|| options().find(|arg| arg.get_all_aliases().unwrap_or_default().contains(&name)))
}
