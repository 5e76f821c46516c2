//! Finds the secrets of a text by what stands around them: `NAME=X`, `"api_key": "X"`, `--hub_token X`, `Bearer X`,
//! `https://user:X@host`. Nothing is read twice, so the time grows as the text does.

use super::names::{Sensitivity, looks_like_secret};

/// Where a secret is in a text, and the name that it goes under.
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) name: String,
}

/// Ends a line of a document, as no secret goes beyond it.
pub(super) const END: char = '\0';
const BLANKS: &[char] = &[' ', '\t', '\r', '\n', END];
/// What ends a value that is all the rest of its word.
const REST: &str = "\0";
/// What ends a value that nothing encloses.
const BARE: &str = "\0\n\"` \t\r";
/// What ends a value that must look like a secret: all that cannot be in one.
const VAGUE: &str = "\0\n\"` \t\r!#$%&'()*+,./:;<=>?@[\\]^{|}~";

/// The secrets of each word of a command. The value of an option can be the next word, or several if it is in plural.
pub(super) fn scan_words(words: &[&[u8]]) -> Vec<Vec<Span>> {
    let words: Vec<String> = words.iter().map(|word| ascii(word)).collect();
    let mut found = Vec::new();
    // The option, what stands before it in its word, and the word before that one.
    let mut asks: Option<(Name, &str, &str)> = None;
    let mut last = "";
    for word in &words {
        let mut spans = scan_ascii(word);
        // `--launcher-arg --token --launcher-arg X` and `--launcher-arg=--token --launcher-arg=X`
        let is_wrapper = |wrapper: &str| word.starts_with("--") && word == wrapper;
        if let Some((name, prefix, wrapper)) = asks.take_if(|(_, _, wrapper)| !is_wrapper(wrapper)) {
            let value = word.strip_prefix(prefix).unwrap_or(word);
            let is_value = !is_option(value);
            if is_value && name.kind.hides(value) {
                let start = word.len() - value.len();
                spans = vec![Span { start, end: word.len(), name: name.text.to_string() }];
            }
            asks = (is_value && name.text.ends_with(['s', 'S'])).then_some((name, prefix, wrapper));
        }
        let option = name_at_end(word).filter(|name| name.text.starts_with('-') && starts_word(word, name));
        if let Some(name) = option {
            asks = Some((name, &word[..name.start], last));
        }
        last = word;
        found.push(spans);
    }
    found
}

pub(super) fn scan(text: &[u8]) -> Vec<Span> {
    scan_ascii(&ascii(text))
}

/// The text with `$`, which can be in a name, for every byte that is not ASCII: places in it stay what they are.
fn ascii(text: &[u8]) -> String {
    text.iter().map(|byte| if byte.is_ascii() { char::from(*byte) } else { '$' }).collect()
}

fn scan_ascii(text: &str) -> Vec<Span> {
    let mut scanner = Scanner { text, found: Vec::new() };
    let mut at = 0;
    while let Some(next) = text[at..].find(['=', ':', ' ']) {
        let sign = at + next;
        let done = if text[sign..].starts_with("://") { scanner.address(sign + 3) } else { scanner.setting(sign) };
        at = done.unwrap_or(sign + 1);
    }
    scanner.found
}

struct Scanner<'a> {
    text: &'a str,
    found: Vec<Span>,
}

/// The name of a secret.
#[derive(Clone, Copy)]
struct Name<'a> {
    text: &'a str,
    start: usize,
    is_quoted: bool,
    kind: Sensitivity,
}

/// The methods return how far the text is done with, if that is further than the sign they were called for.
impl<'a> Scanner<'a> {
    /// `NAME=VALUE`, `"NAME": VALUE`, `NAME: VALUE`, `--NAME VALUE`, `Bearer VALUE`, and a key with its value in our own
    /// sentences: `` `NAME` is ["VALUE"] ``.
    fn setting(&mut self, at: usize) -> Option<usize> {
        let (before, after) = self.text.split_at(at);
        let (sign, rest) = after.split_at(1);
        if sign == " " {
            if before.ends_with('`') {
                rest.strip_prefix("is ").filter(|value| value.starts_with(['"', '\'', '[', '{']))?;
                return self.value(at + 4, &name_at_end(before)?, BARE);
            }
            let word = &before[before.trim_end_matches(is_of_name).len()..];
            if !word.starts_with('-') && !word.eq_ignore_ascii_case("Bearer") {
                return None;
            }
        }
        let name = name_at_end(before.trim_ascii_end())?;
        let value = rest.trim_start_matches(if name.is_quoted { BLANKS } else { &[' ', '\t'] });
        let is_sentence = match sign {
            " " => is_option(value.split(BLANKS).next()?),
            ":" => !name.is_quoted && !self.is_entry(&name, rest),
            _ => false,
        };
        if is_sentence { None } else { self.value(self.text.len() - value.len(), &name, self.ends(&name, sign)) }
    }

    /// Whether a name and a colon are an entry or a header: sentences and `file:line:column` have colons too.
    fn is_entry(&self, name: &Name, rest: &str) -> bool {
        let text = name.text.to_ascii_uppercase();
        let before = self.text[..name.start].trim_end_matches([' ', '-']);
        let is_first = before.is_empty() || before.ends_with([END, '\n', '{', ',']);
        text.ends_with("AUTHORIZATION")
            || text.ends_with("COOKIE")
            || is_first && !rest.starts_with(|c: char| c.is_ascii_digit())
    }

