//! Where the secrets of a text are, as the text itself tells: `NAME=X`, `"api_key": "X"`, `--hub_token X`, `Bearer X`,
//! `https://user:X@host`. One pass over bytes, whatever they are, in time that grows as the text does.

use super::names::{Sensitivity, ends_with, looks_like_one};

/// How a text is to be read, which says where a value ends that is in no quotes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reading {
    /// One word of a command: the value of the option it begins with is all the rest.
    Word,
    /// A file: a value ends with its line.
    Lines,
    /// Words as they were typed, with blanks between them.
    Place,
    /// The same, but a word after the name of an option is the next word of the sentence.
    Sentence,
}

/// A secret, and the name that it goes under.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Span<'a> {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) name: &'a [u8],
}

pub(crate) const OF_ADDRESS: &[u8] = b"CREDENTIALS";
const OF_HEADER: &[u8] = b"AUTHORIZATION";
const QUOTES: &[u8] = b"\"'";
const BLANKS: &[u8] = b" \t\r\n";
/// How far back the beginning of a name or of a line is looked for.
const FAR: usize = 128;

pub(crate) fn spans(text: &[u8], reading: Reading) -> Vec<Span<'_>> {
    let mut scan = Scan { text, reading, found: Vec::new() };
    let mut at = 0;
    while let Some(next) = text[at..].iter().position(|b| matches!(b, b'=' | b':' | b' ')) {
        let here = at + next;
        let passed = match text[here] {
            b':' if text[here..].starts_with(b"://") => scan.address(here + 3),
            b' ' => scan.blank(here),
            _ => scan.entry(here),
        };
        at = passed.unwrap_or(here + 1);
    }
    scan.found
}

struct Scan<'a> {
    text: &'a [u8],
    reading: Reading,
    found: Vec<Span<'a>>,
}

/// A name before a sign, and whether it is in quotes.
struct Named<'a> {
    name: &'a [u8],
    start: usize,
    quoted: bool,
}

/// Each returns how far the text is done with, if it is further than the sign itself.
impl<'a> Scan<'a> {
    /// `NAME=VALUE`, `"NAME": VALUE`, `NAME: VALUE`.
    fn entry(&mut self, sign: usize) -> Option<usize> {
        let name = self.name_before(sign)?;
        let kind = Sensitivity::of(name.name)?;
        let colon = self.text[sign] == b':';
        if colon && !name.quoted && !self.begins_line(&name) {
            return None;
        }
        let blanks = if name.quoted { BLANKS } else { &b" \t"[..] };
        let start = past(self.text, sign + 1, blanks);
        let bare = Bare { begins: self.begins(&name), colon, ..self.bare(&name) };
        self.value(start, name.name, kind, &bare)
    }

    /// The value that starts there, in quotes, in brackets or bare.
    #[inline(never)]
    fn value(&mut self, start: usize, name: &'a [u8], kind: Sensitivity, bare: &Bare) -> Option<usize> {
        let text = self.text;
        let first = *text.get(start)?;
        if kind == Sensitivity::Place && b"/.~".contains(&first) {
            return None;
        }
        // Where the rest is all of a value, what encloses a part of it does not end it.
        let ends = |after: usize| !bare.begins || after == bare.end(text, start);
        if let Some((inner, until, after)) = quoted(text, start) {
            if ends(after) {
                return self.add(inner, until, name, kind).then_some(after);
            }
        } else if kind == Sensitivity::Vague {
            // It ends where it could not be one, so that nothing is looked at twice.
            let usual = |b: &u8| b.is_ascii_alphanumeric() || b"_-".contains(b);
            let until = start + text[start..].iter().take_while(|b| usual(b)).count();
            return self.add(start, until, name, kind).then_some(until);
        } else if b"[{".contains(&first) {
            let before = self.found.len();
            let after = self.all_within(start, name, kind);
            if ends(after) {
                return Some(after);
            }
            self.found.truncate(before);
        }
        let until = bare.end(text, start);
        let blanks = text[start..until].iter().rev().take_while(|b| BLANKS.contains(b)).count();
        self.add(start, until - blanks, name, kind).then_some(until)
    }

    #[inline(never)]
    fn add(&mut self, start: usize, end: usize, name: &'a [u8], kind: Sensitivity) -> bool {
        let hides = kind.hides(&self.text[start..end]);
        self.found.extend(hides.then_some(Span { start, end, name }));
        hides
    }

