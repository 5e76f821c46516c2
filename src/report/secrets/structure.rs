//! Finds secrets in the words of a command, in variables and in documents: by the names that they go under, and by the known
//! shapes of tokens and addresses, in time linear in their length.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    base::{
        json::{self, text},
        shell,
        yaml::{self, Dialect},
    },
    report::tables::secrets::{
        ANYWHERE, BEFORE_TOKENS, ENDINGS, HARMLESS_VALUES, LAST, LAST_OF_VARIABLES, OTHER_ENDINGS,
        TABLE_WORDS, TOKENIZER_WORDS, TOKENS,
    },
};

/// Printed instead of a secret.
pub const HIDDEN: &str = "***";

/// Secrets with the names that they go under.
pub type Named = BTreeMap<String, String>;

/// The secrets of each word. An option can make the word behind it one.
pub fn in_words(words: &[impl AsRef<str>]) -> Vec<Named> {
    let mut asks = None;
    let mut all = vec![];
    for word in words.iter().map(AsRef::as_ref) {
        let mut found = Found::default();
        found.next_word(&mut asks, word);
        all.push(found.secrets);
    }
    all
}

/// The secrets of a config, a run file, or lines `NAME=VALUE`.
pub fn in_document(text: &str) -> Named {
    let mut found = Found::default();
    found.document(text);
    found.secrets
}

fn is_collection(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

fn parsed(text: &str) -> Option<Value> {
    let yaml = || yaml::parse(text, Dialect::PyYaml);
    json::parse(text).or_else(|_| yaml()).ok()
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>')
}

fn is_special(c: char) -> bool {
    ends_word(c) || "()[]{}=:,;&?#|\\".contains(c)
}

#[derive(Clone, Copy)]
struct Name<'a> {
    text: &'a str,
    kind: Sensitivity,
}

impl<'a> Name<'a> {
    fn of(text: &'a str) -> Option<Self> {
        Sensitivity::of(text).map(|kind| Name { text, kind })
    }
}

#[derive(Default)]
struct Found {
    secrets: Named,
}

impl Found {
    /// Returns whether the value is secret.
    fn add(&mut self, name: Name, value: &str) -> bool {
        let is_secret = name.kind.hides(value);
        if is_secret {
            self.secrets
                .insert(value.to_string(), name.text.to_string());
        }
        is_secret
    }

    fn document(&mut self, text: &str) {
        match parsed(text) {
            Some(Value::String(_)) => text.lines().for_each(|line| self.word(line)),
            Some(value) => self.value(None, &value),
            None => self.broken_document(text),
        }
    }

    /// What stands behind the name of a secret, since the line may be shown where the text goes wrong.
    fn broken_document(&mut self, text: &str) {
        let mut name = None;
        for part in text.split(is_special).filter(|part| !part.is_empty()) {
            if let Some(name) = name {
                self.add(name, part);
            }
            name = Name::of(part);
        }
    }

    /// Under the name of a secret, everything in a list or a mapping is secret.
    fn value(&mut self, name: Option<Name>, value: &Value) {
        match value {
            Value::Array(items) if name.is_none() && items.iter().all(Value::is_string) => {
                self.words(items.iter().filter_map(Value::as_str));
            }
            Value::Array(items) => items.iter().for_each(|item| self.value(name, item)),
            Value::Object(entries) => {
                for (key, value) in entries {
                    self.value(name.or_else(|| Name::of(key)), value);
                }
            }
            scalar_value => {
                let is_secret = name.is_some_and(|name| self.add(name, &text(scalar_value)));
                if !is_secret {
                    self.words(scalar_value.as_str().into_iter());
                }
            }
        }
    }

    /// What stands under the name of a secret: a list or a mapping, or the text itself.
    fn under(&mut self, name: Name, text: &str) -> bool {
        match is_collection(text).then(|| parsed(text)).flatten() {
            Some(value) => {
                self.value(Some(name), &value);
                true
            }
            None => self.add(name, text),
        }
    }