    /// What ends a value that nothing encloses: what stands before its name tells.
    fn ends(&self, name: &Name, sign: &str) -> &'static str {
        let before = &self.text[..name.start];
        match (sign, before.chars().next_back()) {
            _ if matches!(name.kind, Sensitivity::Vague | Sensitivity::Place) => VAGUE,
            _ if name.is_quoted => "\0\n\"` \t\r,}]",
            ("=" | ":", _) if starts_word(self.text, name) => REST,
            (":", Some('{' | ',')) => "\0\n\"`,}",
            (":", _) => "\0\n\"`",
            (_, Some('?' | '&')) => "\0\n\"` \t\r'<>&#",
            (_, Some(',')) => "\0\n\"`,",
            (_, Some(';')) => "\0\n\"`;",
            (_, Some('(' | '{' | '[')) => "\0\n\"` \t\r)}]",
            (_, Some('\'')) => "\0\n\"` \t\r'",
            _ => BARE,
        }
    }

    /// What stands before the `@` of an address, if there is more than the name of a user.
    fn address(&mut self, start: usize) -> Option<usize> {
        let rest = self.text[start..].split("://").next()?;
        let rest = rest.split([' ', '\t', '\r', '\n', END, '"', '\'', '<', '>', '`']).next()?;
        let authority = rest.split(['/', '?', '#']).next()?;
        // A password may hold any character.
        let length = authority.rfind('@').or_else(|| rest.rfind('@'))?;
        let is_secret = match rest[..length].split_once(':') {
            Some((user, password)) if authority.len() > user.len() => match password.split_once(['/', '?', '#']) {
                Some((port, _)) => port.contains(|c: char| !c.is_ascii_digit()),
                None => !password.is_empty(),
            },
            _ => looks_like_secret(&rest[..length]),
        };
        is_secret.then(|| {
            self.found.push(Span { start, end: start + length, name: "CREDENTIALS".to_string() });
            start + length
        })
    }

    /// The value that starts there, in quotes, in brackets or bare.
    fn value(&mut self, start: usize, name: &Name<'a>, ends: &str) -> Option<usize> {
        if let Some((inner, end, after)) = quoted(self.text, start).filter(|_| ends != REST) {
            return self.add(inner, end, name).then_some(after);
        }
        if self.text[start..].starts_with(['[', '{']) && ends != VAGUE {
            let found = self.found.len();
            let after = self.values_within(start, name);
            if ends != REST || after == until(self.text, start, REST) {
                return Some(after);
            }
            self.found.truncate(found);
        }
        let end = until(self.text, start, ends);
        self.add(start, end, name).then_some(end)
    }

    /// Adds everything but the keys of a list or an object, and returns where that ends.
    fn values_within(&mut self, open: usize, name: &Name<'a>) -> usize {
        let (mut depth, mut at) = (0, open);
        while let Some(c) = self.text[at..].chars().next() {
            let mut next = at + 1;
            match c {
                '[' | '{' => depth += 1,
                ']' | '}' if depth == 1 => return next,
                ']' | '}' => depth -= 1,
                ',' | ':' => {}
                _ if BLANKS.contains(&c) => {}
                _ => {
                    let bare_end = until(self.text, next, "[]{},: \t\r\n\0\"'");
                    let (inner, end, after) = quoted(self.text, at).unwrap_or((at, bare_end, bare_end));
                    next = after;
                    if !self.text[after..].trim_start_matches(BLANKS).starts_with(':') {
                        self.add(inner, end, name);
                    }
                }
            }
            at = next;
        }
        at
    }

    fn add(&mut self, start: usize, end: usize, name: &Name<'a>) -> bool {
        let hides = name.kind.hides(&self.text[start..end]);
        self.found.extend(hides.then(|| Span { start, end, name: name.text.to_string() }));
        hides
    }
}

/// A name that ends a text, bare or in quotes, if it is one of secrets.
fn name_at_end(text: &str) -> Option<Name<'_>> {
    let last = text.chars().next_back()?;
    let is_quoted = ['"', '\'', '`'].contains(&last);
    let (start, text) = if is_quoted {
        let text = text[..text.len() - 1].trim_end_matches('\\');
        (text.rfind(last)? + 1, text)
    } else {
        (text.trim_end_matches(is_of_name).len(), text)
    };
    let text = &text[start..];
    Some(Name { text, start, is_quoted, kind: Sensitivity::of(text)? })
}

/// Whether a name begins its word, or all before it there does: `--set=hub_token=X`. All that follows is then its value.
fn starts_word(text: &str, name: &Name) -> bool {
    let before = text[..name.start].trim_end_matches(|c| is_of_name(c) || c == '=');
    !name.is_quoted && (before.is_empty() || before.ends_with(END))
}

/// What is between the quotes that open there: where it starts, where it ends and where the text goes on. Quotes in a
/// text that is quoted itself have backslashes before them: those that close have as many as those that open.
fn quoted(text: &str, start: usize) -> Option<(usize, usize, usize)> {
    let inner = text.len() - text[start..].trim_start_matches('\\').len() + 1;
    let quote = text.get(start..inner).filter(|quote| quote.ends_with(['"', '\'']))?;
    let closes = |at: &usize| text[*at..].starts_with(quote) && (*at == inner || !text[..*at].ends_with('\\'));
    let end = (inner..text.len()).find(|at| closes(at) || text[*at..].starts_with(END)).unwrap_or(text.len());
    Some((inner, end, if text[end..].starts_with(quote) { end + quote.len() } else { end }))
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_.-+~$@%".contains(c)
}

/// Whether a word is the next option rather than the value of the one before it.
fn is_option(word: &str) -> bool {
    let has = |is: fn(&char) -> bool| word.chars().any(|c| is(&c));
    word.starts_with("--") && !(has(char::is_ascii_digit) && has(char::is_ascii_uppercase))
}

/// Where the first of these is, or the end.
fn until(text: &str, start: usize, these: &str) -> usize {
    text[start..].find(|c| these.contains(c)).map_or(text.len(), |at| start + at)
}
