//! A launch, and its two reports: `zlaunch check` and `zlaunch doctor`.

use clap::builder::ValueParser;
use clap::{Arg, Command};

use super::args::{ParsedArgs, arg, trailing_command};
use super::values;
use crate::base::options::{Opt, launch as opt};
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
    command.args(opt::ALL.iter().map(launch_arg)).arg(trailing_command())
}

/// `check` and `doctor` print a report, which is nothing to run.
pub(super) fn describe_report(command: Command) -> Command {
    describe(command)
        .version(env!("CARGO_PKG_VERSION"))
        .display_name("zlaunch")
        .mut_arg(opt::FORMAT.name, |arg| arg.help("Format of the report: text or json").value_parser(report_format()))
}

pub(super) fn report_format() -> ValueParser {
    values::one_of(|| vec![("text", Format::Text), ("json", Format::Json)])
}

/// An option of a launch with the type of its value.
pub(super) fn launch_arg(option: &Opt) -> Arg {
    let value_parser = match *option {
        opt::DEEPSPEED | opt::MASTER_ADDR | opt::INCLUDE | opt::EXCLUDE => values::text(),
        opt::TEMPLATE_DIR | opt::LOG_DIR | opt::RECORD | opt::PATCH | opt::CONFIG_OUT | opt::HOSTFILE => values::path(),
        opt::UNSET => values::dotted_key(),
        opt::SET => values::config_assignment(),
        opt::GPU_MEMORY => values::size(fit::bytes, "80GiB"),
        opt::HOST_MEMORY => values::size(fit::bytes, "1TiB"),
        opt::NPROC_PER_NODE => values::processes(),
        opt::NNODES => values::number(1, u32::MAX, "1"),
        opt::NODE_RANK => values::number(0, u32::MAX, "1"),
        opt::MASTER_PORT => values::number(1, u16::MAX, "29500"),
        opt::LAUNCHER => values::one_of(|| Launcher::NAMES.to_vec()),
        opt::LAUNCHER_ARG => values::raw(),
        opt::TRAINER => values::one_of(|| trainer::ALL.iter().map(|trainer| (trainer.name, *trainer)).collect()),
        opt::ENV => values::variable_assignment(),
        opt::UNSET_ENV => values::variable_name(),
        opt::FORMAT => {
            values::one_of(|| vec![("text", Format::Text), ("json", Format::Json), ("shell", Format::Shell)])
        }
        opt::ALLOW => values::one_of(|| check::allowable().into_iter().map(|rule| (rule, rule)).collect()),
        _ => return arg(option),
    };
    // What is meant for the launcher looks like an option.
    arg(option).value_parser(value_parser).allow_hyphen_values(*option == opt::LAUNCHER_ARG)
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
        deepspeed: args.one(&opt::DEEPSPEED),
        search: args.search(),
        layers: Layers { patch: args.many(&opt::PATCH), unset: args.many(&opt::UNSET), set: args.many(&opt::SET) },
        memory: MemoryFlags { gpu: args.one(&opt::GPU_MEMORY), host: args.one(&opt::HOST_MEMORY) },
        no_fill: args.is_on(&opt::NO_FILL),
        trainer: args.one(&opt::TRAINER),
        launcher: args
            .one::<Option<Launcher>>(&opt::LAUNCHER)
            .and_then(|asked| Some(Sourced::new(asked.value?, asked.from))),
        topology: RankFlags {
            nnodes: args.one(&opt::NNODES),
            node_rank: args.one(&opt::NODE_RANK),
            nproc_per_node: args.one(&opt::NPROC_PER_NODE),
            master_addr: args.one(&opt::MASTER_ADDR),
            master_port: args.one(&opt::MASTER_PORT),
        },
        hosts: HostFlags {
            hostfile: args.one(&opt::HOSTFILE),
            include: args.one(&opt::INCLUDE),
            exclude: args.one(&opt::EXCLUDE),
        },
        launcher_args: args.many(&opt::LAUNCHER_ARG).into_iter().map(|sourced| sourced.value).collect(),
        rank_output: local::OutputFlags { log_dir: args.one(&opt::LOG_DIR), prefix: args.switched_on(&opt::PREFIX) },
        environment: EnvironmentFlags { set: args.many(&opt::ENV), unset: args.many(&opt::UNSET_ENV) },
        config_out: args.one(&opt::CONFIG_OUT),
        record: args.one(&opt::RECORD),
        strict: args.is_on(&opt::STRICT),
        allow: args.many::<&str>(&opt::ALLOW).into_iter().map(|rule| rule.value.to_string()).collect(),
        warnings: std::mem::take(&mut args.warnings),
        command: args.command(),
        options: Vec::new(),
        output: Output::default(),
    }
}

fn read_output(args: &mut ParsedArgs, mode: Mode) -> Output {
    let format = args.one::<Format>(&opt::FORMAT);
    let dry_run = mode != Mode::Launch || args.is_on(&opt::DRY_RUN);
    if format.as_ref().is_some_and(|format| format.from.is_flag()) && !dry_run {
        args.problems.push(report::format_without_dry_run());
    }
    Output {
        dry_run: dry_run.then(|| format.map_or(Format::Text, |format| format.value)),
        quiet: args.is_on(&opt::QUIET),
        verbose: args.is_on(&opt::VERBOSE),
        check: mode == Mode::Check,
    }
}
