//! Finds secrets by the structure of what is read: the words of a command, variables, and documents. No part is looked at
//! again and again, so the time grows as the input does.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::names::{Sensitivity, looks_like_secret, may_show_secret, token_at};
use crate::base::json::{self, SyntaxError};
use crate::base::shell;
use crate::base::yaml::{self, Dialect};

/// Printed instead of a secret.
pub const HIDDEN: &str = "***";

/// A value that nobody may read: it prints as `***`.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Secret(pub(super) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl Secret {
    /// As it is, and as JSON and a shell write it.
    pub(super) fn spellings(&self) -> [Vec<u8>; 3] {
        let json = Value::from(self.0.as_str()).to_string();
        [&self.0, &json[1..json.len() - 1], &self.0.replace('\'', r"'\''")].map(Into::into)
    }
}

/// The name of a secret, and how secret it is.
pub(super) type Name<'a> = (&'a str, Sensitivity);

fn name_of(text: &str) -> Option<Name<'_>> {
    Sensitivity::of(text).map(|kind| (text, kind))
}

/// The secrets of each word of a command. The value of an option can be the next word, or several if it is in plural.
pub(super) fn in_words(words: &[impl AsRef<str>]) -> Vec<Found> {
    let mut asks: Option<Name> = None;
    let words = words.iter().map(AsRef::as_ref).map(|word| {
        let mut found = Found::default();
        // It hands on the word behind it.
        let word = word.strip_prefix("--launcher-arg").map_or(word, |rest| rest.trim_start_matches('='));
        if word.is_empty() {
            return found;
        }
        if let Some(name) = asks.take().filter(|_| !is_option(word)) {
            found.under(name, word);
            asks = name.0.ends_with(['s', 'S']).then_some(name);
        }
        found.word(word);
        let last = word.rsplit('=').next().unwrap_or(word);
        if last.starts_with('-') || last.eq_ignore_ascii_case("Bearer") {
            asks = name_of(last).or(asks);
        }
        found
    });
    words.collect()
}

