//! The parser of a script: the classes that `HfArgumentParser` gets, as far as the script shows them.

use super::calls::{PARSERS, calls, is_opaque};
use super::classes::{Classes, closing};
use super::tokens::{Kind, Token, tokens};
use crate::command::defaults::{ArgumentClass, TRAINING_ARGUMENTS};

/// `TrainingArguments` with a few more.
const SEQ2SEQ: ArgumentClass = ArgumentClass { distribution: "transformers", name: "Seq2SeqTrainingArguments" };
/// Whatever adds options, or tolerates those that nobody knows.
const TOLERANT: &[&str] = &["return_remaining_strings", "parse_known_args", "add_argument", "TrlParser"];

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

impl<'a> ScriptParser<'a> {
    /// Nothing where the script reads its arguments in another way, or without a class that is recorded.
    pub(crate) fn read(source: &'a str) -> Option<Self> {
        let tokens = PARSERS.iter().any(|parser| source.contains(parser)).then(|| tokens(source))?;
        let mut parsers = calls(&tokens, |token| PARSERS.iter().any(|parser| token.is(parser)));
        let (call, None) = (parsers.next()?, parsers.next()) else { return None };
        let parses =
            tokens.iter().any(|token| token.is("parse_args_into_dataclasses") || token.is("parse_args_and_config"));
        if !parses || is_opaque(&tokens) || changes_words(&tokens) {
            return None;
        }
        let classes = Classes::read(&tokens);
        let closed = !TOLERANT.iter().any(|word| tokens.iter().any(|token| token.is(word)));
        let plain = !["__post_init__", "set_defaults"].iter().any(|word| tokens.iter().any(|token| token.is(word)));
        let mut parser = ScriptParser { classes: Vec::new(), own: Vec::new(), closed, plain };
        for at in call.clone() {
            parser.add_given(&tokens, at, &classes);
        }
        (!parser.classes.is_empty()).then_some(parser)
    }

    /// What the parser is given at this place.
    fn add_given(&mut self, tokens: &[Token<'a>], at: usize, classes: &Classes<'a>) {
        let token = tokens[at];
        match token.kind {
            Kind::Sign => self.closed &= ["(", ")", "[", "]", ",", "."].contains(&token.text),
            // `transformers.TrainingArguments` is named by its last word.
            Kind::Name if tokens.get(at + 1).is_some_and(|next| next.is(".")) => {}
            Kind::Name => self.add_class(tokens, at, classes, 0),
            Kind::Number | Kind::Text => self.closed = false,
        }
    }

    fn add_class(&mut self, tokens: &[Token<'a>], at: usize, classes: &Classes<'a>, depth: usize) {
        let name = tokens[at].text;
        let defined = (0..tokens.len()).find(|at| {
            tokens[*at].is("class") && tokens[*at].indent.is_some() && tokens.get(at + 1).is_some_and(|it| it.is(name))
        });
        let dotted = at > 0 && tokens[at - 1].is(".");
        if let Some(base) = classes.at(tokens, at).map(|class| class.base()).filter(|_| depth == 0) {
            let generates = base == TRAINING_ARGUMENTS && tokens.iter().any(|token| token.is(SEQ2SEQ.name));
            self.classes.push(if generates { SEQ2SEQ } else { base });
        } else if defined.is_none() && classes.at(tokens, at).is_none() {
            self.closed = false;
        }
        let Some(class) = defined.filter(|_| !dotted && depth < 8) else { return };
        self.own.extend(field_names(tokens, class));
        let opens = tokens.get(class + 2).is_some_and(|token| token.is("("));
        let bases = if opens { class + 3..closing(tokens, class + 3) } else { 0..0 };
        for at in
            bases.filter(|at| tokens[*at].kind == Kind::Name && !tokens[*at].is(name) && !tokens[*at].is("object"))
        {
            if !tokens.get(at + 1).is_some_and(|next| next.is(".")) {
                self.add_class(tokens, at, classes, depth + 1);
            }
        }
    }
}

/// `sys.argv = …`, `sys.argv.remove(…)`.
fn changes_words(tokens: &[Token]) -> bool {
    let next = |at: usize| tokens.get(at + 1).map_or("", |token| token.text);
    (0..tokens.len()).any(|at| tokens[at].is("argv") && [".", "=", "+="].contains(&next(at)))
}

/// `name: type` and `name: type = …` in the body of a class.
fn field_names<'a>(tokens: &[Token<'a>], class: usize) -> Vec<&'a str> {
    let outer = tokens[class].indent.unwrap_or_default();
    let body = tokens.iter().enumerate().skip(class + 1).skip_while(|(_, token)| token.indent.is_none());
    let body = body.take_while(|(_, token)| token.indent.is_none_or(|indent| indent > outer));
    let starts =
        body.filter(|(at, token)| token.indent.is_some() && tokens.get(at + 1).is_some_and(|next| next.is(":")));
    starts.filter(|(_, token)| token.kind == Kind::Name).map(|(_, token)| token.text).collect()
}
