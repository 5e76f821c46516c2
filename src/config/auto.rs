//! Fills "auto" by one table of rules that mirrors transformers and accelerate, down to the numeric type. Nothing but an
//! "auto" can ever change.

mod values;

use serde::Serialize;
use serde_json::Value;

use super::{layers, schema, tables::AutoRule};
use crate::{
    base::{json, python_value::number, source::Source},
    command::job::Trainer,
    report::{
        fix::{rename, set_json},
        prelude::*,
    },
};

pub use super::tables::RULES;
pub use values::FillContext;
pub use values::FilledValue;
use values::{Unfilled, defer};

#[derive(PartialEq, Serialize)]
pub struct Fill {
    pub key: &'static str,
    #[serde(flatten)]
    pub filled: FilledValue,
}

#[derive(PartialEq, Serialize)]
pub struct LeftAuto {
    pub key: String,
    pub why: String,
}

#[derive(Default)]
pub struct Resolved {
    pub config: Value,
    pub fills: Vec<Fill>,
    pub left: Vec<LeftAuto>,
    /// The reasons for which the trainer or DeepSpeed would refuse this config, and differences from what the trainer
    /// computes, as far as its defaults are known.
    pub problems: Problems,
}

/// Fills what is known, leaves or refuses the rest, and compares what is concrete, as the trainer would.
/// `place` tells where a key of the config was written. The config is returned even when there are problems, because
/// `check` may find more of them.
pub fn resolve(context: &FillContext, place: impl Fn(&str) -> Place) -> Resolved {
    let trainer = context.job.trainer;
    let comparing = context.comparing();
    // Behind such a launcher, nothing is known of the arguments of a script that cannot be read.
    let is_unknown = context.by_launcher.is_some() && context.is_unseen();
    let compares = trainer.is_hf() && !is_unknown;
    let mut resolved = Resolved::default();
    let mut problems = vec![];
    for rule in RULES {
        let done = match json::get(context.config, rule.key) {
            Some(value) if is_auto(value) => resolved.fill(rule, context, &place),
            Some(value) if compares && rule.compared && !value.is_null() => {
                compare(rule, value, &comparing, &place)
            }
            _ => Ok(()),
        };
        // Several keys read the same argument.
        problems.extend(done.err().filter(|problem| !problems.contains(problem)));
    }
    resolved.config = apply(context.config, &resolved.fills);
    if fills_alone(trainer) {
        let Resolved { left, config, .. } = &mut resolved;
        let open: Vec<LeftAuto> = left
            .extract_if(.., |open| !take_out(config, open, trainer))
            .collect();
        let plain = |key: &str| rule_of(key).and_then(|rule| rule.plain).unwrap_or("VALUE");
        let sets = open.iter().map(|open| set(&open.key, plain(&open.key)));
        // One fix for all of them, with the first.
        let mut all = sets.clone().reduce(Fix::and);
        for (LeftAuto { key, why }, fix) in open.iter().zip(sets) {
            problems.push(
                Rule::Auto
                    .error(format!(
                        "`{key}` is \"auto\", which plain DeepSpeed does not fill in: {why}"
                    ))
                    .at(place(key))
                    .fix(all.take().unwrap_or(fix)),
            );
        }
    }
    for key in json::leaves(&resolved.config, is_auto) {
        let by_deepspeed = fills_alone(trainer) && deepspeed_knows_auto(&key);
        if rule_of(&key).is_none() && !by_deepspeed {
            problems.push(filled_by_nobody(&key, place(&key)));
        }
    }
    resolved.problems = problems;
    resolved
}

fn rule_of(key: &str) -> Option<&'static AutoRule> {
    RULES.iter().find(|rule| rule.key == key)
}

/// True if nothing fills what zlaunch leaves, unless the trainer sets the key itself.
fn fills_alone(trainer: &Trainer) -> bool {
    !trainer.is_hf() && !trainer.is_passthrough()
}

impl Resolved {
    fn fill(
        &mut self,
        rule: &AutoRule,
        context: &FillContext,
        place: impl Fn(&str) -> Place,
    ) -> Result<(), Problem> {
        let trainer = context.job.trainer;
        let answer = if let Some(why) = context.by_launcher.or(trainer.source_of_auto(rule.key)) {
            defer(why)
        } else if fills_alone(trainer) && rule.plain.is_none() {
            defer("nothing fills it in")
        } else if trainer.fills_auto() {
            defer("the trainer does not")
        } else {
            match rule.value(context) {
                Ok(_) if context.no_fill => defer("--no-fill"),
                Err(Unfilled::Deferred(_)) if trainer.args_set_in_script() => {
                    defer("set in the script")
                }
                answer => answer,
            }
        };
        let key = rule.key;
        match answer {
            Ok(filled) => self.fills.push(Fill { key, filled }),
            Err(Unfilled::Deferred(why)) => self.left.push(LeftAuto {
                key: key.to_string(),
                why,
            }),
            Err(Unfilled::Unsupported) => return Err(filled_by_nobody(key, place(key))),
            Err(Unfilled::Invalid(problem)) => return Err(problem),
        }
        Ok(())
    }
}

