//! Hides secrets. A secret is recognised where it is read, by its structure: `--hub_token X`, `HF_TOKEN=X`,
//! `"api_key": "X"`, `https://user:X@host`. What is printed only has the values replaced that are known from there.

mod names;
mod structure;

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::ops::Bound::{Included, Unbounded};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde_json::Value;

use crate::base::layout::escape_controls;
use crate::host::Host;
pub(crate) use names::READ_FROM_FILE;
pub use names::Sensitivity;
#[cfg(feature = "testing")]
pub use names::TOKENS;
pub use structure::HIDDEN;
use structure::{Found, Secret, in_document, in_words, scalar, visit};

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

/// Secrets to look for, in all their spellings.
struct Known {
    values: BTreeMap<Vec<u8>, String>,
    /// The bytes that one of them begins with.
    begins: [bool; 256],
}

impl Known {
    fn new(Found(found): &Found) -> Self {
        let named = found.iter().flat_map(|(secret, name)| secret.spellings().map(|value| (value, name.clone())));
        let mut known = Known { values: named.collect(), begins: [false; 256] };
        known.values.keys().for_each(|value| known.begins[usize::from(value[0])] = true);
        known
    }

    /// Where they are in a text, with their names.
    fn places(&self, text: &[u8]) -> Vec<(usize, Reverse<usize>, &str)> {
        let is_letter = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphanumeric);
        let mut places = Vec::new();
        for start in (0..text.len()).filter(|at| self.begins[usize::from(text[*at])]) {
            let mut rest = &text[start..];
            // Of all that are not behind the text in order, those that it begins with are beginnings of the last one.
            while let Some((value, name)) = self.values.range::<[u8], _>((Unbounded, Included(rest))).next_back() {
                let end = start + value.len();
                let is_word = || !is_letter(start.wrapping_sub(1)) && !is_letter(end);
                if rest.starts_with(value) && (value.len() >= SHORTEST_INSIDE || is_word()) {
                    places.push((start, Reverse(end), name.as_str()));
                }
                let common = value.iter().zip(rest).take_while(|(one, other)| one == other).count();
                rest = &rest[..common.min(value.len() - 1)];
            }
        }
        places
    }
}

/// All secrets that zlaunch has read.
pub struct Secrets<'h> {
    host: &'h Host,
    /// Gathered when something is shown: most launches show nothing.
    known: OnceCell<Known>,
}

fn in_variable(name: &OsStr, value: &OsStr) -> Found {
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

    /// Those of the environment, the command line, and the documents that were read.
    fn known(&self) -> &Known {
        self.known.get_or_init(|| {
            let Host { env, words, documents, .. } = self.host;
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            let documents = documents.borrow();
            // The last name of a value stands: that of a variable, or of the first word.
            let found = documents.iter().map(|text| in_document(text)).chain(in_words(&words).into_iter().rev());
            let found = found.chain(env.iter().map(|(name, value)| in_variable(name, value))).flat_map(|found| found.0);
            Known::new(&Found(found.filter(|(secret, _)| secret.0.len() >= SHORTEST_ELSEWHERE).collect()))
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
        String::from_utf8_lossy(&shown(&self.pieces(text.as_bytes(), &Found::default()))).into_owned()
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
    fn pieces<'a>(&self, text: &'a [u8], own: &Found) -> Vec<Piece<'a>> {
        let known = Known::new(own);
        let mut places = known.places(text);
        let found: BTreeSet<&[u8]> = places.iter().map(|(start, Reverse(end), _)| &text[*start..*end]).collect();
        let is_found = |secret: &Secret| secret.spellings().iter().any(|value| found.contains(value.as_slice()));
        if let Some((_, name)) = own.0.iter().find(|(secret, _)| !is_found(secret)) {
            // It is written in a way of its own, so all of the text is hidden.
            return vec![Piece::Secret(name.clone(), text)];
        }
        places.splice(..0, self.known().places(text));
        places.sort_by_key(|(start, end, _)| (*start, *end));
        let (mut pieces, mut at) = (Vec::new(), 0);
        for (start, Reverse(end), name) in places {
            // Inside of the one before.
            if end <= at {
                continue;
            }
            pieces.extend((start > at).then(|| Piece::Open(&text[at..start])));
            pieces.push(Piece::Secret(name.to_string(), &text[start.max(at)..end]));
            at = end;
        }
        pieces.extend((at < text.len()).then(|| Piece::Open(&text[at..])));
        pieces
    }
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
    /// How far each name has been counted.
    numbers: BTreeMap<String, usize>,
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
        let mut variable = OsString::from(&first);
        while self.taken.get(&variable).is_some_and(|held| held.iter().any(|held| held.as_bytes() != value)) {
            let number = self.numbers.entry(first.clone()).or_insert(1);
            *number += 1;
            variable = format!("{first}_{number}").into();
        }
        let given = variable.to_string_lossy().into_owned();
        self.taken.entry(variable).or_default().push(OsStr::from_bytes(value).into());
        self.given.insert(value.to_vec(), given.clone());
        given
    }
}