    fn words<'a>(&mut self, words: impl Iterator<Item = &'a str>) {
        let mut asks = None;
        for word in words {
            self.next_word(&mut asks, word);
        }
    }

    /// A word, which can be the value that the option before it asks for. One whose name is in plural asks for several.
    fn next_word<'a>(&mut self, asks: &mut Option<Name<'a>>, word: &'a str) {
        let is_option = word.starts_with("--");
        let name = asks.filter(|_| !is_option);
        if is_option || name.is_some_and(|name| !name.text.ends_with(['s', 'S'])) {
            *asks = None;
        }
        if name.is_some_and(|name| self.under(name, word)) {
            return;
        }
        self.word(word);
        let last = word.rsplit('=').next().unwrap_or(word);
        if last.starts_with('-') || last.eq_ignore_ascii_case("Bearer") {
            *asks = Name::of(last).or(*asks);
        }
    }

    /// Takes a word apart: `NAME=VALUE` and `NAME: VALUE` first, then a command or a list.
    fn word(&mut self, word: &str) {
        let mut rest = word;
        loop {
            if is_collection(rest) {
                return self.document(rest);
            }
            let (text, behind) = rest.split_at(rest.find(is_special).unwrap_or(rest.len()));
            self.tokens(text);
            let mut behind = behind.chars();
            let Some(special) = behind.next() else { return };
            match special {
                '=' | ':' => rest = behind.as_str(),
                '?' | '&' | '#' => {
                    return rest.split(['?', '&', '#']).for_each(|item| self.word(item));
                }
                _ if ends_word(special) => {
                    return match shell::plain_words(rest) {
                        Some(words) if words != [rest] => {
                            self.words(words.iter().map(String::as_str));
                        }
                        // Only a shell could split it.
                        _ if rest.contains(char::is_whitespace) => {
                            self.words(rest.split_whitespace());
                        }
                        _ => self.words(rest.split(ends_word)),
                    };
                }
                _ => return rest.split(special).for_each(|item| self.word(item)),
            }
            // `secrets.json:12:3` is a place.
            let is_place =
                special == ':' && rest.starts_with(|c: char| c == '/' || c.is_ascii_digit());
            let value = if special == ':' { rest.trim() } else { rest };
            if !is_place && Name::of(text).is_some_and(|name| self.under(name, value)) {
                return;
            }
            if special == ':'
                && let Some(address) = rest.strip_prefix("//")
            {
                rest = self.behind_credentials(address);
            }
        }
    }

    fn tokens(&mut self, text: &str) {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let tokens = text.split(|c| !is_part(c)).filter_map(token_at);
        for token in tokens {
            self.secrets.insert(token.to_string(), "TOKEN".to_string());
        }
    }

    /// Adds what stands before the `@` of an address, unless it is only the name of a user. Returns the rest.
    fn behind_credentials<'a>(&mut self, address: &'a str) -> &'a str {
        let end = address.find(|c| matches!(c, '/' | '?' | '#') || ends_word(c));
        let authority = &address[..end.unwrap_or(address.len())];
        let Some(at) = authority.rfind('@') else {
            return address;
        };
        let (credentials, rest) = address.split_at(at);
        let is_secret = match credentials.split_once(':') {
            Some((_, password)) => !password.is_empty(),
            None => looks_like_secret(credentials) || token_at(credentials).is_some(),
        };
        if is_secret {
            self.secrets
                .insert(credentials.to_string(), "CREDENTIALS".to_string());
        }
        rest
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sensitivity {
    /// `key`: secret if it looks like one.
    Vague,
    /// `PASSWORD_FILE`: secret unless it is a path.
    Place,
    /// `--hub_token`: secret unless it is a number or very short.
    Token,
    /// `PGPASSWORD`, `HF_TOKEN`: always secret.
    Password,
}

impl Sensitivity {
    /// `None` for the names of harmless things.
    pub fn of(name: &str) -> Option<Sensitivity> {
        let is_variable = !name.contains(|c: char| c.is_ascii_lowercase());
        let name = name.to_ascii_uppercase();
        let parts: Vec<&str> = name
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|it| !it.is_empty())
            .collect();
        let (&last, before) = parts.split_last()?;
        let first = if is_variable { 0 } else { before.len() };
        let is_password = ANYWHERE.iter().any(|word| name.contains(word));
        let is_named =
            is_password || (first..parts.len()).any(|at| is_of_secret(&parts[..=at], is_variable));
        // The variable PWD is a folder.
        let is_last = is_one_of(last, LAST) && !(is_variable && parts == ["PWD"])
            || is_variable && is_one_of(last, LAST_OF_VARIABLES);
        if !is_named && !is_last {
            return None;
        }
        Some(match last {
            "FILE" | "PATH" | "DIR" | "FOLDER" => Sensitivity::Place,
            "KEY" | "KEYS" if before.is_empty() => Sensitivity::Vague,
            _ if is_password || is_variable => Sensitivity::Password,
            _ => Sensitivity::Token,
        })
    }

    pub fn hides(self, value: &str) -> bool {
        if value.is_empty() || is_one_of(value, HARMLESS_VALUES) {
            return false;
        }
        match self {
            Sensitivity::Password => true,
            // A longer number can be a token.
            Sensitivity::Token if value.len() >= 16 => true,
            Sensitivity::Token => {
                value.len() >= 4 && value.split(',').any(|part| part.parse::<f64>().is_err())
            }
            Sensitivity::Place => {
                Sensitivity::Token.hides(value) && !value.starts_with(['/', '.', '~'])
            }
            Sensitivity::Vague => looks_like_secret(value),
        }
    }
}

/// Judges by the last of these parts and the one before it.
fn is_of_secret(parts: &[&str], is_variable: bool) -> bool {
    let ends = |part: &str, endings: &[&str]| endings.iter().any(|end| part.ends_with(end));
    let named = |part: &str| ends(part, ENDINGS) && !ends(part, OTHER_ENDINGS);
    match *parts {
        [] | ["PWD"] => false,
        [.., last] if !named(last) && !named(last.trim_end_matches('S')) => false,
        [.., before, _] if is_one_of(before, TOKENIZER_WORDS) => false,
        [.., before, last] if last.ends_with('S') && is_one_of(before, BEFORE_TOKENS) => false,
        [.., before, _] => is_variable || !is_one_of(before, TABLE_WORDS),
        [_] => true,
    }
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Long, of letters and digits, and not words.
fn looks_like_secret(value: &str) -> bool {
    value.len() >= 16
        && value
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        && value.contains(|c: char| c.is_ascii_digit())
        && value.contains(|c: char| c.is_ascii_alphabetic())
}

fn token_at(text: &str) -> Option<&str> {
    let prefix = TOKENS.iter().find(|prefix| text.starts_with(**prefix))?;
    let joints = if prefix.len() > 5 { "_-" } else { "" };
    let rest = &text[prefix.len()..];
    let rest = &rest[..rest
        .find(|c: char| !c.is_ascii_alphanumeric() && !joints.contains(c))
        .unwrap_or(rest.len())];
    (rest.len() >= 16).then(|| &text[..prefix.len() + rest.len()])
}
