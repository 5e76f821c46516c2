//! YAML as the trainers read it. PyYAML is YAML 1.1: `yes` is true, `010` is 8, and `1e-5` is a *string*, because its
//! floats need a dot and a signed exponent. OmegaConf (LLaMA-Factory) adds floats without a dot.
//!
//! Also Python's way to turn the values back into words, which is how ms-swift hands a run file on.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

use crate::base::json::SyntaxError;
use crate::base::python_value::repr_float;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    PyYaml,
    OmegaConf,
}

/// Deeper than any real config.
const DEEPEST: usize = 64;
/// Aliases can make a small file explode.
const MOST_VALUES: usize = 100_000;

/// The first document of the text; an empty one is null.
pub(crate) fn parse(text: &str, dialect: Dialect) -> Result<Value, SyntaxError> {
    let mut loader = Loader { parser: Parser::new_from_str(text), dialect, anchors: HashMap::new(), values: 0 };
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
            (Event::DocumentStart(_), place) => return Err(fault(place, "a second document starts here")),
            _ => {}
        }
    }
}

struct Loader<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    dialect: Dialect,
    anchors: HashMap<usize, Value>,
    values: usize,
}

impl<'a> Loader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, (usize, usize)), SyntaxError> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => Ok((event, (span.start.line(), span.start.col() + 1))),
            Some(Err(why)) => Err(fault((why.marker().line(), why.marker().col() + 1), why.info())),
            None => Ok((Event::StreamEnd, (1, 1))),
        }
    }

    fn value(&mut self, event: Event<'a>, place: (usize, usize), depth: usize) -> Result<Value, SyntaxError> {
        self.values += 1;
        if depth > DEEPEST || self.values > MOST_VALUES {
            return Err(fault(place, "it is nested too deep or too large"));
        }
        let (anchor, value) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let value = match tag.as_deref().map(|tag| (tag.is_yaml_core_schema(), tag.suffix.as_str())) {
                    None if style == ScalarStyle::Plain && text == "=" => {
                        return Err(fault(place, "a plain `=` has no value"));
                    }
                    None if style == ScalarStyle::Plain => scalar(&text, self.dialect),
                    None | Some((true, "str")) => Value::from(text.as_ref()),
                    Some((true, "int" | "bool" | "null")) => scalar(&text, self.dialect),
                    Some((true, "float")) => text
                        .parse()
                        .ok()
                        .and_then(Number::from_f64)
                        .map_or_else(|| Value::from(text.as_ref()), Value::Number),
                    Some(_) => return Err(fault(place, "this tag is not read")),
                };
                (anchor, value)
            }
            Event::SequenceStart(anchor, _) => (anchor, self.sequence(depth)?),
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

    fn sequence(&mut self, depth: usize) -> Result<Value, SyntaxError> {
        let mut list = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd | Event::StreamEnd, _) => return Ok(Value::Array(list)),
                (event, place) => list.push(self.value(event, place, depth + 1)?),
            }
        }
    }

    /// Repeated keys: the last one wins. `<<` brings in what is not there yet.
    fn mapping(&mut self, depth: usize) -> Result<Value, SyntaxError> {
        let mut object = Map::new();
        let mut merged = Vec::new();
        loop {
            let (event, place) = self.next()?;
            if matches!(event, Event::MappingEnd | Event::StreamEnd) {
                break;
            }
            let is_merge = matches!(&event, Event::Scalar(text, ScalarStyle::Plain, _, None) if text == "<<");
            let key = self.value(event, place, depth + 1)?;
            let repeated = object.contains_key(&python_str(&key));
            if key.is_array() || key.is_object() || (repeated && self.dialect == Dialect::OmegaConf) {
                let what = if repeated { "this key stands here twice" } else { "a key must be plain text" };
                return Err(fault(place, what));
            }
            let (event, place) = self.next()?;
            let value = self.value(event, place, depth + 1)?;
            match (is_merge, value) {
                (false, value) => {
                    object.insert(python_str(&key), value);
                }
                (true, value @ Value::Object(_)) => merged.push(value),
                (true, Value::Array(list)) => merged.extend(list),
                (true, _) => return Err(fault(place, "`<<` wants a mapping")),
            }
        }
        // PyYAML puts merged keys first; an own key keeps its place among them.
        let mut all = Map::new();
        for (key, value) in merged.iter().filter_map(Value::as_object).flatten() {
            all.entry(key).or_insert_with(|| value.clone());
        }
        all.extend(object);
        Ok(Value::Object(all))
    }
}

