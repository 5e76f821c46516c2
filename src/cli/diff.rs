//! `zlaunch diff`: two configs, or one and what a launch would use.

use std::ffi::OsString;

use clap::Args;

use super::launch::{self, TEMPLATES};
use super::reader::Reader;
use super::values::{self, one_of};
use crate::base::options::{AnyValue, Given, LaunchOptions};
use crate::base::source::{Source, Sourced};
use crate::report::{self, Problem};
use crate::request::{Format, Launch, Output};
use crate::tools::diff::DiffRequest;

pub(super) const USAGE: &str = "zlaunch diff [OPTIONS] A B|A -- COMMAND [ARGS]...";

pub(super) const ABOUT: &str =
    "A config is a template, a file, JSON, `-` (standard input) or the folder of a record. With a command, B is what \
    this launch would use, and every launch option works. For a record, the environment, the arguments and the \
    versions are compared too.
~ differs, - only in A, + only in B, = only in one and the default anyway

Examples:
  zlaunch diff zero2 zero3
  zlaunch diff zero3 ds_config.json
  zlaunch diff zero3 --deepspeed zero3 -- swift sft --model Qwen/Qwen3-8B
  zlaunch diff record --deepspeed zero3 -- swift sft --model Qwen/Qwen3-8B";

#[derive(Args)]
pub(super) struct DiffArgs {
    /// The configs to compare
    #[arg(required = true, num_args = 1..=2, value_names = ["A", "B"], value_parser = AnyValue(TEMPLATES))]
    configs: Vec<Given>,
    #[command(flatten)]
    launch: LaunchOptions,
    #[arg(last = true, num_args = 1.., hide = true)]
    command: Vec<OsString>,
}

pub(super) fn read(args: DiffArgs, mut reader: Reader) -> Result<DiffRequest, Vec<Problem>> {
    let DiffArgs { configs, launch: mut options, command } = args;
    reader.split_off(&command);
    // ZLAUNCH_FORMAT is about plans.
    let format = options.output.format.take().filter(|format| format.from.is_flag());
    let specs: Vec<_> = configs.into_iter().filter_map(|config| reader.one(Some(config), values::text)).collect();
    let launch = launch::read_described(options, command, &mut reader);
    let wanted = if launch.command.is_empty() { 2 } else { 1 };
    if specs.len() < wanted {
        reader.problems.push(report::missing_argument("two configs", USAGE));
    } else if specs.len() > wanted {
        reader.problems.push(report::unexpected_argument(&specs[wanted].value, USAGE));
    }
    let format = reader.one(format, one_of(launch::REPORT_FORMATS)).map_or(Format::Text, |format| format.value);
    let output = Output { dry_run: Some(format), ..Output::default() };
    // What would be recorded is compared with a record; nothing is written.
    let record = Some(Sourced::new(".".into(), Source::Default));
    reader.finish(DiffRequest { specs, launch: Launch { record, output, ..launch }, format })
}
