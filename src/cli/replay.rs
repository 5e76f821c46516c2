//! `zlaunch replay`.

use std::path::PathBuf;

use clap::{Arg, Command, ValueHint};

use super::args::{ParsedArgs, arg};
use super::values;
use crate::base::options::{REPLAY, replay};
use crate::report::{self, Problem};

pub(crate) struct ReplayRequest {
    pub(crate) folder: PathBuf,
    pub(crate) dry_run: bool,
}

const DIR: &str = "DIR";

pub(super) fn describe(command: Command) -> Command {
    let folder = Arg::new(DIR).required(true).help("The folder of the record");
    command.arg(folder.value_parser(values::path()).value_hint(ValueHint::DirPath)).args(replay::ALL.iter().map(arg))
}

pub(super) fn read(mut args: ParsedArgs) -> Result<ReplayRequest, Vec<Problem>> {
    let folder = args.argument::<PathBuf>(DIR, &REPLAY).map(|folder| folder.value).unwrap_or_default();
    // An empty word is a variable that was not set.
    if folder.as_os_str().is_empty() {
        args.problems.push(report::missing_argument(DIR, REPLAY.usage));
    }
    let request = ReplayRequest { folder: args.host.absolute(&folder), dry_run: args.is_on(&replay::DRY_RUN) };
    args.finish(request)
}
