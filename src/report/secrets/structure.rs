//! Finds secrets by the structure of the words of a command, of variables and of documents, in time linear in their length.

use std::collections::BTreeMap;

use serde_json::Value;

use super::names::{Sensitivity, looks_like_secret, may_show_secret, token_at};
use crate::base::yaml::{self, Dialect};
use crate::base::{json, shell};

/// Printed instead of a secret.
pub const HIDDEN: &str = "***";
/// A word with more names, secrets and commands in it is hidden as a whole.
const MOST_IN_WORD: usize = 64;
/// In a longer word no YAML and no quotes of a shell are understood, only JSON.
const LONGEST_WORD: usize = 4096;

/// A value that cannot be printed.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Secret(pub(super) String);

/// Secrets with the names that they go under.
pub(super) type Named = BTreeMap<Secret, String>;
type Name<'a> = (&'a str, Sensitivity);

pub(super) fn in_words(words: &[impl AsRef<str>]) -> Vec<Named> {
    let mut asks = None;
    let words = words.iter().map(AsRef::as_ref).map(|word| {
        let mut found = Found {
            secrets: Named::new(),
            left: MOST_IN_WORD,
        };
        found.next_word(&mut asks, word);
        if found.left == 0 {
            found
                .secrets
                .insert(Secret(word.to_string()), "SECRETS".to_string());
        }
        found.secrets
    });
    words.collect()
}

/// The secrets of a config, a run file, or lines `NAME=VALUE`.
pub(super) fn in_document(text: &str) -> Named {
    let mut found = Found {
        secrets: Named::new(),
        left: usize::MAX,
    };
    if may_show_secret(text) {
        found.document(text);
    }
    found.secrets
}

pub(super) fn scalar(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_string)
}

fn is_collection(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>')
}

fn is_special(c: char) -> bool {
    let is_bracket = matches!(c, '(' | ')' | '[' | ']' | '{' | '}');
    is_bracket || ends_word(c) || matches!(c, '=' | ':' | ',' | ';' | '&' | '?' | '#' | '|' | '\\')
}

/// The words of a command that only a shell could split: at blanks outside of quotes, or at every quote if there are none.
fn rough_words(text: &str) -> Vec<&str> {
    let mut quote = None;
    let words = text.split(|c: char| {
        if quote == Some(c) {
            quote = None;
        } else if quote.is_none() && matches!(c, '"' | '\'') {
            quote = Some(c);
        }
        quote.is_none() && c.is_whitespace()
    });
    let words: Vec<&str> = words.collect();
    if words.len() > 1 {
        words
    } else {
        text.split(ends_word).collect()
    }
}

struct Found {
    secrets: Named,
    /// The number of names, secrets and commands that are still looked at.
    left: usize,
}

impl Found {
    /// Returns whether the value is secret.
    fn add(&mut self, (name, kind): Name, value: &str) -> bool {
        let is_secret = kind.hides(value);
        if is_secret && self.left > 0 {
            self.left -= 1;
            self.secrets
                .insert(Secret(value.to_string()), name.to_string());
        }
        is_secret
    }

