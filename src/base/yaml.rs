//! YAML as the trainers read it. PyYAML is YAML 1.1: `yes` is true, `010` is 8, and `1e-5` is a *string*, because its
//! floats need a dot and a signed exponent. OmegaConf (LLaMA-Factory) adds floats without a dot.
//!
//! Also Python's way to write the values as words, which is how ms-swift passes a run file on.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

use crate::base::json::SyntaxError;
use crate::base::python_value::repr_float;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    PyYaml,
    OmegaConf,
}

const DEEPEST: usize = 64;
/// Aliases can make a small file very large.
const MOST_VALUES: usize = 100_000;

/// The first document of the text; an empty one is null.
pub fn parse(text: &str, dialect: Dialect) -> Result<Value, SyntaxError> {
    let unfinished = (!text.ends_with('\n')).then(|| text.chars().count());
    let parser = Parser::new_from_str(text);
    let mut loader = Loader {
        text,
        parser,
        dialect,
        anchors: HashMap::new(),
        values: 0,
        unfinished,
        end: 0,
    };
    let value = loop {
        let (event, place) = loader.next()?;
        match event {
            Event::StreamEnd | Event::DocumentEnd => break Value::Null,
            Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
            first => break loader.value(first, place, 0)?,
        }
    };
    // PyYAML's `safe_load` wants one document.
    loop {
        match loader.next()? {
            (Event::StreamEnd, _) => return Ok(value),
            (Event::DocumentStart(_), place) => {
                return Err(fault(place, "a second document starts here"));
            }
            _ => {}
        }
    }
}

struct Loader<'a> {
    text: &'a str,
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    dialect: Dialect,
    anchors: HashMap<usize, Value>,
    values: usize,
    /// The length of the text, if it ends without a line feed.
    unfinished: Option<usize>,
    /// The place behind the last event.
    end: usize,
}

impl<'a> Loader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, (usize, usize)), SyntaxError> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => {
                self.end = span.end.index();
                Ok((event, (span.start.line(), span.start.col() + 1)))
            }
            Some(Err(why)) => {
                let start = (why.marker().line(), why.marker().col() + 1);
                // The parser names the start of the value that a tab follows.
                let mut lines = (1..).zip(self.text.lines()).skip(start.0);
                let tab = lines.find_map(|(at, line)| Some((at, line.find('\t')? + 1)));
                let is_tab = why.info().ends_with("found a tab");
                let place = tab.filter(|_| is_tab).unwrap_or(start);
                Err(fault(place, why.info()))
            }
            None => Ok((Event::StreamEnd, (1, 1))),
        }
    }

    fn value(
        &mut self,
        event: Event<'a>,
        place: (usize, usize),
        depth: usize,
    ) -> Result<Value, SyntaxError> {
        self.values += 1;
        if depth > DEEPEST || self.values > MOST_VALUES {
            return Err(fault(place, "it is nested too deeply or too large"));
        }
        let (anchor, value) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                let value = match tag
                    .as_deref()
                    .map(|tag| (tag.is_yaml_core_schema(), tag.suffix.as_str()))
                {
                    None if style == ScalarStyle::Plain => scalar(&text, self.dialect),
                    // A block at the end of a text without a line feed has none either.
                    None if is_block && self.unfinished.is_some_and(|end| self.end >= end) => {
                        Value::from(text.strip_suffix('\n').unwrap_or(&text))
                    }
                    // Python has types of its own for the last two, but no argument has these.
                    None | Some((true, "str" | "binary" | "timestamp")) => {
                        Value::from(text.as_ref())
                    }
                    Some((true, "int" | "bool" | "null")) => scalar(&text, self.dialect),
                    Some((true, "float")) => {
                        let number = text.parse().ok().and_then(Number::from_f64);
                        number.map_or_else(|| Value::from(text.as_ref()), Value::Number)
                    }
                    Some(_) => return Err(fault(place, "this tag is not read")),
                };
                (anchor, value)
            }
            Event::SequenceStart(anchor, _) => {
                let mut list = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd | Event::StreamEnd, _) => break (anchor, list.into()),
                        (event, place) => list.push(self.value(event, place, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(anchor, _) => (anchor, self.mapping(depth)?),
            Event::Alias(id) => {
                let value = self.anchors.get(&id).cloned().unwrap_or(Value::Null);
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
            if matches!(event, Event::MappingEnd | Event::StreamEnd) {
                break;
            }
            let is_merge =
                matches!(&event, Event::Scalar(text, ScalarStyle::Plain, _, None) if text == "<<");
            let key = self.value(event, place, depth + 1)?;
            let repeated = object.contains_key(&python_str(&key));
            if key.is_array() || key.is_object() || (repeated && self.dialect == Dialect::OmegaConf)
            {
                let what = if repeated {
                    "this key appears twice"
                } else {
                    "a key must be plain text"
                };
                return Err(fault(place, what));
            }
            let (event, place) = self.next()?;
            match self.value(event, place, depth + 1)? {
                value if !is_merge => drop(object.insert(python_str(&key), value)),
                Value::Object(mapping) => merged.extend(mapping),
                // Of a list the first counts, of several `<<` the last.
                Value::Array(list) => {
                    let mappings = list.into_iter().rev();
                    merged.extend(
                        mappings
                            .filter_map(|value| value.as_object().cloned())
                            .flatten(),
                    );
                }
                _ => return Err(fault(place, "`<<` needs a mapping")),
            }
        }
        // PyYAML puts merged keys first; an own key keeps its place among them.
        merged.extend(object);
        Ok(Value::Object(merged))
    }
}

