//! `zlaunch diff`: two configs, or one and what a launch would use.

use clap::builder::ValueParser;
use clap::{Arg, Command};

use super::args::{ParsedArgs, last_command};
use super::launch;
use super::values::{self, Suggested, one_of};
use crate::base::options::launch::{ALL as LAUNCH, FORMAT};
use crate::base::options::{DIFF, DIFF_OF_LAUNCH};
use crate::base::source::{Source, Sourced};
use crate::report::{self, Problem};
use crate::request::{Format, Launch, Output};
use crate::tools::diff::DiffRequest;

const CONFIGS: &str = "CONFIGS";

const AFTER_HELP: &str =
    "A config is a template, a file, JSON, `-` (standard input) or the folder of a record. With a command, B is what \
    this launch would use, and all options of a launch are accepted. Of a record, the environment, the words and the \
    versions are compared too.
~ differs, - only in A, + only in B, = only in one and the default anyway

Examples:
  zlaunch diff zero2 zero3
  zlaunch diff zero3 ds_config.json
  zlaunch diff zero3 --deepspeed zero3 -- swift sft --model Qwen/Qwen3-8B
  zlaunch diff record --deepspeed zero3 -- swift sft --model Qwen/Qwen3-8B";

pub(super) fn describe(command: Command) -> Command {
    let configs = Arg::new(CONFIGS).num_args(1..=2).required(true).value_parser(ValueParser::os_string());
    command
        .after_help(AFTER_HELP)
        .arg(configs.value_names(["A", "B"]).help("The configs to compare"))
        .args(LAUNCH.iter().map(|option| launch::launch_arg(option).hide(!DIFF_OF_LAUNCH.contains(option))))
        .mut_arg(FORMAT.name, |arg| arg.help("text or json").value_parser(Suggested(launch::REPORT_FORMATS)))
        .arg(last_command())
}

pub(super) fn read(args: ParsedArgs) -> Result<DiffRequest, Vec<Problem>> {
    let mut args = args.with_variables(launch::describe);
    let specs = args.arguments(CONFIGS, &DIFF, values::text);
    let launch = launch::read_described(&mut args);
    let wanted = if launch.command.is_empty() { 2 } else { 1 };
    if specs.len() < wanted {
        args.problems.push(report::missing_argument("two configs", DIFF.usage));
    } else if specs.len() > wanted {
        args.problems.push(report::unexpected_argument(&specs[wanted].value, DIFF.usage));
    }
    // ZLAUNCH_FORMAT is about plans.
    let format = args.flag(&FORMAT, one_of(launch::REPORT_FORMATS)).map_or(Format::Text, |format| format.value);
    let output = Output { dry_run: Some(format), ..Output::default() };
    // What would be recorded is compared with a record; nothing is written.
    let record = Some(Sourced::new(".".into(), Source::Default));
    args.finish(DiffRequest { specs, launch: Launch { output, record, ..launch }, format })
}
