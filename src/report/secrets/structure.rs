//! Finds secrets by the structure of the input: the words of a command, variables, and documents. No part is looked at
//! again and again, so the time grows as the input does.

use std::collections::BTreeMap;

use serde_json::Value;

use super::names::{Sensitivity, looks_like_secret, may_show_secret, token_at};
use crate::base::json::{self, SyntaxError};
use crate::base::shell;
use crate::base::yaml::{self, Dialect};

/// Printed instead of a secret.
pub const HIDDEN: &str = "***";

/// A word with more names and secrets than this is hidden as a whole.
const MOST_IN_WORD: usize = 128;

/// A value that nothing can print.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Secret(pub(super) String);

/// Secrets with the names that they go under.
pub(super) type Named = BTreeMap<Secret, String>;

impl Secret {
    /// As it is, and as JSON and a shell write it.
    pub(super) fn spellings(&self) -> Vec<String> {
        let json = Value::from(self.0.as_str()).to_string();
        let mut all = vec![self.0.clone(), json[1..json.len() - 1].to_string(), self.0.replace('\'', r"'\''")];
        all.dedup();
        all
    }
}

/// The name of a secret, and how secret it is.
pub(super) type Name<'a> = (&'a str, Sensitivity);

fn name_of(text: &str) -> Option<Name<'_>> {
    Sensitivity::of(text).map(|kind| (text, kind))
}

/// The secrets of each word of a command.
pub(super) fn in_words(words: &[impl AsRef<str>]) -> Vec<Named> {
    let mut asks = None;
    let words = words.iter().map(AsRef::as_ref).map(|word| {
        let mut found = Found { secrets: Named::new(), left: MOST_IN_WORD };
        found.next_word(&mut asks, word);
        if found.left == 0 {
            found.secrets.insert(Secret(word.to_string()), "SECRETS".to_string());
        }
        found.secrets
    });
    words.collect()
}

/// The secrets of a config, a run file, or lines `NAME=VALUE`.
pub(super) fn in_document(text: &str) -> Named {
    let mut found = Found { secrets: Named::new(), left: usize::MAX };
    if may_show_secret(text) {
        found.document(text);
    }
    found.secrets
}

/// Visits the texts and numbers of a JSON value, with the name of the secret that they are under. The words of a list are
/// visited together.
pub(super) fn visit(name: Option<Name>, value: &mut Value, each: &mut dyn FnMut(Option<Name>, &mut [Value])) {
    match value {
        Value::Array(items) if name.is_none() && items.iter().all(Value::is_string) => each(None, items),
        Value::Array(items) => items.iter_mut().for_each(|item| visit(name, item, each)),
        Value::Object(entries) => {
            entries.iter_mut().for_each(|(key, value)| visit(name.or_else(|| name_of(key)), value, each));
        }
        value => each(name, std::slice::from_mut(value)),
    }
}

