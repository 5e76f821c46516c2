//! Types, ranges and choices, as DeepSpeed coerces and checks them. An "auto" is `auto`'s business.

use serde_json::Value;

use super::{Findings, Key, Rule, Subject, When};
use crate::error::{Severity, nearest, typed};
use crate::schema::{self, Entry, Fault};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "wrong-type",
        severity: Severity::Error,
        when: When::Parse,
        doc: "a value of a type that DeepSpeed refuses when it reads the config",
        check: |subject, found| {
            judge(subject, found, Fault::Type);
            unlisted(subject, found);
        },
    },
    Rule {
        name: "wrong-value",
        severity: Severity::Error,
        when: When::Parse,
        doc: "a number out of its range, or a word that is none of the choices",
        check: |subject, found| judge(subject, found, Fault::Value),
    },
    Rule {
        name: "odd-value",
        severity: Severity::Warning,
        when: When::Silent,
        doc: "a value of another type than is meant, where DeepSpeed does not look: \"false\" is true there",
        check: odd_value,
    },
];

fn judge(subject: &Subject, found: &mut Findings, kind: Fault) {
    for key in subject.keys.iter().filter(|key| key.fault == Some(kind)) {
        // Most values fit, so that the version is looked up for the few that do not.
        let read = |entry: &Entry| {
            entry.removed.is_none()
                && entry.since.is_none_or(|since| !subject.is_before(since))
                && entry.fault(key.value, |version| subject.is_before(version)) == Some(kind)
        };
        if let Some(entry) = key.entry.filter(read) {
            found.key(&[&key.path], sentence(key, &entry), advice(key, &entry));
        }
    }
}

fn sentence(key: &Key, entry: &Entry) -> String {
    format!("`{}` is {}, but DeepSpeed wants {}", key.path, typed(key.value), entry.wanted())
}

fn advice(key: &Key, entry: &Entry) -> String {
    let choices: Vec<String> = entry.wanted().trim_start_matches("one of ").split(", ").map(str::to_string).collect();
    let meant = key.value.as_str().and_then(|word| nearest(word, choices.iter().map(String::as_str)));
    let default = Some(entry.default.trim_matches('"')).filter(|it| !matches!(*it, "-" | "null" | "" | "{}" | "[]"));
    match meant.filter(|_| choices.len() > 1).or(default) {
        Some(value) => format!("--set {}={value}, or --unset {}", key.path, key.path),
        None => format!("--unset {}", key.path),
    }
}

/// What only the code that reads it shows.
fn unlisted(subject: &Subject, found: &mut Findings) {
    // `wall_clock_breakdown | flops_profiler.enabled`
    let (clock, flops) = (subject.get("wall_clock_breakdown"), subject.get("flops_profiler.enabled"));
    if clock.is_some_and(Value::is_object) != flops.is_some_and(Value::is_object) {
        let key = if clock.is_some_and(Value::is_object) { "wall_clock_breakdown" } else { "flops_profiler.enabled" };
        found.key(&[key], format!("`{key}` is an object, but DeepSpeed wants true or false"), format!("--unset {key}"));
    }
    if subject.get("optimizer.type").is_some_and(|name| !name.is_null()) {
        let params = subject.get("optimizer.params").filter(|params| !params.is_null());
        if let Some(value) = params.filter(|params| !params.is_object()) {
            let what = format!("`optimizer.params` is {}, but DeepSpeed wants an object", typed(value));
            found.key(&["optimizer.params"], what, "--unset optimizer.params");
        }
        let norm = params.and_then(|params| params.get("max_grad_norm"));
        if let Some(norm) = norm.filter(|norm| !norm.is_number() && !norm.is_boolean()) {
            let key = "optimizer.params.max_grad_norm";
            found.key(
                &[key],
                format!("`{key}` is {}, but DeepSpeed compares it with 0", typed(norm)),
                format!("--unset {key}"),
            );
        }
    }
    if subject.get("bfloat16").is_some_and(|it| it == "auto") && subject.get("bf16").is_none_or(Value::is_null) {
        found.key(
            &["bfloat16"],
            "`bfloat16` is \"auto\", but DeepSpeed wants an object".to_string(),
            "--unset bfloat16",
        );
    }
    let size = subject.get("vocabulary_size").filter(|size| schema::is_true(size) && *size != "auto");
    if let Some(size) = size.filter(|size| !size.is_number() && !size.is_boolean()) {
        let what = format!("`vocabulary_size` is {}, but DeepSpeed divides it", typed(size));
        found.key(&["vocabulary_size"], what, "--unset vocabulary_size");
    }
    // The old form of ZeRO takes its one size from the top.
    if subject.get("zero_optimization") == Some(&Value::Bool(true))
        && let Some(size) = subject.get("allgather_size")
        && let Some(entry) = schema::find("zero_optimization.allgather_bucket_size")
        && *size != "auto"
        && entry.fault(size, |_| false).is_some()
    {
        let what = format!("`allgather_size` is {}, but DeepSpeed wants {}", typed(size), entry.wanted());
        found.key(&["allgather_size"], what, "--unset allgather_size");
    }
}

fn odd_value(subject: &Subject, found: &mut Findings) {
    const BATCH: &[&str] = &["train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"];
    for key in &subject.keys {
        let Some(entry) = key.entry.filter(|entry| !entry.checked && entry.is_odd(key.value)) else { continue };
        // "auto" is told by its own rule, batch sizes by theirs; accelerate overwrites the third.
        let overwritten = key.path == "steps_per_print" && subject.is_hf();
        if key.value == "auto" || BATCH.contains(&key.path.as_str()) || overwritten {
            continue;
        }
        let what = format!(
            "`{}` is {}, and DeepSpeed takes it as it is: {} is meant",
            key.path,
            typed(key.value),
            entry.wanted()
        );
        found.key(&[&key.path], what, advice(key, &entry));
    }
}
