//! A launch, and its two reports: `zlaunch check` and `zlaunch doctor`.

use std::ffi::OsString;

use clap::{Args, Command, ValueHint};

use super::did_you_mean::did_you_mean;
use super::reader::{Reader, Refused};
use super::values::{self, Words, one_of};
use crate::base::options::{AnyValue, Given, LaunchOptions, launch_options};
use crate::base::size::parse_bytes;
use crate::base::source::Sourced;
use crate::check;
use crate::command::trainer;
use crate::config::template::search::BUILT_IN;
use crate::fit::cards;
use crate::ranks::launcher::{Launcher, OutputFlags};
use crate::ranks::topology::{HostFlags, RankFlags};
use crate::report::{self, Problem, Rule};
use crate::request::{EnvironmentFlags, Format, Launch, MemoryFlags, Output};

#[derive(Args)]
pub(super) struct LaunchArgs {
    #[command(flatten)]
    pub(super) options: LaunchOptions,
    // Everything from the first word on that is not an option of ours.
    #[arg(trailing_var_arg = true, num_args = 1.., hide = true, value_hint = ValueHint::CommandWithArguments)]
    pub(super) command: Vec<OsString>,
}

pub(super) const ABOUT_CHECK: &str = "Nothing is launched. All options of a launch are accepted: `zlaunch --help`.
Exit status: 1 if there is an error (with --strict: or a warning), else 0.

Examples:
  zlaunch check ds_config.json
  zlaunch check --deepspeed zero3 -- swift sft --model Qwen/Qwen3-8B";

pub(super) const ABOUT_DOCTOR: &str =
    "Without secrets, so that it can be pasted into an issue. All options of a launch are accepted: `zlaunch --help`.

Examples:
  zlaunch doctor
  zlaunch doctor --deepspeed zero3 -- swift sft --model Qwen/Qwen3-8B";

/// The options of a launch that the help of a sub-command shows. The others are accepted, so that a command can be pasted.
fn shown(subcommand: &str) -> &'static str {
    match subcommand {
        "check" | "rehearse" => {
            "deepspeed template_dir patch unset set no_fill nproc_per_node nnodes launcher trainer env format strict allow quiet"
        }
        "doctor" => {
            "deepspeed template_dir nproc_per_node nnodes node_rank master_addr master_port launcher trainer env unset_env format"
        }
        "fit" => "deepspeed template_dir gpu_memory host_memory nproc_per_node nnodes trainer format",
        _ => "deepspeed template_dir set format",
    }
}

/// Of the options of a launch, the help of a sub-command shows a few, and a report is nothing to run.
pub(super) fn as_report(command: Command) -> Command {
    let shown = shown(command.get_name());
    let is_hidden = |id: &str| !shown.split(' ').any(|name| name == id);
    with_words(command).mut_args(|arg| {
        let id = arg.get_id().as_str();
        match id {
            "format" => arg.help("text or json").value_parser(AnyValue(REPORT_FORMATS)),
            _ if launch_options().any(|option| option.get_id() == id) && is_hidden(id) => arg.hide(true),
            _ => arg,
        }
    })
}

/// Names to the completions what some options of a launch take.
pub(super) fn with_words(command: Command) -> Command {
    command.mut_args(|arg| match arg.get_id().as_str() {
        "deepspeed" => arg.value_parser(AnyValue(CONFIGS)),
        "launcher" => arg.value_parser(AnyValue(LAUNCHERS)),
        "trainer" => arg.value_parser(AnyValue(TRAINERS)),
        "format" => arg.value_parser(AnyValue(FORMATS)),
        "allow" => arg.value_parser(AnyValue(RULES)),
        _ => arg,
    })
}

const CONFIGS: Words<()> = || [("auto", ())].into_iter().chain(TEMPLATES()).collect();
pub(super) const TEMPLATES: Words<()> = || BUILT_IN.iter().map(|(name, _)| (*name, ())).collect();
const FORMATS: Words<Format> = || vec![("text", Format::Text), ("json", Format::Json), ("shell", Format::Shell)];
pub(super) const REPORT_FORMATS: Words<Format> = || vec![("text", Format::Text), ("json", Format::Json)];
const LAUNCHERS: Words<Option<Launcher>> = || Launcher::NAMES.to_vec();
const TRAINERS: Words<&trainer::Trainer> = || trainer::ALL.iter().map(|trainer| (trainer.name, *trainer)).collect();
const RULES: Words<Rule> = || check::allowable().into_iter().map(|rule| (rule.name(), rule)).collect();

/// What is done with the launch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Launch,
    Check,
    /// The command is missing.
    CheckConfigs,
    Rehearse,
    /// The command may be missing.
    Doctor,
}

impl Mode {
    fn subcommand(self) -> &'static str {
        match self {
            Mode::Launch => "",
            Mode::Check | Mode::CheckConfigs => "check",
            Mode::Rehearse => "rehearse",
            Mode::Doctor => "doctor",
        }
    }
}

