//! The way of the arguments from the command line to the trainer, as far as the script and the modules of its own show it.
//! An argument counts as given only where nothing on that way changes it; where that is doubtful, the reason is told.

use std::ops::Range;

use super::calls::{PARSERS, calls};
use super::classes::{Classes, closing, keyword};
use super::declared::{Declared, declared};
use super::family::HANDBOOK;
use super::tokens::{Kind, Token, tokens};
use crate::command::python::is_standard;
use crate::command::script_source::ScriptSource;

/// What becomes of an argument that the command gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// The trainer gets it as transformers' parser reads it.
    AsGiven,
    /// It is a switch (`store_true`): the word behind it is not its value.
    Switch,
    /// The trainer may get something else, for this reason.
    Doubtful(String),
}

impl Passage {
    pub(crate) fn doubt(&self) -> Option<&str> {
        if let Passage::Doubtful(why) = self { Some(why) } else { None }
    }
}

/// What reads the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    /// `HfArgumentParser` and those derived from it.
    Hf,
    Argparse,
    /// A package that reads values by rules of its own.
    Other(&'static str),
    /// None is seen, although all of the script is.
    Nothing,
    /// None is seen, and the script runs code that is not.
    Elsewhere,
}

/// Packages that read a command line by rules of their own.
const OTHERS: &[&str] = &[
    "fire",
    "hydra",
    "tyro",
    "click",
    "typer",
    "jsonargparse",
    "simple_parsing",
    "draccus",
    "pyrallis",
    "tap",
    "docopt",
    "absl",
    "chz",
    "configargparse",
    "plac",
    "gin",
    "ml_collections",
    "sacred",
];
/// Packages that a training imports and that do not read its command line.
const LIBRARIES: &[&str] = &[
    "accelerate",
    "bitsandbytes",
    "datasets",
    "deepspeed",
    "evaluate",
    "huggingface_hub",
    "nltk",
    "numpy",
    "packaging",
    "pandas",
    "peft",
    "requests",
    "scipy",
    "sklearn",
    "tokenizers",
    "torch",
    "torchaudio",
    "torchvision",
    "tqdm",
    "transformers",
    "trl",
    "wandb",
    "yaml",
];
/// Whatever sets arguments by names that are not written out.
const OPAQUE: &[&str] = &[
    "parse_dict",
    "hyperparameter_search",
    "set_training",
    "set_optimizer",
    "set_lr_scheduler",
    "set_dataloader",
    "__dict__",
];
/// Methods that change a list: `sys.argv.remove(…)`.
const CHANGES: &[&str] = &["append", "extend", "insert", "remove", "pop", "clear"];
/// Calls that make a copy with other values, or change a mapping.
const COPIES: &[&str] = &["replace", "update", "evolve", "merge", "dict"];
/// What carries these names is part of a model, so that `setattr` on it changes no argument.
const PARTS_OF_MODELS: &[&str] = &[
    "model",
    "module",
    "layer",
    "parent",
    "tokenizer",
    "processor",
    "torch",
    "transformers",
    "nn",
    "block",
    "dataset",
];
const ASSIGNMENTS: &[&str] = &["=", "+=", "-=", "*=", "/=", "//=", "**=", "%=", "|=", ":="];

pub(crate) struct Way<'a> {
    pub(super) tokens: Vec<Token<'a>>,
    /// The files, each with where its tokens end. The script is the last.
    files: Vec<(usize, &'a str)>,
    pub(super) classes: Classes<'a>,
    pub(super) reader: Reader,
    /// The constructors of the trainer's arguments that are called.
    pub(super) made: Vec<Range<usize>>,
    /// Why no argument can be followed.
    lost: Option<String>,
}

impl<'a> Way<'a> {
    pub(crate) fn read(source: &'a ScriptSource) -> Self {
        let (mut all, mut files) = (Vec::new(), Vec::new());
        for module in source.modules().iter().rev() {
            all.extend(tokens(&module.text));
            files.push((all.len(), module.name.as_str()));
        }
        let own = all.len();
        all.extend(tokens(&source.text));
        files.push((all.len(), source.name()));
        let classes = Classes::read(&all);
        let made = calls(&all, |_| true).filter(|call| classes.at(&all, call.start - 2).is_some()).collect();
        let reader = reader(&all, own);
        let mut way = Way { tokens: all, files, classes, reader, made, lost: None };
        way.lost = way.lost();
        way
    }

