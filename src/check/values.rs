//! Types, ranges and choices, as DeepSpeed coerces and checks them.

use serde_json::Value;

use super::batch::SIZES;
use super::findings::Findings;
use super::subject::{Key, Subject};
use super::tables::names::STAGE;
use crate::base::size::number_meant;
use crate::config::places::as_typed;
use crate::config::schema::{self, KeySpec, Known, ValueFault};
use crate::report::fix::{Fixes, rename, set, set_json, unset};
use crate::report::nearest;

pub(super) fn wrong_types(subject: &Subject, found: &mut Findings) {
    judge(subject, found, ValueFault::Type);
}

pub(super) fn wrong_values(subject: &Subject, found: &mut Findings) {
    judge(subject, found, ValueFault::Value);
}

pub(super) fn odd_values(subject: &Subject, found: &mut Findings) {
    let trainer = subject.job.trainer;
    let compares = trainer.uses_accelerate() || trainer.is_passthrough();
    for key in subject.keys() {
        let Some(entry) = key.entry else { continue };
        let path = &key.path;
        // accelerate compares what is written, which DeepSpeed would convert: `"stage": "3"`.
        let is_compared = path == STAGE && key.value.is_string() && key.fault.is_none() && compares;
        let is_unchecked = !entry.checked && entry.known() == Known::Yes;
        // "auto" and batch sizes have rules of their own, and accelerate overwrites steps_per_print.
        let is_left_alone = key.value == "auto"
            || SIZES.contains(&&**path)
            || path == "steps_per_print" && subject.is_hf();
        if is_left_alone || !(is_compared || is_unchecked && entry.is_odd(key.value)) {
            continue;
        }
        let why = if is_compared {
            "to transformers ZeRO is off"
        } else {
            "DeepSpeed does not check it"
        };
        let what = format!(
            "`{path}` is {}, and {why}: it should be {}",
            key.value,
            entry.wanted()
        );
        found.key(&[path], what, advice(key, &entry));
    }
}

fn judge(subject: &Subject, found: &mut Findings, kind: ValueFault) {
    for key in subject.keys().iter().filter(|key| key.fault == Some(kind)) {
        let Some(entry) = key.entry else { continue };
        let path = &key.path;
        let value = if found.are_many() {
            key.value.to_string()
        } else {
            as_typed(key.value, &(subject.place)(path))
        };
        let what = format!(
            "`{path}` is {value}, but DeepSpeed expects {}",
            entry.wanted()
        );
        found.key(&[path], what, advice(key, &entry));
    }
}

/// The key that is meant by a value in place of a section: `"fp16": true`.
pub(super) fn key_inside(value: &Value, entry: &KeySpec) -> Option<String> {
    if !entry.is_section() {
        return None;
    }
    let is_truth = truth(value).is_some();
    let keys = ["stage", "device", "enabled", "type"].map(|name| format!("{}.{name}", entry.key));
    let mut inside = keys
        .iter()
        .filter_map(|key| schema::find(key, entry.version));
    let taking =
        inside.find(|it| is_truth == it.key.ends_with(".enabled") && it.fault(value).is_none());
    taking.map(|inner| inner.key.to_string())
}

/// Also reads `True`, as Python writes it.
fn truth(value: &Value) -> Option<bool> {
    value
        .as_bool()
        .or_else(|| value.as_str()?.to_lowercase().parse().ok())
}

/// The number that a text such as `"16"` or `"200M"` means, if the key takes it.
pub(super) fn number_in(text: &Value, entry: &KeySpec) -> Option<Value> {
    let takes = |number: &Value| number.is_number() && entry.fault(number).is_none();
    let unquoted = serde_json::from_str::<Value>(text.as_str()?.trim())
        .ok()
        .filter(takes);
    unquoted.or_else(|| {
        number_meant(text.as_str()?, entry.key)
            .map(Value::from)
            .filter(takes)
    })
}

fn advice(key: &Key, entry: &KeySpec) -> Fixes {
    let path = key.path.as_ref();
    // `--set a=1,b=2`.
    let several = key.value.as_str().and_then(|text| text.split_once(','));
    if let Some((first, more)) = several.filter(|(_, more)| more.contains('=')) {
        let more = more
            .split(',')
            .filter_map(|setting| setting.split_once('='));
        return more
            .fold(set(path, first), |fix, (key, value)| {
                fix.and(set(key, value))
            })
            .into();
    }
    if let Some(inner) = key_inside(key.value, entry) {
        let value = truth(key.value).map_or_else(|| key.value.clone(), Value::from);
        return rename(path, inner, value.as_str().unwrap_or(&value.to_string()))
            .safe()
            .into();
    }
    let choices = entry.choices();
    let choice = key
        .value
        .as_str()
        .and_then(|word| nearest(word, choices.iter().copied()));
    if let Some(meant) = number_in(key.value, entry).or_else(|| choice.map(Value::from)) {
        return set_json(path, &meant).safe().or(unset(path));
    }
    // The nearest stage, for example.
    let numbers = choices
        .iter()
        .map(|word| word.parse().ok())
        .collect::<Option<Vec<i64>>>();
    if let (Some(given), Some(numbers)) = (key.value.as_i64(), numbers)
        && let Some(number) = numbers
            .into_iter()
            .min_by_key(|number| number.abs_diff(given))
    {
        return set(path, number).or(unset(path));
    }
    match entry.default {
        "-" | "null" | "\"\"" | "{}" | "[]" | "required" => unset(path).into(),
        default => unset(path)
            .remark(format!("the default is {default}"))
            .into(),
    }
}
