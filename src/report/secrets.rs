//! Hides secrets. A secret is known by the name it goes under (`--hub_token X`, `HF_TOKEN=X`, `"api_key": "X"`), as what
//! stands before the `@` of an address, and wherever else a value turns up that the environment or the command line gave
//! such a name. Plans, records, reports and errors pass through here when they are shown.

mod names;
mod scan;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::ops::Bound::Included;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde_json::Value;

use crate::base::layout::escape_controls;
use crate::host::Host;
pub(crate) use names::READ_FROM_FILE;
pub use names::Sensitivity;
#[cfg(feature = "testing")]
pub use names::TOKENS;
use scan::{END, Span, scan};

/// What is shown instead of a secret.
pub const HIDDEN: &str = "(secret)";

/// A shorter secret is not looked for elsewhere: it would take harmless words along.
const SHORTEST_ELSEWHERE: usize = 6;

/// A stretch of a text.
pub enum Piece<'a> {
    Open(&'a [u8]),
    /// With the name of the option, the variable or the key.
    Secret(String, &'a [u8]),
}

/// The secrets that zlaunch was given.
pub struct Secrets<'h> {
    host: &'h Host,
    /// Values with the names they were given. Gathered when something is shown: most launches show nothing.
    known: OnceCell<BTreeMap<Vec<u8>, String>>,
}

/// Whether the value of that variable is a secret.
pub fn is_secret(name: &str, value: &str) -> bool {
    Sensitivity::of(name).is_some_and(|kind| kind.hides(value))
}

impl<'h> Secrets<'h> {
    pub fn of(host: &'h Host) -> Self {
        Secrets { host, known: OnceCell::new() }
    }

    /// The pieces of each word of a command.
    pub fn in_words<'a>(&self, words: impl IntoIterator<Item = &'a OsStr>) -> Vec<Vec<Piece<'a>>> {
        let words: Vec<&[u8]> = words.into_iter().map(OsStr::as_bytes).collect();
        words.iter().zip(scan(&words)).map(|(word, spans)| self.pieces(word, spans)).collect()
    }

    pub fn in_word<'a>(&self, word: &'a OsStr) -> Vec<Piece<'a>> {
        self.in_words([word]).into_iter().flatten().collect()
    }

    /// The pieces of a variable's value.
    pub fn in_value<'a>(&self, name: &str, value: &'a OsStr) -> Vec<Piece<'a>> {
        let whole = Span { start: 0, end: value.len(), name: name.to_string() };
        let whole = is_secret(name, &value.to_string_lossy()).then_some(whole);
        self.pieces(value.as_bytes(), whole.into_iter().chain(scan(&[value.as_bytes()]).into_iter().flatten()))
    }

    /// The pieces of a file, each line of which is by itself.
    pub fn in_document<'a>(&self, text: &'a str) -> Vec<Piece<'a>> {
        let lines = text.replace('\n', &END.to_string());
        self.pieces(text.as_bytes(), scan(&[lines]).into_iter().flatten())
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
        format!("{name}={}", self.hide_value(name, value.as_ref()))
    }

    /// The value of a variable, to be shown.
    pub fn hide_value(&self, name: &str, value: &OsStr) -> String {
        String::from_utf8_lossy(&shown(&self.in_value(name, value))).into_owned()
    }

    /// A sentence or a place, to be shown.
    pub fn hide_in_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&shown(&self.in_word(OsStr::new(text)))).into_owned()
    }

    /// A text that names no secrets itself but may repeat one that is known.
    pub fn hide_known(&self, text: impl AsRef<str>) -> String {
        String::from_utf8_lossy(&shown(&self.pieces(text.as_ref().as_bytes(), []))).into_owned()
    }

    fn known(&self) -> &BTreeMap<Vec<u8>, String> {
        self.known.get_or_init(|| known_from(self.host))
    }

    /// A JSON value, to be shown.
    pub fn hide(&self, mut value: Value) -> Value {
        self.hide_under(None, &mut value);
        value
    }

    /// JSON as it is printed.
    pub(crate) fn printed(&self, value: Value) -> Vec<u8> {
        escape_controls(&format!("{:#}\n", self.hide(value))).into_bytes()
    }

    /// A JSON value below a key that says how secret its values are.
    fn hide_under(&self, kind: Option<Sensitivity>, value: &mut Value) {
        let hides = |text: &str| kind.is_some_and(|kind| kind.hides(text));
        match value {
            Value::String(text) if !hides(text) => *text = self.hide_in_text(text),
            Value::String(text) => *text = HIDDEN.to_string(),
            Value::Number(number) if hides(&number.to_string()) => *value = HIDDEN.into(),
            Value::Array(items) if kind.is_none() && items.iter().all(Value::is_string) => {
                let words = self.hide_in_words(items.iter().filter_map(Value::as_str).map(OsStr::new));
                *items = words.iter().map(|word| word.to_string_lossy().into()).collect();
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_under(kind, item)),
            Value::Object(entries) => {
                let kind_of = |key: &str| kind.or_else(|| Sensitivity::of(key));
                entries.iter_mut().for_each(|(key, value)| self.hide_under(kind_of(key), value));
            }
            _ => {}
        }
    }

    /// What is open in a text, and what is not: what the text itself tells, and what is known.
    fn pieces<'a>(&self, text: &'a [u8], told: impl IntoIterator<Item = Span>) -> Vec<Piece<'a>> {
        let known = self.known();
        let known_at = |start: usize| {
            let rest = &text[start..];
            let range = (Included(rest.get(..SHORTEST_ELSEWHERE)?), Included(rest));
            let (value, name) = known.range::<[u8], _>(range).rfind(|(value, _)| rest.starts_with(value))?;
            Some(Span { start, end: start + value.len(), name: name.clone() })
        };
        let places = if known.is_empty() { 0..0 } else { 0..text.len() };
        let mut spans: Vec<Span> = places.filter_map(known_at).chain(told).collect();
        spans.sort_by_key(|span| span.start);
        let mut pieces = Vec::with_capacity(2 * spans.len() + 1);
        let mut at = 0;
        let mut spans = spans.into_iter().peekable();
        while let Some(Span { start, mut end, name }) = spans.next() {
            // Those that overlap are one.
            while let Some(next) = spans.next_if(|next| next.start < end) {
                end = end.max(next.end);
            }
            pieces.extend((start > at).then(|| Piece::Open(&text[at..start])));
            pieces.push(Piece::Secret(name, &text[start..end]));
            at = end;
        }
        pieces.extend((at < text.len()).then(|| Piece::Open(&text[at..])));
        pieces
    }
}

