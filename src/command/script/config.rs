//! How a script takes a config: by which option or key, or by none.

use std::ops::Range;

use super::calls::calls;
use super::classes::keyword;
use super::tokens::{Kind, Token};
use super::way::{Reader, Way, is_hf_parser};

/// What a function under `@hydra.main` calls its config.
const CONFIGS: &[&str] = &["cfg", "config", "conf", "args", "hparams"];
/// Packages that refuse an option which no function or decorator of the script names.
const STRICT: &[&str] = &["fire", "click", "typer"];

impl<'a> Way<'a> {
    /// The option that becomes `TrainingArguments(deepspeed=args.NAME)`.
    pub(crate) fn config_option(&self) -> Option<&'a str> {
        let value = self.made.iter().find_map(|call| keyword(&self.tokens[call.clone()], "deepspeed"))?;
        match value {
            [object, dot, name, rest @ ..] if object.kind == Kind::Name && dot.is(".") => {
                let ends = rest.first().is_none_or(|next| next.is(",") || next.is(")"));
                let is_option = matches!(self.reader, Reader::Hf | Reader::Argparse);
                (ends && is_option).then_some(name.text)
            }
            _ => None,
        }
    }

    /// The key that hydra has for it: `TrainingArguments(**cfg.training)`, `TrainingArguments(deepspeed=cfg.training.config)`.
    pub(crate) fn config_key(&self) -> Option<String> {
        let chain = |from: &[Token<'a>]| -> Option<Vec<&'a str>> {
            let start = from.iter().position(|token| CONFIGS.contains(&token.text))?;
            let parts = from[start + 1..].chunks(2).map_while(|pair| match pair {
                [dot, name] if dot.is(".") && name.kind == Kind::Name => Some(name.text),
                _ => None,
            });
            Some(parts.collect())
        };
        self.made.iter().find_map(|call| {
            let call = &self.tokens[call.clone()];
            let value = keyword(call, "deepspeed")?;
            let end = value.iter().position(|token| token.is(",")).unwrap_or(value.len());
            let mut key = chain(&value[..end])?;
            if value[0].is("**") {
                key.push("deepspeed");
            }
            Some(key.join("."))
        })
    }

    /// Whether the script has an option of this name, as far as it is seen. `None`: its parser is not.
    pub(crate) fn has_option(&self, option: &str) -> Option<bool> {
        let spelled = |token: &Token| token.text.trim_start_matches('-').replace('-', "_") == option;
        let named = |kind: Kind| self.tokens.iter().any(|token| token.kind == kind && spelled(token));
        match self.reader {
            Reader::Nothing => Some(false),
            Reader::Argparse => Some(self.tokens.iter().any(|token| is_option(token) && spelled(token))),
            Reader::Other(package) if STRICT.contains(&package) && !self.made.is_empty() => {
                Some(named(Kind::Name) || named(Kind::Text))
            }
            Reader::Other(_) | Reader::Elsewhere => None,
            Reader::Hf => (self.parses_class() || named(Kind::Name)).then_some(true).or_else(|| self.parses_own_only()),
        }
    }

    /// What reads the arguments, where it is sure to refuse an option of this name.
    pub(crate) fn refuses(&self, option: &str) -> Option<&'static str> {
        let tolerates = ["parse_known_args", "return_remaining_strings"];
        let tolerates = tolerates.iter().any(|word| self.tokens.iter().any(|token| token.is(word)));
        let reads = match self.reader {
            Reader::Argparse if !self.shows_all_options() => return None,
            Reader::Argparse => "argparse",
            Reader::Hf => "HfArgumentParser",
            Reader::Other(package) => package,
            Reader::Nothing | Reader::Elsewhere => return None,
        };
        (self.has_option(option) == Some(false) && !tolerates).then_some(reads)
    }

    /// Whether the parser of argparse is made here, every option is written out, and nobody else gets it who may add more.
    fn shows_all_options(&self) -> bool {
        let tokens = &self.tokens;
        let is = |at: usize, texts: &[&str]| tokens.get(at).is_some_and(|token| texts.iter().any(|it| token.is(it)));
        let is_written = |call: Range<usize>| {
            let name = &tokens[call.start.min(tokens.len() - 1)];
            name.kind == Kind::Text && !name.text.contains('{') && is(call.start + 1, &[",", ")"])
        };
        let adds = ["add_config_arguments", "parents", "add_argparse_args"];
        let mut options = calls(tokens, |token| token.is("add_argument"));
        let made = (2..tokens.len()).filter(|at| is(*at, &["ArgumentParser"]));
        let mut names = made.filter_map(|at| (0..at).rev().take(4).find(|at| is(*at, &["="]))?.checked_sub(1));
        calls(tokens, |token| token.is("ArgumentParser")).next().is_some()
            && options.all(is_written)
            && !tokens.iter().any(|token| adds.iter().any(|it| token.is(it)))
            && !names.any(|name| {
                let passed =
                    |at: usize| is(at, &[tokens[name].text]) && is(at - 1, &["(", ","]) && is(at + 1, &[")", ","]);
                (1..tokens.len()).any(passed)
            })
    }

    /// `args.deepspeed = …`: the script sets it after the arguments were made.
    pub(crate) fn assigns(&self, argument: &str) -> bool {
        self.tokens.windows(3).any(|it| it[0].is(".") && it[1].is(argument) && it[2].is("="))
    }

    /// `Some(false)` where every class that the parser gets is the script's own and derives from no other.
    fn parses_own_only(&self) -> Option<bool> {
        let tokens = &self.tokens;
        let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.is(text));
        let is_own = |name: &str| (1..tokens.len()).any(|at| is(at - 1, "class") && is(at, name) && is(at + 1, ":"));
        let mut given = calls(tokens, is_hf_parser).flatten().filter(|at| tokens[*at].kind == Kind::Name).peekable();
        given.peek()?;
        given.all(|at| is_own(tokens[at].text)).then_some(false)
    }
}

fn is_option(token: &Token) -> bool {
    token.kind == Kind::Text && token.text.starts_with('-')
}
