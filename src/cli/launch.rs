//! A launch, and its two reports: `zlaunch check` and `zlaunch doctor`.

use clap::builder::ValueParser;
use clap::{Arg, Command, ValueHint};

use super::args::{ParsedArgs, arg, trailing_command};
use super::values;
use crate::base::options::Opt;
use crate::base::options::launch::{
    ALL, ALLOW, CONFIG_OUT, DEEPSPEED, DRY_RUN, ENV, EXCLUDE, FORMAT, GPU_MEMORY, HOST_MEMORY, HOSTFILE, INCLUDE,
    LAUNCHER, LAUNCHER_ARG, LOG_DIR, MASTER_ADDR, MASTER_PORT, NNODES, NO_FILL, NODE_RANK, NPROC_PER_NODE, PATCH,
    PREFIX, QUIET, RECORD, SET, STRICT, TEMPLATE_DIR, TRAINER, UNSET, UNSET_ENV, VERBOSE,
};
use crate::base::source::Sourced;
use crate::check;
use crate::command::trainer;
use crate::config::layers::Layers;
use crate::fit;
use crate::ranks::launcher::{Launcher, local};
use crate::ranks::topology::{HostFlags, RankFlags};
use crate::report::{self, Problem};
use crate::request::{EnvironmentFlags, Format, Launch, MemoryFlags, Output};

pub(super) fn describe(command: Command) -> Command {
    command.args(ALL.iter().map(launch_arg)).arg(trailing_command())
}

/// `check` and `doctor` print a report, which is nothing to run.
pub(super) fn describe_report(command: Command) -> Command {
    describe(command)
        .version(env!("CARGO_PKG_VERSION"))
        .display_name("zlaunch")
        .mut_arg(FORMAT.name, |arg| arg.help("Format of the report: text or json").value_parser(report_format()))
}

pub(super) fn report_format() -> ValueParser {
    values::one_of(|| vec![("text", Format::Text), ("json", Format::Json)])
}

/// An option of a launch with the type of its value.
pub(super) fn launch_arg(option: &Opt) -> Arg {
    let arg = arg(option);
    match *option {
        DEEPSPEED | MASTER_ADDR | INCLUDE | EXCLUDE => arg.value_parser(values::text()),
        TEMPLATE_DIR | LOG_DIR | RECORD => arg.value_parser(values::path()).value_hint(ValueHint::DirPath),
        PATCH | CONFIG_OUT | HOSTFILE => arg.value_parser(values::path()).value_hint(ValueHint::FilePath),
        UNSET => arg.value_parser(values::dotted_key()),
        SET => arg.value_parser(values::config_assignment()),
        GPU_MEMORY => arg.value_parser(values::size(fit::bytes, "80GiB")),
        HOST_MEMORY => arg.value_parser(values::size(fit::bytes, "1TiB")),
        NPROC_PER_NODE => arg.value_parser(values::processes()),
        NNODES => arg.value_parser(values::number(1, u32::MAX, "1")),
        NODE_RANK => arg.value_parser(values::number(0, u32::MAX, "1")),
        MASTER_PORT => arg.value_parser(values::number(1, u16::MAX, "29500")),
        LAUNCHER => arg.value_parser(values::one_of(|| Launcher::NAMES.to_vec())),
        LAUNCHER_ARG => arg.value_parser(values::raw()).allow_hyphen_values(true),
        TRAINER => {
            arg.value_parser(values::one_of(|| trainer::ALL.iter().map(|trainer| (trainer.name, *trainer)).collect()))
        }
        ENV => arg.value_parser(values::variable_assignment()),
        UNSET_ENV => arg.value_parser(values::variable_name()),
        FORMAT => arg.value_parser(values::one_of(|| {
            vec![("text", Format::Text), ("json", Format::Json), ("shell", Format::Shell)]
        })),
        ALLOW => arg.value_parser(values::one_of(|| check::allowable().into_iter().map(|rule| (rule, rule)).collect())),
        _ => arg,
    }
}

/// What is done with the launch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Launch,
    Check,
    /// The command may be missing.
    Doctor,
}

pub(super) fn read(args: ParsedArgs, mode: Mode) -> Result<Launch, Vec<Problem>> {
    let mut args = args.with_variables(if mode == Mode::Launch { describe } else { describe_report });
    if args.command().is_empty() && mode != Mode::Doctor {
        args.problems.push(report::nothing_to_launch());
    }
    let launch = read_described(&mut args);
    let launch = Launch { output: read_output(&mut args, mode), options: args.options(), ..launch };
    args.finish(launch)
}

/// The launch as it is described, whether there is a command or not.
pub(super) fn read_described(args: &mut ParsedArgs) -> Launch {
    Launch {
        deepspeed: args.one(&DEEPSPEED),
        search: args.search(),
        layers: Layers { patch: args.many(&PATCH), unset: args.many(&UNSET), set: args.many(&SET) },
        memory: MemoryFlags { gpu: args.one(&GPU_MEMORY), host: args.one(&HOST_MEMORY) },
        no_fill: args.is_on(&NO_FILL),
        trainer: args.one(&TRAINER),
        launcher: args
            .one::<Option<Launcher>>(&LAUNCHER)
            .and_then(|asked| Some(Sourced::new(asked.value?, asked.from))),
        topology: RankFlags {
            nnodes: args.one(&NNODES),
            node_rank: args.one(&NODE_RANK),
            nproc_per_node: args.one(&NPROC_PER_NODE),
            master_addr: args.one(&MASTER_ADDR),
            master_port: args.one(&MASTER_PORT),
        },
        hosts: HostFlags { hostfile: args.one(&HOSTFILE), include: args.one(&INCLUDE), exclude: args.one(&EXCLUDE) },
        launcher_args: args.many(&LAUNCHER_ARG).into_iter().map(|sourced| sourced.value).collect(),
        rank_output: local::OutputFlags { log_dir: args.one(&LOG_DIR), prefix: args.switched_on(&PREFIX) },
        environment: EnvironmentFlags { set: args.many(&ENV), unset: args.many(&UNSET_ENV) },
        config_out: args.one(&CONFIG_OUT),
        record: args.one(&RECORD),
        strict: args.is_on(&STRICT),
        allow: args.many::<&str>(&ALLOW).into_iter().map(|rule| rule.value.to_string()).collect(),
        warnings: std::mem::take(&mut args.warnings),
        command: args.command(),
        options: Vec::new(),
        output: Output::default(),
    }
}

fn read_output(args: &mut ParsedArgs, mode: Mode) -> Output {
    let format = args.one::<Format>(&FORMAT);
    let dry_run = mode != Mode::Launch || args.is_on(&DRY_RUN);
    if format.as_ref().is_some_and(|format| format.from.is_flag()) && !dry_run {
        args.problems.push(report::format_without_dry_run());
    }
    Output {
        dry_run: dry_run.then(|| format.map_or(Format::Text, |format| format.value)),
        quiet: args.is_on(&QUIET),
        verbose: args.is_on(&VERBOSE),
        check: mode == Mode::Check,
    }
}
