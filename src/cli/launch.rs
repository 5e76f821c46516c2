//! A launch, and its two reports: `zlaunch check` and `zlaunch doctor`.

use std::ffi::OsString;

use clap::{Arg, Command};

use super::args::{ParsedArgs, arg, bare_arg, trailing_command};
use super::meant::meant;
use super::refusal::Refused;
use super::values::{self, Suggested, Words, one_of};
use crate::base::options::{CHECK, CHECK_OF_LAUNCH, DOCTOR, DOCTOR_OF_LAUNCH, Opt, launch as opt};
use crate::base::size::parse_bytes;
use crate::base::source::Sourced;
use crate::check;
use crate::command::trainer;
use crate::fit::cards;
use crate::ranks::launcher::{Launcher, OutputFlags};
use crate::ranks::topology::{HostFlags, RankFlags};
use crate::report;
use crate::report::Rule;
use crate::request::{EnvironmentFlags, Format, Launch, MemoryFlags, Output};

pub(super) fn describe(command: Command) -> Command {
    command.args(opt::ALL.iter().map(launch_arg)).arg(trailing_command())
}

/// The same without the help and what only the help shows.
pub(super) fn describe_words(command: Command) -> Command {
    command.disable_help_flag(true).args(opt::ALL.iter().map(bare_arg)).arg(trailing_command())
}

/// `check` and `doctor` print a report, which is nothing to run. Of the options of a launch, their help shows a few.
fn describe_report(command: Command, shown: &[Opt]) -> Command {
    command
        .args(opt::ALL.iter().map(|option| launch_arg(option).hide(!shown.contains(option))))
        .arg(trailing_command())
        .mut_arg(opt::FORMAT.name, |arg| arg.help("text or json").value_parser(Suggested(REPORT_FORMATS)))
}

pub(super) fn describe_check(command: Command) -> Command {
    describe_report(command, CHECK_OF_LAUNCH).after_help(
        "Nothing is launched. All options of a launch are accepted: `zlaunch --help`.
Exit status: 1 if there is an error (with --strict: or a warning), else 0.

Examples:
  zlaunch check ds_config.json
  zlaunch check --deepspeed zero3 -- swift sft --model Qwen/Qwen3-8B",
    )
}

pub(super) fn describe_doctor(command: Command) -> Command {
    describe_report(command, DOCTOR_OF_LAUNCH).after_help(
        "Without secrets, so that it can be pasted into an issue. All options of a launch are accepted: `zlaunch --help`.

Examples:
  zlaunch doctor
  zlaunch doctor --deepspeed zero3 -- swift sft --model Qwen/Qwen3-8B",
    )
}

const FORMATS: Words<Format> = || vec![("text", Format::Text), ("json", Format::Json), ("shell", Format::Shell)];
pub(super) const REPORT_FORMATS: Words<Format> = || vec![("text", Format::Text), ("json", Format::Json)];
const LAUNCHERS: Words<Option<Launcher>> = || Launcher::NAMES.to_vec();
const TRAINERS: Words<&trainer::Trainer> = || trainer::ALL.iter().map(|trainer| (trainer.name, *trainer)).collect();
const RULES: Words<Rule> = || check::allowable().into_iter().map(|rule| (rule.name(), rule)).collect();

pub(super) fn launch_arg(option: &Opt) -> Arg {
    let arg = arg(option);
    match *option {
        opt::LAUNCHER => arg.value_parser(Suggested(LAUNCHERS)),
        opt::TRAINER => arg.value_parser(Suggested(TRAINERS)),
        opt::FORMAT => arg.value_parser(Suggested(FORMATS)),
        opt::ALLOW => arg.value_parser(Suggested(RULES)),
        _ => arg,
    }
}

/// What is done with the launch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Launch,
    Check,
    /// The command is missing.
    CheckConfigs,
    /// The command may be missing.
    Doctor,
}

pub(super) fn read(args: ParsedArgs, mode: Mode) -> Result<Launch, Refused> {
    let mut args = args.with_variables(describe);
    let launch = read_described(&mut args);
    if !args.has_command() && !matches!(mode, Mode::Doctor | Mode::CheckConfigs) {
        let config = launch.deepspeed.as_ref().map(|config| config.value.as_str());
        let nothing = || report::nothing_to_launch(config.unwrap_or("zero2"));
        args.problems.push(if mode == Mode::Check { report::nothing_to_check() } else { nothing() });
    }
    let name = match mode {
        Mode::Launch => "",
        Mode::Check | Mode::CheckConfigs => CHECK.name,
        Mode::Doctor => DOCTOR.name,
    };
    let configs = mode == Mode::Check && is_configs(&launch);
    let other = meant(name, &args.options(), &launch.command, args.host).filter(|_| !configs);
    let has_meaning = args.has_command() && mode != Mode::Doctor && !configs && other.is_none();
    args.problems.extend(other);
    let launch = Launch { output: read_output(&mut args, mode), options: args.options(), ..launch };
    if args.problems.is_empty() {
        return Ok(launch);
    }
    Err(Refused { problems: args.problems, meant: has_meaning.then(|| Box::new(launch)) })
}

