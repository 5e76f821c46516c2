//! How the arguments of a script get from the command line to the trainer, as far as the script and the modules of its own
//! show it. They count as given where transformers' parser fills a class of the trainer's arguments and nothing changes
//! what it read. Everything else is doubtful, and the reason is told. The script is not run.

use std::ops::Range;

use super::calls::{calls, closing, is_hf_parser, keyword};
use super::tokens::{Kind, Token, tokens};
use crate::command::arguments::has_type;
use crate::command::defaults::{ArgumentClass, TRAINING_ARGUMENTS};
use crate::command::python::is_standard;
use crate::command::script_source::ScriptSource;

/// What becomes of an argument that the command gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Forwarding {
    /// The trainer gets it as transformers' parser reads it.
    AsGiven,
    /// The trainer may get something else, for this reason.
    Doubtful(String),
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
const OTHERS: &str = "fire hydra tyro click typer jsonargparse simple_parsing draccus pyrallis tap docopt absl chz \
    configargparse plac gin ml_collections sacred";
/// Packages that a training imports and that do not read its command line.
const LIBRARIES: &str = "accelerate bitsandbytes datasets deepspeed evaluate huggingface_hub nltk numpy packaging pandas \
    peft requests scipy sklearn tokenizers torch torchaudio torchvision tqdm transformers trl wandb yaml";
/// Whatever sets arguments by names that are not written out.
const OPAQUE: &str =
    "parse_dict hyperparameter_search set_training set_optimizer set_lr_scheduler set_dataloader __dict__";
/// Methods that change a list: `sys.argv.remove(…)`.
const LIST_CHANGES: &str = "append extend insert remove pop clear";
/// Calls that make a copy with other values, or change a mapping.
const COPIES: &str = "replace update evolve merge dict";
/// What carries these names is part of a model, so that `setattr` on it changes no argument.
const PARTS_OF_MODELS: &str = "model module layer parent tokenizer processor torch transformers nn block dataset";
const ASSIGNMENTS: &str = "= += -= *= /= //= **= %= |= :=";
/// What may stand around the type of a field.
const AROUND_TYPES: &str = "Optional Union None [ ] | , typing .";

