//! The arguments of a launch, which the sub-commands about one have too.

use std::ffi::OsString;

use clap::{ArgAction, Args, ValueHint};

use super::did_you_mean::did_you_mean;
use super::reader::{Reader, Refused, Request, Requested};
use super::values::{self, COLORS, FORMATS, LAUNCHERS, REPORT_FORMATS, TRAINERS, one_of};
use crate::base::options::{LaunchOptions, flag, option_named, takes_value};
use crate::base::size::parse_bytes;
use crate::base::source::Sourced;
use crate::host::Host;
use crate::host::cards;
use crate::ranks::launcher::OutputFlags;
use crate::ranks::topology::{HostFlags, RankFlags};
use crate::report::fix::{drop_word, give};
use crate::report::{self, Place, Problem, Rule};
use crate::request::{EnvironmentFlags, Format, Launch, MemoryFlags, Output};

#[derive(Args)]
pub(crate) struct LaunchArgs {
    #[command(flatten)]
    pub(crate) options: LaunchOptions,
    // Everything from the first word on that is not an option of ours.
    #[arg(help_heading = None::<&str>, value_hint = ValueHint::CommandWithArguments)]
    #[arg(trailing_var_arg = true, num_args = 1.., hide = true)]
    pub(crate) command: Vec<OsString>,
}

pub(crate) fn read(args: LaunchArgs, reader: &mut Reader) -> Launch {
    let LaunchArgs {
        mut options,
        command,
    } = args;
    reader.split_off(&command);
    let output = read_output(&mut options, reader);
    Launch {
        output,
        ..read_described(options, command, reader)
    }
}

pub(crate) fn without_command(launch: &Launch) -> Option<Problem> {
    if !launch.command.is_empty() {
        return None;
    }
    let config = launch.deepspeed.as_ref();
    let config = config.map_or("zero2", |config| &config.value);
    Some(report::nothing_to_launch(launch.subcommand, config))
}

/// The request, unless something is wrong about the words or the command is no program.
pub(crate) fn finish(
    launch: Launch,
    mut reader: Reader,
    run: impl FnOnce(Launch, &Host) -> Result<u8, Vec<Problem>> + 'static,
) -> Requested {
    let first = launch.command.first();
    let is_program = first.is_some_and(|word| reader.host.find_program(word).is_some());
    // `--set KEY VALUE`, which is refused already, leaves the value in the place of the command.
    let is_stray = !reader.problems.is_empty() && !is_program;
    let other = if is_stray {
        None
    } else {
        did_you_mean(&reader, &launch.command)
    };
    let has_meaning = first.is_some() && !is_stray && other.is_none();
    reader.problems.extend(other);
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

impl<F: FnOnce(Launch, &Host) -> Result<u8, Vec<Problem>> + 'static> Request for LaunchRequest<F> {
    fn run(mut self: Box<Self>, host: &Host) -> Result<u8, Vec<Problem>> {
        self.launch.read_piped_config(host)?;
        (self.run)(*self.launch, host)
    }

    fn into_launch(self: Box<Self>) -> Option<Box<Launch>> {
        Some(self.launch)
    }
}

