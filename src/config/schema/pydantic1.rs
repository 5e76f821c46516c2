//! What pydantic 1 took for a value. DeepSpeed's models were its own until 0.15.

use serde_json::Value;

use super::coercion::{can_be_int, real, truth};
use super::value_type::{ValueFault, ValueRange, ValueType};
use crate::base::python_value::{large_int, number};

/// What is wrong with a value that is not null, in a field of a model.
pub(super) fn fault(kind: ValueType, value: &Value, range: ValueRange) -> Option<ValueFault> {
    let judged = |number: Option<f64>| match number {
        Some(number) => (!range.holds(number)).then_some(ValueFault::Value),
        None => Some(ValueFault::Type),
    };
    let fits = match kind {
        // An enum is looked up by its value, without a coercion.
        ValueType::Int if matches!(range, ValueRange::OneOf(_)) => return judged(number(value)),
        ValueType::Int => return judged(int(value)),
        ValueType::Float => return judged(real(value)),
        ValueType::Str if !matches!(range, ValueRange::OneOf(_)) => {
            value.is_string() || value.is_number() || value.is_boolean()
        }
        ValueType::Bool => truth(value).is_some(),
        ValueType::List => value.is_array(),
        // `dict(value)` is tried.
        ValueType::Object | ValueType::Model => value.is_object() || is_empty(value),
        other => return other.fault(value, range),
    };
    (!fits).then_some(ValueFault::Type)
}

/// Python's `int(value)`, which cuts fractions off.
fn int(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => large_int(text),
        other => number(other).filter(|_| can_be_int(other)).map(f64::trunc),
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_str().is_some_and(str::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}