    fn name_of<'a>(&mut self, text: &'a str) -> Option<Name<'a>> {
        if self.left == 0 || !may_show_secret(text) {
            return None;
        }
        self.left -= 1;
        Some((text, Sensitivity::of(text)?))
    }

    fn parsed(&self, text: &str) -> Option<Value> {
        let is_file = self.left > MOST_IN_WORD;
        let may_be_yaml = is_file || text.len() <= LONGEST_WORD;
        json::parse(text).ok().or_else(|| {
            if may_be_yaml {
                yaml::parse(text, Dialect::PyYaml).ok()
            } else {
                None
            }
        })
    }

    fn document(&mut self, text: &str) {
        match self.parsed(text) {
            Some(Value::String(_)) => text.lines().for_each(|line| self.word(line)),
            Some(value) => self.value(None, &value),
            None => self.broken_document(text),
        }
    }

    fn broken_document(&mut self, text: &str) {
        let mut name = None;
        for part in text
            .split(|c| ends_word(c) || "{}[],:=\\".contains(c))
            .filter(|part| !part.is_empty())
        {
            if self.left == 0 {
                return;
            }
            name.inspect(|name| _ = self.add(*name, part));
            name = self.name_of(part);
        }
    }

    fn value(&mut self, name: Option<Name>, value: &Value) {
        match value {
            _ if self.left == 0 => {}
            Value::Array(items) if name.is_none() && items.iter().all(Value::is_string) => {
                self.words(items.iter().filter_map(Value::as_str));
            }
            Value::Array(items) => items.iter().for_each(|item| self.value(name, item)),
            Value::Object(entries) => {
                for (key, value) in entries {
                    let name = name.or_else(|| self.name_of(key));
                    self.value(name, value);
                }
            }
            value if name.is_some_and(|name| self.add(name, &scalar(value))) => {}
            value => self.words(value.as_str().into_iter()),
        }
    }

    /// Under the name of a secret, all of a list or a mapping is secret, or the text itself.
    fn under(&mut self, name: Name, text: &str) -> bool {
        if is_collection(text)
            && let Some(value) = self.parsed(text)
        {
            self.value(Some(name), &value);
            return true;
        }
        self.add(name, text)
    }

    fn words<'a>(&mut self, words: impl Iterator<Item = &'a str>) {
        let mut asks = None;
        words.for_each(|word| self.next_word(&mut asks, word));
    }

    /// A word, which can be the value that the option before it asks for. One whose name is in plural asks for several.
    fn next_word<'a>(&mut self, asks: &mut Option<Name<'a>>, word: &'a str) {
        // It hands on the word behind it.
        let word = word
            .strip_prefix("--launcher-arg")
            .map_or(word, |rest| rest.trim_start_matches('='));
        if word.is_empty() || self.left == 0 {
            return;
        }
        let is_random = word.contains(|c: char| c.is_ascii_digit())
            && word.contains(|c: char| c.is_ascii_uppercase());
        let is_option = word.starts_with("--") && !is_random;
        let name = asks
            .take_if(|name| is_option || !name.0.ends_with(['s', 'S']))
            .or(*asks);
        if !is_option && name.is_some_and(|name| self.under(name, word)) {
            return;
        }
        self.word(word);
        let last = word.rsplit('=').next().unwrap_or(word);
        if last.starts_with('-') || last.eq_ignore_ascii_case("Bearer") {
            *asks = self.name_of(last).or(*asks);
        }
    }

    /// Takes a word apart: `NAME=VALUE` and `NAME: VALUE` first, then lines, then a command or a list.
    fn word(&mut self, word: &str) {
        if self.left == 0 || !may_show_secret(word) {
            return;
        }
        let mut rest = word;
        while self.left > 0 {
            if is_collection(rest) {
                return self.document(rest);
            }
            let (text, behind) = rest.split_at(rest.find(is_special).unwrap_or(rest.len()));
            let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
            for word in words.filter(|word| word.len() > 10) {
                token_at(word)
                    .inspect(|token| _ = self.add(("TOKEN", Sensitivity::Password), token));
            }
            let mut behind = behind.chars();
            match behind.next() {
                None => return,
                Some(special @ ('=' | ':')) => {
                    rest = behind.as_str();
                    // Not `secrets.json:12:3`.
                    let is_place = special == ':'
                        && rest.starts_with(|c: char| c == '/' || c.is_ascii_digit());
                    let name = if is_place { None } else { self.name_of(text) };
                    let value = if special == ':' { rest.trim() } else { rest };
                    if name.is_some_and(|name| self.under(name, value)) {
                        return;
                    }
                    if special == ':' && rest.starts_with("//") {
                        rest = self.behind_credentials(&rest[2..]);
                    }
                }
                Some(_) if rest.contains('\n') => {
                    return rest.split('\n').for_each(|line| self.word(line));
                }
                Some(special) if ends_word(special) => {
                    self.left = self.left.saturating_sub(1);
                    let plain = if rest.len() > LONGEST_WORD {
                        None
                    } else {
                        shell::plain_words(rest)
                    };
                    return match plain {
                        Some(words) => self.words(words.iter().map(String::as_str)),
                        None => self.words(rough_words(rest).into_iter()),
                    };
                }
                Some('?' | '&') => {
                    return rest.split(['?', '&', '#']).for_each(|item| self.word(item));
                }
                Some(special) => return rest.split(special).for_each(|item| self.word(item)),
            }
        }
    }

    /// Adds what stands before the `@` of an address, unless it is only the name of a user. Returns the rest.
    fn behind_credentials<'a>(&mut self, address: &'a str) -> &'a str {
        let text = address
            .split("://")
            .next()
            .unwrap_or(address)
            .split(ends_word)
            .next()
            .unwrap_or(address);
        let authority = text.split(['/', '?', '#']).next().unwrap_or(text);
        // A password may hold any character.
        let Some(end) = authority.rfind('@').or_else(|| text.rfind('@')) else {
            return address;
        };
        let (user, password) = text[..end].split_once(':').unwrap_or((&text[..end], ""));
        let has_port = password
            .split_once(['/', '?', '#'])
            .is_some_and(|(port, _)| port.parse::<u16>().is_ok());
        let has_password = !password.is_empty() && !has_port && user.len() < authority.len();
        if !has_password && !looks_like_secret(user) && token_at(user).is_none() {
            return address;
        }
        self.add(("CREDENTIALS", Sensitivity::Password), &text[..end]);
        &address[end..]
    }
}
