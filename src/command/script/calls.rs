//! The calls in a script: where their arguments stand, and what they give to a keyword.

use std::ops::Range;

use super::tokens::{Kind, Token};

/// Parsers that fill classes of arguments from the command line.
pub(super) const PARSERS: &[&str] = &["HfArgumentParser", "TrlParser", HANDBOOK];
/// The parser of the alignment handbook.
pub(super) const HANDBOOK: &str = "H4ArgumentParser";

pub(super) fn is_hf_parser(token: &Token) -> bool {
    PARSERS.iter().any(|parser| token.is(parser))
}

/// The words between the parentheses of every call of what `is` accepts; not of the definition of a class.
pub(super) fn calls<'t>(
    tokens: &'t [Token],
    is: impl Fn(&Token) -> bool + 't,
) -> impl Iterator<Item = Range<usize>> + 't {
    let opens = |at: usize| tokens.get(at + 1).is_some_and(|next| next.is("("));
    let defines = |at: usize| at > 0 && (tokens[at - 1].is("class") || tokens[at - 1].is("def"));
    let heads = (0..tokens.len()).filter(move |at| is(&tokens[*at]) && opens(*at) && !defines(*at));
    heads.map(|at| at + 2..closing(tokens, at + 2))
}

/// The parenthesis that closes what was opened before `from`.
pub(super) fn closing(tokens: &[Token], from: usize) -> usize {
    let mut depth = 1_usize;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        depth += usize::from(token.is("("));
        depth -= usize::from(token.is(")"));
        if depth == 0 {
            return at;
        }
    }
    tokens.len()
}

/// What stands behind `name=` among the arguments of a call; everything else is unknown where `**` hands over more.
pub(super) fn keyword<'t, 'a>(arguments: &'t [Token<'a>], name: &str) -> Option<&'t [Token<'a>]> {
    let mut depth = 0_usize;
    for (at, token) in arguments.iter().enumerate() {
        match token.text {
            "(" | "[" | "{" if token.kind == Kind::Sign => depth += 1,
            ")" | "]" | "}" if token.kind == Kind::Sign => depth = depth.saturating_sub(1),
            // `**config` may hold it: what follows is no literal.
            "**" if depth == 0 && (at == 0 || arguments[at - 1].is(",")) => return Some(&arguments[at..]),
            text if depth == 0 && text == name && arguments.get(at + 1).is_some_and(|next| next.is("=")) => {
                return Some(&arguments[at + 2..]);
            }
            _ => {}
        }
    }
    None
}
