//! The types as JSON Schema, for editors and validators. They accept what `KeySpec::fault` and `KeySpec::is_odd` accept;
//! pydantic's coercions are patterns. `tests/real/editor.py` compares both with a real validator.

use serde_json::{Map, Value, json};

use super::value_type::{ValueRange, ValueType};

/// A text that pydantic takes for a bool.
const BOOL: &str =
    "^([01]|[Oo][Nn]|[Oo][Ff][Ff]|[TtFfYyNn]|[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]|[Yy][Ee][Ss]|[Nn][Oo])$";
/// A text that pydantic takes for an int.
const INT: &str = r"^\s*[+-]?[0-9]+(_[0-9]+)*(\.0+)?\s*$";
/// A text that Python's `int` takes.
const PYTHON_INT: &str = r"^\s*[+-]?[0-9]+(_[0-9]+)*\s*$";
/// A text that Python's `float` takes.
const FLOAT: &str = r"^\s*[+-]?(NUMBER|[Nn][Aa][Nn]|[Ii][Nn][Ff]([Ii][Nn][Ii][Tt][Yy])?)\s*$";
const NUMBER: &str = r"([0-9]+(_[0-9]+)*(\.([0-9]+(_[0-9]+)*)?)?|\.[0-9]+(_[0-9]+)*)([eE][+-]?[0-9]+(_[0-9]+)*)?";
/// A text that is not below 0.
const NOT_NEGATIVE: &str = r"^\s*([^\s-]|-[0_.]+\s*$)";
/// A text with another digit than 0, and without a minus.
const POSITIVE: &str = "^[^-]*[1-9]";
/// Texts from 0 to 1: with an exponent only the usual form.
const FRACTION: &str =
    r"^\s*(\+?([0_]*(\.[0-9_]*)?|[0_]*1(\.0*)?)|-[0_.]+|\+?[0-9](\.[0-9]*)?[eE]-[0_]*[1-9][0-9_]*)\s*$";
const OPEN_FRACTION: &str = r"^\s*\+?([0_]*\.0*[1-9][0-9_]*|[1-9](\.[0-9]*)?[eE]-[0_]*[1-9][0-9_]*)\s*$";

/// The types that many keys have, for `$ref`.
pub(super) fn definitions(pydantic1: bool) -> Map<String, Value> {
    let float = FLOAT.replace("NUMBER", NUMBER);
    let scale = format!(r"^\s*(\+?{NUMBER}|-[0.]+)\s*$");
    let types = [
        ("bool", json!({"type": ["boolean", "integer", "string"], "minimum": 0, "maximum": 1, "pattern": BOOL})),
        ("int", json!({"type": ["integer", "boolean", "string"], "pattern": INT})),
        ("float", json!({"type": ["number", "boolean", "string"], "pattern": float})),
        ("count", json!({"type": ["integer", "string"], "pattern": PYTHON_INT})),
        ("scale", json!({"type": ["number", "string"], "minimum": 0, "pattern": scale})),
        // Before pydantic 2 a fraction was cut off.
        ("cut", json!({"type": ["number", "boolean", "string"], "pattern": PYTHON_INT})),
    ];
    let known = types.into_iter().filter(|(name, _)| *name != "cut" || pydantic1);
    known.map(|(name, schema)| (name.to_string(), schema)).collect()
}

/// A value that DeepSpeed does not check, so that nothing is coerced; `None` if that makes no difference.
pub(super) fn as_it_is(kind: ValueType, nullable: bool) -> Option<Vec<Value>> {
    Some(vec![match kind {
        ValueType::Bool => flag(),
        ValueType::Int => json!({"type": "integer"}),
        ValueType::Float => json!({"type": "number"}),
        ValueType::Any if !nullable => json!({"type": ["object", "array", "string", "number", "boolean"]}),
        _ => return None,
    }])
}

/// A batch size: any number above 0, and true is 1.
pub(super) fn batch_size() -> Value {
    json!({"type": ["number", "boolean"], "exclusiveMinimum": 0, "not": {"const": false}})
}

