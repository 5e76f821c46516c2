//! The arguments of a launch, which the sub-commands about one have too.

use std::ffi::OsString;

use clap::{Args, ValueHint};

use super::{
    mistakes::did_you_mean,
    reader::{Outcome, Reader, Refused, Request, Requested},
    values::{self, FORMATS, LAUNCHERS, REPORT_FORMATS, TRAINERS, one_of},
};
use crate::{
    base::{size::parse_bytes, source::Sourced},
    host::{Host, cards},
    ranks::topology::{HostFlags, RankFlags},
    report::{self, prelude::*},
    request::{EnvironmentFlags, Format, Launch, MemoryFlags, Output},
};

#[derive(Args)]
pub struct LaunchArgs {
    // Everything from the first word on that is not an option of ours.
    #[arg(help_heading = None::<&str>, value_hint = ValueHint::CommandWithArguments)]
    #[arg(trailing_var_arg = true, num_args = 1.., hide = true)]
    pub command: Vec<OsString>,
}

pub fn read(args: LaunchArgs, reader: &mut Reader) -> Launch {
    let output = read_output(reader);
    Launch {
        output,
        ..read_described(args.command, reader)
    }
}

pub fn without_command(launch: &Launch) -> Option<Problem> {
    if !launch.command.is_empty() {
        return None;
    }
    let config = launch.deepspeed.as_ref();
    let config = config.map_or("zero2", |config| &config.value);
    Some(report::nothing_to_launch(launch.subcommand, config))
}

/// The request, unless something is wrong about the words or the command is no program.
pub fn finish(
    launch: Launch,
    mut reader: Reader,
    run: impl FnOnce(Launch, &Host) -> Outcome + 'static,
) -> Requested {
    let first = launch.command.first();
    let is_program = first.is_some_and(|word| reader.host.find_program(word).is_some());
    // `--set KEY VALUE`, which is refused already, leaves the value in the place of the command.
    let other = did_you_mean(&reader, &launch.command);
    let has_meaning =
        other.is_none() && (is_program || first.is_some() && reader.problems.is_empty());
    if let Some(problem) = other {
        reader.problems = vec![problem];
    }
    let launch = Box::new(launch);
    if reader.problems.is_empty() {
        return Ok(Box::new(LaunchRequest { launch, run }));
    }
    Err(Refused {
        problems: reader.problems,
        meant: has_meaning.then_some(launch),
    })
}

struct LaunchRequest<F> {
    launch: Box<Launch>,
    run: F,
}

impl<F: FnOnce(Launch, &Host) -> Outcome + 'static> Request for LaunchRequest<F> {
    fn run(mut self: Box<Self>, host: &Host) -> Outcome {
        self.launch.read_piped_config(host)?;
        (self.run)(*self.launch, host)
    }

    fn into_launch(self: Box<Self>) -> Option<Box<Launch>> {
        Some(self.launch)
    }
}

/// The launch without the options about its own output.
pub fn read_described(command: Vec<OsString>, reader: &mut Reader) -> Launch {
    reader.options = &reader.words[..reader.words.len() - command.len()];
    Launch {
        deepspeed: reader.option("deepspeed", values::text),
        search: reader.search(),
        layers: reader.layers(),
        memory: MemoryFlags {
            gpu: reader.option("gpu_memory", values::memory(cards::parse_memory, "80GiB")),
            host: reader.option("host_memory", values::memory(parse_bytes, "1TiB")),
            seq_len: reader.option("seq_len", values::number(1, u64::from(u32::MAX), "1024")),
        },
        no_fill: reader.switch("no_fill").is_some(),
        trainer: reader.option("trainer", one_of(TRAINERS)),
        launcher: reader
            .option("launcher", one_of(LAUNCHERS))
            .and_then(|asked| Some(Sourced::new(asked.value?, asked.from))),
        topology: RankFlags {
            nnodes: reader.option("nnodes", values::number(1, u32::MAX, "1")),
            node_rank: reader.option("node_rank", values::number(0, u32::MAX, "0")),
            nproc_per_node: reader.option("nproc_per_node", values::processes),
            master_addr: reader.option("master_addr", values::text),
            master_port: reader.option("master_port", values::number(1, u16::MAX, "29500")),
        },
        hosts: HostFlags {
            hostfile: reader.option("hostfile", values::path),
            include: reader.option("include", values::text),
            exclude: reader.option("exclude", values::text),
        },
        launcher_args: reader
            .options("launcher_arg", values::path)
            .into_iter()
            .map(|word| word.value.into_os_string())
            .collect(),
        environment: EnvironmentFlags {
            set: reader.options("env", values::variable_assignment),
            unset: reader.options("unset_env", values::variable_name),
        },
        config_out: reader.option("config_out", values::path),
        record: reader.option("record", values::path),
        strict: reader.switch("strict").is_some(),
        allow: reader
            .options("allow", one_of(values::RULES))
            .into_iter()
            .map(|rule| rule.value)
            .collect(),
        warnings: std::mem::take(&mut reader.warnings),
        command,
        subcommand: reader.place,
        options: reader.options.to_vec(),
        output: Output::default(),
        rehearsed: false,
    }
}

fn read_output(reader: &mut Reader) -> Output {
    let is_launch = reader.place.is_empty();
    let dry_run = reader.switch("dry_run");
    let is_printed = !is_launch || dry_run.is_some();
    if reader.matches.contains_id("format") && !is_printed {
        reader.problems.push(
            Rule::Usage
                .error("`--format` only works with a printed plan")
                .at("--format")
                .fix(give("--dry-run", "")),
        );
    }
    let formats = if is_launch { FORMATS } else { REPORT_FORMATS };
    let format = reader.option("format", one_of(formats));
    Output {
        dry_run: is_printed.then(|| format.map_or(Format::Text, |format| format.value)),
        quiet: reader.switch("quiet").is_some(),
        verbose: reader.switch("verbose").is_some(),
        check: false,
    }
}
