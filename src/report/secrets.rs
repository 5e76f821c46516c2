//! Hides secrets. A secret is recognised where it is read, by its structure: `--hub_token X`, `HF_TOKEN=X`,
//! `"api_key": "X"`, `https://user:X@host`. What is printed only has the values replaced that are known from there.

mod structure;

use std::{
    cell::OnceCell,
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    ops::{Range, RangeInclusive},
    os::unix::ffi::{OsStrExt, OsStringExt},
};

use memchr::{memchr3, memmem::Finder};
use serde_json::Value;

#[cfg(feature = "testing")]
pub use super::tables::secrets::TOKENS;
use crate::{
    base::{json::text, layout::escape_controls},
    host::Host,
};
pub use structure::{HIDDEN, Sensitivity};
use structure::{Named, in_document, in_words};

/// Other secrets are hidden where they were found, but not looked for elsewhere: short ones would take harmless words along.
const LENGTHS_ELSEWHERE: RangeInclusive<usize> = 4..=4096;
/// A shorter secret is looked for as a word, not as a part of one.
const SHORTEST_INSIDE: usize = 6;

pub enum Piece<'a> {
    Open(&'a [u8]),
    /// With the name of the option, the variable or the key. It prints as `***`.
    Secret(String, &'a [u8]),
}

/// All secrets that zlaunch has read.
pub struct Secrets<'h> {
    host: &'h Host,
    /// Gathered when something is shown: most launches show nothing.
    known: OnceCell<Vec<(Finder<'static>, String)>>,
}

fn in_variable(name: &OsStr, value: &OsStr) -> Named {
    let setting = [name, OsStr::new("="), value]
        .map(OsStr::to_string_lossy)
        .concat();
    in_words(&[setting]).pop().unwrap_or_default()
}

pub fn is_secret(name: &str, value: impl AsRef<OsStr>) -> bool {
    Sensitivity::of(name).is_some_and(|kind| kind.hides(&value.as_ref().to_string_lossy()))
}

impl<'h> Secrets<'h> {
    pub fn of(host: &'h Host) -> Self {
        Secrets {
            host,
            known: OnceCell::new(),
        }
    }

    /// Those of the environment, the command line, and the documents that were read, in all their spellings.
    fn known(&self) -> &[(Finder<'static>, String)] {
        self.known.get_or_init(|| {
            let Host {
                env,
                words,
                documents,
                ..
            } = self.host;
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            // The last name of a value stands: that of a variable, or of the first word.
            let mut all: Named = documents
                .borrow()
                .iter()
                .flat_map(|text| in_document(text))
                .collect();
            all.extend(in_words(&words).into_iter().rev().flatten());
            // Looking into every variable would be a tenth of a dry run.
            all.extend(
                env.iter()
                    .filter(|(name, value)| {
                        let name = name.to_string_lossy();
                        let has_sign = memchr3(b'=', b'@', b'"', value.as_bytes()).is_some();
                        has_sign || name.starts_with("ZLAUNCH_") || Sensitivity::of(&name).is_some()
                    })
                    .flat_map(|(name, value)| in_variable(name, value)),
            );
            all.retain(|secret, _| LENGTHS_ELSEWHERE.contains(&secret.len()));
            all.iter()
                .flat_map(|(secret, name)| spellings(secret).map(|value| (value, name.clone())))
                .collect()
        })
    }

    pub fn in_words<'a>(&self, words: impl IntoIterator<Item = &'a OsStr>) -> Vec<Vec<Piece<'a>>> {
        let words: Vec<&OsStr> = words.into_iter().collect();
        let texts: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        words
            .iter()
            .zip(in_words(&texts))
            .map(|(word, own)| self.pieces(word.as_bytes(), &own))
            .collect()
    }

    pub fn in_value<'a>(&self, name: &str, value: &'a OsStr) -> Vec<Piece<'a>> {
        self.pieces(value.as_bytes(), &in_variable(OsStr::new(name), value))
    }

    pub fn in_document<'a>(&self, text: &'a str) -> Vec<Piece<'a>> {
        self.pieces(text.as_bytes(), &in_document(text))
    }

    /// The names under which a script asks for secrets. It sets and removes variables itself.
    pub fn names<'a>(
        &self,
        set: impl Iterator<Item = (&'a str, &'a OsStr)>,
        unset: &[String],
    ) -> Names {
        let set = set.map(|(name, value)| (name.into(), value.into()));
        let unset = unset.iter().map(|name| (name.into(), OsString::new()));
        let taken = self
            .host
            .env
            .clone()
            .into_iter()
            .chain(set)
            .chain(unset)
            .collect();
        Names {
            taken,
            given: BTreeMap::new(),
        }
    }

    pub fn hide_in_words<'a>(&self, words: impl IntoIterator<Item = &'a OsStr>) -> Vec<OsString> {
        self.in_words(words)
            .iter()
            .map(|pieces| OsString::from_vec(shown(pieces)))
            .collect()
    }

    /// `NAME=VALUE`, with the secrets in the value hidden.
    pub fn setting(&self, name: &str, value: impl AsRef<OsStr>) -> String {
        format!(
            "{name}={}",
            String::from_utf8_lossy(&shown(&self.in_value(name, value.as_ref())))
        )
    }

    pub fn hide_in_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&shown(&self.pieces(text.as_bytes(), &Named::new()))).into_owned()
    }

    pub fn hide(&self, mut value: Value) -> Value {
        self.hide_under(None, &mut value);
        value
    }

    /// `kind`: the value, or something around it, has the name of a secret.
    fn hide_under(&self, kind: Option<Sensitivity>, value: &mut Value) {
        match value {
            Value::Array(items) if kind.is_none() && items.iter().all(Value::is_string) => {
                let words = items.iter().filter_map(Value::as_str).map(OsStr::new);
                let hidden = self.hide_in_words(words);
                *value = hidden.iter().map(|word| word.to_string_lossy()).collect();
            }
            Value::Array(items) => {
                for item in items {
                    self.hide_under(kind, item);
                }
            }
            Value::Object(entries) => {
                for (key, entry) in entries {
                    self.hide_under(kind.or_else(|| Sensitivity::of(key)), entry);
                }
            }
            _ => {
                let text = text(value);
                let shown = if kind.is_some_and(|kind| kind.hides(&text)) {
                    HIDDEN.to_string()
                } else {
                    self.hide_in_text(&text)
                };
                if shown != text {
                    *value = shown.into();
                }
            }
        }
    }

    pub fn printed(&self, value: Value) -> Vec<u8> {
        escape_controls(&format!("{:#}\n", self.hide(value))).into_bytes()
    }

    /// A text in pieces. Its own secrets are hidden however short they are.
    fn pieces<'a>(&self, text: &'a [u8], own: &Named) -> Vec<Piece<'a>> {
        let mut found: Vec<(Range<usize>, &String)> = vec![];
        for (value, name) in self.known() {
            found.extend(places(text, value).map(|place| (place, name)));
        }
        for (secret, name) in own {
            let before = found.len();
            for value in spellings(secret) {
                found.extend(places(text, &value).map(|place| (place, name)));
            }
            if found.len() == before {
                // It is written in a way of its own, so all of the text is hidden.
                return vec![Piece::Secret(name.clone(), text)];
            }
        }
        found.sort_by_key(|(place, _)| (place.start, Reverse(place.end)));
        let (mut pieces, mut at) = (vec![], 0);
        for (Range { start, end }, name) in found {
            if start > at {
                pieces.push(Piece::Open(&text[at..start]));
            }
            if end > at {
                pieces.push(Piece::Secret(name.clone(), &text[start.max(at)..end]));
                at = end;
            }
        }
        if at < text.len() {
            pieces.push(Piece::Open(&text[at..]));
        }
        pieces
    }
}

