//! The arguments of a launch, which the sub-commands about one have too.

use std::ffi::OsString;

use clap::{ArgAction, Args, ValueHint};

use super::did_you_mean::did_you_mean;
use super::reader::{Reader, Refused, Request, Requested};
use super::values::{self, COLORS, FORMATS, LAUNCHERS, REPORT_FORMATS, TRAINERS, one_of};
use crate::base::options::{Given, LaunchOptions, flag, option_named, takes_value};
use crate::base::size::parse_bytes;
use crate::base::source::{Source, Sourced};
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
    let config = launch
        .deepspeed
        .as_ref()
        .map_or("zero2", |config| &config.value);
    launch
        .command
        .is_empty()
        .then(|| report::nothing_to_launch(launch.subcommand, config))
}

/// The request, unless something is wrong about the words or the command is no program.
pub(crate) fn finish(
    mut launch: Launch,
    mut reader: Reader,
    run: impl FnOnce(Launch, &Host) -> Result<u8, Vec<Problem>> + 'static,
) -> Requested {
    let is_program = |word: &OsString| reader.host.find_program(word).is_some();
    // `--set KEY VALUE`, which is refused already, leaves the value in the place of the command.
    if !reader.problems.is_empty() && launch.command.first().is_some_and(|word| !is_program(word)) {
        let dashes = launch.command.iter().position(|word| word == "--");
        let stray = dashes.map_or_else(
            || launch.command.get(1).is_none_or(is_program).into(),
            |at| at + 1,
        );
        launch.command.drain(..stray);
    }
    let other = did_you_mean(&reader, &launch.command);
    let has_meaning = other.is_none() && !launch.command.is_empty();
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
        deepspeed: reader.one(config.deepspeed, values::text),
        search: reader.search(config.search),
        layers: reader.layers(config.layers),
        memory: MemoryFlags {
            gpu: reader.one(
                config.gpu_memory,
                values::memory(cards::parse_memory, "80GiB"),
            ),
            host: reader.one(config.host_memory, values::memory(parse_bytes, "1TiB")),
            seq_len: reader.one(
                config.seq_len,
                values::number(1, u64::from(u32::MAX), "1024"),
            ),
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
        launcher_args: ranks
            .launcher_arg
            .into_iter()
            .map(|word| word.value)
            .collect(),
        rank_output: OutputFlags {
            log_dir: reader.one(ranks.log_dir, values::path),
            prefix: ranks.prefix.then(|| {
                let is_said = reader.options.iter().any(|word| word == "--prefix");
                if is_said {
                    Source::Flag("--prefix".into())
                } else {
                    Source::Variable("ZLAUNCH_PREFIX".into())
                }
            }),
        },
        environment: EnvironmentFlags {
            set: reader.many(environment.env, values::variable_assignment(reader.words)),
            unset: reader.many(environment.unset_env, values::variable_name),
        },
        config_out: reader.one(config.config_out, values::path),
        record: reader.one(output.record, values::path),
        strict: output.strict,
        allow: reader
            .many(output.allow, values::allowed)
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
    let mut given: Vec<(String, String)> = Vec::new();
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
        let earlier = given
            .iter()
            .find(|(earlier, other)| *earlier == name && *other != value);
        if let (Some((_, earlier)), ArgAction::Set) = (earlier, option.get_action()) {
            let what = format!("`{name}` is set twice; `{value}` is used");
            let problem =
                Problem::warning(Rule::GivenTwice, what).at(Place::option(&name, earlier));
            problems.push(
                problem
                    .at(Place::option(&name, &value))
                    .fix(drop_word(format_args!("{name} {earlier}"))),
            );
        }
        given.push((name, value));
    }
    problems
}

fn read_output(options: &mut LaunchOptions, reader: &mut Reader) -> Output {
    let given: Option<Given> = options.output.format.take();
    let is_launch = reader.place.is_empty();
    let dry_run = !is_launch || options.output.dry_run;
    if given.as_ref().is_some_and(|format| format.from.is_flag()) && !dry_run {
        let problem = Problem::error(Rule::Usage, "`--format` only works with a printed plan");
        reader
            .problems
            .push(problem.at("--format").fix(give("--dry-run", "")));
    }
    // Its value is already in use; here it is only checked.
    reader.one(options.output.color.take(), one_of(COLORS));
    let format = reader.one(
        given,
        one_of(if is_launch { FORMATS } else { REPORT_FORMATS }),
    );
    Output {
        dry_run: dry_run.then(|| format.map_or(Format::Text, |format| format.value)),
        quiet: options.output.quiet,
        verbose: options.output.verbose,
        check: false,
        fix: false,
    }
}
