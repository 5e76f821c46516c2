//! `zlaunch explain`.

use clap::{Arg, Command};

use super::args::ParsedArgs;
use super::{launch, values};
use crate::base::options::EXPLAIN;
use crate::base::options::launch::TEMPLATE_DIR;
use crate::config::template::Search;
use crate::report::Problem;

pub(crate) struct ExplainRequest {
    /// Without any, what can be asked for is listed.
    pub(crate) words: Option<String>,
    pub(crate) search: Search,
}

const WORD: &str = "WORD";

pub(super) fn describe(command: Command) -> Command {
    let help = "A key, `stage 3`, a variable, a template, a rule; without one, list what can be explained";
    command
        .after_help("In Chinese if ZLAUNCH_LANG or the locale is zh, as far as it is translated.")
        .arg(Arg::new(WORD).num_args(0..).help(help).value_parser(values::text()))
        .arg(launch::launch_arg(&TEMPLATE_DIR))
}

pub(super) fn read(mut args: ParsedArgs) -> Result<ExplainRequest, Vec<Problem>> {
    let words = args.arguments::<String>(WORD, &EXPLAIN).join(" ");
    let request = ExplainRequest { words: Some(words).filter(|words| !words.trim().is_empty()), search: args.search() };
    args.finish(request)
}
