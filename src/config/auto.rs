//! What becomes of every "auto": one table of rules that mirrors what transformers and accelerate do, down to the
//! numeric type. Nothing but an "auto" can ever change.

mod context;
mod defaults;
mod given;
mod mismatch;
mod rules;

use serde_json::Value;

use super::schema;
use crate::base::json;
use crate::base::python_value::number;
use crate::base::source::Source;
use crate::command::job::Trainer;
use crate::report::fix::{set, unset};
use crate::report::{Place, Problem, Rule, Severity, When};

pub(crate) use context::{FillContext, hidden_size};
use context::{FilledValue, Unfilled};
pub use rules::RULES;

/// One "auto" that was filled.
#[derive(Debug, PartialEq)]
pub struct Fill {
    pub key: &'static str,
    pub value: Value,
    pub from: String,
    /// The one argument that decides it.
    pub argument: Option<Source>,
}

/// One "auto" that was left to the trainer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LeftAuto {
    pub(crate) key: String,
    pub(crate) why: String,
}

/// What `resolve` makes of a config.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) config: Value,
    pub(crate) fills: Vec<Fill>,
    pub(crate) left: Vec<LeftAuto>,
    /// The trainer computes another value than the config has.
    pub(crate) mismatched: bool,
    /// Differences from what the trainer computes, as far as its defaults are known.
    pub(crate) warnings: Vec<Problem>,
}

/// Fills what is known, leaves or refuses the rest, and compares what is concrete, as the trainer would.
/// `place` says where a key of the config was written. The config is returned even when there are problems: `check` may
/// have more to say about it.
pub(crate) fn resolve(context: &FillContext, place: impl Fn(&str) -> Place) -> (Resolved, Vec<Problem>) {
    let trainer = context.job.trainer;
    // Nothing fills what zlaunch leaves, unless the trainer sets the key itself.
    let by_nobody_else = !trainer.is_hf() && !trainer.is_passthrough();
    let (mut fills, mut left, mut warnings, mut problems) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut mismatched = false;
    let comparing = context.comparing();
    let mut leave = |key: &str, why: &str| left.push(LeftAuto { key: key.to_string(), why: why.to_string() });
    for rule in RULES {
        let Some(value) = json::get(context.config, rule.key) else { continue };
        let auto = is_auto(value);
        if !auto && (!rule.compared || !trainer.is_hf() || value.is_null()) {
            continue;
        }
        if let Some(why) =
            context.by_launcher.filter(|_| auto || context.is_unseen()).or_else(|| context.filled_by_trainer(rule.key))
        {
            if auto {
                leave(rule.key, why);
            }
            continue;
        }
        let answer = match context.fills_auto {
            _ if by_nobody_else && rule.plain.is_none() => Err(Unfilled::deferred("nobody fills it")),
            Some(fills) if fills.source().is_some() => Err(Unfilled::deferred("the trainer does not")),
            _ => rule.value(if auto { context } else { &comparing }),
        };
        match answer {
            // Several keys read the same argument.
            Err(Unfilled::Invalid(problem)) if problems.contains(&problem) => {}
            Err(Unfilled::Invalid(problem)) => problems.push(problem),
            Ok(wanted) if !auto => {
                if !python_equal(value, &wanted.value) {
                    let found = mismatch::problem(rule, value, place(rule.key), &wanted);
                    let is_error = found.severity == Severity::Error;
                    mismatched |= is_error;
                    if is_error { problems.push(found) } else { warnings.push(found) }
                }
            }
            Err(_) if !auto => {}
            Ok(_) if context.no_fill => leave(rule.key, "--no-fill"),
            Ok(FilledValue { value, from, mut arguments }) => {
                let argument = arguments.pop().filter(|_| arguments.is_empty());
                fills.push(Fill { key: rule.key, value, from, argument });
            }
            Err(Unfilled::Deferred(_)) if trainer.args_set_in_script() => {
                leave(rule.key, "the script's own code says it");
            }
            Err(Unfilled::Deferred(why)) => leave(rule.key, &why),
            Err(Unfilled::Unsupported) => problems.push(nobody_fills(rule.key, place(rule.key), context)),
        }
    }
    let mut config = apply(context.config, &fills);
    if by_nobody_else {
        left.retain_mut(|open| {
            let kept = take_out(&mut config, open, trainer);
            if !kept {
                let LeftAuto { key, why } = &*open;
                let what = format!("`{key}` is \"auto\", and plain DeepSpeed does not fill it: {why}");
                let found = Problem::error(Rule::Auto, what).at(place(key)).fix(set(key, example(key)));
                problems.push(found.when(noticed(key, context)));
            }
            kept
        });
    }
    for key in json::leaves(&config, is_auto) {
        let in_table = RULES.iter().any(|rule| rule.key == key);
        if !(in_table || by_nobody_else && deepspeed_knows_auto(&key)) {
            problems.push(nobody_fills(&key, place(&key), context));
        }
    }
    (Resolved { config, fills, left, mismatched, warnings }, problems)
}