fn fault((line, column): (usize, usize), what: &str) -> SyntaxError {
    SyntaxError { line, column, what: what.to_string() }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(size).sum::<usize>(),
        Value::Object(object) => 1 + object.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

/// A plain scalar by YAML 1.1's implicit types.
pub(crate) fn scalar(text: &str, dialect: Dialect) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => return Value::Bool(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => return Value::Bool(false),
        _ => {}
    }
    let number = integer(text).map(Value::from).or_else(|| {
        let float = float(text, dialect)?;
        Some(Number::from_f64(float).map_or_else(|| Value::from(repr_float(float)), Value::Number))
    });
    number.unwrap_or_else(|| Value::from(text))
}

fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let read = |digits: &str, radix: u32| {
        let plain = digits.replace('_', "");
        let lawful = plain.chars().all(|c| c.is_digit(radix));
        i64::from_str_radix(&plain, radix).ok().filter(|_| lawful && !plain.is_empty())
    };
    let value = match digits.as_bytes() {
        [b'0', b'b', ..] => read(&digits[2..], 2)?,
        [b'0', b'x', ..] => read(&digits[2..], 16)?,
        b"0" => 0,
        [b'0', ..] => read(&digits[1..], 8)?,
        _ if digits.contains(':') => sexagesimal(digits)?,
        [b'0'..=b'9', ..] => read(digits, 10)?,
        _ => return None,
    };
    Some(if text.starts_with('-') { -value } else { value })
}

/// `1:30` is 90.
fn sexagesimal(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let mut value: i64 = parts.next()?.replace('_', "").parse().ok()?;
    for part in parts {
        let digit: i64 = part.parse().ok().filter(|digit| (0..60).contains(digit) && part.len() <= 2)?;
        value = value.checked_mul(60)?.checked_add(digit)?;
    }
    Some(value)
}

fn float(text: &str, dialect: Dialect) -> Option<f64> {
    let bare = text.strip_prefix(['-', '+']).unwrap_or(text);
    match bare {
        ".inf" | ".Inf" | ".INF" => return Some(if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY }),
        ".nan" | ".NaN" | ".NAN" if bare == text => return Some(f64::NAN),
        _ => {}
    }
    let (mantissa, exponent) = match bare.find(['e', 'E']) {
        Some(at) => (&bare[..at], Some(&bare[at + 1..])),
        None => (bare, None),
    };
    let omegaconf = dialect == Dialect::OmegaConf;
    let lawful_exponent = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['-', '+']);
        let digits = if omegaconf { Some(digits.unwrap_or(exponent)) } else { digits };
        digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
    });
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let lawful_mantissa = match mantissa.split_once('.') {
        Some(("", fraction)) => bare == text && fraction.starts_with(|c: char| c.is_ascii_digit()) && digits(fraction),
        Some((whole, fraction)) => whole.starts_with(|c: char| c.is_ascii_digit()) && digits(whole) && digits(fraction),
        // `1e-5` has no dot: a float for OmegaConf, a string for PyYAML.
        None => {
            omegaconf && exponent.is_some() && mantissa.starts_with(|c: char| c.is_ascii_digit()) && digits(mantissa)
        }
    };
    if !lawful_exponent || !lawful_mantissa {
        return None;
    }
    text.replace('_', "").parse().ok()
}

/// Python's `str(value)`.
pub(crate) fn python_str(value: &Value) -> String {
    match value {
        Value::Null => "None".to_string(),
        Value::Bool(true) => "True".to_string(),
        Value::Bool(false) => "False".to_string(),
        Value::Number(number) if number.is_f64() => repr_float(number.as_f64().unwrap_or_default()),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        other => python_repr(other),
    }
}

/// Python's `repr(value)`: what `str` makes of the items of a list or mapping.
fn python_repr(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
            let escaped = text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t");
            let escaped = if quote == '\'' { escaped.replace('\'', "\\'") } else { escaped };
            format!("{quote}{escaped}{quote}")
        }
        Value::Array(list) => in_brackets(list, python_repr),
        Value::Object(object) => in_braces(object, python_repr),
        other => python_str(other),
    }
}

/// Python's `json.dumps(value, ensure_ascii=False)`.
pub(crate) fn python_json(value: &Value) -> String {
    match value {
        Value::Array(list) => in_brackets(list, python_json),
        Value::Object(object) => in_braces(object, python_json),
        Value::Number(number) if number.is_f64() => repr_float(number.as_f64().unwrap_or_default()),
        other => other.to_string(),
    }
}

fn in_brackets(list: &[Value], write: fn(&Value) -> String) -> String {
    format!("[{}]", list.iter().map(write).collect::<Vec<_>>().join(", "))
}