/// What the environment and the command line name as secrets: `HF_TOKEN=X`, `--hub_token X`. Each is known as it is, as
/// text, and as JSON writes it.
fn known_from(host: &Host) -> BTreeMap<Vec<u8>, String> {
    let may_hold_one = |name: &str| name.starts_with("ZLAUNCH_") || Sensitivity::of(name).is_some();
    let variables = host.env.iter().filter(|(name, _)| may_hold_one(&name.to_string_lossy()));
    let settings = variables.map(|(name, value)| Cow::Owned([name.as_bytes(), b"=", value.as_bytes()].concat()));
    let texts: Vec<Cow<[u8]>> = settings.chain(host.words.iter().map(|word| word.as_bytes().into())).collect();
    let mut known = BTreeMap::new();
    for (text, spans) in texts.iter().zip(scan(&texts)) {
        for Span { start, end, name } in spans.into_iter().filter(|span| span.end - span.start >= SHORTEST_ELSEWHERE) {
            let value = &text[start..end];
            let lossy = String::from_utf8_lossy(value);
            let json = Value::from(&*lossy).to_string();
            for spelling in [value, lossy.as_bytes(), &json.as_bytes()[1..json.len() - 1]] {
                known.entry(spelling.to_vec()).or_insert_with(|| name.clone());
            }
        }
    }
    known
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
    /// The variable for a secret: `HUB_TOKEN`, or `HUB_TOKEN_2` where that holds something else.
    pub fn of(&mut self, name: &str, value: &[u8]) -> String {
        if let Some(given) = self.given.get(value) {
            return given.clone();
        }
        let first = variable_for(name);
        let holds_other = |taken: &BTreeMap<OsString, Vec<OsString>>, name: &str| {
            taken.get(OsStr::new(name)).is_some_and(|held| held.iter().any(|held| held.as_bytes() != value))
        };
        let mut variable = first.clone();
        while holds_other(&self.taken, &variable) {
            let number = self.numbers.entry(first.clone()).or_insert(1);
            *number += 1;
            variable = format!("{first}_{number}");
        }
        self.taken.entry(variable.clone().into()).or_default().push(OsStr::from_bytes(value).into());
        self.given.insert(value.to_vec(), variable.clone());
        variable
    }
}

/// `HUB_TOKEN` for `--hub-token`. A script removes the variables of zlaunch, so it cannot ask for them.
fn variable_for(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let name: String = name.trim_start_matches('-').chars().map(letter).collect();
    let name = name.trim_start_matches("ZLAUNCH_");
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name.to_string() }
}