/// The samples of a step, and what they are the product of. By the trainer's defaults too, as far as they are known.
pub(crate) fn batch(context: &FillContext) -> Option<(Value, String)> {
    if context.job.trainer.is_hf() {
        let rule = RULES.iter().find(|rule| rule.key == "train_batch_size")?;
        let FilledValue { value, from, arguments } = rule.value(&context.comparing()).ok()?;
        let unless = arguments.iter().find_map(|from| from.doubt().or(from.trainer_default()?.unless));
        return Some((value, unless.map_or(from.clone(), |unless| format!("{from}, unless {unless}"))));
    }
    let size = |key: &str| context.config.get(key).and_then(Value::as_u64);
    let world = context.topology.world_size.as_ref()?.value;
    let steps = size("gradient_accumulation_steps").unwrap_or(1);
    let alone =
        ["sequence_parallel_size", "pipeline", "tensor_parallel"].iter().all(|key| context.config.get(key).is_none());
    let micro = size("train_micro_batch_size_per_gpu").filter(|_| alone && !context.job.trainer.is_passthrough())?;
    let whole = world.checked_mul(micro)?.checked_mul(steps)?;
    let agrees = size("train_batch_size").is_none_or(|said| said == whole);
    agrees.then(|| (whole.into(), format!("{world} × {micro} × {steps} (the config)")))
}

/// Whether somebody else sets a key whose "auto" is open. Where that happens only to a key that is not there, it is taken
/// out of the config.
fn take_out(config: &mut Value, left: &mut LeftAuto, trainer: &Trainer) -> bool {
    let section = if trainer.source_of_auto(&left.key).is_some() {
        if !trainer.sets_what_is_absent() {
            return true;
        }
        left.why = format!("removed: {}", left.why);
        // A precision without a switch is not a section at all.
        left.key.strip_suffix(".enabled").unwrap_or(&left.key)
    } else if left.key == "train_batch_size" {
        left.why = "removed: DeepSpeed infers it".to_string();
        &left.key
    } else {
        return false;
    };
    let (parent, name) = section.rsplit_once('.').unwrap_or(("", section));
    let parent = if parent.is_empty() { Some(config) } else { json::get_mut(config, parent) };
    if let Some(object) = parent.and_then(Value::as_object_mut) {
        object.shift_remove(name);
    }
    true
}

fn nobody_fills(key: &str, place: Place, context: &FillContext) -> Problem {
    filled_by_nobody(key, place).when(noticed(key, context))
}

pub(crate) fn filled_by_nobody(key: &str, place: Place) -> Problem {
    let what = format!("`{key}` cannot be \"auto\": neither zlaunch nor the trainer fills that key");
    Problem::error(Rule::Auto, what).at(place).fix(unset(key).or(set(key, "VALUE")))
}

/// When DeepSpeed notices an "auto" there.
fn noticed(key: &str, context: &FillContext) -> Option<When> {
    let version = schema::in_environment(context.job.python.as_ref()).version();
    schema::refuses_auto(key, version).then_some(When::Parse)
}

fn example(key: &str) -> &'static str {
    RULES.iter().find(|rule| rule.key == key).and_then(|rule| rule.plain).unwrap_or("VALUE")
}

/// Whether a trainer fills an "auto" there, or DeepSpeed itself understands it.
pub(crate) fn may_be_filled(key: &str) -> bool {
    RULES.iter().any(|rule| rule.key == key) || deepspeed_knows_auto(key)
}

/// The names right below a section whose "auto" a trainer fills.
pub(crate) fn filled_below(section: &str) -> impl Iterator<Item = &'static str> {
    let names = RULES.iter().filter_map(move |rule| rule.key.strip_prefix(section)?.strip_prefix('.'));
    names.filter(|name| !name.contains('.'))
}

/// Keys whose "auto" `DeepSpeed` itself understands (accelerate refuses them all the same).
fn deepspeed_knows_auto(key: &str) -> bool {
    // It takes null alone.
    let refused = key == "expert_parallel.load_balance_coeff";
    ["zero_optimization.zenflow.", "expert_parallel."].iter().any(|section| key.starts_with(section)) && !refused
        || ["data_types.keep_in_fp32_modules", "pipeline.stages"].contains(&key)
}

pub fn apply(config: &Value, fills: &[Fill]) -> Value {
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
pub fn python_equal(one: &Value, two: &Value) -> bool {
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