/// What `check` looks at.
pub(super) enum Checked {
    Launch(Launch),
    /// Configs in the place of the command, or that of `--deepspeed` alone.
    Configs(Launch),
}

pub(super) fn read_check(args: ParsedArgs) -> Result<Checked, Refused> {
    let alone = args.command().is_empty() && args.is_given(&opt::DEEPSPEED);
    let launch = read(args, if alone { Mode::CheckConfigs } else { Mode::Check })?;
    Ok(if is_configs(&launch) { Checked::Configs(launch) } else { Checked::Launch(launch) })
}

/// Whether every word of the command is a config.
fn is_configs(launch: &Launch) -> bool {
    let is_config = |word: &OsString| word.to_str().is_some_and(|word| launch.search.is_config(word));
    launch.command.iter().all(is_config)
}

/// The launch as it is described, whether there is a command or not.
pub(super) fn read_described(args: &mut ParsedArgs) -> Launch {
    Launch {
        deepspeed: args.one(&opt::DEEPSPEED, values::text),
        search: args.search(),
        layers: args.layers(),
        memory: MemoryFlags {
            gpu: args.one(&opt::GPU_MEMORY, values::memory(cards::parse_memory, "80GiB")),
            host: args.one(&opt::HOST_MEMORY, values::memory(parse_bytes, "1TiB")),
        },
        no_fill: args.is_on(&opt::NO_FILL),
        trainer: args.one(&opt::TRAINER, one_of(TRAINERS)),
        launcher: args
            .one(&opt::LAUNCHER, one_of(LAUNCHERS))
            .and_then(|asked| Some(Sourced::new(asked.value?, asked.from))),
        topology: RankFlags {
            nnodes: args.one(&opt::NNODES, values::number(1, u32::MAX, "1")),
            node_rank: args.one(&opt::NODE_RANK, values::number(0, u32::MAX, "1")),
            nproc_per_node: args.one(&opt::NPROC_PER_NODE, values::processes),
            master_addr: args.one(&opt::MASTER_ADDR, values::text),
            master_port: args.one(&opt::MASTER_PORT, values::number(1, u16::MAX, "29500")),
        },
        hosts: HostFlags {
            hostfile: args.one(&opt::HOSTFILE, values::path),
            include: args.one(&opt::INCLUDE, values::text),
            exclude: args.one(&opt::EXCLUDE, values::text),
        },
        launcher_args: args.many(&opt::LAUNCHER_ARG, values::raw).into_iter().map(|sourced| sourced.value).collect(),
        rank_output: OutputFlags {
            log_dir: args.one(&opt::LOG_DIR, values::path),
            prefix: args.switched_on(&opt::PREFIX),
        },
        environment: EnvironmentFlags {
            set: args.many(&opt::ENV, values::variable_assignment(args.words)),
            unset: args.many(&opt::UNSET_ENV, values::variable_name),
        },
        config_out: args.one(&opt::CONFIG_OUT, values::path),
        record: args.one(&opt::RECORD, values::path),
        strict: args.is_on(&opt::STRICT),
        allow: args.many(&opt::ALLOW, one_of(RULES)).into_iter().map(|rule| rule.value).collect(),
        warnings: std::mem::take(&mut args.warnings),
        command: args.command(),
        options: Vec::new(),
        output: Output::default(),
    }
}

fn read_output(args: &mut ParsedArgs, mode: Mode) -> Output {
    let formats = if mode == Mode::Launch { FORMATS } else { REPORT_FORMATS };
    let format = args.one(&opt::FORMAT, one_of(formats));
    let dry_run = mode != Mode::Launch || args.is_on(&opt::DRY_RUN);
    if format.as_ref().is_some_and(|format| format.from.is_flag()) && !dry_run {
        args.problems.push(report::format_without_dry_run());
    }
    Output {
        dry_run: dry_run.then(|| format.map_or(Format::Text, |format| format.value)),
        quiet: args.is_on(&opt::QUIET),
        verbose: args.is_on(&opt::VERBOSE),
        check: matches!(mode, Mode::Check | Mode::CheckConfigs),
    }
}
