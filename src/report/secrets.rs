//! Hides secrets. A secret is recognised where it is read, by its structure: `--hub_token X`, `HF_TOKEN=X`,
//! `"api_key": "X"`, `https://user:X@host`. What is printed only has the values replaced that are known from there.

mod names;
mod structure;

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use memchr::memmem::Finder;
use serde_json::Value;

use crate::base::layout::escape_controls;
use crate::host::Host;
pub(crate) use names::READ_FROM_FILE;
pub use names::Sensitivity;
#[cfg(feature = "testing")]
pub use names::TOKENS;
pub use structure::HIDDEN;
use structure::{Named, in_document, in_words, scalar, visit};

/// A shorter secret is hidden where it was found, but not looked for elsewhere: it would take harmless words along.
const SHORTEST_ELSEWHERE: usize = 4;
/// A shorter one is looked for as a word, not as a part of one.
const SHORTEST_INSIDE: usize = 6;
/// A stretch of a text.
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
    let setting = [name, OsStr::new("="), value].map(OsStr::to_string_lossy).concat();
    in_words(&[setting]).pop().unwrap_or_default()
}

/// Whether the value of that variable is a secret.
pub(crate) fn is_secret(name: &str, value: impl AsRef<OsStr>) -> bool {
    Sensitivity::of(name).is_some_and(|kind| kind.hides(&value.as_ref().to_string_lossy()))
}

impl<'h> Secrets<'h> {
    pub fn of(host: &'h Host) -> Self {
        Secrets { host, known: OnceCell::new() }
    }

    /// Those of the environment, the command line, and the documents that were read, in all their spellings.
    fn known(&self) -> &[(Finder<'static>, String)] {
        self.known.get_or_init(|| {
            let Host { env, words, documents, .. } = self.host;
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            // The last name of a value stands: that of a variable, or of the first word.
            let mut all: Named = documents.borrow().iter().flat_map(|text| in_document(text)).collect();
            all.extend(in_words(&words).into_iter().rev().flatten());
            all.extend(env.iter().flat_map(|(name, value)| in_variable(name, value)));
            all.retain(|secret, _| secret.0.len() >= SHORTEST_ELSEWHERE);
            let values = all.iter().flat_map(|(secret, name)| secret.spellings().into_iter().map(move |it| (it, name)));
            values.map(|(value, name)| (Finder::new(&value).into_owned(), name.clone())).collect()
        })
    }

    /// The pieces of each word of a command.
    pub fn in_words<'a>(&self, words: impl IntoIterator<Item = &'a OsStr>) -> Vec<Vec<Piece<'a>>> {
        let words: Vec<&OsStr> = words.into_iter().collect();
        let texts: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        words.iter().zip(in_words(&texts)).map(|(word, own)| self.pieces(word.as_bytes(), &own)).collect()
    }

    /// The pieces of a variable's value.
    pub fn in_value<'a>(&self, name: &str, value: &'a OsStr) -> Vec<Piece<'a>> {
        self.pieces(value.as_bytes(), &in_variable(OsStr::new(name), value))
    }

    /// The pieces of a file.
    pub fn in_document<'a>(&self, text: &'a str) -> Vec<Piece<'a>> {
        self.pieces(text.as_bytes(), &in_document(text))
    }

    /// The names under which a script asks for secrets. It sets and removes variables itself.
    pub fn names<'a>(&self, set: impl Iterator<Item = (&'a str, &'a OsStr)>, unset: &[String]) -> Names {
        let set = set.map(|(name, value)| (name.into(), value.into()));
        let unset = unset.iter().map(|name| (name.into(), OsString::new()));
        let mut names = Names::default();
        for (name, value) in self.host.env.clone().into_iter().chain(set).chain(unset) {
            names.taken.entry(name).or_default().push(value);
        }
        names
    }

    /// A command, to be shown.
    pub fn hide_in_words<'a>(&self, words: impl IntoIterator<Item = &'a OsStr>) -> Vec<OsString> {
        self.in_words(words).iter().map(|pieces| OsString::from_vec(shown(pieces))).collect()
    }

    /// `NAME=VALUE`, to be shown.
    pub fn setting(&self, name: &str, value: impl AsRef<OsStr>) -> String {
        format!("{name}={}", String::from_utf8_lossy(&shown(&self.in_value(name, value.as_ref()))))
    }

    /// A text, to be shown.
    pub fn hide_in_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&shown(&self.pieces(text.as_bytes(), &Named::new()))).into_owned()
    }

    /// A JSON value, to be shown.
    pub fn hide(&self, mut value: Value) -> Value {
        visit(None, &mut value, &mut |name, values| match (name, values) {
            (Some((_, kind)), [value]) if kind.hides(&scalar(value)) => *value = HIDDEN.into(),
            (_, [Value::String(text)]) => *text = self.hide_in_text(text),
            (_, [value]) if self.hide_in_text(&value.to_string()) == HIDDEN => *value = HIDDEN.into(),
            (_, values) => {
                let words = self.hide_in_words(values.iter().filter_map(Value::as_str).map(OsStr::new));
                values.iter_mut().zip(words).for_each(|(value, word)| *value = word.to_string_lossy().into());
            }
        });
        value
    }

    /// JSON as it is printed.
    pub(crate) fn printed(&self, value: Value) -> Vec<u8> {
        escape_controls(&format!("{:#}\n", self.hide(value))).into_bytes()
    }

    /// A text in pieces. Its own secrets are hidden however short they are.
    fn pieces<'a>(&self, text: &'a [u8], own: &Named) -> Vec<Piece<'a>> {
        let mut found: Vec<(Range<usize>, &String)> = Vec::new();
        for (value, name) in self.known() {
            found.extend(places(text, value).map(|place| (place, name)));
        }
        for (secret, name) in own {
            let before = found.len();
            for value in secret.spellings() {
                found.extend(places(text, &Finder::new(&value)).map(|place| (place, name)));
            }
            if found.len() == before {
                // It is written in a way of its own, so all of the text is hidden.
                return vec![Piece::Secret(name.clone(), text)];
            }
        }
        found.sort_by_key(|(place, _)| (place.start, Reverse(place.end)));
        let (mut pieces, mut at) = (Vec::new(), 0);
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

