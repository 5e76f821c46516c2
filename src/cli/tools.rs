//! The sub-commands with few arguments: `templates`, `explain`, `schema` and `shims`.

use clap::builder::ValueParser;
use clap::{Arg, Command, ValueHint};

use super::args::{ParsedArgs, arg};
use super::values::{self, Suggested, Words, one_of};
use crate::base::options::launch::{PATCH, SET, TEMPLATE_DIR, UNSET};
use crate::base::options::{EXPLAIN, SHIMS, TEMPLATES, schema, templates};
use crate::base::source::Sourced;
use crate::config::layers::Layers;
use crate::config::template::Search;
use crate::report::{self, Problem};
use crate::tools::schema::SchemaRequest;
use crate::tools::shims::{Action, Shims};

pub struct TemplatesRequest {
    /// Without one, all are listed.
    pub name: Option<Sourced<String>>,
    pub(crate) raw: bool,
    pub search: Search,
    pub(crate) layers: Layers,
}

pub struct ExplainRequest {
    /// Without any, what can be explained is listed.
    pub words: Option<String>,
    pub search: Search,
}

const NAME: &str = "NAME";
const WORD: &str = "WORD";
const ACTION: &str = "ACTION";
const DIR: &str = "DIR";

pub(super) fn describe_templates(command: Command) -> Command {
    command
        .arg(argument(NAME).help("Print this template"))
        .args(templates::ALL.iter().map(|option| arg(option).requires(NAME)))
        .arg(arg(&TEMPLATE_DIR))
        .args([PATCH, UNSET, SET].iter().map(|option| arg(option).requires(NAME)))
}

pub(super) fn read_templates(mut args: ParsedArgs) -> Result<TemplatesRequest, Vec<Problem>> {
    let name = args.arguments(NAME, &TEMPLATES, values::text).pop();
    let (raw, search, layers) = (args.is_on(&templates::RAW), args.search(), args.layers());
    let request = TemplatesRequest { name, raw, search, layers };
    args.finish(request)
}

pub(super) fn describe_explain(command: Command) -> Command {
    let help = "A key, `stage 3`, a variable, a template, a rule; without one, list what can be explained";
    command
        .after_help(
            "The help and what is translated of the explanations are in Chinese if ZLAUNCH_LANG or the locale is zh.",
        )
        .arg(argument(WORD).num_args(0..).help(help))
        .arg(arg(&TEMPLATE_DIR))
}

pub(super) fn read_explain(mut args: ParsedArgs) -> Result<ExplainRequest, Vec<Problem>> {
    let words = args.arguments(WORD, &EXPLAIN, values::text).into_iter();
    let words: Vec<String> = words.map(|word| word.value).collect();
    let words = Some(words.join(" ")).filter(|words| !words.trim().is_empty());
    let request = ExplainRequest { words, search: args.search() };
    args.finish(request)
}

fn argument(id: &'static str) -> Arg {
    Arg::new(id).value_parser(ValueParser::os_string())
}

fn folder(help: &'static str) -> Arg {
    argument(DIR).help(help).value_hint(ValueHint::DirPath)
}

pub(super) fn describe_schema(command: Command) -> Command {
    command
        .after_help("The descriptions are in Chinese if ZLAUNCH_LANG or the locale is zh. docs/editor.md shows how editors use it.")
        .args(schema::ALL.iter().map(arg))
}

pub(super) fn read_schema(mut args: ParsedArgs) -> Result<SchemaRequest, Vec<Problem>> {
    let version = args.one(&schema::DEEPSPEED_VERSION, values::release).map(|version| version.value);
    let request = SchemaRequest { version, template: args.is_on(&schema::TEMPLATE) };
    args.finish(request)
}

const ACTIONS: Words<Action> =
    || vec![("install", Action::Install), ("remove", Action::Remove), ("list", Action::List)];

pub(super) fn describe_shims(command: Command) -> Command {
    command
        .arg(Arg::new(ACTION).required(true).value_parser(Suggested(ACTIONS)))
        .arg(folder("Where the shims are; by default ~/.local/share/zlaunch/shims"))
}

pub(super) fn read_shims(mut args: ParsedArgs) -> Result<Shims, Vec<Problem>> {
    let action = args.arguments(ACTION, &SHIMS, one_of(ACTIONS)).pop();
    let folder = args.arguments(DIR, &SHIMS, values::path).pop().map(|folder| folder.value);
    if folder.as_ref().is_some_and(|folder| folder.as_os_str().is_empty()) {
        args.problems.push(report::missing_argument(DIR, SHIMS.usage));
    }
    match action {
        Some(action) if args.problems.is_empty() => Ok(Shims::new(action.value, folder.as_deref(), args.host)?),
        _ => Err(args.problems),
    }
}
