//! JSON as people write it: comments and trailing commas are accepted, duplicate keys are not, and whole numbers become
//! integers (`2e8` is 200000000). What is written is strict JSON.

use std::{collections::HashMap, fmt, ops::Range};

use memchr::memchr2;
use serde_json::{Map, Value};

use super::tables::json_faults::{FAULTS, HELP, YAML};

#[derive(Debug, Default, PartialEq)]
pub struct SyntaxError {
    pub line: usize,
    pub column: usize,
    pub what: String,
    pub help: &'static str,
    /// Line and column where a repeated key stands first.
    pub first: Option<(usize, usize)>,
}

pub fn parse(text: &str) -> Result<Value, SyntaxError> {
    let Scanned { plain, keys } = scan(without_mark(text))?;
    if plain.trim_ascii_start().is_empty() {
        return Err(fault_at(b"", "it is empty".to_string()));
    }
    let mut value: Value =
        serde_json::from_str(&plain).map_err(|why| friendly_message(&why, &plain))?;
    // serde_json keeps the last of several equal keys.
    let mut seen = HashMap::new();
    for key in keys {
        if let Some(first) = seen.insert((key.object, key.path.clone()), key.name.start) {
            let what = format!(
                "the key `{}` appears twice, and trainers use the last one",
                key.path
            );
            let first = fault_at(&plain.as_bytes()[..first], String::new());
            return Err(SyntaxError {
                help: "drop one of them",
                first: Some((first.line, first.column)),
                ..fault_at(&plain.as_bytes()[..key.name.start], what)
            });
        }
    }
    make_whole(&mut value);
    Ok(value)
}

/// Without the mark of the byte order, which some editors write.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// For JSON of ours: a test holds that `parse` reads it the same way.
pub fn parse_built_in(text: &str) -> Value {
    let mut value = serde_json::from_str(text).unwrap_or_default();
    make_whole(&mut value);
    value
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "only whole numbers that fit are cast"
)]
fn make_whole(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(make_whole),
        Value::Object(object) => object.values_mut().for_each(make_whole),
        Value::Number(number) if number.is_f64() => {
            match number.as_f64().filter(|float| float.fract() == 0.0) {
                Some(float) if float.abs() < 9.2e18 => *value = Value::from(float as i64),
                _ => {}
            }
        }
        _ => {}
    }
}

/// Strict JSON with every number as it is written, for files that are not configs.
pub fn parse_exactly(text: &str) -> Result<Value, SyntaxError> {
    serde_json::from_str(text).map_err(|why| friendly_message(&why, text))
}

pub fn write(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// A text as it is, anything else as JSON.
pub fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_string)
}

pub fn get<'a>(config: &'a Value, key: &str) -> Option<&'a Value> {
    key.split('.')
        .try_fold(config, |node, part| node.as_object()?.get(part))
}

pub fn get_mut<'a>(config: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    key.split('.')
        .try_fold(config, |node, part| node.as_object_mut()?.get_mut(part))
}

/// RFC 7386. The other keys keep their order, which the crate's own merge does not promise.
pub fn merge(config: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *config = patch.clone();
        return;
    };
    if !config.is_object() {
        *config = Value::Object(Map::new());
    }
    if let Some(object) = config.as_object_mut() {
        object.retain(|key, _| patch.get(key) != Some(&Value::Null));
    }
    for (key, value) in patch.iter().filter(|(_, value)| !value.is_null()) {
        merge(&mut config[key], value);
    }
}

/// The dotted keys of all leaves below `config` that satisfy `wanted`. Lists count as leaves.
pub fn leaves(config: &Value, wanted: fn(&Value) -> bool) -> Vec<String> {
    let Some(object) = config.as_object() else {
        return if wanted(config) {
            vec![String::new()]
        } else {
            vec![]
        };
    };
    let mut found = vec![];
    for (key, value) in object {
        found.extend(leaves(value, wanted).into_iter().map(|path| match &*path {
            "" => key.clone(),
            path => format!("{key}.{path}"),
        }));
    }
    found
}

/// The dotted keys of the leaves that differ, in the order of the first object.
pub fn differing(one: &Value, two: &Value) -> Vec<String> {
    let mut keys = leaves(one, |_| true);
    keys.extend(
        leaves(two, |_| true)
            .into_iter()
            .filter(|key| get(one, key).is_none()),
    );
    keys.retain(|key| get(one, key) != get(two, key));
    keys
}

/// Line and column of each dotted key.
pub type Positions = HashMap<String, (usize, usize)>;

/// The first place of each key in a text that was parsed before: below a list there can be several.
pub fn positions(text: &str) -> Option<Positions> {
    let Scanned { plain, keys } = scan(without_mark(text)).ok()?;
    let mut found = Positions::new();
    let ends = plain.match_indices('\n').map(|(at, _)| at + 1);
    let starts: Vec<usize> = [0].into_iter().chain(ends).collect();
    for key in keys {
        let at = key.name.start;
        let line = starts.partition_point(|start| *start <= at);
        found
            .entry(key.path)
            .or_insert((line, at - starts[line - 1] + 1));
    }
    Some(found)
}