    pub(super) fn name(&self) -> &'a str {
        self.files.last().map_or("", |(_, name)| name)
    }

    /// `train.py:57`.
    pub(super) fn place(&self, at: usize) -> String {
        let file = self.files.iter().find(|(end, _)| at < *end).map_or("", |(_, name)| name);
        format!("{file}:{}", self.tokens[at].line)
    }

    fn lost(&self) -> Option<String> {
        let name = self.name();
        match self.reader {
            Reader::Other(package) => return Some(format!("{name} reads its arguments by {package}")),
            Reader::Elsewhere => return Some(format!("it is not seen how {name} reads its arguments")),
            Reader::Nothing if !self.made.is_empty() => {
                return Some(format!("{} writes its arguments itself", self.place(self.made[0].start)));
            }
            Reader::Nothing => return None,
            Reader::Hf | Reader::Argparse => {}
        }
        let at = (0..self.tokens.len()).find(|at| self.is_opaque(*at))?;
        Some(format!("{} may set any argument", self.place(at)))
    }

    fn is_opaque(&self, at: usize) -> bool {
        let (tokens, token) = (&self.tokens, self.tokens[at]);
        let next = |step: usize| tokens.get(at + step).copied();
        let opens = next(1).is_some_and(|next| next.is("("));
        let arguments = |of: usize| of + 2..closing(tokens, of + 2);
        match token.text {
            _ if token.kind != Kind::Name => false,
            "argv" => {
                let assigned = self.is_assigned(at);
                assigned || next(1).is_some_and(|it| it.is(".")) && next(2).is_some_and(|it| CHANGES.contains(&it.text))
            }
            "setattr" if opens => {
                let call = &tokens[arguments(at)];
                let object: String = call.iter().take_while(|it| !it.is(",")).map(|it| it.text).collect();
                let name = call.iter().skip_while(|it| !it.is(",")).nth(1);
                let literal = name.is_some_and(|name| name.kind == Kind::Text);
                !literal && !PARTS_OF_MODELS.iter().any(|part| object.to_lowercase().contains(part))
            }
            "parse_args_into_dataclasses" | "parse_args_and_config" if opens => {
                let call = &tokens[arguments(at)];
                let named = call.get(1).is_some_and(|it| it.is("="));
                let given = keyword(call, "args").and_then(<[Token]>::first).is_some_and(|it| !it.is("None"));
                given || !call.is_empty() && !named && !call[0].is("None")
            }
            "parse_json_file" | "parse_yaml_file" if opens => {
                !tokens[arguments(at)].iter().any(|it| it.is("argv")) && self.reader == Reader::Hf
            }
            _ => OPAQUE.contains(&token.text) && (opens || token.text == "__dict__"),
        }
    }

    /// Whether the word stands on the left of an assignment.
    fn is_assigned(&self, at: usize) -> bool {
        let tokens = &self.tokens;
        let start = (0..=at).rev().find(|at| tokens[*at].indent.is_some()).unwrap_or(0);
        let mut depth = 0_i32;
        for (place, token) in tokens.iter().enumerate().skip(start) {
            match token.text {
                _ if place > at && token.indent.is_some() => return false,
                "(" | "[" | "{" if token.kind == Kind::Sign => depth += 1,
                ")" | "]" | "}" if token.kind == Kind::Sign => depth -= 1,
                sign if place > at && depth == 0 && token.kind == Kind::Sign && ASSIGNMENTS.contains(&sign) => {
                    return true;
                }
                _ => {}
            }
            if place == at && depth > 0 {
                return false;
            }
        }
        false
    }

    /// Where something sets the argument after it was read.
    pub(super) fn set_at(&self, argument: &str) -> Option<usize> {
        let tokens = &self.tokens;
        let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.is(text));
        let attribute = |at: usize| at > 0 && is(at - 1, ".") && self.is_assigned(at);
        let item = |at: usize| {
            let behind = tokens.get(at + 2).map_or("", |token| token.text);
            is(at + 1, "]") && ASSIGNMENTS.contains(&behind) || at > 3 && is(at - 1, ",") && is(at - 4, "setattr")
        };
        let found = (0..tokens.len()).filter(|at| tokens[*at].text == argument).find(|at| match tokens[*at].kind {
            Kind::Name => attribute(*at),
            Kind::Text => item(*at),
            Kind::Number | Kind::Sign => false,
        });
        found.or_else(|| {
            let mut copies = calls(tokens, |token| COPIES.iter().any(|name| token.is(name)));
            copies.find(|call| keyword(&tokens[call.clone()], argument).is_some()).map(|call| call.start)
        })
    }

    /// What becomes of every argument, where none must be looked at by itself.
    pub(super) fn told_of_all(&self) -> Option<Passage> {
        let nothing = || (self.reader == Reader::Nothing).then_some(Passage::AsGiven);
        self.lost.clone().map(Passage::Doubtful).or_else(nothing)
    }

    /// What becomes of an argument on its way.
    pub(crate) fn passage(&self, argument: &str) -> Passage {
        if let Some(passage) = self.told_of_all() {
            return passage;
        }
        if let Some(at) = self.set_at(argument) {
            return Passage::Doubtful(format!("{} sets {argument}", self.place(at)));
        }
        let declared = declared(&self.tokens, argument);
        if let Declared::Otherwise(at) = declared {
            return Passage::Doubtful(format!("{} reads --{argument} in another way", self.place(at)));
        }
        let in_class = self.reader == Reader::Hf && self.parses_class();
        if !in_class && (self.made.is_empty() || declared == Declared::Nowhere) {
            return Passage::Doubtful(format!("{} does not show what becomes of --{argument}", self.name()));
        }
        if let Some(call) = self.made.iter().find(|call| !self.hands_over((*call).clone(), argument)) {
            return Passage::Doubtful(format!("{} does not hand --{argument} on as it is", self.place(call.start)));
        }
        if declared == Declared::Switch { Passage::Switch } else { Passage::AsGiven }
    }

    /// Whether the parser fills a class of the trainer's arguments.
    pub(super) fn parses_class(&self) -> bool {
        let mut parsed = calls(&self.tokens, is_hf_parser).flatten();
        parsed.any(|at| self.classes.at(&self.tokens, at).is_some())
    }

    /// `TrainingArguments(learning_rate=args.learning_rate)`.
    fn hands_over(&self, call: Range<usize>, argument: &str) -> bool {
        let Some(value) = keyword(&self.tokens[call], argument) else { return false };
        let end = value.iter().position(|token| token.is(",") || token.is(")")).unwrap_or(value.len());
        match &value[..end] {
            [.., object, dot, name] => name.is(argument) && dot.is(".") && object.kind == Kind::Name && end == 3,
            _ => false,
        }
    }

    /// How the arguments are read, in a few words.
    pub(crate) fn in_words(&self) -> String {
        let read = match self.reader {
            Reader::Hf => "HfArgumentParser",
            Reader::Argparse => "argparse",
            Reader::Other(package) => package,
            Reader::Nothing | Reader::Elsewhere => {
                return format!("{}: nothing that reads arguments is seen", self.name());
            }
        };
        let class = self.made.first().map(|call| self.tokens[call.start - 2].text);
        let given = || calls(&self.tokens, is_hf_parser).flatten().find_map(|at| self.classes.at(&self.tokens, at));
        let class = class.or_else(|| given().map(|class| class.name));
        class.map_or_else(|| read.to_string(), |class| format!("{read} → {class}"))
    }
}