pub(super) fn is_in(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

pub(crate) struct ArgumentFlow<'a> {
    pub(super) tokens: Vec<Token<'a>>,
    /// The files, each with where its tokens end. The script is the last.
    files: Vec<(usize, &'a str)>,
    /// Names that mean a recorded class of arguments: those that are imported, and classes derived from them.
    classes: Vec<(&'a str, ArgumentClass)>,
    pub(super) reader: Reader,
    /// The constructors of the trainer's arguments that are called.
    pub(super) made: Vec<Range<usize>>,
    /// Where arguments are set by names that are not written out.
    pub(super) opaque: Option<usize>,
}

impl<'a> ArgumentFlow<'a> {
    pub(crate) fn read(source: &'a ScriptSource) -> Self {
        let (mut all, mut files) = (Vec::new(), Vec::new());
        for module in source.modules().iter().rev() {
            all.extend(tokens(&module.text));
            files.push((all.len(), module.name.as_str()));
        }
        let own = all.len();
        all.extend(tokens(&source.text));
        files.push((all.len(), source.name()));
        let reader = reader(&all, own);
        let classes = Vec::new();
        let mut flow = ArgumentFlow { tokens: all, files, classes, reader, made: Vec::new(), opaque: None };
        flow.find_classes();
        let made = calls(&flow.tokens, |_| true).filter(|call| flow.class_at(call.start - 2).is_some());
        flow.made = made.collect();
        flow.opaque = (0..flow.tokens.len()).find(|at| flow.is_opaque(*at));
        flow
    }

    /// Its name without the folder.
    pub(super) fn name(&self) -> &'a str {
        self.files.last().map_or("", |(_, name)| name)
    }

    /// `train.py:57`.
    pub(super) fn place(&self, at: usize) -> String {
        let file = self.files.iter().find(|(end, _)| at < *end).map_or("", |(_, name)| name);
        format!("{file}:{}", self.tokens[at].line)
    }

    pub(super) fn is(&self, at: usize, text: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is(text))
    }

    pub(super) fn has(&self, words: &[&str]) -> bool {
        self.tokens.iter().any(|token| words.iter().any(|word| token.is(word)))
    }

    /// What is imported from the packages with recorded classes, and what derives from that.
    fn find_classes(&mut self) {
        for at in 0..self.tokens.len() {
            if !self.is(at, "from") || self.tokens[at].indent.is_none() {
                continue;
            }
            let statement = self.tokens[at + 1..].iter().take_while(|token| token.indent.is_none());
            let statement: Vec<Token> = statement.copied().collect();
            for (at, name) in statement.iter().enumerate().skip(2) {
                let Some(class) = recorded_class(statement[0].text, name.text) else { continue };
                let alias = statement.get(at + 1).filter(|word| word.is("as")).and_then(|_| statement.get(at + 2));
                self.classes.push((alias.unwrap_or(name).text, class));
            }
        }
        for at in 1..self.tokens.len() {
            if !self.defines_class(at) {
                continue;
            }
            let name = self.tokens[at].text;
            let class = self.bases(at).find_map(|base| self.class_at(base));
            // The name means this class from now on, whatever it was before.
            self.classes.retain(|(known, _)| *known != name);
            self.classes.extend(class.map(|class| (name, class)));
        }
    }

    /// Whether this is the name in `class Name`.
    pub(super) fn defines_class(&self, at: usize) -> bool {
        at > 0 && self.is(at - 1, "class") && self.tokens[at - 1].indent.is_some()
    }

    /// What stands in the parentheses behind the name of a class.
    pub(super) fn bases(&self, at: usize) -> Range<usize> {
        if self.is(at + 1, "(") { at + 2..closing(&self.tokens, at + 2) } else { 0..0 }
    }

    /// The class that the word at this place names.
    pub(super) fn class_at(&self, at: usize) -> Option<ArgumentClass> {
        let token = self.tokens.get(at).filter(|token| token.kind == Kind::Name)?;
        if at > 1 && self.is(at - 1, ".") {
            return recorded_class(self.tokens[at - 2].text, token.text);
        }
        self.classes.iter().rfind(|(name, _)| *name == token.text).map(|(_, class)| *class)
    }

    /// The classes that transformers' parser is given.
    pub(super) fn parsed(&self) -> impl Iterator<Item = (&'a str, ArgumentClass)> {
        let given = calls(&self.tokens, is_hf_parser).flatten();
        given.filter_map(|at| Some((self.tokens[at].text, self.class_at(at)?)))
    }

    fn is_opaque(&self, at: usize) -> bool {
        let (tokens, token) = (&self.tokens, self.tokens[at]);
        let opens = self.is(at + 1, "(");
        let call = || &tokens[at + 2..closing(tokens, at + 2)];
        match token.text {
            _ if token.kind != Kind::Name => false,
            "argv" => {
                let behind = tokens.get(at + 2).map_or("", |token| token.text);
                self.is_assigned(at) || self.is(at + 1, ".") && is_in(LIST_CHANGES, behind)
            }
            "setattr" if opens => {
                let object: String = call().iter().take_while(|it| !it.is(",")).map(|it| it.text).collect();
                let name = call().iter().skip_while(|it| !it.is(",")).nth(1);
                let object = object.to_lowercase();
                !name.is_some_and(|name| name.kind == Kind::Text)
                    && !PARTS_OF_MODELS.split(' ').any(|part| object.contains(part))
            }
            "parse_args_into_dataclasses" | "parse_args_and_config" if opens => {
                let call = call();
                let positional = !call.is_empty() && !call.get(1).is_some_and(|next| next.is("="));
                let given = keyword(call, "args").and_then(<[Token]>::first);
                positional && !call[0].is("None") || given.is_some_and(|words| !words.is("None"))
            }
            // A file that the command names is read by zlaunch too.
            "parse_json_file" | "parse_yaml_file" if opens => !call().iter().any(|it| it.is("argv")),
            _ => is_in(OPAQUE, token.text) && (opens || token.text == "__dict__"),
        }
    }

    /// Whether the word stands on the left of an assignment.
    fn is_assigned(&self, at: usize) -> bool {
        let start = (0..=at).rev().find(|at| self.tokens[*at].indent.is_some()).unwrap_or(0);
        let mut depth = 0_i32;
        for (place, token) in self.tokens.iter().enumerate().skip(start) {
            if place > at && token.indent.is_some() || place == at && depth > 0 {
                return false;
            }
            match token.text {
                _ if token.kind != Kind::Sign => {}
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                sign if place > at && depth == 0 && is_in(ASSIGNMENTS, sign) => return true,
                _ => {}
            }
        }
        false
    }

    /// Where something sets the argument after it was read.
    pub(super) fn set_at(&self, argument: &str) -> Option<usize> {
        let tokens = &self.tokens;
        let item = |at: usize| {
            let behind = tokens.get(at + 2).map_or("", |token| token.text);
            self.is(at + 1, "]") && is_in(ASSIGNMENTS, behind)
                || at > 3 && self.is(at - 1, ",") && self.is(at - 4, "setattr")
        };
        let found = (0..tokens.len()).filter(|at| tokens[*at].text == argument).find(|at| match tokens[*at].kind {
            Kind::Name => *at > 0 && self.is(at - 1, ".") && self.is_assigned(*at),
            Kind::Text => item(*at),
            Kind::Number | Kind::Sign => false,
        });
        found.or_else(|| {
            let mut copies = calls(tokens, |token| token.kind == Kind::Name && is_in(COPIES, token.text));
            copies.find(|call| keyword(&tokens[call.clone()], argument).is_some()).map(|call| call.start)
        })
    }

    pub(super) fn reads_nothing(&self) -> bool {
        self.reader == Reader::Nothing
    }

    /// Why no argument can be followed.
    pub(super) fn doubt_about_all(&self) -> Option<String> {
        let name = self.name();
        match (self.reader, self.made.first()) {
            (Reader::Argparse, _) => Some(format!("{name} reads its arguments by argparse")),
            (Reader::Other(package), _) => Some(format!("{name} reads its arguments by {package}")),
            (Reader::Elsewhere, _) => Some(format!("it is not seen how {name} reads its arguments")),
            (Reader::Nothing | Reader::Hf, Some(made)) => {
                Some(format!("{} writes its arguments itself", self.place(made.start)))
            }
            (Reader::Hf, None) => self.opaque.map(|at| format!("{} may set any argument", self.place(at))),
            (Reader::Nothing, None) => None,
        }
    }

    fn doubt_about(&self, argument: &str) -> Option<String> {
        if let Some(at) = self.set_at(argument) {
            return Some(format!("{} sets {argument}", self.place(at)));
        }
        if let Some(at) = (0..self.tokens.len()).find(|at| self.declares_otherwise(*at, argument)) {
            return Some(format!("{} reads --{argument} in another way", self.place(at)));
        }
        let is_hidden = self.parsed().next().is_none();
        is_hidden.then(|| format!("{} does not show what becomes of --{argument}", self.name()))
    }

    /// Whether this is a field of a class with another type than transformers gives the argument.
    fn declares_otherwise(&self, at: usize, argument: &str) -> bool {
        let is_field = self.is(at, argument) && self.tokens[at].indent.is_some_and(|indent| indent > 0);
        if !is_field || !self.is(at + 1, ":") {
            return false;
        }
        let statement = self.tokens[at + 2..].iter().take_while(|token| token.indent.is_none() && !token.is("="));
        let mut types = statement.filter(|token| !is_in(AROUND_TYPES, token.text)).peekable();
        types.peek().is_none() || !types.all(|token| has_type(TRAINING_ARGUMENTS, argument, token.text))
    }

    /// What becomes of an argument that the command gives.
    pub(crate) fn forwarding(&self, argument: &str) -> Forwarding {
        let about_this = || self.doubt_about(argument).filter(|_| !self.reads_nothing());
        self.doubt_about_all().or_else(about_this).map_or(Forwarding::AsGiven, Forwarding::Doubtful)
    }

    /// The class whose default counts for an argument that is not given: the only one that is used, in a script that
    /// leaves the argument alone.
    pub(crate) fn default_class(&self, argument: &str) -> Option<ArgumentClass> {
        let trains = self.tokens.iter().any(|token| token.kind == Kind::Name && token.text.ends_with("Trainer"));
        let may_hand_over = |call: &Range<usize>| keyword(&self.tokens[call.clone()], argument).is_some();
        let is_mentioned = (0..self.tokens.len()).any(|at| self.mentions(at, argument));
        if !trains || self.opaque.is_some() || is_mentioned || self.made.iter().any(may_hand_over) {
            return None;
        }
        let made = self.made.iter().filter_map(|call| self.class_at(call.start - 2));
        let mut used: Vec<ArgumentClass> = self.parsed().map(|(_, class)| class).chain(made).collect();
        if used.is_empty() && self.reader != Reader::Hf {
            used = self.classes.iter().map(|(_, class)| *class).collect();
        }
        used.first().copied().filter(|first| used.iter().all(|class| class == first))
    }

    /// Whether the argument stands here in any other way than as an attribute that is read.
    fn mentions(&self, at: usize, argument: &str) -> bool {
        let token = self.tokens[at];
        let next = self.tokens.get(at + 1).map_or("", |next| next.text);
        match token.kind {
            Kind::Text => token.text.strip_prefix("--").unwrap_or(token.text) == argument,
            Kind::Name if token.text == argument => {
                next != "==" && (at == 0 || !self.is(at - 1, ".") || is_in(ASSIGNMENTS, next))
            }
            _ => false,
        }
    }

    /// Whether `--config` names a file with arguments, which zlaunch does not follow.
    pub(crate) fn reads_config_option(&self) -> bool {
        self.has(&["TrlParser"])
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
        let made = self.made.first().map(|call| self.tokens[call.start - 2].text);
        let class = made.or_else(|| self.parsed().next().map(|(name, _)| name));
        class.map_or_else(|| read.to_string(), |class| format!("{read} → {class}"))
    }
}

