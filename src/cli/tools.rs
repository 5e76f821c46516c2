//! The sub-commands with few arguments: `templates`, `explain`, `schema`, `shims`, `completions` and `help`.

use clap::{Args, ValueHint};
use clap_complete::Shell;

use super::launch::TEMPLATES;
use super::reader::Reader;
use super::values::{self, Words, one_of};
use crate::base::options::{AnyValue, Given, LayerOptions, SUBCOMMANDS, SearchOptions};
use crate::report::{self, Problem};
use crate::tools::explain::ExplainRequest;
use crate::tools::schema::SchemaRequest;
use crate::tools::shims::{Action, Shims};
use crate::tools::templates::TemplatesRequest;

#[derive(Args)]
pub(super) struct TemplatesArgs {
    /// Print this template
    #[arg(value_parser = AnyValue(TEMPLATES))]
    name: Option<Given>,
    /// Print the file as it is
    #[arg(long, help_heading = "Output", requires = "name")]
    raw: bool,
    #[command(flatten, next_help_heading = "Config")]
    search: SearchOptions,
    #[command(flatten, next_help_heading = "Config")]
    layers: LayerOptions,
}

pub(super) fn read_templates(args: TemplatesArgs, mut reader: Reader) -> Result<TemplatesRequest, Vec<Problem>> {
    let name = reader.one(args.name, values::text);
    let (search, layers) = (reader.search(args.search), reader.layers(args.layers));
    reader.finish(TemplatesRequest { name, raw: args.raw, search, layers })
}

pub(super) const ABOUT_EXPLAIN: &str =
    "Help and explanations are in Chinese, where translated, if ZLAUNCH_LANG or the locale is zh.";

#[derive(Args)]
pub(super) struct ExplainArgs {
    /// A key, `stage 3`, a variable, a template, a rule; without one, list what can be explained
    word: Vec<Given>,
    #[command(flatten, next_help_heading = "Config")]
    search: SearchOptions,
}

pub(super) fn read_explain(args: ExplainArgs, mut reader: Reader) -> Result<ExplainRequest, Vec<Problem>> {
    let words = args.word.into_iter().filter_map(|word| reader.one(Some(word), values::text));
    let words: Vec<String> = words.map(|word| word.value).collect();
    let words = Some(words.join(" ")).filter(|words| !words.trim().is_empty());
    let search = reader.search(args.search);
    reader.finish(ExplainRequest { words, search })
}

pub(super) const ABOUT_SCHEMA: &str =
    "The descriptions are in Chinese if ZLAUNCH_LANG or the locale is zh. For editors, see docs/editors-and-python.md.";

#[derive(Args)]
#[command(next_help_heading = "Schema")]
pub(super) struct SchemaArgs {
    /// For this version of DeepSpeed; by default the one that is installed, else the newest known
    #[arg(long, value_name = "VERSION")]
    deepspeed_version: Option<Given>,
    /// For templates: with the `$zlaunch` header, and null removes a key
    #[arg(long)]
    template: bool,
}

pub(super) fn read_schema(args: SchemaArgs, mut reader: Reader) -> Result<SchemaRequest, Vec<Problem>> {
    let version = reader.one(args.deepspeed_version, values::release).map(|version| version.value);
    reader.finish(SchemaRequest { version, template: args.template })
}

pub(super) const SHIMS_USAGE: &str = "zlaunch shims install|remove|list [DIR]";

#[derive(Args)]
pub(super) struct ShimsArgs {
    #[arg(value_parser = AnyValue(ACTIONS))]
    action: Given,
    /// Where the shims are; by default ~/.local/share/zlaunch/shims
    #[arg(value_hint = ValueHint::DirPath)]
    dir: Option<Given>,
}

const ACTIONS: Words<Action> =
    || vec![("install", Action::Install), ("remove", Action::Remove), ("list", Action::List)];

pub(super) fn read_shims(args: ShimsArgs, mut reader: Reader) -> Result<Shims, Vec<Problem>> {
    let action = reader.one(Some(args.action), one_of(ACTIONS));
    let folder = reader.one(args.dir, values::path).map(|folder| folder.value);
    if folder.as_ref().is_some_and(|folder| folder.as_os_str().is_empty()) {
        reader.problems.push(report::missing_argument("DIR", SHIMS_USAGE));
    }
    match action {
        Some(action) if reader.problems.is_empty() => Ok(Shims::new(action.value, folder.as_deref(), reader.host)?),
        _ => Err(reader.problems),
    }
}

#[derive(Args)]
pub(super) struct CompletionsArgs {
    #[arg(value_parser = AnyValue(SHELLS))]
    pub(super) shell: Given,
}

pub(super) const SHELLS: Words<Shell> = || vec![("bash", Shell::Bash), ("zsh", Shell::Zsh), ("fish", Shell::Fish)];

pub(super) const ABOUT_HELP: &str =
    "See `zlaunch --help` for all launch options, and `zlaunch explain` for DeepSpeed's keys and variables.";

#[derive(Args)]
pub(super) struct HelpArgs {
    /// A command of zlaunch; without one, the overview
    #[arg(value_parser = AnyValue(COMMANDS))]
    pub(super) command: Option<Given>,
}

const COMMANDS: Words<()> = || SUBCOMMANDS.iter().map(|name| (*name, ())).collect();
