//! What Python and pydantic take for a bool, an int or a float.

use serde_json::{Number, Value};

use crate::base::python_value::{self, number};

/// Python's truth of a value.
pub(crate) fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(object) => !object.is_empty(),
    }
}

/// What pydantic takes for a bool.
pub(crate) fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::Number(number) => number.as_u64().filter(|number| *number <= 1).map(|number| number == 1),
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "0" | "off" | "f" | "false" | "n" | "no" => Some(false),
            "1" | "on" | "t" | "true" | "y" | "yes" => Some(true),
            _ => None,
        },
        _ => None,
    }
}

/// What pydantic takes for an int. Whole floats are integers by the time they come here.
pub(crate) fn whole(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => {
            let text = text.trim();
            let is_zeros = |text: &str| !text.is_empty() && text.bytes().all(|b| b == b'0');
            let digits = text.split_once('.').filter(|(_, zeros)| is_zeros(zeros)).map_or(text, |(digits, _)| digits);
            python_value::large_int(digits)
        }
        other => number(other).filter(|_| !other.is_f64()),
    }
}

/// What pydantic takes for a float.
pub(crate) fn real(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => python_value::float(text),
        other => number(other),
    }
}

/// fp16's `loss_scale`: a finite number, and no bool.
pub(super) fn scale(value: &Value) -> Option<f64> {
    real(value).filter(|number| number.is_finite() && !value.is_boolean())
}

/// fp16's counts: no bool, and a text must be one for Python's `int` too.
pub(super) fn count(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(_) => None,
        Value::String(text) => python_value::large_int(text),
        other => whole(other),
    }
}

/// Python's `int(value)` works.
pub(super) fn can_be_int(value: &Value) -> bool {
    match value {
        Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => python_value::large_int(text).is_some(),
        _ => false,
    }
}

/// A number that JSON wrote as a whole one.
pub(crate) fn is_whole(value: &Value) -> bool {
    value.as_number().is_some_and(|number: &Number| !number.is_f64())
}
