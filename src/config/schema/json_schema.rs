//! The forms of values as JSON Schema, for editors and validators. They accept what `Form::fault` accepts;
//! pydantic's coercions are patterns. `tests/real/editor.py` compares both with a real validator.

use serde_json::{Map, Value, json};

use super::value_type::{PYDANTIC_2, ValueRange};
use crate::base::recorded::Version;
use crate::config::patch;
use crate::config::tables::{DEFINITIONS, Definition, FORM_SCHEMAS, Form};

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
    let known = DEFINITIONS
        .iter()
        .filter(|definition| definition.name != "cut" || version < PYDANTIC_2);
    let read = |definition: &Definition| {
        let schema = serde_json::from_str(definition.schema).unwrap_or_default();
        (definition.name.to_string(), schema)
    };
    known.map(read).collect()
}

impl Form {
    /// Schemas of which one must hold.
    pub(super) fn schemas(self, range: ValueRange) -> Vec<Value> {
        let mut rows = FORM_SCHEMAS.iter();
        let text = rows
            .find(|row| row.form == self)
            .map_or("[]", |row| row.schemas);
        let mut schemas: Vec<Value> = serde_json::from_str(text).unwrap_or_default();
        match (self, range, schemas.last_mut()) {
            (Form::Int, ValueRange::OneOf(list), _) => return one_of_numbers(list, true),
            (Form::CutInt, ValueRange::OneOf(list), _) => return one_of_numbers(list, false),
            (Form::Word, ValueRange::OneOf(_), _) => return in_any_case(range),
            (Form::Text | Form::Printable, ValueRange::OneOf(_), Some(schema)) => {
                *schema = json!({"enum": range.choices()});
            }
            (Form::Texts, ValueRange::OneOf(_), Some(schema)) => {
                schema["items"] = json!({"enum": range.choices()});
            }
            // -0.5 is cut to 0.
            (Form::CutInt, ValueRange::AtLeast(least), Some(schema)) if least <= 0.0 => {
                schema["exclusiveMinimum"] = json!(least - 1.0);
                schema["pattern"] = json!(NOT_NEGATIVE);
            }
            (Form::Int | Form::Float | Form::CutInt, _, Some(schema)) => {
                *schema = within(schema.take(), range);
            }
            (Form::Interval, _, Some(Value::Object(number))) => number.extend(bounds(range)),
            _ => {}
        }
        schemas
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
    patch::merge(&mut schema, &bounds(range).into());
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