    /// Everything but the keys in a list or an object, and where it ends.
    fn all_within(&mut self, start: usize, name: &'a [u8], kind: Sensitivity) -> usize {
        let text = self.text;
        let mut depth = 0;
        let mut at = start;
        while at < text.len() {
            let (from, until, after) = match quoted(text, at) {
                Some(it) => it,
                None if b"[]{},: \t\r\n".contains(&text[at]) => {
                    depth += i32::from(b"[{".contains(&text[at])) - i32::from(b"]}".contains(&text[at]));
                    at += 1;
                    if depth == 0 {
                        return at;
                    }
                    continue;
                }
                None => {
                    let until = until(text, at + 1, b"[]{},: \t\r\n\"'");
                    (at, until, until)
                }
            };
            let next = past(text, after, BLANKS);
            if text.get(next) != Some(&b':') {
                self.add(from, until, name, kind);
            }
            at = after;
        }
        at
    }

    /// What stands before the `@` of an address, if there is more than the name of a user.
    fn address(&mut self, start: usize) -> Option<usize> {
        let rest = &self.text[start..];
        let ends = |at: usize| b" \t\r\n\"'<>`".contains(&rest[at]) || rest[at..].starts_with(b"://");
        let rest = &rest[..(0..rest.len()).find(|at| ends(*at)).unwrap_or(rest.len())];
        let authority = &rest[..until(rest, 0, b"/?#")];
        let last_at = |text: &[u8]| text.iter().rposition(|b| *b == b'@');
        let colon = authority.iter().position(|b| *b == b':');
        let length = match (last_at(authority), colon) {
            (Some(at), Some(colon)) if colon < at => (colon + 1 < at).then_some(at),
            (Some(at), _) => looks_like_one(&authority[..at]).then_some(at),
            // A password may hold any character; a port is a number.
            (None, Some(colon)) if !authority[colon + 1..].iter().all(u8::is_ascii_digit) => last_at(rest),
            _ => None,
        };
        let end = start + length?;
        self.found.push(Span { start, end, name: OF_ADDRESS });
        Some(end)
    }

    /// `--hub_token X`, `Bearer X`; "`api_key` is [X]" in our own sentences.
    fn blank(&mut self, blank: usize) -> Option<usize> {
        let text = self.text;
        let start = blank + 1;
        match text[..blank].last()? {
            b'`' if text[start..].starts_with(b"is ") => {
                let start = start + "is ".len();
                let name = self.name_before(blank)?;
                let kind = Sensitivity::of(name.name)?;
                text.get(start).filter(|b| b"\"'[{".contains(b))?;
                self.value(start, name.name, kind, &self.bare(&name))
            }
            b'r' | b'R' if ends_with(&text[..blank], " BEARER") || text[..blank].eq_ignore_ascii_case(b"BEARER") => {
                let until = until(text, start, b" \t\r\n\"'`,");
                self.add(start, until, OF_HEADER, Sensitivity::Token).then_some(until)
            }
            _ if matches!(self.reading, Reading::Word | Reading::Place) => {
                let name = self.name_before(blank).filter(|it| it.name.starts_with(b"-") && !it.quoted)?;
                let kind = Sensitivity::of(name.name)?;
                let start = past(text, start, b" ");
                let until = until(text, start, BLANKS);
                if is_option(&text[start..until]) {
                    return None;
                }
                self.value(start, name.name, kind, &self.bare(&name))
            }
            _ => None,
        }
    }

