//! What becomes of every "auto": one table of rules that mirrors what transformers and accelerate do, down to the
//! numeric type. Nothing but an "auto" can ever change.

mod rules;

use std::cell::OnceCell;

use serde_json::Value;

use crate::base::json;
use crate::base::python_value::number;
use crate::command::model::{self, HiddenSize};
use crate::command::trainer::{Family, Job};
use crate::host::Host;
use crate::report::{self, Problem, When};

use rules::Unfilled;
pub(crate) use rules::{FillContext, RULES};

/// One "auto" that was filled.
#[derive(Debug, PartialEq)]
pub(crate) struct Fill {
    pub(crate) key: &'static str,
    pub(crate) value: Value,
    pub(crate) from: String,
}

/// One "auto" that was left to the trainer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LeftAuto {
    pub(crate) key: String,
    pub(crate) why: String,
}

/// The model's hidden size, looked up when a rule first asks for it: most configs need none, and it means reading files.
pub(crate) struct Hidden<'a> {
    job: &'a Job,
    host: &'a Host,
    size: OnceCell<Result<HiddenSize, String>>,
}

impl Hidden<'_> {
    fn size(&self) -> Result<&HiddenSize, String> {
        self.size.get_or_init(|| model_size(self.job, self.host)).as_ref().map_err(String::clone)
    }
}

pub(crate) fn hidden_size<'a>(job: &'a Job, host: &'a Host) -> Hidden<'a> {
    Hidden { job, host, size: OnceCell::new() }
}

/// The model's hidden size, or why it is not known.
pub(crate) fn model_size(job: &Job, host: &Host) -> Result<HiddenSize, String> {
    let name = job.trainer.model_argument;
    let Some(model) = job.args.text(name) else {
        return Err(format!("needs the model's hidden_size: --{name} is not given"));
    };
    let hub = (job.trainer.hub)(&job.args, host);
    let revision = job.args.text("model_revision").map(|sourced| sourced.value);
    model::hidden_size(&model.value, revision.as_deref(), hub, job.trainer.lifts_hidden_size, host)
        .map_err(|why| format!("needs the model's hidden_size: {why}"))
}

/// What `resolve` makes of a config.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) config: Value,
    pub(crate) fills: Vec<Fill>,
    pub(crate) left: Vec<LeftAuto>,
    /// The trainer computes another value than the config has.
    pub(crate) mismatched: bool,
}

