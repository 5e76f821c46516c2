//! The types as JSON Schema, for editors and validators. They accept what `KeySpec::fault` and `KeySpec::is_odd` accept;
//! pydantic's coercions are patterns. `tests/real/editor.py` compares both with a real validator.

use serde_json::{Map, Value, json};

use super::value_type::{PYDANTIC_2, TYPES, ValueRange, ValueType};
use crate::base::recorded::Version;
use crate::config::patch;

/// A text that is not below 0.
const NOT_NEGATIVE: &str = r"^\s*([^\s-]|-[0_.]+\s*$)";
/// A text with another digit than 0, and without a minus.
const POSITIVE: &str = "^[^-]*[1-9]";
/// Texts from 0 to 1: with an exponent only the usual form.
const FRACTION: &str = r"^\s*(\+?([0_]*(\.[0-9_]*)?|[0_]*1(\.0*)?)|-[0_.]+|\+?[0-9](\.[0-9]*)?[eE]-[0_]*[1-9][0-9_]*)\s*$";
const OPEN_FRACTION: &str =
    r"^\s*\+?([0_]*\.0*[1-9][0-9_]*|[1-9](\.[0-9]*)?[eE]-[0_]*[1-9][0-9_]*)\s*$";

/// The types that many keys have, for `$ref`.
pub fn definitions(version: Version) -> Map<String, Value> {
    let rows = TYPES
        .lines()
        .filter_map(|line| line.strip_prefix('$')?.split_once("\t\t"));
    let known = rows.filter(|(name, _)| *name != "cut" || version < PYDANTIC_2);
    known
        .map(|(name, schema)| {
            (
                name.to_string(),
                serde_json::from_str(schema).unwrap_or_default(),
            )
        })
        .collect()
}

/// A value that DeepSpeed does not check, so that nothing is coerced; `None` if that makes no difference.
pub(super) fn as_it_is(kind: ValueType, nullable: bool) -> Option<Vec<Value>> {
    Some(vec![match kind {
        ValueType::Bool => return Some(ValueType::Flag.forms(ValueRange::All)),
        ValueType::Int => json!({"type": "integer"}),
        ValueType::Float => json!({"type": "number"}),
        ValueType::Any if !nullable => {
            json!({"type": ["object", "array", "string", "number", "boolean"]})
        }
        _ => return None,
    }])
}

impl ValueType {
    /// Schemas of which one must hold. That of the object is not among those of a section.
    pub(super) fn forms(self, range: ValueRange) -> Vec<Value> {
        let mut forms: Vec<Value> = serde_json::from_str(self.row().1).unwrap_or_default();
        match (self, range, forms.last_mut()) {
            (ValueType::Int, ValueRange::OneOf(list), _) => return one_of_numbers(list, true),
            (ValueType::Word, ValueRange::OneOf(_), _) => return in_any_case(range),
            (ValueType::Str | ValueType::Path, ValueRange::OneOf(_), Some(form)) => {
                *form = json!({"enum": range.choices()});
            }
            (ValueType::Choices, _, Some(form)) => form["items"] = json!({"enum": range.choices()}),
            (ValueType::Int | ValueType::Float, _, Some(form)) => {
                *form = within(form.take(), range);
            }
            (ValueType::Interval, _, Some(Value::Object(number))) => number.extend(bounds(range)),
            _ => {}
        }
        forms
    }

    pub(super) fn forms_of_pydantic1(self, range: ValueRange) -> Vec<Value> {
        match (self, range) {
            (ValueType::Int, ValueRange::OneOf(list)) => one_of_numbers(list, false),
            (ValueType::Int, ValueRange::AtLeast(least)) if least <= 0.0 => {
                vec![
                    json!({"$ref": "#/$defs/cut", "exclusiveMinimum": least - 1.0, "pattern": NOT_NEGATIVE}),
                ]
            }
            (ValueType::Int, range) => vec![within(json!({"$ref": "#/$defs/cut"}), range)],
            (ValueType::Str, ValueRange::All) => {
                vec![json!({"type": ["string", "number", "boolean"]})]
            }
            (ValueType::Object, _) => vec![json!({"type": "object"}), json!({"enum": ["", []]})],
            (ValueType::Model, _) => vec![json!({"enum": ["", []]})],
            (other, range) => other.forms(range),
        }
    }
}

fn within(mut schema: Value, range: ValueRange) -> Value {
    let pattern = match range {
        ValueRange::AtLeast(_) => NOT_NEGATIVE,
        ValueRange::Above(_) => POSITIVE,
        // No int has such a range.
        ValueRange::Within(..) => FRACTION,
        ValueRange::Between(..) => OPEN_FRACTION,
        ValueRange::All | ValueRange::OneOf(_) => return schema,
    };
    patch::merge(&mut schema, bounds(range).into());
    schema["pattern"] = json!(pattern);
    schema
}

/// The limits of a range, and which of true and false are outside.
fn bounds(range: ValueRange) -> Map<String, Value> {
    let limits = match range {
        ValueRange::AtLeast(least) => vec![("minimum", least)],
        ValueRange::Above(least) => vec![("exclusiveMinimum", least)],
        ValueRange::Within(least, most) => vec![("minimum", least), ("maximum", most)],
        ValueRange::Between(least, most) => {
            vec![("exclusiveMinimum", least), ("exclusiveMaximum", most)]
        }
        ValueRange::All | ValueRange::OneOf(_) => Vec::new(),
    };
    let limits = limits
        .into_iter()
        .map(|(name, limit)| (name.to_string(), number(limit)));
    let mut bounds: Map<String, Value> = limits.collect();
    let mut outside = vec![false, true];
    outside.retain(|flag| !range.holds(f64::from(u8::from(*flag))));
    if !outside.is_empty() && range.choices().is_none() {
        bounds.insert("not".to_string(), json!({"enum": outside}));
    }
    bounds
}

fn one_of_numbers(list: &str, coerced: bool) -> Vec<Value> {
    let numbers: Vec<Value> = list
        .split('|')
        .filter_map(|choice| choice.parse().ok())
        .map(number)
        .collect();
    let texts =
        json!({"type": "string", "pattern": format!(r"^\s*(\+?[0_]*({list})|-[0_]+)(\.0+)?\s*$")});
    let forms = [json!({"enum": numbers}), json!({"type": "boolean"})];
    forms.into_iter().chain(coerced.then_some(texts)).collect()
}

/// The words as they are usually written, for an editor to offer, and in any other case.
fn in_any_case(range: ValueRange) -> Vec<Value> {
    let words = range.choices().unwrap_or_default();
    let joined = words.join("|");
    let letters = joined.chars().map(|c| match c {
        'a'..='z' => format!("[{}{c}]", c.to_ascii_uppercase()),
        _ => c.to_string(),
    });
    let pattern = format!("^({})$", letters.collect::<String>());
    vec![
        json!({"enum": words}),
        json!({"type": "string", "pattern": pattern}),
    ]
}

fn number(value: f64) -> Value {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the limits of the ranges are small"
    )]
    if value.fract() == 0.0 {
        json!(value as i64)
    } else {
        json!(value)
    }
}
