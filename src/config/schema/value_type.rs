//! The types and ranges of the recorded file: the values that DeepSpeed accepts for each, and the same as JSON Schema for
//! editors and validators, where pydantic's coercions are patterns. `tests/real/editor.py` compares both with a real validator.

use std::ops::RangeBounds;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::{
    base::{
        python_value::{self, number},
        recorded::Version,
    },
    command::argv::hf_bool,
    config::tables::{
        DEFINITIONS, FORM_SCHEMAS, Form, NUMBER_CHOICES, NumberRange, RANGES, TYPES, ValueType,
    },
};

/// DeepSpeed's models before this version are those of pydantic 1.
pub const PYDANTIC_2: Version = Version([0, 15, 0]);

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueFault {
    Type,
    Value,
}

impl ValueType {
    /// `written`: as the file writes it, without marks.
    pub fn find(written: &str) -> Option<&'static Self> {
        TYPES.iter().find(|row| row.written == written)
    }
}

/// The fault of a value that has none of these forms.
pub fn fault(forms: &[Form], value: &Value, range: ValueRange) -> Option<ValueFault> {
    let mut found = Some(ValueFault::Type);
    for form in forms {
        match form.fault(value, range) {
            Some(ValueFault::Type) => {}
            Some(ValueFault::Value) => found = Some(ValueFault::Value),
            None => return None,
        }
    }
    found
}

impl Form {
    fn fault(self, value: &Value, range: ValueRange) -> Option<ValueFault> {
        let word = |text: &str| {
            let choices = range.choices();
            let is_other = choices.is_some_and(|choices| !choices.contains(&text));
            is_other.then_some(ValueFault::Value)
        };
        let text = |value: &Value| value.as_str().map_or(Some(ValueFault::Type), word);
        let fits = match self {
            Form::Int => return range.fault(whole(value)),
            Form::Float => return range.fault(real(value)),
            Form::Count => return range.fault(count(value)),
            Form::Scale => return range.fault(scale(value)),
            Form::CutInt if range.choices().is_some() => return range.fault(number(value)),
            Form::CutInt if value.is_string() => return range.fault(count(value)),
            Form::CutInt => return range.fault(number(value).map(f64::trunc)),
            Form::Interval => match value {
                Value::String(text) => return (text != "auto").then_some(ValueFault::Value),
                _ => return range.fault(whole(value)),
            },
            Form::Printable if value.is_number() || value.is_boolean() => range.choices().is_none(),
            Form::Text | Form::Printable => return text(value),
            Form::Word => {
                let lower = value.as_str().map(str::to_lowercase);
                return lower.map_or(Some(ValueFault::Type), |lower| word(&lower));
            }
            Form::Texts => match value {
                Value::Array(list) => return list.iter().find_map(text),
                _ => false,
            },
            Form::Names => match value {
                Value::Array(list) => list.iter().all(Value::is_string),
                _ => value.is_string() || value.is_object(),
            },
            Form::Iterable => match value {
                Value::Array(list) => !list.iter().any(|item| item == "throughput"),
                Value::String(text) => !text.contains("throughput"),
                _ => false,
            },
            Form::Anything | Form::Unread => true,
            Form::NotNull => !value.is_null(),
            Form::Auto => value == "auto",
            Form::Bool => truth(value).is_some(),
            Form::Boolean => value.is_boolean(),
            Form::Flag => value.is_boolean() || matches!(value.as_u64(), Some(0 | 1)),
            Form::Bits => value.is_boolean() || is_whole(value) || value.is_object(),
            Form::Truthy => is_true(value),
            Form::Falsy => !is_true(value),
            Form::PlainInt => is_whole(value),
            Form::PlainNumber => value.is_number(),
            Form::List => value.is_array(),
            Form::Object | Form::Section => value.is_object(),
            Form::Switched => value.get("enabled").is_some(),
            Form::Empty => value == "" || value.as_array().is_some_and(Vec::is_empty),
        };
        (!fits).then_some(ValueFault::Type)
    }
}

