//! Finds the secrets of a text by what stands around them: `NAME=X`, `"api_key": "X"`, `--hub_token X`, `Bearer X`,
//! `https://user:X@host`. The words of a command are one text with NUL bytes between them, and no secret goes beyond
//! its word. Texts are bytes, read once, in time that grows as they do.

use super::names::{Sensitivity, ends_with, is_of_secret, is_path, is_plural, looks_like_secret};

/// Where a secret is in a text, and the name that it goes under.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) name: String,
}

/// Between the words of a command.
pub(super) const NUL: u8 = 0;
const BLANKS: &[u8] = b" \t\r\n\0";
/// What ends a value that is all the rest of its word.
const REST: &[u8] = b"\0";
/// What ends a value that nothing encloses.
const BARE: &[u8] = b"\0\n\"` \t\r";
/// How far back the beginning of a name or of a word is looked for.
const FAR: usize = 128;

pub(super) fn scan(text: &[u8]) -> Vec<Span> {
    let mut scanner = Scanner { text, asks: None, found: Vec::new() };
    let mut at = 0;
    while let Some(next) = text[at..].iter().position(|b| matches!(b, b'=' | b':' | b' ' | &NUL)) {
        let sign = at + next;
        let done = match text[sign] {
            b':' if text[sign..].starts_with(b"://") => scanner.address(sign + 3),
            b' ' => scanner.after_blank(sign),
            NUL => scanner.next_word(sign),
            _ => scanner.assignment(sign),
        };
        at = done.unwrap_or(sign + 1);
    }
    scanner.found
}

struct Scanner<'a> {
    text: &'a [u8],
    /// The option whose value the next word is.
    asks: Option<Name<'a>>,
    found: Vec<Span>,
}

/// The name of a secret.
#[derive(Clone, Copy)]
struct Name<'a> {
    text: &'a [u8],
    start: usize,
    is_quoted: bool,
    kind: Sensitivity,
}

/// The methods return how far the text is done with, if that is further than the sign they were called for.
impl<'a> Scanner<'a> {
    /// `NAME=VALUE`, `"NAME": VALUE`, `NAME: VALUE`.
    fn assignment(&mut self, sign: usize) -> Option<usize> {
        let name = self.name_before(sign)?;
        let is_colon = self.text[sign] == b':';
        let start = past(self.text, sign + 1, if name.is_quoted { BLANKS } else { b" \t" });
        if is_colon && !name.is_quoted && !self.is_entry(&name, &self.text[sign + 1..]) {
            return None;
        }
        let ends = if self.start_of_word(&name).is_some() { REST } else { self.ends(&name, is_colon) };
        self.value(start, &name, ends)
    }

    /// Whether a name and a colon are an entry or a header: sentences and `file:line:column` have colons too.
    fn is_entry(&self, name: &Name, rest: &[u8]) -> bool {
        let is_header = ["AUTHORIZATION", "COOKIE"].iter().any(|header| ends_with(name.text, header));
        let indent = self.text[..name.start].iter().rev().take(FAR).take_while(|b| b" -".contains(b)).count();
        let is_first = self.text[..name.start - indent].last().is_none_or(|b| b"\0\n{,".contains(b));
        is_header || is_first && !rest.first().is_some_and(u8::is_ascii_digit)
    }

