//! Finds the secrets of a text by what stands around them: `NAME=X`, `"api_key": "X"`, `--hub_token X`, `Bearer X`,
//! `https://user:X@host`. Nothing is read again and again, so the time grows as the text does.

use std::borrow::Cow;

use super::names::{Sensitivity, looks_like_secret, may_show_secret, token_at};

/// Where a secret is in a text, and the name that it goes under.
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) name: String,
}

/// Ends a line of a document, as no secret goes beyond it.
pub(super) const END: char = '\0';
const BLANKS: &[char] = &[' ', '\t', '\r', '\n', END];
/// What ends a value that must look like a secret: all that cannot be in one.
const VAGUE: &str = "\0\n\"` \t\r!#$%&'()*+,./:;<=>?@[\\]^{|}~";

/// The secrets of each word of a command. The value of an option can be the next word, or several if it is in plural.
pub(super) fn scan(words: &[impl AsRef<[u8]>]) -> Vec<Vec<Span>> {
    // With `$`, which can be in a name, for every byte that is not ASCII: the places of all others stay.
    let ascii = |byte: &u8| if byte.is_ascii() { char::from(*byte) } else { '$' };
    let words = words.iter().map(|word| match str::from_utf8(word.as_ref()) {
        Ok(word) if word.is_ascii() => Cow::Borrowed(word),
        _ => Cow::Owned(word.as_ref().iter().map(ascii).collect()),
    });
    let words: Vec<Cow<str>> = words.collect();
    // The option that asks for a value, and the word before it.
    let mut asks: Option<(Name, &str)> = None;
    let (mut last, mut found) = ("", Vec::new());
    for word in &words {
        if asks.is_none() && !may_show_secret(word) && !word.contains(':') {
            found.push(Vec::new());
            last = word;
            continue;
        }
        let (mut spans, mut at) = (tokens(word), 0);
        while let Some(sign) = word[at..].find(['=', ':', ' ']).map(|next| at + next) {
            at = address(word, sign, &mut spans).or_else(|| setting(word, sign, &mut spans)).unwrap_or(sign + 1);
        }
        // `--launcher-arg --token --launcher-arg X` and `--launcher-arg=--token --launcher-arg=X`
        let is_wrapper = word.starts_with("--") && asks.is_some_and(|(_, wrapper)| wrapper == word);
        if let Some((name, wrapper)) = asks.take_if(|_| !is_wrapper) {
            let value = word.strip_prefix(name.before).unwrap_or(word);
            if !is_option(value) {
                spans.extend(name.secret(word, word.len() - value.len(), word.len()));
                asks = name.text.ends_with(['s', 'S']).then_some((name, wrapper));
            }
        }
        let option = name_at_end(word).filter(|name| name.text.starts_with('-') && name.starts_word());
        asks = option.map(|name| (name, last)).or(asks);
        last = word;
        found.push(spans);
    }
    found
}

/// Tokens that are known by how they begin.
fn tokens(text: &str) -> Vec<Span> {
    let is_start = |at: &usize| *at == 0 || !text.as_bytes()[at - 1].is_ascii_alphanumeric();
    let span = |start: usize| Some(Span { start, end: start + token_at(&text[start..])?, name: "TOKEN".to_string() });
    (0..text.len()).filter(is_start).filter_map(span).collect()
}

/// What stands before the `@` of an address, if there is more than the name of a user. Returns where that ends.
fn address(text: &str, sign: usize, found: &mut Vec<Span>) -> Option<usize> {
    let rest = text[sign..].strip_prefix("://")?.split("://").next()?;
    let rest = rest.split(|c| " \t\r\n\0\"'`<>".contains(c)).next()?;
    let authority = rest.split(['/', '?', '#']).next()?;
    // A password may hold any character.
    let length = authority.rfind('@').or_else(|| rest.rfind('@'))?;
    let (user, password) = rest[..length].split_once(':').unwrap_or((&rest[..length], ""));
    let (port, path) = password.split_once(['/', '?', '#']).unwrap_or((password, ""));
    let is_port = !path.is_empty() && port.parse::<u16>().is_ok();
    let hides = if password.is_empty() {
        looks_like_secret(user) || token_at(user).is_some()
    } else {
        !is_port && user.len() < authority.len()
    };
    let end = hides.then_some(sign + 3 + length)?;
    found.push(Span { start: sign + 3, end, name: "CREDENTIALS".to_string() });
    Some(end)
}

/// `NAME=VALUE`, `"NAME": VALUE`, `NAME: VALUE`, `--NAME VALUE`, `Bearer VALUE`, and a key with its value in our own
/// sentences: `` `NAME` is ["VALUE"] ``. Returns how far the text is done with.
fn setting(text: &str, at: usize, found: &mut Vec<Span>) -> Option<usize> {
    let (before, after) = text.split_at(at);
    let (sign, mut rest) = after.split_at(1);
    let word = &before[before.trim_end_matches(is_of_name).len()..];
    if sign == " " && !word.starts_with('-') && !word.eq_ignore_ascii_case("Bearer") {
        rest =
            rest.strip_prefix("is ").filter(|rest| before.ends_with('`') && rest.starts_with(['"', '\'', '[', '{']))?;
    }
    let name = name_at_end(before.trim_ascii_end())?;
    let value = rest.trim_start_matches(if name.is_quoted { BLANKS } else { &[' ', '\t'] });
    let is_other = match sign {
        " " => is_option(value.split(BLANKS).next()?),
        ":" => !name.is_entry(rest),
        _ => name.kind == Sensitivity::Place && value.starts_with(['/', '.', '~']),
    };
    if is_other { None } else { name.value(text, text.len() - value.len(), name.ends(sign), found) }
}