/// Where a value is in a text. A short one must be a word of its own there.
fn places(text: &[u8], value: &Finder) -> impl Iterator<Item = Range<usize>> {
    let length = value.needle().len();
    let is_letter = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let is_apart = move |start: usize| !is_letter(start.wrapping_sub(1)) && !is_letter(start + length);
    let starts = value.find_iter(text).filter(move |start| length >= SHORTEST_INSIDE || is_apart(*start));
    starts.map(move |start| start..start + length)
}

pub fn shown<'a>(pieces: &[Piece<'a>]) -> Vec<u8> {
    let shown = |piece: &Piece<'a>| match *piece {
        Piece::Open(bytes) => bytes,
        Piece::Secret(..) => HIDDEN.as_bytes(),
    };
    pieces.iter().map(shown).collect::<Vec<_>>().concat()
}

/// The variables by which a script asks for the secrets that it does not hold: one for each value.
#[derive(Default)]
pub struct Names {
    /// The variables where the script runs with their values. Those it removes hold nothing, which no secret is.
    taken: BTreeMap<OsString, Vec<OsString>>,
    given: BTreeMap<Vec<u8>, String>,
}

impl Names {
    /// The variable for a secret: `HUB_TOKEN` for `--hub-token`, or `HUB_TOKEN_2` where that holds something else.
    pub fn of(&mut self, name: &str, value: &[u8]) -> String {
        if let Some(given) = self.given.get(value) {
            return given.clone();
        }
        // A script removes the variables of zlaunch, so it cannot ask for them.
        let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        let name: String = name.trim_start_matches('-').chars().map(letter).collect();
        let name = name.trim_start_matches("ZLAUNCH_");
        let first = if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name.to_string() };
        let is_free = |variable: &String| {
            let held = self.taken.get(OsStr::new(variable));
            held.is_none_or(|held| held.iter().all(|held| held.as_bytes() == value))
        };
        let mut names = std::iter::once(first.clone()).chain((2..).map(|number| format!("{first}_{number}")));
        let given = names.find(is_free).unwrap_or(first);
        self.taken.entry(given.clone().into()).or_default().push(OsStr::from_bytes(value).into());
        self.given.insert(value.to_vec(), given.clone());
        given
    }
}
