//! Which options a script has: those of its parser, and the one that takes a config.

use std::ops::Range;

use super::calls::{HANDBOOK, calls, is_hf_parser, keyword};
use super::flow::{ArgumentFlow, Reader, is_in};
use super::tokens::{Kind, Token};
use crate::command::defaults::{ArgumentClass, TRAINING_ARGUMENTS};

/// Packages that refuse an option which no function or decorator of the script names.
const STRICT: &str = "fire click typer";

/// The parser of a script: the classes that `HfArgumentParser` gets, as far as the script shows them.
pub(crate) struct ScriptParser<'a> {
    /// Those that are recorded.
    pub(crate) classes: Vec<ArgumentClass>,
    /// The fields of the script's own classes.
    pub(crate) own: Vec<&'a str>,
    /// Every option is one of a recorded class or of the script's own, and any other is refused.
    pub(crate) closed: bool,
    /// Nothing of the script's own happens to the arguments when they are read.
    pub(crate) plain: bool,
}

impl<'a> ArgumentFlow<'a> {
    /// The option that becomes `TrainingArguments(deepspeed=args.NAME)`.
    pub(crate) fn config_option(&self) -> Option<&'a str> {
        let value = self.made.iter().find_map(|call| keyword(&self.tokens[call.clone()], "deepspeed"))?;
        match value {
            [object, dot, name, rest @ ..] if object.kind == Kind::Name && dot.is(".") => {
                let ends = rest.first().is_none_or(|next| next.is(",") || next.is(")"));
                (ends && matches!(self.reader, Reader::Hf | Reader::Argparse)).then_some(name.text)
            }
            _ => None,
        }
    }

    /// Whether the script has an option of this name, as far as it is seen. `None`: its parser is not.
    pub(crate) fn has_option(&self, option: &str) -> Option<bool> {
        let spelled = |token: &&Token| token.text.trim_start_matches('-').replace('-', "_") == option;
        let mut named = self.tokens.iter().filter(spelled);
        match self.reader {
            Reader::Nothing => Some(false),
            Reader::Argparse => Some(named.any(|token| token.kind == Kind::Text && token.text.starts_with('-'))),
            Reader::Other(package) if is_in(STRICT, package) && !self.made.is_empty() => Some(named.next().is_some()),
            Reader::Other(_) | Reader::Elsewhere => None,
            Reader::Hf if self.parsed().next().is_some() || named.any(|token| token.kind == Kind::Name) => Some(true),
            Reader::Hf => self.parses_own_only().then_some(false),
        }
    }

    /// Whether every class that transformers' parser gets is the script's own and derives from no other.
    fn parses_own_only(&self) -> bool {
        let is_own = |name: &str| {
            (1..self.tokens.len()).any(|at| self.defines_class(at) && self.is(at, name) && self.is(at + 1, ":"))
        };
        let given = calls(&self.tokens, is_hf_parser).flatten().filter(|at| self.tokens[*at].kind == Kind::Name);
        let mut given = given.peekable();
        given.peek().is_some() && given.all(|at| is_own(self.tokens[at].text))
    }

    /// What reads the arguments, where it is sure to refuse an option of this name.
    pub(crate) fn refuses(&self, option: &str) -> Option<&'static str> {
        let reads = match self.reader {
            Reader::Argparse if !self.shows_all_options() => return None,
            Reader::Argparse => "argparse",
            Reader::Hf => "HfArgumentParser",
            Reader::Other(package) => package,
            Reader::Nothing | Reader::Elsewhere => return None,
        };
        let tolerates = self.has(&["parse_known_args", "return_remaining_strings"]);
        (self.has_option(option) == Some(false) && !tolerates).then_some(reads)
    }

    /// Whether argparse's parser is made here, every option is written out, and nobody else gets the parser who may add more.
    fn shows_all_options(&self) -> bool {
        let tokens = &self.tokens;
        let ends = |at: usize| self.is(at, ",") || self.is(at, ")");
        let is_written = |call: Range<usize>| {
            let name = tokens.get(call.start).filter(|name| name.kind == Kind::Text && !name.text.contains('{'));
            name.is_some() && ends(call.start + 1)
        };
        let made: Vec<usize> = (2..tokens.len()).filter(|at| self.is(*at, "ArgumentParser")).collect();
        let variable = |at: &usize| (0..*at).rev().take(4).find(|at| self.is(*at, "="))?.checked_sub(1);
        let is_passed = |name: usize| {
            (1..tokens.len()).any(|at| {
                self.is(at, tokens[name].text) && (self.is(at - 1, "(") || self.is(at - 1, ",")) && ends(at + 1)
            })
        };
        calls(tokens, |token| token.is("ArgumentParser")).next().is_some()
            && calls(tokens, |token| token.is("add_argument")).all(is_written)
            && !self.has(&["add_config_arguments", "parents", "add_argparse_args"])
            && !made.iter().filter_map(variable).any(is_passed)
    }

    /// `args.deepspeed = …`: the script sets it after the arguments were made.
    pub(crate) fn assigns(&self, argument: &str) -> bool {
        (2..self.tokens.len()).any(|at| self.is(at - 2, ".") && self.is(at - 1, argument) && self.is(at, "="))
    }

    /// The options of transformers' parser, where the script shows them.
    pub(crate) fn parser(&self) -> Option<ScriptParser<'a>> {
        /// `TrainingArguments` with a few more.
        const SEQ2SEQ: ArgumentClass = ArgumentClass { name: "Seq2SeqTrainingArguments", ..TRAINING_ARGUMENTS };
        let mut parsers = calls(&self.tokens, is_hf_parser);
        let (call, None) = (parsers.next()?, parsers.next()) else { return None };
        let parses = self.has(&["parse_args_into_dataclasses", "parse_args_and_config"]);
        // The parser of the alignment handbook takes other words.
        if !parses || self.opaque.is_some() || self.has(&[HANDBOOK]) {
            return None;
        }
        let generates = self.has(&[SEQ2SEQ.name]);
        let class = |class| if generates && class == TRAINING_ARGUMENTS { SEQ2SEQ } else { class };
        let classes: Vec<ArgumentClass> = call.clone().filter_map(|at| self.class_at(at)).map(class).collect();
        // `transformers.TrainingArguments` is named by its last word.
        let is_module = |at: usize| self.is(at + 1, ".");
        let is_shown = |at: usize| match self.tokens[at].kind {
            Kind::Sign => is_in("( ) [ ] , .", self.tokens[at].text),
            Kind::Name => is_module(at) || self.class_at(at).is_some() || self.shows_class(self.tokens[at].text, 0),
            Kind::Number | Kind::Text => false,
        };
        let closed = call.clone().all(is_shown)
            && !self.has(&["return_remaining_strings", "parse_known_args", "add_argument", "TrlParser"]);
        let field = |at: &usize| self.tokens[*at].indent.is_some_and(|indent| indent > 0) && self.is(at + 1, ":");
        let own = (0..self.tokens.len()).filter(field).map(|at| self.tokens[at].text).collect();
        let plain = !self.has(&["__post_init__", "set_defaults"]);
        (!classes.is_empty()).then_some(ScriptParser { classes, own, closed, plain })
    }

    /// Whether all fields of a class are in the script or in a recorded class.
    fn shows_class(&self, name: &str, depth: usize) -> bool {
        let Some(defined) = (1..self.tokens.len()).find(|at| self.defines_class(*at) && self.is(*at, name)) else {
            return false;
        };
        let mut bases = self.bases(defined).filter(|at| self.tokens[*at].kind == Kind::Name);
        bases.all(|at| {
            let base = self.tokens[at].text;
            let is_plain = base == "object" || self.is(at + 1, ".") || self.class_at(at).is_some();
            is_plain || depth < 8 && base != name && self.shows_class(base, depth + 1)
        })
    }
}