/// Whether anything is filled, and why not.
#[derive(Clone, Copy)]
pub(crate) enum Policy {
    Fill,
    /// Nothing is filled, but what the trainer would refuse is refused.
    Leave(&'static str),
    /// Another program computes the values by rules of its own.
    Another(&'static str),
}

/// Fills what is known, leaves or refuses the rest, and compares what is concrete, as the trainer would.
/// `place` says where a key of the config was written. The config is returned even when there are problems: `check` may
/// have more to say about it.
pub(crate) fn resolve(known: &FillContext, policy: Policy, place: impl Fn(&str) -> String) -> (Resolved, Vec<Problem>) {
    let family = known.job.trainer.family;
    let mut problems = Vec::new();
    let mut fills = Vec::new();
    let mut left = Vec::new();
    let mut mismatched = false;
    for rule in RULES {
        let Some(value) = json::get(known.config, rule.key) else { continue };
        let auto = is_auto(value);
        if !auto && (!rule.compared || family != Family::Hf || value.is_null()) {
            continue;
        }
        if let Policy::Another(why) = policy {
            left.extend(auto.then(|| LeftAuto { key: rule.key.to_string(), why: why.to_string() }));
            continue;
        }
        let by_nobody = family == Family::Plain && rule.plain.is_none();
        let answer =
            if by_nobody { Err(Unfilled::Deferred("nobody fills it".to_string())) } else { (rule.value)(known) };
        match answer {
            Err(Unfilled::Invalid(problem)) => {
                // Several keys read the same argument.
                if !problems.contains(&problem) {
                    problems.push(problem);
                }
            }
            Ok((wanted, from)) if !auto => {
                if !python_equal(value, &wanted) {
                    mismatched = true;
                    problems.push(report::mismatch(rule.key, rule.doc, value, &place(rule.key), &wanted, &from));
                }
            }
            Ok((value, from)) => match policy {
                Policy::Fill => fills.push(Fill { key: rule.key, value, from }),
                Policy::Leave(why) | Policy::Another(why) => {
                    left.push(LeftAuto { key: rule.key.to_string(), why: why.to_string() });
                }
            },
            Err(Unfilled::Deferred(why)) if auto => left.push(LeftAuto { key: rule.key.to_string(), why }),
            Err(Unfilled::Unsupported) if auto => problems.push(nobody_fills(rule.key, &place(rule.key))),
            Err(Unfilled::Deferred(_) | Unfilled::Unsupported) => {}
        }
    }
    let mut config = apply(known.config, &fills);
    if family == Family::Plain {
        left = plain_leftovers(&mut config, left, &place, &mut problems);
    }
    for key in json::leaves(&config, is_auto) {
        let known_key = RULES.iter().any(|rule| rule.key == key);
        if !(known_key || family == Family::Plain && deepspeed_knows_auto(&key)) {
            problems.push(nobody_fills(&key, &place(&key)));
        }
    }
    (Resolved { config, fills, left, mismatched }, problems)
}

/// Nobody fills after us: the global batch may go, `DeepSpeed` infers it; every other "auto" is an error.
fn plain_leftovers(
    config: &mut Value,
    left: Vec<LeftAuto>,
    place: impl Fn(&str) -> String,
    problems: &mut Vec<Problem>,
) -> Vec<LeftAuto> {
    let mut kept = Vec::new();
    for it in left {
        match config.as_object_mut().filter(|_| it.key == "train_batch_size") {
            Some(object) => {
                object.shift_remove("train_batch_size");
                kept.push(LeftAuto { why: "removed: DeepSpeed infers it".to_string(), ..it });
            }
            None => {
                let found = report::left_for_nobody(&it.key, &place(&it.key), &it.why, example(&it.key));
                problems.push(found.when(noticed(&it.key)));
            }
        }
    }
    kept
}

fn nobody_fills(key: &str, place: &str) -> Problem {
    report::nobody_fills(key, place).when(noticed(key))
}

/// When DeepSpeed comes upon an "auto" there.
fn noticed(key: &str) -> Option<When> {
    super::schema::refuses_auto(key).then_some(When::Parse)
}

fn example(key: &str) -> &'static str {
    RULES.iter().find(|rule| rule.key == key).and_then(|rule| rule.plain).unwrap_or("VALUE")
}

/// Keys whose "auto" `DeepSpeed` itself understands (accelerate refuses them all the same).
fn deepspeed_knows_auto(key: &str) -> bool {
    ["zero_optimization.zenflow.", "expert_parallel."].iter().any(|section| key.starts_with(section))
        || ["data_types.keep_in_fp32_modules", "pipeline.stages"].contains(&key)
}

fn apply(config: &Value, fills: &[Fill]) -> Value {
    let mut filled = config.clone();
    for fill in fills {
        if let Some(value) = json::get_mut(&mut filled, fill.key).filter(|value| is_auto(value)) {
            *value = fill.value.clone();
        }
    }
    filled
}

fn is_auto(value: &Value) -> bool {
    value.as_str() == Some("auto")
}

/// Python's `==`: 1 equals 1.0 and True, "8" is not 8.
fn python_equal(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Array(one), Value::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| python_equal(one, two))
        }
        _ => match (number(one), number(two)) {
            #[expect(clippy::float_cmp, reason = "Python compares exactly too")]
            (Some(one), Some(two)) => one == two,
            _ => one == two,
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equality_is_pythons() {
        for (one, two) in [
            (json!(1), json!(1.0)),
            (json!(true), json!(1)),
            (json!([0.9, 1]), json!([0.9, 1.0])),
            (json!("a"), json!("a")),
        ] {
            assert!(python_equal(&one, &two), "{one} {two}");
        }
        for (one, two) in [
            (json!("8"), json!(8)),
            (json!("true"), json!(true)),
            (json!([0.9]), json!([0.9, 0.9])),
            (json!(1e-5), json!(1.1e-5)),
        ] {
            assert!(!python_equal(&one, &two), "{one} {two}");
        }
    }

    #[test]
    fn a_fill_changes_only_an_auto() {
        let config = json!({"a": "auto", "b": {"c": "auto", "d": 1}});
        let fill = |key, value| Fill { key, value, from: String::new() };
        assert_eq!(apply(&config, &[fill("b.c", json!(2))]), json!({"a": "auto", "b": {"c": 2, "d": 1}}));
        // Not even by a fill that was made for something else.
        assert_eq!(apply(&config, &[fill("b.d", json!(2)), fill("e", json!(2))]), config);
    }
}
