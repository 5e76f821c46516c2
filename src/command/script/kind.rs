//! Tells scripts that hand the config to transformers' `Trainer` from those that hand it to DeepSpeed themselves.

use super::tokens::{Token, calls, tokens};
use crate::command::python::is_standard;
use crate::command::script_source::{MOST_MODULES, ScriptSource, imports};

/// Parsers that fill classes of arguments from the command line.
const PARSERS: &[&str] = &["HfArgumentParser", "TrlParser", HANDBOOK];
pub(super) const HANDBOOK: &str = "H4ArgumentParser";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptKind {
    Hf,
    /// It calls `deepspeed.initialize`, and no Trainer is seen.
    RawDeepSpeed,
    Unknown,
}

/// By the script itself; where it shows nothing, by its own modules.
pub(crate) fn script_kind(source: &ScriptSource) -> ScriptKind {
    let own = of_text(&source.text);
    if own != ScriptKind::Unknown {
        return own;
    }
    let found: Vec<ScriptKind> = source
        .modules()
        .iter()
        .map(|module| of_text(&module.text))
        .collect();
    let kinds = [ScriptKind::Hf, ScriptKind::RawDeepSpeed];
    kinds
        .into_iter()
        .find(|kind| found.contains(kind))
        .unwrap_or(ScriptKind::Unknown)
}

/// Packages that cannot train with DeepSpeed, or only by what `USES` names.
const WITHOUT_DEEPSPEED: &str = include_str!("without_deepspeed.txt");

/// What uses a config, or runs code that is not seen.
const USES: &str = "deepspeed DeepSpeed Trainer TrainingArguments HfArgumentParser importlib __import__ runpy exec( \
    subprocess os.system os.exec";

/// Nothing in the script and its own modules can use a DeepSpeed config. False where some of it is not seen.
pub(crate) fn cannot_use_config(source: &ScriptSource) -> bool {
    let uses = |text: &str| {
        let mut code = text
            .lines()
            .map(|line| line.split('#').next().unwrap_or_default());
        code.any(|line| USES.split(' ').any(|sign| line.contains(sign)))
            || imports(text).iter().any(|name| !is_plain(name, source))
    };
    let modules = source.modules();
    !uses(&source.text)
        && modules.len() < MOST_MODULES
        && !modules.iter().any(|module| uses(&module.text))
}

fn is_plain(name: &str, source: &ScriptSource) -> bool {
    let top = name.split('.').next().unwrap_or_default();
    WITHOUT_DEEPSPEED.lines().any(|plain| plain == top)
        || is_standard(top)
        || source.has_beside(top)
}

pub(crate) fn uses_handbook(source: &ScriptSource) -> bool {
    source.mentions(HANDBOOK)
}

/// A JSON or YAML file in front of the arguments is for the script itself, and not for transformers' parser.
pub(crate) fn reads_own_file(source: &ScriptSource) -> bool {
    const FILES: &str = "parse_json_file|parse_yaml_file|parse_dict";
    const OPTIONS: &str =
        "ArgumentParser|add_argument|TrlParser|import fire|hydra|import click|import tyro|typer";
    let has = |signs: &str| signs.split('|').any(|sign| source.mentions(sign));
    !has(FILES) && has(OPTIONS)
}

pub fn of_text(text: &str) -> ScriptKind {
    let has = |signs: &[&str]| signs.iter().any(|sign| text.contains(sign));
    let hf = has(&["TrainingArguments"]) || has(PARSERS);
    match (hf, has(&["initialize(", "add_config_arguments("])) {
        (true, false) => return ScriptKind::Hf,
        (false, false) if !text.contains("Trainer") => return ScriptKind::Unknown,
        // A sign may be in a comment or a string, so the tokens decide where there are several.
        _ => {}
    }
    let (tokens, imported) = (tokens(text), imports(text));
    let is_trainer = |name: &str| name.ends_with("Trainer") || name.ends_with("TrainingArguments");
    let mut of_hf = imported
        .iter()
        .filter(|name| name.starts_with("transformers.") || name.starts_with("trl."));
    let is_hf = of_hf.any(|name| is_trainer(name))
        || tokens
            .iter()
            .any(|token| token.is("TrainingArguments") || is_hf_parser(token))
        || tokens.windows(3).any(|words| {
            words[0].is("transformers") && words[1].is(".") && is_trainer(words[2].text)
        });
    if is_hf {
        ScriptKind::Hf
    } else if calls_deepspeed(&tokens) {
        ScriptKind::RawDeepSpeed
    } else {
        ScriptKind::Unknown
    }
}

pub(super) fn is_hf_parser(token: &Token) -> bool {
    PARSERS.iter().any(|parser| token.is(parser))
}

/// `deepspeed.initialize(…)`, also by another name of the module, and DeepSpeed's own arguments.
fn calls_deepspeed(tokens: &[Token]) -> bool {
    let renamed = tokens
        .windows(3)
        .find(|words| words[0].is("deepspeed") && words[1].is("as"));
    let alias = renamed.map_or("deepspeed", |words| words[2].text);
    let imported = tokens.iter().any(|token| token.is("deepspeed"));
    let mut started = calls(tokens, |token| {
        token.is("initialize") || token.is("add_config_arguments")
    });
    started.any(|call| match &tokens[..call.start - 2] {
        [.., module, dot] if dot.is(".") => module.is("deepspeed") || module.is(alias),
        _ => imported,
    })
}