    /// What ends a value that nothing encloses: what stands before its name tells.
    fn ends(&self, name: &Name, is_colon: bool) -> &'static [u8] {
        match self.text[..name.start].last() {
            _ if name.is_quoted => b"\0\n\"` \t\r,}]",
            Some(b'{' | b',') if is_colon => b"\0\n\"`,}",
            _ if is_colon => b"\0\n\"`",
            Some(b'?' | b'&') => b"\0\n\"` \t\r'<>&#",
            Some(b',') => b"\0\n\"`,",
            Some(b';') => b"\0\n\"`;",
            Some(b'(') => b"\0\n\"` \t\r)",
            Some(b'{' | b'[') => b"\0\n\"` \t\r}]",
            Some(b'\'') => b"\0\n\"` \t\r'",
            _ => BARE,
        }
    }

    /// `--hub_token X` and `Bearer X` inside of a word, and a key with its value in our own sentences:
    /// `` `api_key` is ["X"] ``.
    fn after_blank(&mut self, blank: usize) -> Option<usize> {
        let (before, after) = self.text.split_at(blank);
        if before.ends_with(b"`") {
            after.strip_prefix(b" is ")?.first().filter(|b| b"\"'[{".contains(b))?;
            return self.value(blank + 4, &self.name_before(blank)?, BARE);
        }
        let word = &before[blank - before.iter().rev().take_while(|b| is_of_name(**b)).count()..];
        let is_bearer = word.eq_ignore_ascii_case(b"Bearer");
        if !word.starts_with(b"-") && !is_bearer {
            return None;
        }
        let start = past(self.text, blank + 1, b" ");
        let next = &self.text[start..until(self.text, start, BLANKS)];
        let name = self.name_before(blank).filter(|_| !is_option(next))?;
        self.value(start, &name, if is_bearer { b"\0\n\"` \t\r'," } else { self.ends(&name, false) })
    }

    /// `--hub_token X` as words of a command; an option in plural goes on asking.
    fn next_word(&mut self, nul: usize) -> Option<usize> {
        let text = self.text;
        let option = self.name_before(nul).filter(|it| !it.is_quoted && it.text.starts_with(b"-"));
        if let Some(name) = option.filter(|it| self.start_of_word(it).is_some()) {
            self.asks = Some(name);
        }
        let name = self.asks.take()?;
        let asker = self.start_of_word(&name)?;
        let (start, end) = (nul + 1, until(text, nul + 1, REST));
        // `--launcher-arg --token --launcher-arg X` and `--launcher-arg=--token --launcher-arg=X`
        let wrapper = text[..asker.saturating_sub(1)].rsplit(|b| *b == NUL).next()?;
        if wrapper.len() > 2 && wrapper.starts_with(b"--") && *wrapper == text[start..end] {
            self.asks = Some(name);
            return Some(end);
        }
        let prefix = &text[asker..name.start];
        let start = if text[start..end].starts_with(prefix) { start + prefix.len() } else { start };
        if is_option(&text[start..end]) {
            return None;
        }
        self.asks = is_plural(name.text).then_some(name);
        self.add(start, end, &name).then_some(end)
    }

    /// What stands before the `@` of an address, if there is more than the name of a user.
    fn address(&mut self, start: usize) -> Option<usize> {
        let rest = &self.text[start..];
        let ends = |at: &usize| b" \t\r\n\0\"'<>`".contains(&rest[*at]) || rest[*at..].starts_with(b"://");
        let rest = &rest[..(0..rest.len()).find(ends).unwrap_or(rest.len())];
        let authority = &rest[..until(rest, 0, b"/?#")];
        let last_at = |text: &[u8]| text.iter().rposition(|b| *b == b'@');
        let colon = authority.iter().position(|b| *b == b':');
        let length = match (last_at(authority), colon) {
            (Some(at), Some(colon)) if colon < at => (colon + 1 < at).then_some(at),
            (Some(at), _) => looks_like_secret(&authority[..at]).then_some(at),
            // A password may hold any character; a port is a number.
            (None, Some(colon)) if !authority[colon + 1..].iter().all(u8::is_ascii_digit) => last_at(rest),
            _ => None,
        };
        let end = start + length?;
        self.found.push(Span { start, end, name: "CREDENTIALS".to_string() });
        Some(end)
    }

    /// A name that ends there, bare or in quotes, if it is one of secrets.
    fn name_before(&self, end: usize) -> Option<Name<'a>> {
        let text = self.text[..end].trim_ascii_end();
        let (last, before) = text.split_last()?;
        let is_quoted = b"\"'`".contains(last);
        let (start, end) = if is_quoted {
            let end = before.len() - before.iter().rev().take_while(|b| **b == b'\\').count();
            let far = end.saturating_sub(FAR);
            (far + before[far..end].iter().rposition(|b| b == last)? + 1, end)
        } else {
            (text.len() - text.iter().rev().take_while(|b| is_of_name(**b)).count(), text.len())
        };
        let text = &text[start..end];
        Some(Name { text, start, is_quoted, kind: Sensitivity::of(text)? })
    }

    /// Where the word begins that a name begins: `--set=hub_token=X`. All that follows is then its value.
    fn start_of_word(&self, name: &Name) -> Option<usize> {
        let before = self.text[..name.start].iter().rev().take(FAR);
        let start = name.start - before.take_while(|b| is_of_name(**b) || **b == b'=').count();
        (!name.is_quoted && self.text[..start].last().is_none_or(|b| *b == NUL)).then_some(start)
    }

    /// The value that starts there, in quotes, in brackets or bare.
    fn value(&mut self, start: usize, name: &Name, ends: &[u8]) -> Option<usize> {
        let text = self.text;
        let first = *text.get(start)?;
        if name.kind == Sensitivity::Place && is_path(first) {
            return None;
        }
        if let Some((inner, end, after)) = quoted(text, start).filter(|_| ends != REST) {
            return self.add(inner, end, name).then_some(after);
        }
        if name.kind == Sensitivity::Vague {
            // It ends where it cannot be one any more, so that nothing is read twice.
            let end = start + text[start..].iter().take_while(|b| is_of_secret(**b)).count();
            return self.add(start, end, name).then_some(end);
        }
        if b"[{".contains(&first) {
            let found = self.found.len();
            let after = self.values_within(start, name);
            if ends != REST || after == until(text, start, REST) {
                return Some(after);
            }
            self.found.truncate(found);
        }
        let end = until(text, start, ends);
        self.add(start, end, name).then_some(end)
    }

    /// Adds everything but the keys of a list or an object, and returns where that ends.
    fn values_within(&mut self, open: usize, name: &Name) -> usize {
        let (text, mut depth, mut at) = (self.text, 0, open);
        while at < text.len() {
            match text[at] {
                b'[' | b'{' => depth += 1,
                b']' | b'}' if depth == 1 => return at + 1,
                b']' | b'}' => depth -= 1,
                byte if b",:".contains(&byte) || BLANKS.contains(&byte) => {}
                _ => {
                    let bare_end = until(text, at + 1, b"[]{},: \t\r\n\0\"'");
                    let (inner, end, after) = quoted(text, at).unwrap_or((at, bare_end, bare_end));
                    if text.get(past(text, after, BLANKS)) != Some(&b':') {
                        self.add(inner, end, name);
                    }
                    at = after;
                    continue;
                }
            }
            at += 1;
        }
        at
    }

    fn add(&mut self, start: usize, end: usize, name: &Name) -> bool {
        let hides = name.kind.hides(&self.text[start..end]);
        let name = || String::from_utf8_lossy(name.text).into_owned();
        self.found.extend(hides.then(|| Span { start, end, name: name() }));
        hides
    }
}

