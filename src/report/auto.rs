//! Sentences about what "auto" becomes, and where both sides disagree.

use serde_json::Value;

use super::{Problem, typed};

pub(crate) fn mismatch(key: &str, doc: &str, value: &Value, place: &str, wanted: &Value, from: &str) -> Problem {
    let advice = match (value, wanted) {
        (Value::String(text), Value::Number(number)) if text.trim() == number.to_string() => {
            " (numbers stand without quotes)"
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
    Problem::error(
        "auto",
        format!("nobody fills `{key}`: \"auto\" is only understood for the keys of the table in the README"),
    )
    .at(place)
    .help(format!("--set {key}=VALUE, or --unset {key}"))
}

pub(crate) fn left_for_nobody(key: &str, place: &str, why: &str, example: &str) -> Problem {
    Problem::error("auto", format!("`{key}` is \"auto\", and nobody fills it after zlaunch: {why}"))
        .at(place)
        .help(format!("--set {key}={example}"))
}
