//! A launch, and its two reports: `zlaunch check` and `zlaunch doctor`.

use std::ffi::OsString;
use std::path::Path;

use clap::{ArgAction, Args, Command, ValueHint};

use super::did_you_mean::did_you_mean;
use super::reader::{Reader, Refused};
use super::values::{self, Words, one_of};
use crate::base::options::{AnyValue, Given, LaunchOptions, flag, launch_options, option_named, takes_value};
use crate::base::size::parse_bytes;
use crate::base::source::Sourced;
use crate::check;
use crate::command::job::Trainer;
use crate::command::trainer;
use crate::config::template::Search;
use crate::config::template::search::BUILT_IN;
use crate::fit::cards;
use crate::host::Host;
use crate::ranks::launcher::{Launcher, OutputFlags};
use crate::ranks::topology::{HostFlags, RankFlags};
use crate::report::fix::{drop_word, give, run};
use crate::report::{self, Place, Problem, Rule};
use crate::request::{EnvironmentFlags, Format, Launch, MemoryFlags, Output};

#[derive(Args)]
pub(super) struct LaunchArgs {
    #[command(flatten)]
    pub(super) options: LaunchOptions,
    // Everything from the first word on that is not an option of ours.
    #[arg(trailing_var_arg = true, num_args = 1.., hide = true, value_hint = ValueHint::CommandWithArguments)]
    pub(super) command: Vec<OsString>,
}

#[derive(Args)]
pub(super) struct CheckArgs {
    /// Make the safe corrections in the config files first
    #[arg(long, help_heading = "Output")]
    fix: bool,
    #[command(flatten)]
    launch: LaunchArgs,
}

pub(super) const ABOUT_CHECK: &str = "Nothing is launched. All launch options work here: see `zlaunch --help`.
Exit status: 1 if there is an error (with --strict: or a warning), else 0.

Examples:
  zlaunch check ds_config.json
  zlaunch check --fix ds_config.json
  zlaunch check --deepspeed zero3 -- swift sft --model Qwen/Qwen3-8B";

pub(super) const ABOUT_DOCTOR: &str =
    "It shows no secrets, so you can paste it into an issue. All launch options work here: see `zlaunch --help`.

Examples:
  zlaunch doctor
  zlaunch doctor --deepspeed zero3 -- swift sft --model Qwen/Qwen3-8B";

/// The options of a launch that the help of a sub-command shows. The others are accepted, so that a command can be pasted.
fn shown(subcommand: &str) -> &'static str {
    match subcommand {
        "check" | "rehearse" => {
            "deepspeed template_dir patch unset set no_fill nproc_per_node nnodes launcher trainer env format strict allow color quiet"
        }
        "doctor" => {
            "deepspeed template_dir nproc_per_node nnodes node_rank master_addr master_port launcher trainer env unset_env format"
        }
        "fit" => "deepspeed template_dir gpu_memory host_memory seq_len nproc_per_node nnodes trainer format",
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
        "color" => arg.value_parser(AnyValue(COLORS)),
        _ => arg,
    })
}

const CONFIGS: Words<()> = || [("auto", ())].into_iter().chain(TEMPLATES()).collect();
pub(super) const TEMPLATES: Words<()> = || BUILT_IN.iter().map(|(name, _)| (*name, ())).collect();
const FORMATS: Words<Format> = || vec![("text", Format::Text), ("json", Format::Json), ("shell", Format::Shell)];
pub(super) const REPORT_FORMATS: Words<Format> = || vec![("text", Format::Text), ("json", Format::Json)];
pub(super) const COLORS: Words<()> = || vec![("auto", ()), ("always", ()), ("never", ())];
const LAUNCHERS: Words<Option<Launcher>> = || Launcher::NAMES.to_vec();
const TRAINERS: Words<&Trainer> = || trainer::ALL.iter().map(|trainer| (trainer.name, *trainer)).collect();
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
        reader.problems.push(report::nothing_to_launch(mode.subcommand(), config));
    } else if !has_command && mode == Mode::Check {
        reader.problems.push(Problem::error(Rule::Usage, "there is nothing to check").at("zlaunch check").fix(
            "zlaunch check ds_config.json, or zlaunch check --deepspeed zero2 -- swift sft --model Qwen/Qwen3-8B",
        ));
    }
    let configs = mode == Mode::Check && is_configs(&launch, reader.host);
    let other = did_you_mean(mode.subcommand(), reader.options, &launch.command, reader.host).filter(|_| !configs);
    let has_meaning = has_command && mode != Mode::Doctor && !configs && other.is_none();
    reader.problems.extend(other);
    let (subcommand, options) = (mode.subcommand(), reader.options.to_vec());
    let launch = Box::new(Launch { subcommand, options, output, ..launch });
    if reader.problems.is_empty() {
        return Ok(launch);
    }
    Err(Refused { problems: reader.problems, meant: has_meaning.then_some(launch) })
}