/// A change of a config that leaves the rest of its text as it stands: comments, order, spacing.
#[derive(Clone, PartialEq)]
pub enum Edit {
    /// The last part of a dotted key gets another name.
    Rename(String, String),
    /// A key gets this value. A new one is put at the start of its section.
    Set(String, String),
    Remove(String),
    /// A key goes to the start of another section, and this is its value.
    Move(String, String, String),
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Edit::Rename(key, to) | Edit::Move(key, to, _) => write!(f, "`{key}` is `{to}` now"),
            Edit::Set(key, to) => write!(f, "`{key}` is {to} now"),
            Edit::Remove(key) => write!(f, "`{key}` is removed"),
        }
    }
}

impl Edit {
    /// `None` if one cannot be made, or would take the place of a key that has another value.
    pub fn apply_all(edits: &[Edit], text: &str) -> Option<String> {
        edits.iter().try_fold(text.to_string(), |text, edit| {
            let new = match edit {
                Edit::Move(_, key, _) => key.clone(),
                Edit::Rename(key, to) => match key.rsplit_once('.') {
                    Some((section, _)) => format!("{section}.{to}"),
                    None => to.clone(),
                },
                _ => String::new(),
            };
            if get(&parse(&text).ok()?, &new).is_some() {
                return None;
            }
            edit.apply(&text)
        })
    }

    /// `None` if the key is not found, or if the result would be no config.
    pub fn apply(&self, text: &str) -> Option<String> {
        let Scanned { plain, keys } = scan(text).ok()?;
        let find = |path: &str| keys.iter().find(|key| key.path == path);
        let mut new = text.to_string();
        match self {
            Edit::Rename(key, to) => {
                let name = find(key)?.name.clone();
                new.replace_range(name, &Value::from(to.as_str()).to_string());
            }
            Edit::Set(key, to) => match find(key) {
                Some(key) => new.replace_range(key.value.clone(), to),
                None => {
                    let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
                    let start = match find(section) {
                        Some(section) => section.value.start,
                        None if section.is_empty() => plain.find('{')?,
                        None => {
                            let inside = format!("{{{}: {to}}}", Value::from(name));
                            return Edit::Set(section.to_string(), inside).apply(text);
                        }
                    };
                    let inside = text[start..].strip_prefix('{')?;
                    let first = inside.trim_start();
                    let gap = &inside[..inside.len() - first.len()];
                    let comma = match gap {
                        _ if first.starts_with('}') => "",
                        "" => ", ",
                        _ => ",",
                    };
                    let added = format!("{gap}{}: {to}{comma}", Value::from(name));
                    new.insert_str(start + 1, &added);
                }
            },
            Edit::Remove(key) => {
                let (range, comments) = removed(text, &plain, find(key)?);
                new.replace_range(range, comments);
            }
            Edit::Move(key, to, value) => {
                // What has this value already keeps its comments.
                let own = &text[find(key)?.value.clone()];
                let is_same = parse(own) == parse(value);
                let value = if is_same { own } else { value };
                let (range, comments) = removed(text, &plain, find(key)?);
                new.replace_range(range, comments);
                return Edit::Set(to.clone(), value.to_string()).apply(&new);
            }
        }
        parse(&new).is_ok().then_some(new)
    }
}

/// The bytes that go with a key: its value, a comma, and the line if it is one of its own. And the comments among them, which
/// stay.
fn removed<'t>(
    text: &'t str,
    plain: &str,
    Key { name, value, .. }: &Key,
) -> (Range<usize>, &'t str) {
    let before = plain[..name.start].trim_end();
    let mut range = name.start..value.end;
    let mut comments = "";
    if let Some(rest) = plain[value.end..].trim_start().strip_prefix(',') {
        let comma = plain.len() - rest.len();
        // The space after a comma goes too, unless the line ends there.
        let next = text[comma..].trim_start_matches(' ');
        range.end = if next.starts_with('\n') {
            comma
        } else {
            text.len() - next.len()
        };
    } else if before.ends_with(',') {
        range.start = before.len() - 1;
        let between = &text[before.len()..name.start];
        if !between.trim().is_empty() {
            comments = between;
        }
    }
    if text[range.end..].starts_with('\n') {
        comments = comments.trim_end();
        if let Some(line) = text[..range.start].rfind('\n')
            && text[line..range.start].trim().is_empty()
        {
            range.start = line;
        }
    }
    (range, comments)
}

struct Scanned {
    /// Comments and trailing commas are spaces, so that every other byte keeps its place.
    plain: String,
    keys: Vec<Key>,
}

struct Key {
    /// Dotted.
    path: String,
    /// The place of the bracket that opens its object.
    object: usize,
    /// With the quotes.
    name: Range<usize>,
    value: Range<usize>,
}

/// A bracket that is not closed yet.
struct Open {
    at: usize,
    /// The dotted key that leads to it.
    path: String,
    /// The key whose value is being read.
    key: Option<usize>,
}

