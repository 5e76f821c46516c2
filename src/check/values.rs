//! Types, ranges and choices, as DeepSpeed coerces and checks them.

use serde_json::Value;

use super::batch::SIZES;
use super::findings::{Check, Findings};
use super::subject::{Key, STAGE, Subject};
use crate::base::python_value::number;
use crate::base::size::number_meant;
use crate::config::places::as_typed;
use crate::config::schema::{self, KeySpec, Known, ValueFault};
use crate::report::fix::{Fixes, rename, set, set_json, unset};
use crate::report::{Rule, Severity, When, nearest};

pub(super) const RULES: &[Check] = &[
    Check::code(
        Rule::WrongType,
        Severity::Error,
        When::Parse,
        |subject, found| {
            judge(subject, found, ValueFault::Type);
            for (key, does, wrong) in UNLISTED {
                if let Some(value) = wrong(subject) {
                    let value = if value.is_object() {
                        "an object".to_string()
                    } else {
                        value.to_string()
                    };
                    found.key(
                        &[key],
                        format!("`{key}` is {value}, but DeepSpeed {does}"),
                        unset(key),
                    );
                }
            }
        },
    ),
    Check::code(
        Rule::WrongValue,
        Severity::Error,
        When::Parse,
        |subject, found| {
            judge(subject, found, ValueFault::Value);
        },
    ),
    Check::code(
        Rule::OddValue,
        Severity::Warning,
        When::Silent,
        |subject, found| {
            let compares =
                subject.job.trainer.uses_accelerate() || subject.job.trainer.is_passthrough();
            for key in subject.keys() {
                // accelerate compares what is written, which DeepSpeed would convert: `"stage": "3"`.
                let is_compared =
                    key.path == STAGE && key.value.is_string() && key.fault.is_none() && compares;
                let Some(entry) = key.entry else { continue };
                let is_odd = is_compared
                    || !entry.checked && entry.known() == Known::Yes && entry.is_odd(key.value);
                // "auto" and batch sizes have rules of their own, and accelerate overwrites steps_per_print.
                let overwritten = key.path == "steps_per_print" && subject.is_hf();
                if !is_odd || key.value == "auto" || SIZES.contains(&&*key.path) || overwritten {
                    continue;
                }
                let (path, value, wanted) = (&key.path, key.value, entry.wanted());
                let why = if is_compared {
                    "to transformers ZeRO is off"
                } else {
                    "DeepSpeed does not check it"
                };
                let what = format!("`{path}` is {value}, and {why}: it should be {wanted}");
                found.key(&[path], what, advice(key, &entry));
            }
        },
    ),
];

fn judge(subject: &Subject, found: &mut Findings, kind: ValueFault) {
    for key in subject.keys().iter().filter(|key| key.fault == Some(kind)) {
        let Some(entry) = key.entry else { continue };
        let (path, wanted) = (&key.path, entry.wanted());
        let value = if found.are_many() {
            key.value.to_string()
        } else {
            as_typed(key.value, &(subject.place)(path))
        };
        let what = format!("`{path}` is {value}, but DeepSpeed expects {wanted}");
        found.key(&[path], what, advice(key, &entry)).severity = subject.severity_of_keys();
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

/// `"16"`, `"200M"`.
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

/// A key that DeepSpeed reads without a schema, what it does with it, and the value if that fails.
type Unlisted = (
    &'static str,
    &'static str,
    for<'a> fn(&Subject<'a>) -> Option<&'a Value>,
);

const UNLISTED: &[Unlisted] = &[
    // `wall_clock_breakdown | flops_profiler.enabled`
    (CLOCK, "expects true or false", |subject| {
        only_object(subject, CLOCK, FLOPS)
    }),
    (FLOPS, "expects true or false", |subject| {
        only_object(subject, FLOPS, CLOCK)
    }),
    ("optimizer.params", "expects an object", |subject| {
        optimizer_params(subject).filter(|params| !params.is_object())
    }),
    (
        "optimizer.params.max_grad_norm",
        "compares it with 0",
        |subject| {
            optimizer_params(subject)?
                .get("max_grad_norm")
                .filter(|norm| number(norm).is_none())
        },
    ),
    ("bfloat16", "expects an object", |subject| {
        let is_read = subject.get("bf16").is_none_or(Value::is_null);
        subject
            .get("bfloat16")
            .filter(|section| is_read && **section == "auto")
    }),
    ("vocabulary_size", "divides it", |subject| {
        subject
            .get("vocabulary_size")
            .filter(|it| schema::is_true(it) && **it != "auto" && number(it).is_none())
    }),
    // With `"zero_optimization": true`, this key is ZeRO's bucket size.
    (
        "allgather_size",
        "expects a whole number, 0 or more",
        |subject| {
            subject
                .get("zero_optimization")
                .filter(|zero| **zero == Value::Bool(true))?;
            let entry = schema::find("zero_optimization.allgather_bucket_size", subject.version())?;
            subject
                .get("allgather_size")
                .filter(|size| **size != "auto" && entry.fault(size).is_some())
        },
    ),
];

const CLOCK: &str = "wall_clock_breakdown";
const FLOPS: &str = "flops_profiler.enabled";

/// `a | b` also works for two objects.
fn only_object<'a>(subject: &Subject<'a>, key: &str, other: &str) -> Option<&'a Value> {
    subject
        .get(key)
        .filter(|value| value.is_object() && !subject.get(other).is_some_and(Value::is_object))
}

fn optimizer_params<'a>(subject: &Subject<'a>) -> Option<&'a Value> {
    subject
        .get("optimizer.type")
        .filter(|name| !name.is_null())?;
    subject
        .get("optimizer.params")
        .filter(|params| !params.is_null())
}