/// The name of a secret.
#[derive(Clone, Copy)]
struct Name<'a> {
    before: &'a str,
    text: &'a str,
    is_quoted: bool,
    kind: Sensitivity,
}

impl Name<'_> {
    /// Whether the name begins its word, or does so behind others: `--set=hub_token=X`.
    fn starts_word(&self) -> bool {
        let before = self.before.trim_end_matches(|c| is_of_name(c) || c == '=');
        before.is_empty() || before.ends_with(END)
    }

    /// Whether the name and a colon are an entry or a header: sentences and `file:line:column` have colons too.
    fn is_entry(&self, rest: &str) -> bool {
        let name = self.text.to_ascii_uppercase();
        let is_header = name.ends_with("AUTHORIZATION") || name.ends_with("COOKIE");
        let before = self.before.trim_end_matches([' ', '-']);
        let is_first = before.is_empty() || before.ends_with([END, '\n', '{', ',']);
        self.is_quoted || is_header || is_first && !rest.starts_with(|c: char| c.is_ascii_digit())
    }

    /// What ends a value that nothing encloses: what stands before its name tells.
    fn ends(&self, sign: &str) -> &'static str {
        match (sign, self.before.chars().next_back()) {
            _ if self.kind == Sensitivity::Vague => VAGUE,
            _ if self.is_quoted => "\0\n\"` \t\r,}]",
            ("=" | ":", _) if self.starts_word() => "\0",
            (":", Some('{' | ',')) => "\0\n\"`,}",
            (":", _) => "\0\n\"`",
            (_, Some('?' | '&')) => "\0\n\"` \t\r&#",
            (_, Some(',')) => "\0\n\"`,",
            (_, Some(';')) => "\0\n\"`;",
            _ => "\0\n\"` \t\r",
        }
    }

    /// Adds what is secret of the value that starts there: what is in quotes, in brackets unless it is a key, or bare.
    /// Returns where it ends.
    fn value(&self, text: &str, start: usize, ends: &str, found: &mut Vec<Span>) -> Option<usize> {
        let (count, mut depth, mut at) = (found.len(), 0, start);
        while let Some(c) = text[at..].chars().next() {
            let mut next = at + 1;
            match c {
                '[' | '{' if ends != VAGUE => depth += 1,
                ']' | '}' if depth > 0 => depth -= 1,
                _ if depth > 0 && ",: \t\r\n\0".contains(c) => {}
                _ => {
                    let bare_end = until(text, at, if depth > 0 { "[]{},: \t\r\n\0\"'" } else { ends });
                    let (inner, end, after) = quoted(text, at).unwrap_or((at, bare_end, bare_end));
                    if depth == 0 || !text[after..].trim_start_matches(BLANKS).starts_with(':') {
                        found.extend(self.secret(text, inner, end));
                    }
                    next = after;
                }
            }
            at = next;
            if depth == 0 {
                break;
            }
        }
        let end = until(text, at, ends);
        // If the value goes on, the quotes or brackets are a part of it.
        found.extend(self.secret(text, start, end).filter(|_| end > at));
        let is_list = text[start..].starts_with(['[', '{']) && ends != VAGUE;
        (found.len() > count || is_list).then_some(end)
    }

    fn secret(&self, text: &str, start: usize, end: usize) -> Option<Span> {
        self.kind.hides(&text[start..end]).then(|| Span { start, end, name: self.text.to_string() })
    }
}

/// A name that ends a text, bare or in quotes, if it is one of secrets.
fn name_at_end(text: &str) -> Option<Name<'_>> {
    let last = text.chars().next_back()?;
    let is_quoted = "\"'`".contains(last);
    let text = if is_quoted { text[..text.len() - 1].trim_end_matches('\\') } else { text };
    let start = if is_quoted { text.rfind(last)? + 1 } else { text.trim_end_matches(is_of_name).len() };
    // JSON may write `&` as `\u0026`.
    let start = if text[..start].ends_with('\\') && text[start..].starts_with("u0026") { start + 5 } else { start };
    let (before, text) = text.split_at(start);
    let kind = Sensitivity::behind(if before.ends_with("u0026") { "&" } else { before }, text)?;
    Some(Name { before, text, is_quoted, kind })
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
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '+' | '~' | '$' | '@' | '%')
}

/// Whether a word is the next option rather than the value of the one before it.
fn is_option(word: &str) -> bool {
    let is_random = word.contains(|c: char| c.is_ascii_digit()) && word.contains(|c: char| c.is_ascii_uppercase());
    word.starts_with("--") && !is_random
}

/// Where the first of these is, or the end.
fn until(text: &str, start: usize, these: &str) -> usize {
    text[start..].find(|c| these.contains(c)).map_or(text.len(), |at| start + at)
}