fn recorded_class(package: &str, name: &str) -> Option<ArgumentClass> {
    match (package, name) {
        ("transformers", "TrainingArguments" | "Seq2SeqTrainingArguments") => Some(TRAINING_ARGUMENTS),
        ("trl", name) => ArgumentClass::find("trl", name),
        _ => None,
    }
}

/// `own`: where the tokens of the script itself start.
fn reader(tokens: &[Token], own: usize) -> Reader {
    let imported = |from: usize| {
        let starts = tokens[from..].windows(2).filter(|pair| pair[0].indent.is_some());
        starts.filter(|pair| pair[0].is("import") || pair[0].is("from")).map(|pair| pair[1].text)
    };
    let other = |from: usize| OTHERS.split(' ').find(|other| imported(from).any(|module| module == *other));
    let is_seen = |module: &str| is_in(LIBRARIES, module) || is_standard(module);
    if calls(tokens, is_hf_parser).next().is_some() {
        Reader::Hf
    } else if let Some(other) = other(own) {
        Reader::Other(other)
    } else if tokens.iter().any(|token| token.is("add_argument") || token.is("ArgumentParser")) {
        Reader::Argparse
    } else if let Some(other) = other(0) {
        Reader::Other(other)
    } else if imported(own).all(is_seen) {
        Reader::Nothing
    } else {
        Reader::Elsewhere
    }
}