fn in_braces(object: &Map<String, Value>, write: fn(&Value) -> String) -> String {
    let entries = object.iter().map(|(key, value)| write(&Value::from(key.as_str())) + ": " + &write(value));
    format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Derived with PyYAML 6 and OmegaConf 2.3: `yaml.safe_load(text)`, `OmegaConf.create(text)`.
    #[test]
    fn plain_scalars_are_yaml_1_1() {
        for (text, pyyaml, omegaconf) in [
            ("1e-5", json!("1e-5"), json!(1e-5)),
            ("1.0e-5", json!(1e-5), json!(1e-5)),
            ("1.0e5", json!("1.0e5"), json!(1e5)),
            ("1.e+3", json!(1000.0), json!(1000.0)),
            (".5", json!(0.5), json!(0.5)),
            ("-.5", json!("-.5"), json!("-.5")),
            ("+1", json!(1), json!(1)),
            ("1_000", json!(1000), json!(1000)),
            ("010", json!(8), json!(8)),
            ("08", json!("08"), json!("08")),
            ("0x1F", json!(31), json!(31)),
            ("0b11", json!(3), json!(3)),
            ("1:30", json!(90), json!(90)),
            ("1:60", json!("1:60"), json!("1:60")),
            ("yes", json!(true), json!(true)),
            ("Off", json!(false), json!(false)),
            ("y", json!("y"), json!("y")),
            ("NO", json!(false), json!(false)),
            ("~", json!(null), json!(null)),
            ("None", json!("None"), json!("None")),
            ("4", json!(4), json!(4)),
            ("4.0", json!(4.0), json!(4.0)),
            ("1e5x", json!("1e5x"), json!("1e5x")),
            (".inf", json!("inf"), json!("inf")),
            ("-", json!("-"), json!("-")),
            (".", json!("."), json!(".")),
        ] {
            assert_eq!(scalar(text, Dialect::PyYaml), pyyaml, "{text}");
            assert_eq!(scalar(text, Dialect::OmegaConf), omegaconf, "{text}");
        }
    }

    #[test]
    fn anchors_merges_and_quotes() {
        let text = "base: &base\n  lr: 1.0e-4\n  bf16: yes\nrun:\n  <<: *base\n  lr: '1e-5'\n  list: [1, two, 3.0]\n  text: |\n    a\n    b\n";
        let value = parse(text, Dialect::PyYaml).unwrap();
        assert_eq!(value["run"], json!({"lr": "1e-5", "bf16": true, "list": [1, "two", 3.0], "text": "a\nb\n"}));
        assert_eq!(parse("", Dialect::PyYaml), Ok(Value::Null));
        assert_eq!(parse("a: 1\na: 2\n", Dialect::PyYaml), Ok(json!({"a": 2})));
        assert_eq!(parse("on: 1\n", Dialect::PyYaml), Ok(json!({"True": 1})));
        assert_eq!(parse("---\na: !!str 1\n...\n", Dialect::PyYaml), Ok(json!({"a": "1"})));
    }

    #[test]
    fn faults_have_a_place_and_bombs_are_refused() {
        assert_eq!(parse("a: [1\nb: 2", Dialect::PyYaml).unwrap_err().line, 2);
        for text in ["a: 1\n---\nb: 2\n", "a: !foo x\n", "a: !!python/object x\n", "a: =\n", "? [a]\n: b\n"] {
            assert!(parse(text, Dialect::PyYaml).is_err(), "{text}");
        }
        assert!(parse("a: 1\na: 2\n", Dialect::OmegaConf).is_err());
        assert_eq!(parse("a: !!float 1\n", Dialect::PyYaml), Ok(json!({"a": 1.0})));
        assert!(parse(&"[".repeat(10_000), Dialect::PyYaml).is_err());
        let bomb: String = (1..30).map(|n| format!("a{n}: &a{n} [*a{0},*a{0},*a{0},*a{0}]\n", n - 1)).collect();
        assert!(parse(&format!("a0: &a0 [1,1,1,1]\n{bomb}"), Dialect::PyYaml).is_err());
    }

    /// Derived with CPython's `str` and `json.dumps`.
    #[test]
    fn values_become_words_as_python_writes_them() {
        assert_eq!(python_str(&json!(true)), "True");
        assert_eq!(python_str(&json!(["b", "it's", 1.0, null, {"d": "e"}])), r#"['b', "it's", 1.0, None, {'d': 'e'}]"#);
        assert_eq!(
            python_json(&json!({"a": [1, 2.0, "ü"], "b": null, "c": true})),
            r#"{"a": [1, 2.0, "ü"], "b": null, "c": true}"#
        );
    }
}