/// `check` looks at a launch, or at configs in the place of the command or in that of `--deepspeed` alone.
pub(super) fn read_check(CheckArgs { fix, launch: args }: CheckArgs, reader: Reader) -> Result<Box<Launch>, Refused> {
    let host = reader.host;
    let config = &args.options.config.deepspeed;
    let alone = args.command.is_empty() && config.as_ref().is_some_and(|config| config.from.is_flag());
    let mut launch = read(args, reader, if alone { Mode::CheckConfigs } else { Mode::Check })?;
    launch.output.fix = fix;
    if fix && !is_configs(&launch, host) {
        let what = "`--fix` mends the files of configs, not a command";
        return Err(
            vec![Problem::error(Rule::Usage, what).at("--fix").fix(run("zlaunch check --fix ds_config.json"))].into()
        );
    }
    Ok(launch)
}

/// Whether every word of the command is a config.
pub(super) fn is_configs(launch: &Launch, host: &Host) -> bool {
    launch.command.iter().all(|word| is_config(word, &launch.search, host))
}

/// By its form, or because it is a file that nothing runs.
pub(super) fn is_config(word: &OsString, search: &Search, host: &Host) -> bool {
    let path = host.absolute(Path::new(word));
    let runs = path.extension().is_some_and(|ending| ["py", "sh", "yaml", "yml"].iter().any(|known| ending == *known));
    let is_file = || path.is_file() && !runs && host.find_program(word).is_none();
    word.to_str().is_some_and(|word| search.is_config(word)) || is_file()
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
            seq_len: reader.one(config.seq_len, values::number(1, u64::from(u32::MAX), "1024")),
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
        warnings: std::mem::take(&mut reader.warnings).into_iter().chain(given_twice(reader)).collect(),
        command,
        subcommand: "",
        options: Vec::new(),
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
        let option = option.filter(|option| takes_value(option));
        let Some(option) = option else { continue };
        let value = word.split_once('=').map(|(_, value)| value.to_string());
        let value = value.or_else(|| words.next().map(Into::into)).unwrap_or_default();
        let earlier = given.iter().find(|(name, earlier)| *name == flag(option) && *earlier != value);
        if let Some((name, earlier)) = earlier.filter(|_| matches!(option.get_action(), ArgAction::Set)) {
            let what = format!("`{name}` is given twice; `{value}` is used");
            let problem = Problem::warning(Rule::GivenTwice, what).at(Place::option(name, earlier));
            problems.push(problem.at(Place::option(name, &value)).fix(drop_word(format_args!("{name} {earlier}"))));
        }
        given.push((flag(option), value));
    }
    problems
}

fn read_output(options: &mut LaunchOptions, reader: &mut Reader, mode: Mode) -> Output {
    let given: Option<Given> = options.output.format.take();
    let is_launch = mode == Mode::Launch;
    let dry_run = !is_launch || options.output.dry_run;
    if given.as_ref().is_some_and(|format| format.from.is_flag()) && !dry_run {
        reader.problems.push(
            Problem::error(Rule::Usage, "`--format` only works with a printed plan")
                .at("--format")
                .fix(give("--dry-run", "")),
        );
    }
    // Who prints has looked at it already.
    reader.one(options.output.color.take(), one_of(COLORS));
    let format = reader.one(given, one_of(if is_launch { FORMATS } else { REPORT_FORMATS }));
    Output {
        dry_run: dry_run.then(|| format.map_or(Format::Text, |format| format.value)),
        quiet: options.output.quiet,
        verbose: options.output.verbose,
        check: matches!(mode, Mode::Check | Mode::CheckConfigs | Mode::Rehearse),
        fix: false,
    }
}