/// The secrets of a config, a run file, or lines `NAME=VALUE`.
pub(super) fn in_document(text: &str) -> Found {
    let mut found = Found::default();
    if may_show_secret(text) {
        found.document(text);
    }
    found
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

/// Secrets, with the names that they go under.
#[derive(Default)]
pub(super) struct Found(pub(super) BTreeMap<Secret, String>);

impl Found {
    fn add(&mut self, (name, kind): Name, value: &str) {
        if kind.hides(value) {
            self.0.insert(Secret(value.to_string()), name.to_string());
        }
    }

    fn words(&mut self, words: &[impl AsRef<str>]) {
        self.0.extend(in_words(words).into_iter().flat_map(|found| found.0));
    }

    fn document(&mut self, text: &str) {
        match parsed(text) {
            Ok(Value::String(_)) => text.lines().for_each(|line| self.word(line)),
            Ok(value) => self.value(None, value),
            Err(_) => self.loosely(text),
        }
    }

    /// In a text that cannot be read, what stands behind the name of a secret.
    fn loosely(&mut self, text: &str) {
        let mut name = None;
        let parts = text.split(|c: char| c.is_whitespace() || "{}[],:=\"'\\".contains(c));
        for part in parts.filter(|part| !part.is_empty()) {
            name.inspect(|name| self.add(*name, part));
            name = name_of(part);
        }
    }

    fn value(&mut self, name: Option<Name>, mut value: Value) {
        visit(name, &mut value, &mut |name, values| match (name, values) {
            (Some(name), [value]) if name.1.hides(&scalar(value)) => self.add(name, &scalar(value)),
            (_, values) => self.words(&values.iter().filter_map(Value::as_str).collect::<Vec<_>>()),
        });
    }

    /// Under the name of a secret, all of a list or a mapping is secret, or the text itself.
    fn under(&mut self, name: Name, text: &str) {
        match is_collection(text).then(|| parsed(text)) {
            Some(Ok(value)) => self.value(Some(name), value),
            _ => self.add(name, text),
        }
    }

    fn word(&mut self, text: &str) {
        if !may_show_secret(text) {
            return;
        }
        if is_collection(text) {
            return self.document(text);
        }
        self.tokens(text);
        self.addresses(text);
        if !self.settings(text) && text.contains(|c| " \t\r\n\"'\\".contains(c)) {
            // A command in a word. Only a shell knows all of its words.
            let bare = || text.split_whitespace().map(|word| word.trim_matches(['"', '\'', ';']).to_string()).collect();
            let words: Vec<String> = shell::plain_words(text).unwrap_or_else(bare);
            if words != [text] {
                self.words(&words);
            }
        }
    }

    /// Tokens are known by how they begin.
    fn tokens(&mut self, text: &str) {
        for word in text.split(|c: char| !c.is_ascii_alphanumeric() && !"_-".contains(c)) {
            token_at(word).inspect(|length| self.add(("TOKEN", Sensitivity::Password), &word[..*length]));
        }
    }

    /// What stands before the `@` of an address, if there is more than the name of a user.
    fn addresses(&mut self, text: &str) {
        for rest in text.split("://").skip(1) {
            let rest = until(rest, " \t\r\n\"'`<>");
            let authority = until(rest, "/?#");
            // A password may hold any character.
            let Some(end) = authority.rfind('@').or_else(|| rest.rfind('@')) else { continue };
            let (user, password) = rest[..end].split_once(':').unwrap_or((&rest[..end], ""));
            let port = until(password, "/?#");
            let has_port = port != password && port.parse::<u16>().is_ok();
            let has_password = !password.is_empty() && !has_port && user.len() < authority.len();
            if has_password || looks_like_secret(user) || token_at(user).is_some() {
                self.add(("CREDENTIALS", Sensitivity::Password), &rest[..end]);
            }
        }
    }

    /// `NAME=VALUE`, also in a list or in the query of an address, and `NAME: VALUE`. Whether one is the rest of the text.
    fn settings(&mut self, text: &str) -> bool {
        let mut done = 0;
        while let Some(sign) = text[done..].find(['=', ':']).map(|length| done + length) {
            let start = done + text[done..sign].trim_end_matches(is_of_name).len();
            let (name, rest, is_entry) = (&text[start..sign], &text[sign + 1..], text[sign..].starts_with(':'));
            done = sign + 1;
            let before = text[..start].chars().next_back();
            let is_last = matches!(before, None | Some('='));
            let ends = match before {
                Some(',' | ';' | '\n') => &text[start - 1..start],
                Some('?' | '&') => "&#",
                _ => " \t\r\n\"'`,;)]}",
            };
            let Some(name) = name_of(name) else {
                if is_last && !is_entry && is_collection(rest) {
                    self.document(rest);
                    return true;
                }
                continue;
            };
            // `secrets.json:12:3` and `token://host` are none.
            if is_entry && (!is_last || rest.starts_with(|c: char| c == '/' || c.is_ascii_digit())) {
                continue;
            }
            if !is_last {
                let value = until(rest.trim_start_matches(['"', '\'']), ends);
                self.under(name, value);
                done += value.len();
                continue;
            }
            let value = if is_entry { rest.trim() } else { rest };
            self.under(name, value);
            // `Authorization: Bearer X`
            if is_entry && let Some((_, credentials)) = value.split_once(' ') {
                self.add(name, credentials);
            }
            if is_collection(value) || name.1.hides(value) {
                return true;
            }
        }
        false
    }
}

fn is_collection(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

fn parsed(text: &str) -> Result<Value, SyntaxError> {
    json::parse(text).or_else(|_| yaml::parse(text, Dialect::PyYaml))
}

/// The text before the first of these characters.
fn until<'a>(text: &'a str, ends: &str) -> &'a str {
    text.split(|c| ends.contains(c)).next().unwrap_or(text)
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '+' | '~' | '$' | '@' | '%')
}

/// Whether a word is the next option rather than the value of the one before it.
fn is_option(word: &str) -> bool {
    let is_random = word.contains(|c: char| c.is_ascii_digit()) && word.contains(|c: char| c.is_ascii_uppercase());
    word.starts_with("--") && !is_random
}