pub(super) fn read(args: LaunchArgs, mut reader: Reader, mode: Mode) -> Result<Box<Launch>, Refused> {
    let LaunchArgs { mut options, command } = args;
    reader.split_off(&command);
    let output = read_output(&mut options, &mut reader, mode);
    let launch = read_described(options, command, &mut reader);
    let has_command = !launch.command.is_empty();
    if !has_command && matches!(mode, Mode::Launch | Mode::Rehearse) {
        let config = launch.deepspeed.as_ref().map_or("zero2", |config| &config.value);
        reader.problems.push(report::nothing_to_launch(config));
    } else if !has_command && mode == Mode::Check {
        reader.problems.push(Problem::error(Rule::Usage, "there is nothing to check").at("zlaunch check").help(
            "zlaunch check ds_config.json, or zlaunch check --deepspeed zero2 -- swift sft --model Qwen/Qwen3-8B",
        ));
    }
    let configs = mode == Mode::Check && is_configs(&launch);
    let other = did_you_mean(mode.subcommand(), reader.options, &launch.command, reader.host).filter(|_| !configs);
    let has_meaning = has_command && mode != Mode::Doctor && !configs && other.is_none();
    reader.problems.extend(other);
    let launch = Box::new(Launch { output, options: reader.options.to_vec(), ..launch });
    if reader.problems.is_empty() {
        return Ok(launch);
    }
    Err(Refused { problems: reader.problems, meant: has_meaning.then_some(launch) })
}

/// `check` looks at a launch, or at configs in the place of the command or in that of `--deepspeed` alone.
pub(super) fn read_check(args: LaunchArgs, reader: Reader) -> Result<Box<Launch>, Refused> {
    let config = &args.options.config.deepspeed;
    let alone = args.command.is_empty() && config.as_ref().is_some_and(|config| config.from.is_flag());
    read(args, reader, if alone { Mode::CheckConfigs } else { Mode::Check })
}

/// Whether every word of the command is a config.
pub(super) fn is_configs(launch: &Launch) -> bool {
    let is_config = |word: &OsString| word.to_str().is_some_and(|word| launch.search.is_config(word));
    launch.command.iter().all(is_config)
}

/// The launch as it is described, whether there is a command or not.
pub(super) fn read_described(options: LaunchOptions, command: Vec<OsString>, reader: &mut Reader) -> Launch {
    let LaunchOptions { config, ranks, environment, output } = options;
    Launch {
        deepspeed: reader.one(config.deepspeed, values::text),
        search: reader.search(config.search),
        layers: reader.layers(config.layers),
        memory: MemoryFlags {
            gpu: reader.one(config.gpu_memory, values::memory(cards::parse_memory, "80GiB")),
            host: reader.one(config.host_memory, values::memory(parse_bytes, "1TiB")),
        },
        no_fill: config.no_fill,
        trainer: reader.one(ranks.trainer, one_of(TRAINERS)),
        launcher: reader
            .one(ranks.launcher, one_of(LAUNCHERS))
            .and_then(|asked| Some(Sourced::new(asked.value?, asked.from))),
        topology: RankFlags {
            nnodes: reader.one(ranks.nnodes, values::number(1, u32::MAX, "1")),
            node_rank: reader.one(ranks.node_rank, values::number(0, u32::MAX, "1")),
            nproc_per_node: reader.one(ranks.nproc_per_node, values::processes),
            master_addr: reader.one(ranks.master_addr, values::text),
            master_port: reader.one(ranks.master_port, values::number(1, u16::MAX, "29500")),
        },
        hosts: HostFlags {
            hostfile: reader.one(ranks.hostfile, values::path),
            include: reader.one(ranks.include, values::text),
            exclude: reader.one(ranks.exclude, values::text),
        },
        launcher_args: reader.many(ranks.launcher_arg, values::raw).into_iter().map(|word| word.value).collect(),
        rank_output: OutputFlags {
            log_dir: reader.one(ranks.log_dir, values::path),
            prefix: ranks.prefix.then(|| reader.source_of_switch("--prefix")),
        },
        environment: EnvironmentFlags {
            set: reader.many(environment.env, values::variable_assignment(reader.words)),
            unset: reader.many(environment.unset_env, values::variable_name),
        },
        config_out: reader.one(config.config_out, values::path),
        record: reader.one(output.record, values::path),
        strict: output.strict,
        allow: reader.many(output.allow, one_of(RULES)).into_iter().map(|rule| rule.value).collect(),
        warnings: std::mem::take(&mut reader.warnings),
        command,
        options: Vec::new(),
        output: Output::default(),
        rehearsed: false,
    }
}

fn read_output(options: &mut LaunchOptions, reader: &mut Reader, mode: Mode) -> Output {
    let given: Option<Given> = options.output.format.take();
    let is_launch = mode == Mode::Launch;
    let dry_run = !is_launch || options.output.dry_run;
    if given.as_ref().is_some_and(|format| format.from.is_flag()) && !dry_run {
        reader.problems.push(
            Problem::error(Rule::Usage, "`--format` is only for a plan that is printed")
                .at("--format")
                .help("add --dry-run"),
        );
    }
    let format = reader.one(given, one_of(if is_launch { FORMATS } else { REPORT_FORMATS }));
    Output {
        dry_run: dry_run.then(|| format.map_or(Format::Text, |format| format.value)),
        quiet: options.output.quiet,
        verbose: options.output.verbose,
        check: matches!(mode, Mode::Check | Mode::CheckConfigs | Mode::Rehearse),
    }
}
