//! YAML as the trainers read it. PyYAML is YAML 1.1: `yes` is true, `010` is 8, and `1e-5` is a *string*, because its
//! floats need a dot and a signed exponent. OmegaConf (LLaMA-Factory) adds floats without a dot.
//!
//! Also Python's way to write the values as words, which is how ms-swift passes a run file on.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput};
use serde_json::{Map, Number, Value};

use crate::base::{
    json::{SyntaxError, fault_at},
    python_value::repr_float,
    tables::yaml_words::{DEEPEST, MOST_VALUES, WORDS},
};

use Event::{
    Alias, DocumentEnd, DocumentStart, MappingEnd, MappingStart, Nothing, Scalar, SequenceEnd,
    SequenceStart, StreamEnd, StreamStart,
};

#[derive(Clone, Copy, PartialEq)]
pub enum Dialect {
    PyYaml,
    OmegaConf,
}

/// The document of the text; an empty one is null.
pub fn parse(text: &str, dialect: Dialect) -> Result<Value, SyntaxError> {
    let mut loader = Loader {
        text,
        parser: Parser::new_from_str(text),
        dialect,
        anchors: HashMap::new(),
        values: 0,
    };
    let mut document = None;
    loop {
        let (event, place) = loader.next()?;
        match event {
            StreamEnd => return Ok(document.unwrap_or_default()),
            DocumentEnd => drop(document.get_or_insert_default()),
            // PyYAML's `safe_load` wants one document.
            DocumentStart(_) if document.is_some() => {
                return Err(fault(place, "a second document starts here"));
            }
            DocumentStart(_) | StreamStart | Nothing => {}
            first => document = Some(loader.value(first, place, 0)?),
        }
    }
}

struct Loader<'a> {
    text: &'a str,
    parser: Parser<'a, StrInput<'a>>,
    dialect: Dialect,
    anchors: HashMap<usize, Value>,
    values: usize,
}

impl<'a> Loader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), SyntaxError> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => Ok((event, span)),
            Some(Err(why)) => Err(match self.text.find('\t') {
                // The parser names the start of the value that the tab follows.
                Some(at) if why.info().ends_with("found a tab") => {
                    fault_at(&self.text.as_bytes()[..at], why.info().to_string())
                }
                _ => fault(Span::empty(*why.marker()), why.info()),
            }),
            None => Ok((StreamEnd, Span::default())),
        }
    }

    fn value(&mut self, event: Event<'a>, place: Span, depth: usize) -> Result<Value, SyntaxError> {
        self.values += 1;
        if depth > DEEPEST || self.values > MOST_VALUES {
            return Err(fault(place, "it is nested too deeply or too large"));
        }
        let (anchor, value) = match event {
            Scalar(text, style, anchor, tag) => {
                let value = match tag.as_deref().map(|tag| tag.suffix.as_str()) {
                    None if style == ScalarStyle::Plain => scalar(&text, self.dialect),
                    None | Some("str") => text.into(),
                    Some("int" | "bool" | "null") => scalar(&text, self.dialect),
                    Some("float") => text
                        .parse::<f64>()
                        .map_or_else(|_| text.into(), Value::from),
                    Some(_) => return Err(fault(place, "this tag is not read")),
                };
                (anchor, value)
            }
            SequenceStart(anchor, _) => {
                let mut list = vec![];
                loop {
                    match self.next()? {
                        (SequenceEnd | StreamEnd, _) => break (anchor, list.into()),
                        (event, place) => list.push(self.value(event, place, depth + 1)?),
                    }
                }
            }
            MappingStart(anchor, _) => (anchor, self.mapping(depth)?),
            Alias(id) => {
                let value = self.anchors.get(&id).cloned().unwrap_or_default();
                self.values += size(&value);
                (0, value)
            }
            _ => (0, Value::Null),
        };
        if anchor != 0 {
            self.anchors.insert(anchor, value.clone());
        }
        Ok(value)
    }

    /// For PyYAML the last of several equal keys wins. `<<` adds the keys that are not there yet.
    fn mapping(&mut self, depth: usize) -> Result<Value, SyntaxError> {
        let mut object = Map::new();
        let mut merged = Map::new();
        loop {
            let (event, place) = self.next()?;
            if matches!(event, MappingEnd | StreamEnd) {
                break;
            }
            let is_merge =
                matches!(&event, Scalar(text, ScalarStyle::Plain, _, None) if text == "<<");
            let key = self.value(event, place, depth + 1)?;
            let name = python_str(&key);
            if key.is_array() || key.is_object() {
                return Err(fault(place, "a key must be plain text"));
            }
            if self.dialect == Dialect::OmegaConf && object.contains_key(&name) {
                return Err(fault(place, "this key appears twice"));
            }
            let (event, place) = self.next()?;
            match self.value(event, place, depth + 1)? {
                value if !is_merge => drop(object.insert(name, value)),
                Value::Object(mapping) => merged.extend(mapping),
                _ => return Err(fault(place, "`<<` needs a mapping")),
            }
        }
        // PyYAML puts merged keys first; an own key keeps its place among them.
        merged.extend(object);
        Ok(merged.into())
    }
}