/// Searches for a secret as it is, and as JSON and a shell write it.
fn spellings(value: &str) -> impl Iterator<Item = Finder<'static>> + use<> {
    let json = Value::from(value).to_string();
    BTreeSet::from([
        value.to_string(),
        json[1..json.len() - 1].to_string(),
        value.replace('\'', r"'\''"),
    ])
    .into_iter()
    .map(|spelling| Finder::new(&spelling).into_owned())
}

/// The places of a value in a text. A short one must be a word of its own there.
fn places(text: &[u8], value: &Finder) -> impl Iterator<Item = Range<usize>> {
    let length = value.needle().len();
    let is_letter = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphanumeric);
    value
        .find_iter(text)
        .filter(move |start| {
            length >= SHORTEST_INSIDE
                || !is_letter(start.wrapping_sub(1)) && !is_letter(start + length)
        })
        .map(move |start| start..start + length)
}

pub fn shown(pieces: &[Piece]) -> Vec<u8> {
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Open(bytes) => bytes,
            Piece::Secret(..) => HIDDEN.as_bytes(),
        })
        .collect::<Vec<_>>()
        .concat()
}

/// The variables by which a script asks for the secrets that it does not hold: one for each value.
pub struct Names {
    /// The variables that the script finds, sets or removes.
    taken: Vec<(OsString, OsString)>,
    given: BTreeMap<Vec<u8>, String>,
}

impl Names {
    /// The variable for a secret: `HUB_TOKEN` for `--hub-token`, or `HUB_TOKEN_2` where that holds something else.
    pub fn of(&mut self, name: &str, value: &[u8]) -> String {
        if let Some(given) = self.given.get(value) {
            return given.clone();
        }
        let name = name
            .trim_start_matches('-')
            .replace(|c: char| !c.is_ascii_alphanumeric(), "_")
            .to_ascii_uppercase();
        // A script removes the variables of zlaunch, so it cannot ask for them.
        let name = name.trim_start_matches("ZLAUNCH_");
        let first = if name.starts_with(|c: char| c.is_ascii_digit()) {
            format!("_{name}")
        } else {
            name.to_string()
        };
        let is_free = |it: &String| {
            self.taken
                .iter()
                .all(|(name, held)| name != it.as_str() || held.as_bytes() == value)
        };
        let numbered = (2..).map(|number| format!("{first}_{number}"));
        let given = std::iter::once(first.clone())
            .chain(numbered)
            .find(is_free)
            .unwrap_or(first);
        self.taken
            .push((given.clone().into(), OsStr::from_bytes(value).into()));
        self.given.insert(value.to_vec(), given.clone());
        given
    }
}