pub(crate) fn read_described(
    options: LaunchOptions,
    command: Vec<OsString>,
    reader: &mut Reader,
) -> Launch {
    let LaunchOptions {
        config,
        ranks,
        environment,
        output,
    } = options;
    Launch {
        deepspeed: reader.option("deepspeed", config.deepspeed, values::text),
        search: reader.search(config.search),
        layers: reader.layers(config.layers),
        memory: MemoryFlags {
            gpu: reader.option(
                "gpu_memory",
                config.gpu_memory,
                values::memory(cards::parse_memory, "80GiB"),
            ),
            host: reader.option(
                "host_memory",
                config.host_memory,
                values::memory(parse_bytes, "1TiB"),
            ),
            seq_len: reader.option(
                "seq_len",
                config.seq_len,
                values::number(1, u64::from(u32::MAX), "1024"),
            ),
        },
        no_fill: reader.switch("no_fill", config.no_fill).is_some(),
        trainer: reader.option("trainer", ranks.trainer, one_of(TRAINERS)),
        launcher: reader
            .option("launcher", ranks.launcher, one_of(LAUNCHERS))
            .and_then(|asked| Some(Sourced::new(asked.value?, asked.from))),
        topology: RankFlags {
            nnodes: reader.option("nnodes", ranks.nnodes, values::number(1, u32::MAX, "1")),
            node_rank: reader.option(
                "node_rank",
                ranks.node_rank,
                values::number(0, u32::MAX, "1"),
            ),
            nproc_per_node: reader.option(
                "nproc_per_node",
                ranks.nproc_per_node,
                values::processes,
            ),
            master_addr: reader.option("master_addr", ranks.master_addr, values::text),
            master_port: reader.option(
                "master_port",
                ranks.master_port,
                values::number(1, u16::MAX, "29500"),
            ),
        },
        hosts: HostFlags {
            hostfile: reader.option("hostfile", ranks.hostfile, values::path),
            include: reader.option("include", ranks.include, values::text),
            exclude: reader.option("exclude", ranks.exclude, values::text),
        },
        launcher_args: reader
            .options("launcher_arg", ranks.launcher_arg, values::path)
            .into_iter()
            .map(|word| word.value.into_os_string())
            .collect(),
        rank_output: OutputFlags {
            log_dir: reader.option("log_dir", ranks.log_dir, values::path),
            prefix: reader.switch("prefix", ranks.prefix),
        },
        environment: EnvironmentFlags {
            set: reader.options(
                "env",
                environment.env,
                values::variable_assignment(reader.words),
            ),
            unset: reader.options("unset_env", environment.unset_env, values::variable_name),
        },
        config_out: reader.option("config_out", config.config_out, values::path),
        record: reader.option("record", output.record, values::path),
        strict: reader.switch("strict", output.strict).is_some(),
        allow: reader
            .options("allow", output.allow, values::allowed)
            .into_iter()
            .map(|rule| rule.value)
            .collect(),
        warnings: std::mem::take(&mut reader.warnings)
            .into_iter()
            .chain(given_twice(reader))
            .collect(),
        command,
        subcommand: reader.place,
        options: reader.options.to_vec(),
        output: Output::default(),
        rehearsed: false,
    }
}

/// An option that takes one value and has two: the last counts, as a wrapper script may want it.
fn given_twice(reader: &Reader) -> Vec<Problem> {
    let mut given: Vec<Place> = Vec::new();
    let mut problems = Vec::new();
    let mut words = reader.options.iter().map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        let long = word.strip_prefix("--");
        let option = long.and_then(|long| option_named(|| reader.command.get_arguments(), long));
        let Some(option) = option.filter(|option| takes_value(option)) else {
            continue;
        };
        let value = match word.split_once('=') {
            Some((_, value)) => value.to_string(),
            None => words.next().unwrap_or_default().into_owned(),
        };
        let name = flag(option);
        let place = Place::option(&name, &value);
        let of_option =
            |other: &&Place| matches!(other, Place::Option { option, .. } if *option == name);
        let earlier = given
            .iter()
            .filter(of_option)
            .find(|other| **other != place);
        if let (Some(earlier), ArgAction::Set) = (earlier, option.get_action()) {
            let what = format!("`{name}` is set twice; `{value}` is used");
            let problem = Problem::warning(Rule::GivenTwice, what)
                .at(earlier.clone())
                .at(place.clone());
            problems.push(problem.fix(drop_word(earlier)));
        }
        given.push(place);
    }
    problems
}

fn read_output(options: &mut LaunchOptions, reader: &mut Reader) -> Output {
    let output = &mut options.output;
    let is_launch = reader.place.is_empty();
    let dry_run = reader.switch("dry_run", output.dry_run);
    let is_printed = !is_launch || dry_run.is_some();
    if output.format.is_some() && !is_printed {
        let problem = Problem::error(Rule::Usage, "`--format` only works with a printed plan");
        reader
            .problems
            .push(problem.at("--format").fix(give("--dry-run", "")));
    }
    // Its value is already in use; here it is only checked.
    reader.option("color", output.color.take(), one_of(COLORS));
    let formats = if is_launch { FORMATS } else { REPORT_FORMATS };
    let format = reader.option("format", output.format.take(), one_of(formats));
    Output {
        dry_run: is_printed.then(|| format.map_or(Format::Text, |format| format.value)),
        quiet: reader.switch("quiet", output.quiet).is_some(),
        verbose: reader.switch("verbose", output.verbose).is_some(),
        check: false,
        fix: false,
    }
}
