//! The options of a script: those of its parser, and the one that takes a config.

use std::ops::Range;

use super::flow::{ArgumentFlow, Reader, is_in};
use super::kind::{HANDBOOK, is_hf_parser};
use super::tokens::{Kind, Token, calls, keyword};
use crate::command::argument_class::{ArgumentClass, TRAINING_ARGUMENTS};
use crate::command::parser::Parser;

/// Packages that refuse an option which no function or decorator of the script names.
const STRICT: &str = "fire click typer";

impl<'a> ArgumentFlow<'a> {
    /// The option that becomes `TrainingArguments(deepspeed=args.NAME)`.
    pub(crate) fn config_option(&self) -> Option<&'a str> {
        let value = self.made.iter().find_map(|call| keyword(&self.tokens[call.clone()], "deepspeed"))?;
        let [object, dot, name, rest @ ..] = value else { return None };
        let ends = rest.first().is_none_or(|next| next.is(","));
        let is_read = matches!(self.reader, Reader::Hf | Reader::Other("argparse"));
        (object.kind == Kind::Name && dot.is(".") && ends && is_read).then_some(name.text)
    }

    /// `None`: the script does not show all of its options.
    pub(crate) fn has_option(&self, option: &str) -> Option<bool> {
        let spelled = |token: &&Token| token.text.trim_start_matches('-').replace('-', "_") == option;
        let mut named = self.tokens.iter().filter(spelled);
        match self.reader {
            Reader::Nothing => Some(false),
            Reader::Other("argparse") => {
                Some(named.any(|token| token.kind == Kind::Text && token.text.starts_with('-')))
            }
            Reader::Other(package) if is_in(STRICT, package) && !self.made.is_empty() => Some(named.next().is_some()),
            Reader::Other(_) | Reader::Elsewhere => None,
            Reader::Hf if self.parsed().next().is_some() || named.any(|token| token.kind == Kind::Name) => Some(true),
            Reader::Hf => {
                let given = calls(&self.tokens, is_hf_parser).flatten();
                let given: Vec<usize> = given.filter(|at| self.tokens[*at].kind == Kind::Name).collect();
                (!given.is_empty() && given.iter().all(|at| self.is_own_class(*at))).then_some(false)
            }
        }
    }

    /// The token names a class of the script's own that derives from no other.
    fn is_own_class(&self, at: usize) -> bool {
        let name = self.tokens[at].text;
        (1..self.tokens.len()).any(|at| self.defines_class(at) && self.is(at, name) && self.is(at + 1, ":"))
    }

    /// The reader of the arguments, where it is sure to refuse an option of this name.
    pub(crate) fn refuses(&self, option: &str) -> Option<&'static str> {
        let is_open = self.reader == Reader::Other("argparse") && !self.shows_all_options();
        let tolerates = self.has(&["parse_known_args", "return_remaining_strings"]);
        if is_open || tolerates || self.has_option(option) != Some(false) { None } else { self.reader_name() }
    }

    /// argparse's parser is made here with all options written out, and no other function may add more.
    fn shows_all_options(&self) -> bool {
        let tokens = &self.tokens;
        let is_written = |call: Range<usize>| {
            let name = tokens.get(call.start);
            name.is_some_and(|name| name.kind == Kind::Text && !name.text.contains('{'))
                && self.ends_argument(call.start + 1)
        };
        let is_passed = |name: &str| {
            let is_argument = |at: usize| is_in("( , =", tokens[at - 1].text) && self.ends_argument(at + 1);
            (1..tokens.len()).any(|at| self.is(at, name) && is_argument(at))
        };
        let mut made = calls(tokens, |token| token.is("ArgumentParser")).peekable();
        // `parser = argparse.ArgumentParser(…)`
        let variable = |call: Range<usize>| (0..call.start).rev().take(6).find(|at| self.is(*at, "="))?.checked_sub(1);
        made.peek().is_some()
            && calls(tokens, |token| token.is("add_argument")).all(is_written)
            && !self.has(&["add_config_arguments", "parents", "add_argparse_args"])
            && !made.filter_map(variable).any(|at| is_passed(tokens[at].text))
    }

    /// The options of transformers' parser, where the script shows them.
    pub(crate) fn parser(&self) -> Option<Parser> {
        const SEQ2SEQ: ArgumentClass = ArgumentClass { name: "Seq2SeqTrainingArguments", ..TRAINING_ARGUMENTS };
        let mut parsers = calls(&self.tokens, is_hf_parser);
        let (call, None) = (parsers.next()?, parsers.next()) else { return None };
        let parses = self.has(&["parse_args_into_dataclasses", "parse_args_and_config"]);
        // The alignment handbook's parser takes other words.
        if !parses || self.opaque.is_some() || self.has(&[HANDBOOK]) {
            return None;
        }
        let generates = self.has(&[SEQ2SEQ.name]);
        let class = |class| if generates && class == TRAINING_ARGUMENTS { SEQ2SEQ } else { class };
        let classes: Vec<ArgumentClass> = call.clone().filter_map(|at| self.class_at(at)).map(class).collect();
        let is_shown = |at: usize| match self.tokens[at].kind {
            Kind::Sign => is_in("( ) [ ] , .", self.tokens[at].text),
            // The last word of `transformers.TrainingArguments` counts.
            Kind::Name => self.is(at + 1, ".") || self.class_at(at).is_some() || self.is_own_class(at),
            Kind::Number | Kind::Text => false,
        };
        if classes.is_empty() {
            return None;
        }
        let mut parser = Parser::new(&classes);
        parser.closed = call.clone().all(is_shown)
            && !self.has(&["return_remaining_strings", "parse_known_args", "add_argument", "TrlParser"]);
        let field = |at: &usize| self.tokens[*at].indent.is_some_and(|indent| indent > 0) && self.is(at + 1, ":");
        // A bool of the script's own that is true by default has a `--no_NAME` beside it.
        for own in (0..self.tokens.len()).filter(field).map(|at| self.tokens[at].text) {
            parser.own.extend([own.to_string(), format!("no_{own}")]);
        }
        parser.own.push("help".to_string());
        Some(parser)
    }
}