fn fault(place: Span, what: &str) -> SyntaxError {
    SyntaxError {
        line: place.start.line(),
        column: place.start.col() + 1,
        what: what.to_string(),
        help: "check that place",
        ..SyntaxError::default()
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(size).sum::<usize>(),
        Value::Object(object) => 1 + object.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

/// A plain scalar by YAML 1.1's implicit types.
pub fn scalar(text: &str, dialect: Dialect) -> Value {
    if let Some((_, value)) = WORDS.iter().find(|(words, _)| words.contains(&text)) {
        return value.clone();
    }
    if let Some(integer) = integer(text) {
        return Value::from(integer);
    }
    let Some(float) = float(text, dialect) else {
        return Value::from(text);
    };
    Number::from_f64(float).map_or_else(|| Value::from(repr_float(float)), Value::Number)
}

fn integer(text: &str) -> Option<i64> {
    let bare = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (radix, digits) = match bare.as_bytes() {
        [b'0', b'x', ..] => (16, &bare[2..]),
        [b'0', _, ..] => (8, &bare[1..]),
        [b'0'..=b'9', ..] => (10, bare),
        _ => return None,
    };
    let value = i64::from_str_radix(&digits.replace('_', ""), radix).ok()?;
    Some(if text.starts_with('-') { -value } else { value })
}

fn float(text: &str, dialect: Dialect) -> Option<f64> {
    let bare = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match bare.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (bare, None),
    };
    let is_lawful = match dialect {
        Dialect::OmegaConf => mantissa.contains('.') || exponent.is_some(),
        Dialect::PyYaml => {
            mantissa.contains('.') && exponent.is_none_or(|digits| digits.starts_with(['-', '+']))
        }
    };
    // A number that begins with the dot has no sign.
    let begins_so = |c: char| c.is_ascii_digit() || c == '.' && bare == text;
    let is_number = |c: char| c.is_ascii_digit() || "._eE+-".contains(c);
    if is_lawful && mantissa.starts_with(begins_so) && bare.chars().all(is_number) {
        text.replace('_', "").parse().ok()
    } else {
        None
    }
}

/// Python's `str(value)`.
pub fn python_str(value: &Value) -> String {
    if let Value::String(text) = value {
        text.clone()
    } else {
        nested(value, python_repr)
    }
}

/// Python's `repr(value)`, which `str` uses for the items of a list or mapping.
fn python_repr(scalar: &Value) -> String {
    match scalar {
        Value::Null => "None".to_string(),
        Value::Bool(true) => "True".to_string(),
        Value::Bool(false) => "False".to_string(),
        Value::String(text) => {
            let quote = if text.contains('\'') && !text.contains('"') {
                '"'
            } else {
                '\''
            };
            let mut escaped = text
                .replace('\\', "\\\\")
                .replace('\n', "\\n")
                .replace('\t', "\\t");
            if quote == '\'' {
                escaped = escaped.replace('\'', "\\'");
            }
            format!("{quote}{escaped}{quote}")
        }
        other => dumped(other),
    }
}

/// Python's `json.dumps(value, ensure_ascii=False)`.
pub fn python_json(value: &Value) -> String {
    nested(value, dumped)
}

fn dumped(scalar: &Value) -> String {
    if scalar.is_f64() {
        repr_float(scalar.as_f64().unwrap_or_default())
    } else {
        scalar.to_string()
    }
}

/// One line that PyYAML reads back with the same types: its floats need a dot.
pub fn flow(value: &Value) -> String {
    nested(value, |scalar| {
        let text = dumped(scalar);
        if scalar.is_f64() && !text.contains('.') {
            text.replacen('e', ".0e", 1)
        } else {
            text
        }
    })
}

fn nested(value: &Value, write: fn(&Value) -> String) -> String {
    match value {
        Value::Array(list) => {
            let items: Vec<String> = list.iter().map(|item| nested(item, write)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(object) => {
            let entries = object
                .iter()
                .map(|(key, value)| write(&key.as_str().into()) + ": " + &nested(value, write));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        scalar => write(scalar),
    }
}