fn fault((line, column): (usize, usize), what: &str) -> SyntaxError {
    SyntaxError {
        line,
        column,
        what: what.to_string(),
        help: "check that place",
        first: None,
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
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Value::Bool(true);
        }
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Value::Bool(false);
        }
        _ => {}
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
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let read = |digits: &str, radix: u32| {
        let plain = digits.replace('_', "");
        if plain.starts_with(['-', '+']) {
            None
        } else {
            i64::from_str_radix(&plain, radix).ok()
        }
    };
    let value = match digits.as_bytes() {
        [b'0', b'b', ..] => read(&digits[2..], 2)?,
        [b'0', b'x', ..] => read(&digits[2..], 16)?,
        b"0" => 0,
        [b'0', ..] => read(&digits[1..], 8)?,
        [b'0'..=b'9', ..] => read(digits, 10)?,
        _ => return None,
    };
    Some(if text.starts_with('-') { -value } else { value })
}

fn float(text: &str, dialect: Dialect) -> Option<f64> {
    let bare = text.strip_prefix(['-', '+']).unwrap_or(text);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    match bare {
        ".inf" | ".Inf" | ".INF" => return Some(sign * f64::INFINITY),
        ".nan" | ".NaN" | ".NAN" if bare == text => return Some(f64::NAN),
        _ => {}
    }
    let parts = bare.split_once(['e', 'E']);
    let (mantissa, exponent) = parts.map_or((bare, None), |(mantissa, exponent)| {
        (mantissa, Some(exponent))
    });
    let omegaconf = dialect == Dialect::OmegaConf;
    let lawful_exponent = exponent.is_none_or(|exponent| {
        // PyYAML wants a sign.
        let digits =
            exponent
                .strip_prefix(['-', '+'])
                .unwrap_or(if omegaconf { exponent } else { "" });
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    });
    let is_number = |digits: &str| {
        digits.starts_with(|c: char| c.is_ascii_digit())
            && digits.bytes().all(|b| b.is_ascii_digit() || b == b'_')
    };
    let lawful_mantissa = match mantissa.split_once('.') {
        // A number that begins with the dot has no sign.
        Some((whole, fraction)) => {
            (bare == text || !whole.is_empty()) && is_number(&[whole, fraction].concat())
        }
        // `1e-5` has no dot: a float for OmegaConf, a string for PyYAML.
        None => omegaconf && exponent.is_some() && is_number(mantissa),
    };
    if lawful_exponent && lawful_mantissa {
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
            let escaped = text
                .replace('\\', "\\\\")
                .replace('\n', "\\n")
                .replace('\t', "\\t");
            let escaped = if quote == '\'' {
                escaped.replace('\'', "\\'")
            } else {
                escaped
            };
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
pub(crate) fn flow(value: &Value) -> String {
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
