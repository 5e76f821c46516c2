//! Tells scripts that hand the config to transformers' `Trainer` from those that hand it to DeepSpeed themselves.

use super::source::{MOST_MODULES, ScriptSource};
use super::tokens::{Token, calls, imports, tokens};
use crate::command::python::is_standard;
use crate::command::tables::{CONFIG_USES, WITHOUT_DEEPSPEED};

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
    let modules = source.modules().iter();
    let found: Vec<ScriptKind> = modules.map(|module| of_text(&module.text)).collect();
    let mut kinds = [ScriptKind::Hf, ScriptKind::RawDeepSpeed].into_iter();
    kinds.find(|kind| found.contains(kind)).unwrap_or(own)
}

pub fn of_text(text: &str) -> ScriptKind {
    let tokens = tokens(text);
    let is_trainer = |name: &str| name.ends_with("Trainer") || name.ends_with("TrainingArguments");
    let is_hf = imports(&tokens).iter().any(|name| {
        is_trainer(name) && (name.starts_with("transformers.") || name.starts_with("trl."))
    });
    let names_hf = tokens.iter().zip(0..).any(|(token, at)| {
        let of_transformers =
            matches!(&tokens[..at], [.., module, dot] if module.is("transformers") && dot.is("."));
        token.is("TrainingArguments")
            || is_hf_parser(token)
            || of_transformers && is_trainer(token.text)
    });
    if is_hf || names_hf {
        ScriptKind::Hf
    } else if calls_deepspeed(&tokens) {
        ScriptKind::RawDeepSpeed
    } else {
        ScriptKind::Unknown
    }
}

pub(super) fn is_hf_parser(token: &Token) -> bool {
    token.is_one_of(PARSERS)
}

/// `deepspeed.initialize(…)`, also by another name of the module, and DeepSpeed's own arguments.
fn calls_deepspeed(tokens: &[Token]) -> bool {
    let renamed = tokens
        .windows(3)
        .find(|words| words[0].is("deepspeed") && words[1].is("as"));
    let alias = renamed.map_or("deepspeed", |words| words[2].text);
    let imported = tokens.iter().any(|token| token.is("deepspeed"));
    let starts = |token: &Token| token.is_one_of(&["initialize", "add_config_arguments"]);
    calls(tokens, starts).any(|call| match &tokens[..call.start - 2] {
        [.., module, dot] if dot.is(".") => module.is_one_of(&["deepspeed", alias]),
        _ => imported,
    })
}

/// Nothing in the script and its own modules can use a DeepSpeed config. False where some of it is not seen.
pub(crate) fn cannot_use_config(source: &ScriptSource) -> bool {
    let is_plain = |name: &String| {
        let top = name.split('.').next().unwrap_or_default();
        WITHOUT_DEEPSPEED.contains(&top) || is_standard(top) || source.has_beside(top)
    };
    let uses = |text: &str| {
        let code = text.lines().filter_map(|line| line.split('#').next());
        let mut signs =
            code.flat_map(|line| CONFIG_USES.iter().filter(|sign| line.contains(**sign)));
        signs.next().is_some() || !imports(&tokens(text)).iter().all(is_plain)
    };
    let modules = source.modules();
    modules.len() < MOST_MODULES
        && !uses(&source.text)
        && !modules.iter().any(|module| uses(&module.text))
}

pub(crate) fn uses_handbook(source: &ScriptSource) -> bool {
    source.mentions(HANDBOOK)
}

/// A JSON or YAML file in front of the arguments is for the script itself, and not for transformers' parser.
pub(crate) fn reads_own_file(source: &ScriptSource) -> bool {
    const FILES: &[&str] = &["parse_json_file", "parse_yaml_file", "parse_dict"];
    const PARSERS: &[&str] = &[
        "ArgumentParser",
        "add_argument",
        "TrlParser",
        "import fire",
        "hydra",
        "import click",
        "import tyro",
        "typer",
    ];
    let has = |signs: &[&str]| signs.iter().any(|sign| source.mentions(sign));
    !has(FILES) && has(PARSERS)
}
