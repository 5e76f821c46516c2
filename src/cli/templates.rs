//! `zlaunch templates`.

use clap::{Arg, Command};

use super::args::{ParsedArgs, arg};
use super::{launch, values};
use crate::base::options::launch::TEMPLATE_DIR;
use crate::base::options::{TEMPLATES, templates};
use crate::base::source::Sourced;
use crate::config::template::Search;
use crate::report::Problem;

pub(crate) struct TemplatesRequest {
    /// Without one, all are listed.
    pub(crate) name: Option<Sourced<String>>,
    pub(crate) raw: bool,
    pub(crate) search: Search,
}

const NAME: &str = "NAME";

pub(super) fn describe(command: Command) -> Command {
    command
        .arg(Arg::new(NAME).help("Print this template").value_parser(values::text()))
        .args(templates::ALL.iter().map(|option| arg(option).requires(NAME)))
        .arg(launch::launch_arg(&TEMPLATE_DIR))
}

pub(super) fn read(mut args: ParsedArgs) -> Result<TemplatesRequest, Vec<Problem>> {
    let name = args.argument(NAME, &TEMPLATES);
    let request = TemplatesRequest { name, raw: args.is_on(&templates::RAW), search: args.search() };
    args.finish(request)
}
