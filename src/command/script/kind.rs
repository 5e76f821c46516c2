//! Whose script it is: one that hands the config to transformers' `Trainer`, or one that hands it to DeepSpeed itself.

use super::calls::{HANDBOOK, PARSERS};
use super::tokens::{Token, tokens};
use crate::command::script_source::ScriptSource;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScriptKind {
    /// It uses the Trainer of transformers or TRL.
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
    let found: Vec<ScriptKind> = source.modules().iter().map(|module| of_text(&module.text)).collect();
    let first = |wanted: ScriptKind| found.contains(&wanted).then_some(wanted);
    first(ScriptKind::Hf).or(first(ScriptKind::RawDeepSpeed)).unwrap_or(ScriptKind::Unknown)
}

/// Who reads a JSON or YAML file that stands in front of the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunFileReader {
    /// transformers, and only if it stands alone. So it is taken where the script shows nothing.
    Transformers,
    /// The parser of the alignment handbook, which takes `--name=value` behind it.
    Handbook,
    /// The script itself: the file is its own, and options are read by another parser.
    Nobody,
}

pub(crate) fn run_file_reader(source: &ScriptSource) -> RunFileReader {
    const FILES: &[&str] = &["parse_json_file", "parse_yaml_file", "parse_dict"];
    const OPTIONS: &[&str] = &[
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
    match () {
        () if has(&[HANDBOOK]) => RunFileReader::Handbook,
        () if has(FILES) => RunFileReader::Transformers,
        () if has(OPTIONS) => RunFileReader::Nobody,
        () => RunFileReader::Transformers,
    }
}

/// A sign may stand in a comment or a text, so the words are looked at where several are there.
fn of_text(text: &str) -> ScriptKind {
    let has = |signs: &[&str]| signs.iter().any(|sign| text.contains(sign));
    let (hf, plain) = (has(&["TrainingArguments"]) || has(PARSERS), has(&["initialize(", "add_config_arguments("]));
    if hf && !plain {
        return ScriptKind::Hf;
    }
    if !hf && !plain && !text.contains("Trainer") {
        return ScriptKind::Unknown;
    }
    let tokens = tokens(text);
    match () {
        () if uses_trainer(&tokens) => ScriptKind::Hf,
        () if calls_deepspeed(&tokens) => ScriptKind::RawDeepSpeed,
        () => ScriptKind::Unknown,
    }
}

fn uses_trainer(tokens: &[Token]) -> bool {
    let named = |token: &Token| PARSERS.iter().chain(&["TrainingArguments"]).any(|name| token.is(name));
    let trainer = |token: &Token| token.text.ends_with("Trainer") || token.text.ends_with("TrainingArguments");
    let package = |token: &Token| token.is("transformers") || token.is("trl");
    let imports = |at: usize| {
        let statement = tokens[at + 1..].iter().take_while(|token| token.indent.is_none());
        tokens[at].is("from") && tokens.get(at + 1).is_some_and(package) && statement.clone().any(trainer)
    };
    let attribute = |at: usize| package(&tokens[at]) && tokens.get(at + 2).is_some_and(trainer);
    tokens.iter().any(|token| named(token) && token.indent.is_none())
        || (0..tokens.len()).any(|at| imports(at) || attribute(at))
}

/// `deepspeed.initialize(…)`, also by another name of the module, and DeepSpeed's own arguments.
fn calls_deepspeed(tokens: &[Token]) -> bool {
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.is(text));
    let alias = (0..tokens.len()).find(|at| is(*at, "import") && is(at + 1, "deepspeed") && is(at + 2, "as"));
    let alias = alias.and_then(|at| tokens.get(at + 3)).map_or("deepspeed", |token| token.text);
    let imported = tokens.iter().any(|token| token.is("deepspeed"));
    (0..tokens.len()).any(|at| {
        let of_module = at > 1 && is(at - 1, ".") && (is(at - 2, "deepspeed") || is(at - 2, alias));
        let bare = imported && (at == 0 || !is(at - 1, ".") && !is(at - 1, "def"));
        (of_module || bare) && is(at + 1, "(") && (is(at, "initialize") || is(at, "add_config_arguments"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_told_apart_by_what_they_call() {
        for (script, expected) in [
            ("import deepspeed\nengine, *_ = deepspeed.initialize(args)\n", ScriptKind::RawDeepSpeed),
            ("import deepspeed as ds\nengine = ds.initialize(args)\n", ScriptKind::RawDeepSpeed),
            ("from deepspeed import initialize\nengine = initialize(args)\n", ScriptKind::RawDeepSpeed),
            ("import deepspeed\nparser = deepspeed.add_config_arguments(parser)\n", ScriptKind::RawDeepSpeed),
            // Its own Trainer.
            ("import deepspeed\nfrom trainer import Trainer\ndeepspeed.initialize()\n", ScriptKind::RawDeepSpeed),
            ("import deepspeed\n# unlike HfArgumentParser\ndeepspeed.initialize()\n", ScriptKind::RawDeepSpeed),
            ("from trainer import Trainer\n", ScriptKind::Unknown),
            ("import torch.distributed as dist\ndist.initialize()\n", ScriptKind::Unknown),
            ("# deepspeed.initialize()\n", ScriptKind::Unknown),
            // A reference model beside the one that is trained.
            (
                "from trl import DPOConfig, DPOTrainer\nimport deepspeed\nref = deepspeed.initialize(model=ref)\n",
                ScriptKind::Hf,
            ),
            ("from transformers import (\n    Trainer,\n)\nimport deepspeed\ndeepspeed.initialize()\n", ScriptKind::Hf),
            ("import transformers\ndeepspeed.initialize()\ntransformers.Trainer()\n", ScriptKind::Hf),
            ("from transformers import TrainingArguments\n", ScriptKind::Hf),
            ("from transformers import Trainer\n", ScriptKind::Hf),
            ("", ScriptKind::Unknown),
        ] {
            assert_eq!(of_text(script), expected, "{script}");
        }
    }
}