/// Finds the keys of a text that need not be JSON.
fn scan(text: &str) -> Result<Scanned, SyntaxError> {
    let fault = |at: usize, what: &str| Err(fault_at(&text.as_bytes()[..at], what.to_string()));
    let mut plain = text.to_string();
    let mut keys: Vec<Key> = vec![];
    let mut open: Vec<Open> = vec![];
    // The last token that is neither space nor a comment, and a comma if that is what it is.
    let mut last = 0..0;
    let mut comma = None;
    for (at, token) in tokens(text) {
        let end = at + token.len();
        if token.starts_with("/*") && !(token.len() >= 4 && token.ends_with("*/")) {
            return fault(at, "this comment is not closed");
        }
        if token.starts_with("//") || token.starts_with("/*") {
            let blank = token
                .bytes()
                .map(|byte| if byte == b'\n' { '\n' } else { ' ' });
            plain.replace_range(at..end, &blank.collect::<String>());
            continue;
        }
        if matches!(token, " " | "\n" | "\r" | "\t") {
            continue;
        }
        let before = &text[last.clone()];
        if matches!(token, "," | "}" | "]")
            && let Some(key) = open.last_mut().and_then(|inner| inner.key.take())
        {
            keys[key].value.end = last.end;
        }
        match token {
            "," => comma = (!matches!(before, "" | "{" | "[" | "," | ":")).then_some(at),
            "}" | "]" => {
                open.pop();
                if let Some(at) = comma.take() {
                    plain.replace_range(at..=at, " ");
                }
            }
            _ => comma = None,
        }
        let key = open.last().and_then(|inner| inner.key);
        if let Some(key) = key
            && before == ":"
        {
            keys[key].value.start = at;
        }
        if matches!(token, "{" | "[") {
            // As deep as serde_json goes. The paths of deeper keys would fill the memory.
            if open.len() == 127 {
                return fault(at, "it is nested more than 128 levels deep");
            }
            let path = match (key, open.last()) {
                (Some(key), _) => keys[key].path.clone(),
                (None, Some(inner)) => inner.path.clone(),
                (None, None) => String::new(),
            };
            let key = None;
            open.push(Open { at, path, key });
        }
        if let (":", true, Some(inner)) = (token, before.starts_with('"'), open.last_mut()) {
            let name = serde_json::from_str(before).unwrap_or_else(|_| before.to_string());
            let path = match &*inner.path {
                "" => name,
                path => format!("{path}.{name}"),
            };
            inner.key = Some(keys.len());
            keys.push(Key {
                path,
                object: inner.at,
                name: last,
                value: end..end,
            });
        }
        last = at..end;
    }
    Ok(Scanned { plain, keys })
}

/// The strings, comments, numbers and other characters of a text, each with its place.
fn tokens(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &text[at..];
        let length = match rest.bytes().next()? {
            b'"' => end_of_string(rest),
            b'/' if rest.starts_with("//") => rest.find('\n'),
            b'/' if rest.starts_with("/*") => rest[2..].find("*/").map(|length| length + 4),
            b'-' | b'0'..=b'9' => rest
                .bytes()
                .position(|b| !b.is_ascii_digit() && !b"+-.eE".contains(&b)),
            _ => rest.chars().next().map(char::len_utf8),
        };
        let token = &rest[..length.unwrap_or(rest.len())];
        at += token.len();
        Some((at - token.len(), token))
    })
}

fn end_of_string(text: &str) -> Option<usize> {
    let next = |from: usize| Some(from + memchr2(b'"', b'\\', text.as_bytes().get(from..)?)?);
    let mut end = next(1)?;
    while text.as_bytes()[end] == b'\\' {
        end = next(end + 2)?;
    }
    Some(end + 1)
}

pub fn fault_at(before: &[u8], what: String) -> SyntaxError {
    let line = before.split(|b| *b == b'\n').count();
    let column = before.iter().rev().take_while(|b| **b != b'\n').count() + 1;
    SyntaxError {
        line,
        column,
        what,
        help: HELP,
        first: None,
    }
}

fn friendly_message(why: &serde_json::Error, text: &str) -> SyntaxError {
    // serde_json names the place of the first letter of a word, or of the one behind a sign.
    let rest = text
        .lines()
        .nth(why.line().saturating_sub(1))
        .unwrap_or_default()
        .get(why.column().saturating_sub(1)..)
        .unwrap_or_default()
        .trim_start_matches('-');
    let first = text.trim_start().lines().next().unwrap_or_default();
    let is_key = first.trim_end().ends_with(':') || first.contains(": ");
    let is_yaml = is_key && first.starts_with(|c: char| c.is_ascii_alphabetic());
    let message = why.to_string();
    let message = match message.split(" at line ").next().unwrap_or_default() {
        "expected value" if is_yaml => YAML,
        message => message,
    };
    let fault = FAULTS.iter().find(|fault| {
        fault.says.iter().any(|start| message.starts_with(start))
            && fault.at.iter().any(|start| rest.starts_with(start))
            && text.lines().any(|line| line.starts_with(fault.line))
    });
    SyntaxError {
        line: why.line(),
        column: why.column().max(1),
        what: fault.map_or(message, |fault| fault.what).to_string(),
        help: fault.map_or(HELP, |fault| fault.help),
        ..SyntaxError::default()
    }
}
