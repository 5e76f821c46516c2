//! `zlaunch shims`.

use std::path::PathBuf;

use clap::{Arg, Command, ValueHint};

use super::args::ParsedArgs;
use super::values;
use crate::base::options::SHIMS;
use crate::report::{self, Problem};
use crate::tools::shims::{Action, Shims};

const ACTION: &str = "ACTION";
const DIR: &str = "DIR";

pub(super) fn describe(command: Command) -> Command {
    let action =
        values::one_of(|| vec![("install", Action::Install), ("remove", Action::Remove), ("list", Action::List)]);
    let folder = Arg::new(DIR).help("Where the shims are; by default ~/.local/share/zlaunch/shims");
    command
        .arg(Arg::new(ACTION).required(true).value_parser(action))
        .arg(folder.value_parser(values::path()).value_hint(ValueHint::DirPath))
}

pub(super) fn read(mut args: ParsedArgs) -> Result<Shims, Vec<Problem>> {
    let action = args.argument::<Action>(ACTION, &SHIMS);
    let folder = args.argument::<PathBuf>(DIR, &SHIMS).map(|folder| folder.value);
    // An empty word is a variable that was not set.
    if folder.as_ref().is_some_and(|folder| folder.as_os_str().is_empty()) {
        args.problems.push(report::missing_argument(DIR, SHIMS.usage));
    }
    match action {
        Some(action) if args.problems.is_empty() => Ok(Shims::new(action.value, folder.as_deref(), args.host)?),
        _ => Err(args.problems),
    }
}
