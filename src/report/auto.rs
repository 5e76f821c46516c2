//! Sentences about what "auto" becomes, and where both sides disagree.

use serde_json::Value;

use super::problem::Problem;

pub(crate) fn mismatch(key: &str, doc: &str, value: &Value, place: &str, wanted: &Value, from: &str) -> Problem {
    let advice = match (value, wanted) {
        (Value::String(text), Value::Number(number)) if text.trim() == number.to_string() => {
            " (numbers are written without quotes)"
        }
        _ => "",
    };
    let (value, wanted) = (typed(value), typed(wanted));
    Problem::error(
        "mismatch",
        format!("`{key}` is {value} in the config, but the trainer computes {wanted} from {doc}"),
    )
    .at(place)
    .at(from)
    .help(format!("--set {key}=auto, or make both sides equal{advice}"))
}

pub(crate) fn nobody_fills(key: &str, place: &str) -> Problem {
    let what = format!("`{key}` cannot be \"auto\": neither zlaunch nor the trainer fills that key");
    Problem::error("auto", what).at(place).help(format!("--set {key}=VALUE, or --unset {key}"))
}

pub(crate) fn left_for_nobody(key: &str, place: &str, why: &str, example: &str) -> Problem {
    Problem::error("auto", format!("`{key}` is \"auto\", and plain DeepSpeed does not fill it: {why}"))
        .at(place)
        .help(format!("--set {key}={example}"))
}

/// A JSON value with its Python type, since `"8"` and `8` print alike.
pub(crate) fn typed(value: &Value) -> String {
    let kind = match value {
        Value::Null => "None",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "int",
        Value::String(_) => "str",
        Value::Array(_) => "list",
        Value::Object(_) => "dict",
    };
    format!("{value} ({kind})")
}