pub(super) fn scalar(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

struct Found {
    secrets: Named,
    /// How many more names and secrets are looked at.
    left: usize,
}

impl Found {
    fn may_go_on(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }

    fn add(&mut self, (name, kind): Name, value: &str) -> bool {
        let is_secret = kind.hides(value);
        if is_secret && self.may_go_on() {
            self.secrets.insert(Secret(value.to_string()), name.to_string());
        }
        is_secret
    }

    fn name_of<'a>(&mut self, text: &'a str) -> Option<Name<'a>> {
        if may_show_secret(text) && self.may_go_on() { name_of(text) } else { None }
    }

    fn document(&mut self, text: &str) {
        match parsed(text) {
            Ok(Value::String(_)) => text.lines().for_each(|line| self.word(line)),
            Ok(value) => self.value(None, value),
            Err(_) => self.broken_document(text),
        }
    }

    fn broken_document(&mut self, text: &str) {
        let mut name = None;
        let parts = text.split(|c: char| c.is_whitespace() || "{}[],:=\"'\\".contains(c));
        for part in parts.filter(|part| !part.is_empty()) {
            name.inspect(|name| _ = self.add(*name, part));
            name = self.name_of(part);
        }
    }

    fn value(&mut self, name: Option<Name>, mut value: Value) {
        visit(name, &mut value, &mut |name, values| match (name, values) {
            (Some(name), [value]) if self.add(name, &scalar(value)) => {}
            (_, values) => self.words(values.iter().filter_map(Value::as_str)),
        });
    }

    /// Under the name of a secret, all of a list or a mapping is secret, or the text itself.
    fn under(&mut self, name: Name, text: &str) -> bool {
        if is_collection(text)
            && let Ok(value) = parsed(text)
        {
            self.value(Some(name), value);
            return true;
        }
        self.add(name, text)
    }

    fn words<'a>(&mut self, words: impl IntoIterator<Item = &'a str>) {
        let mut asks = None;
        words.into_iter().for_each(|word| self.next_word(&mut asks, word));
    }

    /// The value of the option that `asks` for one can be this word, and the following ones if its name is in plural.
    fn next_word<'a>(&mut self, asks: &mut Option<Name<'a>>, word: &'a str) {
        // It hands on the word behind it.
        let word = word.strip_prefix("--launcher-arg").map_or(word, |rest| rest.trim_start_matches('='));
        if word.is_empty() {
            return;
        }
        if let Some(name) = asks.take()
            && !is_option(word)
        {
            *asks = name.0.ends_with(['s', 'S']).then_some(name);
            if self.under(name, word) {
                return;
            }
        }
        self.word(word);
        let last = word.rsplit('=').next().unwrap_or(word);
        if last.starts_with('-') || last.eq_ignore_ascii_case("Bearer") {
            *asks = self.name_of(last).or(*asks);
        }
    }

    /// Takes a word apart: `NAME=VALUE` and `NAME: VALUE` first, then lines, then words of a command or items of a list.
    fn word(&mut self, word: &str) {
        if !may_show_secret(word) {
            return;
        }
        let mut rest = word;
        while !is_collection(rest) {
            let end = rest.find(is_special).unwrap_or(rest.len());
            let (text, behind) = rest.split_at(end);
            self.tokens(text);
            let Some(special) = behind.chars().next() else { return };
            if !matches!(special, '=' | ':') {
                return self.parts(rest, special);
            }
            rest = &behind[1..];
            if special == ':' && rest.starts_with("//") {
                rest = &rest[2 + self.credentials(&rest[2..])..];
            } else if special == '=' || !rest.starts_with(|c: char| c == '/' || c.is_ascii_digit()) {
                // Not `secrets.json:12:3`.
                let value = if special == ':' { rest.trim() } else { rest };
                if let Some(name) = self.name_of(text)
                    && self.under(name, value)
                {
                    if special == ':'
                        && let Some((_, credentials)) = value.split_once(' ')
                    {
                        // `Authorization: Bearer X`
                        self.add(name, credentials);
                    }
                    return;
                }
            }
        }
        self.document(rest);
    }

    fn parts(&mut self, text: &str, separator: char) {
        let is_blank = |c: char| c.is_whitespace() || is_quote(c);
        if text.contains('\n') {
            text.split('\n').for_each(|line| self.word(line));
        } else if is_blank(separator) {
            match shell::plain_words(text) {
                Some(words) => self.words(words.iter().map(String::as_str)),
                None => self.words(text.split(is_blank)),
            }
        } else if matches!(separator, '?' | '&') {
            text.split(['?', '&', '#']).for_each(|item| self.word(item));
        } else {
            text.split(separator).for_each(|item| self.word(item));
        }
    }

    /// Adds the tokens that are known by how they begin.
    fn tokens(&mut self, text: &str) {
        for word in text.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-')) {
            token_at(word).inspect(|length| _ = self.add(("TOKEN", Sensitivity::Password), &word[..*length]));
        }
    }

    /// Adds the text before the `@` of an address, unless it is only the name of a user. Returns its length.
    fn credentials(&mut self, text: &str) -> usize {
        let text = text.split("://").next().unwrap_or(text);
        let text = until(text, |c| c.is_whitespace() || is_quote(c) || matches!(c, '<' | '>'));
        let is_end = |c| matches!(c, '/' | '?' | '#');
        let authority = until(text, is_end);
        // A password may hold any character.
        let Some(end) = authority.rfind('@').or_else(|| text.rfind('@')) else { return 0 };
        let (user, password) = text[..end].split_once(':').unwrap_or((&text[..end], ""));
        let port = until(password, is_end);
        let has_port = port != password && port.parse::<u16>().is_ok();
        let has_password = !password.is_empty() && !has_port && user.len() < authority.len();
        if has_password || looks_like_secret(user) || token_at(user).is_some() {
            self.add(("CREDENTIALS", Sensitivity::Password), &text[..end]);
            return end;
        }
        0
    }
}

fn parsed(text: &str) -> Result<Value, SyntaxError> {
    json::parse(text).or_else(|_| yaml::parse(text, Dialect::PyYaml))
}

fn is_collection(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`')
}

/// Where a word may be taken apart.
fn is_special(c: char) -> bool {
    matches!(c, '=' | ':' | ',' | ';' | '&' | '?' | '#' | '|' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | '\\')
        || c.is_whitespace()
        || is_quote(c)
}

fn until(text: &str, is_end: impl Fn(char) -> bool) -> &str {
    text.split(is_end).next().unwrap_or(text)
}

/// Tells the next option from a random value that begins with `--`.
fn is_option(word: &str) -> bool {
    let is_random = word.contains(|c: char| c.is_ascii_digit()) && word.contains(|c: char| c.is_ascii_uppercase());
    word.starts_with("--") && !is_random
}
