//! The tokens of a Python source, without comments; the calls and imports among them.

use std::ops::Range;

use crate::command::tables::SIGNS;

#[derive(Clone, Copy, PartialEq)]
pub struct Token<'a> {
    /// A name, a number, a sign, or a string with its quotes.
    pub text: &'a str,
    /// The byte of the source where it starts.
    pub at: usize,
    pub line: usize,
    /// Its column, if it is the first of a statement.
    pub indent: Option<usize>,
    /// The number of open brackets around it; a bracket itself counts as outside.
    pub depth: usize,
}

impl<'a> Token<'a> {
    pub fn is(&self, text: &str) -> bool {
        self.text == text
    }

    pub fn is_one_of(&self, texts: &[&str]) -> bool {
        texts.contains(&self.text)
    }

    pub fn is_name(&self) -> bool {
        self.text.starts_with(starts_name)
    }

    /// A name, also as an option in a string: `--NAME`.
    pub fn name(&self) -> &'a str {
        self.text.trim_matches(['"', '\'', '-'])
    }

    /// The content of a string.
    pub fn string(&self) -> Option<&'a str> {
        let quotes = ['"', '\''];
        self.text
            .starts_with(quotes)
            .then(|| self.text.trim_matches(quotes))
    }
}

fn starts_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn ends_name(c: char) -> bool {
    !c.is_alphanumeric() && c != '_'
}

pub fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = vec![];
    let mut at = 0;
    let mut line = 1;
    let mut depth = 0_usize;
    let mut starts_statement = true;
    while let Some(first) = source[at..].chars().next() {
        let text = &source[at..at + length(&source[at..], first)];
        if first == '\n' {
            starts_statement |= depth == 0 && !source[..at].ends_with('\\');
        } else if !first.is_whitespace() && first != '#' && first != '\\' {
            if ")]}".contains(first) {
                depth = depth.saturating_sub(1);
            }
            let column = || at - source[..at].rfind('\n').map_or(0, |newline| newline + 1);
            tokens.push(Token {
                text,
                at,
                line,
                indent: starts_statement.then(column),
                depth,
            });
            starts_statement = false;
            if "([{".contains(first) {
                depth += 1;
            }
        }
        line += text.matches('\n').count();
        at += text.len();
    }
    tokens
}

/// The length of the token that the text begins with, of a comment, or of one character in between.
fn length(rest: &str, first: char) -> usize {
    let until = |ends: fn(char) -> bool| rest.find(ends).unwrap_or(rest.len());
    match first {
        '"' | '\'' => string_length(rest),
        '#' => until(|c| c == '\n'),
        // The exponent of `2e-5` is a number of its own, which nobody asks about.
        _ if first.is_ascii_digit() => until(|c| ends_name(c) && c != '.'),
        _ if starts_name(first) => until(ends_name),
        _ => {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            sign.map_or(first.len_utf8(), |sign| sign.len())
        }
    }
}

/// A string that is not closed ends with its line, which a backslash continues, or with the file if it has three quotes.
fn string_length(rest: &str) -> usize {
    let quote = &rest[..1];
    let opening = if rest.starts_with(&quote.repeat(3)) {
        &rest[..3]
    } else {
        quote
    };
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(opening.len()) {
        if !escaped && rest[at..].starts_with(opening) {
            return at + opening.len();
        }
        if c == '\n' && !escaped && opening == quote {
            return at;
        }
        escaped = c == '\\' && !escaped;
    }
    rest.len()
}

/// The tokens between the parentheses of every call of what `is` accepts. A definition is no call.
pub fn calls<'t>(
    tokens: &'t [Token],
    is: impl Fn(&Token) -> bool + 't,
) -> impl Iterator<Item = Range<usize>> {
    tokens
        .windows(2)
        .zip(0..)
        .filter(move |(pair, at)| {
            let is_definition = *at > 0 && tokens[at - 1].is_one_of(&["class", "def"]);
            is(&pair[0]) && pair[1].is("(") && pair[1].indent.is_none() && !is_definition
        })
        .map(|(_, at)| in_parentheses(tokens, at + 1))
}

pub fn in_parentheses(tokens: &[Token], open: usize) -> Range<usize> {
    let rest = &tokens[open + 1..];
    let length = rest
        .iter()
        .position(|token| token.depth <= tokens[open].depth)
        .unwrap_or(rest.len());
    open + 1..open + 1 + length
}

/// The imports as dotted names: `a.b` for `import a.b as c`, `a.b.c` and `a.b` for `from a.b import c`.
pub fn imports(tokens: &[Token]) -> Vec<String> {
    let mut found = vec![];
    for statement in tokens.chunk_by(|_, next| next.indent.is_none()) {
        let [keyword, rest @ ..] = statement else {
            continue;
        };
        if keyword.is("import") {
            found.extend(names(rest));
        } else if keyword.is("from")
            && let Some(at) = rest.iter().position(|token| token.is("import"))
        {
            let module: String = rest[..at].iter().map(|token| token.text).collect();
            let dot = if module.ends_with('.') { "" } else { "." };
            found.extend(names(&rest[at + 1..]).map(|name| format!("{module}{dot}{name}")));
            found.push(module);
        }
    }
    found
}

/// The names in a list with commas, without the other names that they get.
fn names(list: &[Token]) -> impl Iterator<Item = String> {
    list.split(|token| token.is(","))
        .map(|name| {
            name.iter()
                .filter(|token| !token.is_one_of(&["(", ")"]))
                .take_while(|token| !token.is_one_of(&["as", ";"]))
                .map(|token| token.text)
                .collect()
        })
        .filter(|name: &String| !name.is_empty())
}