/// What is between the quotes that open there: where it starts, where it ends and where the text goes on. Quotes in a
/// text that is quoted itself have backslashes before them: those that close have as many as those that open.
fn quoted(text: &[u8], start: usize) -> Option<(usize, usize, usize)> {
    let inner = past(text, start, b"\\") + 1;
    let quote = text.get(start..inner).filter(|it| it.ends_with(b"\"") || it.ends_with(b"'"))?;
    let closes = |at: &usize| text[*at..].starts_with(quote) && (*at == inner || text[at - 1] != b'\\');
    let end = (inner..text.len()).find(|at| closes(at) || text[*at] == NUL).unwrap_or(text.len());
    Some((inner, end, if text[end..].starts_with(quote) { end + quote.len() } else { end }))
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || b"_.-+~$@%".contains(&byte)
}

/// Whether a word is the next option rather than the value of the one before it.
fn is_option(word: &[u8]) -> bool {
    word.starts_with(b"--") && !(word.iter().any(u8::is_ascii_digit) && word.iter().any(u8::is_ascii_uppercase))
}

/// Where the first of these is, or the end.
fn until(text: &[u8], start: usize, these: &[u8]) -> usize {
    text[start..].iter().position(|b| these.contains(b)).map_or(text.len(), |at| start + at)
}

/// Where the first is that is none of these, or the end.
fn past(text: &[u8], start: usize, these: &[u8]) -> usize {
    text[start..].iter().position(|b| !these.contains(b)).map_or(text.len(), |at| start + at)
}
