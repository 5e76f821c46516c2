//! The tokens of a Python source: names, numbers, strings and signs, without comments; and the calls among them.

use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Name,
    Number,
    Text,
    Sign,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    pub(super) kind: Kind,
    pub text: &'a str,
    /// The byte of the source where it starts, quotes included.
    pub(super) at: usize,
    pub line: usize,
    /// Its column, if it is the first of a statement.
    pub indent: Option<usize>,
    /// The number of open brackets around it; a bracket itself counts as outside.
    pub(super) depth: usize,
}

impl Token<'_> {
    pub(super) fn is(&self, text: &str) -> bool {
        self.kind != Kind::Text && self.text == text
    }
}

pub fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut at, mut line, mut line_start, mut depth) = (0, 1, 0, 0_usize);
    let mut starts_line = true;
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        let length = match first {
            '\n' => {
                (line, line_start) = (line + 1, at + 1);
                starts_line |= depth == 0 && !source[..at].ends_with('\\');
                1
            }
            '#' => rest.find('\n').unwrap_or(rest.len()),
            _ if first.is_whitespace() || first == '\\' => first.len_utf8(),
            _ => {
                let (kind, length, text) = token(rest, first);
                let is_one_of = |signs: &[&str]| kind == Kind::Sign && signs.contains(&text);
                depth = depth.saturating_sub(usize::from(is_one_of(&[")", "]", "}"])));
                let indent = std::mem::take(&mut starts_line).then_some(at - line_start);
                tokens.push(Token {
                    kind,
                    text,
                    at,
                    line,
                    indent,
                    depth,
                });
                depth += usize::from(is_one_of(&["(", "[", "{"]));
                line += rest[..length].matches('\n').count();
                length
            }
        };
        at += length;
    }
    tokens
}

fn token(rest: &str, first: char) -> (Kind, usize, &str) {
    let length_of = |belongs: fn(char) -> bool| rest.find(|c| !belongs(c)).unwrap_or(rest.len());
    if first == '"' || first == '\'' {
        return string(rest, first);
    }
    if first.is_ascii_digit() || first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())
    {
        // The exponent of `2e-5` is a number of its own, which nobody asks about.
        let length = length_of(|c| c.is_alphanumeric() || c == '_' || c == '.');
        return (Kind::Number, length, &rest[..length]);
    }
    if first.is_alphabetic() || first == '_' {
        let length = length_of(|c| c.is_alphanumeric() || c == '_');
        return (Kind::Name, length, &rest[..length]);
    }
    let signs = [
        "//=", "**=", "**", "//", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "|=", ":=",
        "->",
    ];
    let length = signs
        .iter()
        .find(|sign| rest.starts_with(**sign))
        .map_or(first.len_utf8(), |sign| sign.len());
    (Kind::Sign, length, &rest[..length])
}

/// A string that is not closed goes on to the end of the file.
fn string(rest: &str, quote: char) -> (Kind, usize, &str) {
    let triple = rest
        .as_bytes()
        .iter()
        .take(3)
        .filter(|byte| **byte == quote as u8)
        .count()
        == 3;
    let quotes = if triple { 3 } else { 1 };
    let (opening, mut escaped) = (&rest[..quotes], false);
    for (at, c) in rest.char_indices().skip(quotes) {
        if !escaped && rest[at..].starts_with(opening) || !triple && c == '\n' {
            return (
                Kind::Text,
                at + if c == '\n' { 0 } else { quotes },
                &rest[quotes..at],
            );
        }
        escaped = c == '\\' && !escaped;
    }
    (Kind::Text, rest.len(), &rest[quotes..])
}

/// The tokens between the parentheses of every call of what `is` accepts. A definition is no call.
pub(super) fn calls<'t>(
    tokens: &'t [Token],
    is: impl Fn(&Token) -> bool + 't,
) -> impl Iterator<Item = Range<usize>> {
    let named = (0..tokens.len()).filter(move |at| is(&tokens[*at]));
    let heads = named.filter(|at| {
        tokens
            .get(at + 1)
            .is_some_and(|next| next.is("(") && next.indent.is_none())
    });
    let calls =
        heads.filter(|at| *at == 0 || !tokens[at - 1].is("class") && !tokens[at - 1].is("def"));
    calls.map(|at| in_parentheses(tokens, at + 1))
}

pub(super) fn in_parentheses(tokens: &[Token], open: usize) -> Range<usize> {
    let rest = &tokens[open + 1..];
    let length = rest
        .iter()
        .position(|token| token.depth <= tokens[open].depth)
        .unwrap_or(rest.len());
    open + 1..open + 1 + length
}

/// The tokens from the value of `name=` on; those from `**` on where that may hold it.
pub(super) fn keyword<'t, 'a>(arguments: &'t [Token<'a>], name: &str) -> Option<&'t [Token<'a>]> {
    let is = |at: usize, text: &str| arguments.get(at).is_some_and(|token| token.is(text));
    let level = arguments.first()?.depth;
    (0..arguments.len())
        .filter(|at| arguments[*at].depth == level)
        .find_map(|at| {
            let unpacks = is(at, "**") && (at == 0 || is(at - 1, ","));
            let value = (is(at, name) && is(at + 1, "=")).then(|| &arguments[at + 2..]);
            if unpacks {
                Some(&arguments[at..])
            } else {
                value
            }
        })
}