pub(super) fn is_hf_parser(token: &Token) -> bool {
    PARSERS.iter().chain(&[HANDBOOK]).any(|parser| token.is(parser))
}

/// `own`: where the tokens of the script itself start.
fn reader(tokens: &[Token], own: usize) -> Reader {
    let has = |from: usize, name: &str| tokens[from..].iter().any(|token| token.is(name));
    let imports = |from: usize| imported(&tokens[from..]);
    if calls(tokens, is_hf_parser).next().is_some() {
        return Reader::Hf;
    }
    let other = |from: usize| OTHERS.iter().find(|other| imports(from).any(|module| module == **other));
    if let Some(other) = other(own) {
        return Reader::Other(other);
    }
    if has(0, "add_argument") || has(0, "ArgumentParser") {
        return Reader::Argparse;
    }
    if let Some(other) = other(0) {
        return Reader::Other(other);
    }
    let seen = |module: &str| LIBRARIES.contains(&module) || is_standard(module);
    if imports(own).all(seen) { Reader::Nothing } else { Reader::Elsewhere }
}

/// The packages that are imported.
fn imported<'t>(tokens: &'t [Token<'_>]) -> impl Iterator<Item = &'t str> {
    let starts = tokens.windows(2).filter(|pair| pair[0].indent.is_some());
    starts.filter(|pair| pair[0].is("import") || pair[0].is("from")).map(|pair| pair[1].text)
}