impl ValueType {
    /// Schemas of which one must hold. That of the object is not among those of a section.
    pub(super) fn forms(self, range: ValueRange) -> Vec<Value> {
        let texts = json!({"type": "array", "items": {"type": "string"}});
        vec![match self {
            ValueType::Any | ValueType::Unread => json!({}),
            ValueType::Int => match range {
                ValueRange::OneOf(list) => return one_of_numbers(list, true),
                range => within("int", range),
            },
            ValueType::Float => within("float", range),
            ValueType::Count => json!({"$ref": "#/$defs/count"}),
            ValueType::Scale => json!({"$ref": "#/$defs/scale"}),
            ValueType::Interval => {
                let mut number = bounds(range);
                number.insert("type".to_string(), json!(["integer", "boolean"]));
                return vec![json!({"const": "auto"}), Value::Object(number)];
            }
            ValueType::Str | ValueType::Path => {
                range.choices().map_or(json!({"type": "string"}), |list| json!({"enum": list}))
            }
            ValueType::Word => return in_any_case(range),
            ValueType::Choices => json!({"type": "array", "items": {"enum": range.choices()}}),
            ValueType::Bool => json!({"$ref": "#/$defs/bool"}),
            ValueType::Flag => flag(),
            ValueType::Bits => json!({"type": ["boolean", "integer"]}),
            ValueType::Truthy => json!({"not": {"enum": [null, false, 0, "", [], {}]}}),
            ValueType::CastInt => json!({"type": ["integer", "number", "boolean", "string"], "pattern": PYTHON_INT}),
            ValueType::List => json!({"type": "array"}),
            ValueType::Strings => texts,
            ValueType::StrOrStrings => return vec![json!({"type": "string"}), texts],
            ValueType::AutoOrStrings => return vec![json!({"const": "auto"}), texts],
            ValueType::Names => json!({"type": ["array", "string", "object"], "items": {"type": "string"}}),
            ValueType::Object => json!({"type": "object"}),
            ValueType::Switched => json!({"type": "object", "required": ["enabled"]}),
            ValueType::ModelOrBool => json!({"type": "boolean"}),
            ValueType::SectionOrFalsy => json!({"enum": [null, false, 0, "", []]}),
            ValueType::SectionOrIterable => {
                let array = json!({"type": "array", "not": {"contains": {"const": "throughput"}}});
                return vec![array, json!({"type": "string", "pattern": "^(?!auto$)(?!.*throughput)"})];
            }
            ValueType::Nothing | ValueType::Model | ValueType::PlainModel | ValueType::Section => return Vec::new(),
        }]
    }

    pub(super) fn forms_of_pydantic1(self, range: ValueRange) -> Vec<Value> {
        match (self, range) {
            (ValueType::Int, ValueRange::OneOf(list)) => one_of_numbers(list, false),
            (ValueType::Int, ValueRange::AtLeast(least)) if least <= 0.0 => {
                vec![json!({"$ref": "#/$defs/cut", "exclusiveMinimum": least - 1.0, "pattern": NOT_NEGATIVE})]
            }
            (ValueType::Int, range) => vec![within("cut", range)],
            (ValueType::Str, ValueRange::All) => vec![json!({"type": ["string", "number", "boolean"]})],
            (ValueType::Object, _) => vec![json!({"type": "object"}), json!({"enum": ["", []]})],
            (ValueType::Model, _) => vec![json!({"enum": ["", []]})],
            (other, range) => other.forms(range),
        }
    }
}

fn within(name: &str, range: ValueRange) -> Value {
    let mut schema = Map::from_iter([("$ref".to_string(), json!(format!("#/$defs/{name}")))]);
    schema.extend(bounds(range));
    let pattern = match range {
        ValueRange::AtLeast(_) => NOT_NEGATIVE,
        ValueRange::Above(_) => POSITIVE,
        // No int has such a range.
        ValueRange::Within(..) => FRACTION,
        ValueRange::Between(..) => OPEN_FRACTION,
        ValueRange::All | ValueRange::OneOf(_) => return Value::Object(schema),
    };
    schema.insert("pattern".to_string(), json!(pattern));
    Value::Object(schema)
}

/// The limits of a range, and which of true and false are outside.
fn bounds(range: ValueRange) -> Map<String, Value> {
    let limits = match range {
        ValueRange::AtLeast(least) => vec![("minimum", least)],
        ValueRange::Above(least) => vec![("exclusiveMinimum", least)],
        ValueRange::Within(least, most) => vec![("minimum", least), ("maximum", most)],
        ValueRange::Between(least, most) => vec![("exclusiveMinimum", least), ("exclusiveMaximum", most)],
        ValueRange::All | ValueRange::OneOf(_) => Vec::new(),
    };
    let limits = limits.into_iter().map(|(name, limit)| (name.to_string(), number(limit)));
    let mut bounds: Map<String, Value> = limits.collect();
    let mut outside = vec![false, true];
    outside.retain(|flag| !range.holds(f64::from(u8::from(*flag))));
    if !outside.is_empty() && range.choices().is_none() {
        bounds.insert("not".to_string(), json!({"enum": outside}));
    }
    bounds
}

fn one_of_numbers(list: &str, coerced: bool) -> Vec<Value> {
    let numbers: Vec<Value> = list.split('|').filter_map(|choice| choice.parse().ok()).map(number).collect();
    let texts = json!({"type": "string", "pattern": format!(r"^\s*(\+?[0_]*({list})|-[0_]+)(\.0+)?\s*$")});
    let forms = [json!({"enum": numbers}), json!({"type": "boolean"})];
    forms.into_iter().chain(coerced.then_some(texts)).collect()
}

fn flag() -> Value {
    json!({"type": ["boolean", "integer"], "minimum": 0, "maximum": 1})
}

/// The words as they are usually written, for an editor to offer, and in any other case.
fn in_any_case(range: ValueRange) -> Vec<Value> {
    let Some(words) = range.choices() else { return vec![json!({"type": "string"})] };
    let letter = |c: char| match c {
        'a'..='z' => format!("[{}{c}]", c.to_ascii_uppercase()),
        _ => c.to_string(),
    };
    let patterns: Vec<String> = words.iter().map(|word| word.chars().map(letter).collect()).collect();
    let pattern = format!("^({})$", patterns.join("|"));
    vec![json!({"enum": words}), json!({"type": "string", "pattern": pattern})]
}

fn number(value: f64) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "the limits of the ranges are small")]
    if value.fract() == 0.0 { json!(value as i64) } else { json!(value) }
}
