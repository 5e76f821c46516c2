//! Values that Python and pydantic accept as a bool, an int or a float.

use serde_json::Value;

use crate::base::python_value::{self, number};

/// Python's `bool(value)`.
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

/// The bool that pydantic makes of a value.
pub(crate) fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        _ => match value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_ascii_lowercase)
            .as_str()
        {
            "0" | "off" | "f" | "false" | "n" | "no" => Some(false),
            "1" | "on" | "t" | "true" | "y" | "yes" => Some(true),
            _ => None,
        },
    }
}

/// The int that pydantic makes of a value. Whole floats are integers by the time they come here.
pub(crate) fn whole(value: &Value) -> Option<f64> {
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

/// fp16's counts: no bool, and no text that Python's `int` refuses.
pub(super) fn count(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(_) => None,
        Value::String(text) => python_value::large_int(text),
        other => whole(other),
    }
}

pub(super) fn can_be_int(value: &Value) -> bool {
    match value {
        Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => python_value::large_int(text).is_some(),
        _ => false,
    }
}

pub(crate) fn is_whole(value: &Value) -> bool {
    value.is_i64() || value.is_u64()
}