fn compare(
    rule: &AutoRule,
    value: &Value,
    context: &FillContext,
    place: impl Fn(&str) -> Place,
) -> Result<(), Problem> {
    match rule.value(context) {
        Ok(wanted) if !python_equal(value, &wanted.value) => {
            Err(mismatch(rule, value, place(rule.key), &wanted, context))
        }
        Err(Unfilled::Invalid(problem)) => Err(problem),
        Err(_) if value.is_string() => Err(never_equal(rule.key, value, place(rule.key))),
        _ => Ok(()),
    }
}

fn mismatch(
    rule: &AutoRule,
    value: &Value,
    place: Place,
    computed: &FilledValue,
    context: &FillContext,
) -> Problem {
    let key = rule.key;
    let wanted = &computed.value;
    let arguments = &computed.arguments;
    let (argument, computes) = match &arguments[..] {
        [one] => (Place::from(one), format!("`{one}` makes it {wanted}")),
        _ => {
            let computes = format!("the trainer computes {wanted} from {}", rule.doc);
            (Place::from(&computed.from), computes)
        }
    };
    let defaults = arguments.iter().filter_map(Source::trainer_default);
    let unless = defaults.clone().find_map(|default| default.unless);
    let names: Vec<String> = defaults
        .map(|default| format!("--{}", default.argument))
        .collect();
    let doubt = arguments.iter().find_map(Source::doubt);
    let mut why = if names.is_empty() {
        computes
    } else {
        format!("the trainer defaults to {wanted}")
    };
    if let Some(doubt) = doubt {
        why += &format!(" unless the script changes it ({doubt})");
    } else if let Some(unless) = unless {
        why += &format!(" unless {unless}");
    }
    if !names.is_empty() {
        let verb = if names.len() == 1 { "is" } else { "are" };
        why += &format!(" ({} {verb} not set)", names.join(" and "));
    }
    let what = format!("`{key}` is {value} in the config, but {why}");
    let found = match (doubt, unless) {
        (Some(_), _) => Rule::DoubtfulMismatch.warning(what),
        (None, Some(_)) => Rule::DefaultMismatch.warning(what),
        (None, None) => Rule::Mismatch.error(what),
    };
    found
        .at(place)
        .at(argument)
        .fix(mismatch_fixes(key, value, computed, context))
}

/// Whatever the trainer's value is, it is no string.
fn never_equal(key: &str, value: &Value, place: Place) -> Problem {
    let auto = set(key, "auto");
    Rule::Mismatch
        .error(format!(
            "`{key}` is the string {value} in the config, which no value of the trainer equals"
        ))
        .at(place)
        .fix(match read(value) {
            Some(meant) => set_json(key, &meant).or(auto),
            None => auto.into(),
        })
}

/// The number or truth value in a string, which the trainer compares: `"lr": "1e-4"`, `"enabled": "yes"`.
fn read(value: &Value) -> Option<Value> {
    let text = value.as_str()?;
    let number = text.to_lowercase().parse().ok();
    number.or_else(|| Some(schema::truth(value)?.into()))
}

/// The accumulation steps that make a global batch this large, and what decides them now.
fn steps_for(batch: &Value, product: &Value, context: &FillContext) -> Option<(Value, Source)> {
    let mut now = rule_of("gradient_accumulation_steps")?
        .value(context)
        .ok()?;
    let [batch, steps, product] =
        [batch, &now.value, product].map(|it| it.as_i64().unwrap_or_default());
    let wanted = batch.saturating_mul(steps);
    (wanted.checked_rem(product)? == 0)
        .then(|| (wanted / product).into())
        .zip(now.arguments.pop())
}