    #[inline(never)]
    fn name_before(&self, sign: usize) -> Option<Named<'a>> {
        let text = &self.text[..sign];
        let text = &text[..text.len() - text.iter().rev().take_while(|b| **b == b' ').count()];
        let (last, before) = text.split_last()?;
        if !b"\"'`".contains(last) {
            let start = text.len() - text.iter().rev().take_while(|b| is_of_name(**b)).count();
            return Some(Named { name: &text[start..], start, quoted: false });
        }
        let end = before.len() - before.iter().rev().take_while(|b| **b == b'\\').count();
        let far = end.saturating_sub(FAR);
        let start = far + before[far..end].iter().rposition(|b| b == last)? + 1;
        Some(Named { name: &before[start..end], start, quoted: true })
    }

    fn bare(&self, name: &Named) -> Bare {
        let before = self.text[..name.start].last().copied();
        Bare { begins: false, colon: false, reading: self.reading, quoted: name.quoted, before }
    }

    /// Whether all that follows is the value: `--set=hub_token=X`.
    fn begins(&self, name: &Named) -> bool {
        let before = &self.text[..name.start];
        match self.reading {
            _ if name.quoted => false,
            Reading::Word => before.len() <= FAR && before.iter().all(|b| is_of_name(*b) || *b == b'='),
            Reading::Lines => before.last().is_none_or(|b| *b == b'\n'),
            Reading::Place | Reading::Sentence => false,
        }
    }

    /// Whether a name and a colon are an entry or a header: a sentence has colons too.
    fn begins_line(&self, name: &Named) -> bool {
        if ["AUTHORIZATION", "COOKIE"].iter().any(|header| ends_with(name.name, header)) {
            return true;
        }
        let before = &self.text[name.start.saturating_sub(FAR)..name.start];
        let indent = before.iter().rev().take_while(|b| b" -".contains(b)).count();
        let first = before[..before.len() - indent].last().is_none_or(|b| b"\n{,".contains(b));
        first && matches!(self.reading, Reading::Word | Reading::Lines)
    }
}

/// A value that nothing encloses.
struct Bare {
    /// All the rest of the word or the line is the value.
    begins: bool,
    colon: bool,
    reading: Reading,
    /// The name is in quotes.
    quoted: bool,
    /// What stands before the name.
    before: Option<u8>,
}

impl Bare {
    fn end(&self, text: &[u8], start: usize) -> usize {
        let until = |ends| until(text, start, ends);
        match self.before {
            _ if self.begins && self.reading == Reading::Word => text.len(),
            _ if self.begins => until(b"\n"),
            _ if self.quoted => until(b",}] \t\r\n"),
            Some(b'{' | b',') if self.colon => until(b",}\n\"`"),
            _ if self.colon => until(b"\n\"`"),
            Some(b'?' | b'&') => until(b"&# \t\r\n\"'<>`"),
            Some(delimiter @ (b',' | b';')) if self.reading == Reading::Word => until(&[delimiter, b'\n', b'"']),
            Some(delimiter @ (b',' | b';' | b'\'')) => until(&[delimiter, b' ', b'\t', b'\n', b'"', b'`']),
            Some(b'(') => until(b") \t\n\"`"),
            Some(b'{' | b'[') => until(b"]} \t\n\"`"),
            _ => until(b" \t\n\"`"),
        }
    }
}

/// What is between the quotes that open there: where it starts, where it ends and where the text goes on. Quotes inside
/// of a text that is quoted itself have backslashes before them, and more of them the deeper they are.
#[inline(never)]
fn quoted(text: &[u8], start: usize) -> Option<(usize, usize, usize)> {
    let level = past(text, start, b"\\") - start;
    let quote = *text.get(start + level).filter(|b| QUOTES.contains(b))?;
    let inner = start + level + 1;
    let mut slashes = 0;
    for (at, byte) in (inner..).zip(&text[inner..]) {
        if *byte == quote && slashes % (2 * (level + 1)) == level {
            return Some((inner, at - level, at + 1));
        }
        slashes = if *byte == b'\\' { slashes + 1 } else { 0 };
    }
    Some((inner, text.len(), text.len()))
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || b"_.-+~$@%".contains(&byte)
}

/// Whether a word is the next option rather than the value of the one before it.
pub(crate) fn is_option(word: &[u8]) -> bool {
    word.starts_with(b"--") && !(word.iter().any(u8::is_ascii_digit) && word.iter().any(u8::is_ascii_uppercase))
}

/// Where the first of these is, or the end.
#[inline(never)]
fn until(text: &[u8], start: usize, these: &[u8]) -> usize {
    text[start..].iter().position(|b| these.contains(b)).map_or(text.len(), |at| start + at)
}

/// Where the first is that is none of these, or the end.
#[inline(never)]
fn past(text: &[u8], start: usize, these: &[u8]) -> usize {
    text[start..].iter().position(|b| !these.contains(b)).map_or(text.len(), |at| start + at)
}