#[derive(Clone, Copy)]
pub enum ValueRange {
    Numbers(&'static NumberRange),
    /// `a|b`
    OneOf(&'static str),
}

impl ValueRange {
    pub const ALL: ValueRange = ValueRange::Numbers(&RANGES[0]);

    /// `written`: as the file writes it.
    pub fn find(written: &'static str) -> Option<Self> {
        if written.contains('|') {
            return Some(ValueRange::OneOf(written));
        }
        RANGES
            .iter()
            .find(|range| range.written == written)
            .map(ValueRange::Numbers)
    }

    fn holds(self, number: f64) -> bool {
        match self {
            ValueRange::Numbers(range) => range.bounds.contains(&number),
            ValueRange::OneOf(list) => {
                let mut known = list
                    .split('|')
                    .filter_map(|choice| choice.parse::<f64>().ok());
                known.any(|known| (known - number).abs() < f64::EPSILON)
            }
        }
    }

    fn fault(self, number: Option<f64>) -> Option<ValueFault> {
        let Some(number) = number else {
            return Some(ValueFault::Type);
        };
        (!self.holds(number)).then_some(ValueFault::Value)
    }

    pub fn choices(self) -> Option<Vec<&'static str>> {
        if let ValueRange::OneOf(list) = self {
            Some(list.split('|').collect())
        } else {
            None
        }
    }
}

/// Python's `bool(value)`.
pub fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(object) => !object.is_empty(),
    }
}

/// The bool that pydantic makes of a value.
pub fn truth(value: &Value) -> Option<bool> {
    let text = match value {
        Value::Bool(flag) => return Some(*flag),
        Value::String(text) => text.to_ascii_lowercase(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    match text.as_str() {
        "off" => Some(false),
        "on" => Some(true),
        word => hf_bool(word),
    }
}

/// The int that pydantic makes of a value. Whole floats are integers by the time they come here.
pub fn whole(value: &Value) -> Option<f64> {
    let Value::String(text) = value else {
        return if value.is_f64() { None } else { number(value) };
    };
    match text.trim().split_once('.') {
        Some((digits, zeros)) if !zeros.is_empty() && zeros.bytes().all(|b| b == b'0') => {
            python_value::large_int(digits)
        }
        _ => python_value::large_int(text.trim()),
    }
}

/// The float that pydantic makes of a value.
pub fn real(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => python_value::float(text),
        other => number(other),
    }
}

/// fp16's `loss_scale`: a finite number, and no bool.
fn scale(value: &Value) -> Option<f64> {
    real(value).filter(|number| number.is_finite() && !value.is_boolean())
}

/// fp16's counts: no bool, and no text that Python's `int` refuses.
fn count(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(_) => None,
        Value::String(text) => python_value::large_int(text),
        other => whole(other),
    }
}

fn is_whole(value: &Value) -> bool {
    value.is_i64() || value.is_u64()
}

/// The types that many keys have, for `$ref`.
pub fn definitions() -> Map<String, Value> {
    DEFINITIONS
        .iter()
        .map(|definition| (definition.name.to_string(), parsed(definition.schema)))
        .collect()
}

impl Form {
    /// Schemas of which one must hold.
    pub fn schemas(self, range: ValueRange) -> Vec<Value> {
        let of_form = FORM_SCHEMAS
            .iter()
            .find(|row| row.form == self)
            .map(|row| row.schemas);
        let mut choices = NUMBER_CHOICES.iter();
        let of_choices = match range {
            ValueRange::OneOf(list) => choices.find(|row| row.written == list),
            ValueRange::Numbers(_) => None,
        };
        let text = match of_choices {
            Some(row) if self == Form::CutInt => Some(row.schemas_of_cut),
            Some(row) => Some(row.schemas),
            None => of_form,
        };
        let mut schemas: Vec<Value> = text.map(parsed).unwrap_or_default();
        let Some(schema) = schemas.last_mut() else {
            return schemas;
        };
        match (self, range) {
            (Form::Word, ValueRange::OneOf(_)) => return in_any_case(range),
            (Form::Text | Form::Printable, ValueRange::OneOf(_)) => {
                *schema = json!({"enum": range.choices()});
            }
            (Form::Texts, ValueRange::OneOf(_)) => {
                schema["items"] = json!({"enum": range.choices()});
            }
            (Form::Int | Form::Float, ValueRange::Numbers(range)) => {
                limit(schema, range.limits_with_text);
            }
            (Form::CutInt, ValueRange::Numbers(range)) => limit(schema, range.limits_of_cut),
            (Form::Interval, ValueRange::Numbers(range)) => limit(schema, range.limits),
            _ => {}
        }
        schemas
    }
}

/// JSON of a table.
fn parsed<T: DeserializeOwned + Default>(text: &str) -> T {
    serde_json::from_str(text).unwrap_or_default()
}

fn limit(schema: &mut Value, limits: &str) {
    if let Value::Object(schema) = schema {
        schema.extend(parsed::<Map<String, Value>>(limits));
    }
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