fn mismatch_fixes(
    key: &str,
    value: &Value,
    computed: &FilledValue,
    context: &FillContext,
) -> Fixes {
    let auto = set(key, "auto");
    // Clipping or decay that is off is 0.
    let is_off = value == "none" || !value.is_number() && schema::truth(value) == Some(false);
    let read = if is_off && ["gradient_clipping", "optimizer.params.weight_decay"].contains(&key) {
        Some(0.into())
    } else {
        read(value)
    }
    .filter(|it| !python_equal(it, &computed.value));
    let value = read.as_ref().unwrap_or(value);
    let steps = steps_for(value, &computed.value, context).filter(|_| {
        key == "train_batch_size" && !context.config["gradient_accumulation_steps"].is_number()
    });
    let parts: Vec<(&Value, &Source)> = match (&steps, value, &computed.value) {
        (Some((steps, source)), ..) => vec![(steps, source)],
        // A list has an argument for each part: `betas`.
        (None, Value::Array(parts), Value::Array(wanted)) => parts
            .iter()
            .zip(wanted)
            .zip(&computed.arguments)
            .filter(|((part, wanted), _)| !python_equal(part, wanted))
            .map(|((part, _), source)| (part, source))
            .collect(),
        _ => computed
            .arguments
            .iter()
            .map(|source| (value, source))
            .collect(),
    };
    let argument = match parts[..] {
        // No argument takes a string.
        _ if value.is_string() => None,
        [(part, Source::TrainerDefault(default))] if context.can_be_given(default) => {
            Some((format!("--{}", default.argument), part))
        }
        [(part, Source::Argument(name))] if name.starts_with("--") => Some((name.clone(), part)),
        _ => None,
    };
    let Some((argument, part)) = argument else {
        return match (&parts[..], &computed.value) {
            // Whatever the text means, it is not what nobody gave.
            ([(_, Source::TrainerDefault(_))], Value::Number(_)) => say("write a number").into(),
            _ => auto.or(set_json(key, &computed.value)),
        };
    };
    let argument = give(argument, part).of(Owner::Trainer);
    let argument = match read {
        Some(_) => argument.and(set_json(key, value)),
        None => argument.remark("for the trainer"),
    };
    // What was written counts more than what nobody gave.
    if let [(_, Source::TrainerDefault(_))] = parts[..] {
        argument.or(auto)
    } else {
        auto.or(argument)
    }
}

/// The samples of a step and the factors, also by the trainer's defaults, as far as they are known.
pub fn batch(context: &FillContext) -> Option<(Value, String)> {
    if !context.job.trainer.is_hf() {
        return None;
    }
    let filled = rule_of("train_batch_size")?.value(&context.comparing());
    let FilledValue {
        value,
        mut from,
        arguments,
    } = filled.ok()?;
    if let Some(unless) = arguments
        .iter()
        .find_map(|source| source.doubt().or(source.trainer_default()?.unless))
    {
        from += &format!(", unless {unless}");
    }
    Some((value, from))
}

/// Removes an open "auto" from the config if the trainer or DeepSpeed sets a missing key. False if nobody sets it.
fn take_out(config: &mut Value, left: &mut LeftAuto, trainer: &Trainer) -> bool {
    let section = if trainer.source_of_auto(&left.key).is_some() {
        if !trainer.sets_what_is_absent() {
            return true;
        }
        left.why = format!("removed: {}", left.why);
        // A precision section without its switch is invalid, so the whole section goes.
        left.key.strip_suffix(".enabled").unwrap_or(&left.key)
    } else if left.key == "train_batch_size" {
        left.why = "removed: DeepSpeed infers it".to_string();
        &left.key
    } else {
        return false;
    };
    layers::unset(config, section);
    true
}

pub fn filled_by_nobody(key: &str, place: Place) -> Problem {
    let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
    let near = schema::nearest_name(name, schema::names_below(section));
    let switch = format!("{key}.enabled");
    let fixes = match near.filter(|near| *near != name) {
        _ if may_be_filled(&switch) => rename(key, switch, "auto").into(),
        Some(near) => {
            let right = format!("{section}.{near}");
            rename(key, right.trim_start_matches('.'), "auto")
                .meaning(near)
                .into()
        }
        None => unset(key).or("write a value"),
    };
    Rule::Auto
        .error(format!(
            "`{key}` cannot be \"auto\": neither zlaunch nor the trainer fills in that key"
        ))
        .at(place)
        .fix(fixes)
}

/// True if a trainer fills an "auto" there, or DeepSpeed itself understands it.
pub fn may_be_filled(key: &str) -> bool {
    rule_of(key).is_some() || deepspeed_knows_auto(key)
}

/// Keys whose "auto" `DeepSpeed` itself understands (accelerate refuses them all the same).
fn deepspeed_knows_auto(key: &str) -> bool {
    match key {
        // It only takes null besides numbers.
        "expert_parallel.load_balance_coeff" => false,
        "data_types.keep_in_fp32_modules" | "pipeline.stages" => true,
        _ => key.starts_with("zero_optimization.zenflow.") || key.starts_with("expert_parallel."),
    }
}

pub fn apply(config: &Value, fills: &[Fill]) -> Value {
    let mut filled = config.clone();
    for fill in fills {
        if let Some(value) = json::get_mut(&mut filled, fill.key).filter(|value| is_auto(value)) {
            *value = fill.filled.value.clone();
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
