//! Fills "auto" by one table of rules that mirrors transformers and accelerate, down to the numeric type. Nothing but an
//! "auto" can ever change.

mod context;
mod rules;

use serde::Serialize;
use serde_json::Value;

use super::places::as_typed;
use super::tables::AutoRule;
use super::{layers, schema};
use crate::base::json;
use crate::base::python_value::number;
use crate::base::source::{Source, TrainerDefault};
use crate::command::job::Trainer;
use crate::report::fix::{Fix, Fixes, Owner, give, set, set_json, unset};
use crate::report::{Place, Problem, Rule, Severity, When};

pub use super::tables::RULES;
pub(crate) use context::{FillContext, hidden_size};
use context::{FilledValue, Unfilled};

#[derive(Debug, PartialEq, Serialize)]
pub struct Fill {
    pub key: &'static str,
    pub value: Value,
    pub from: String,
    /// The one argument that decides it.
    #[serde(skip)]
    pub argument: Option<Source>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct LeftAuto {
    pub(crate) key: String,
    pub(crate) why: String,
}

#[derive(Debug, Default)]
pub(crate) struct Resolved {
    pub(crate) config: Value,
    pub(crate) fills: Vec<Fill>,
    pub(crate) left: Vec<LeftAuto>,
    /// The trainer computes another value than the config has.
    pub(crate) mismatched: bool,
    /// The problems for which the trainer or DeepSpeed would refuse this config.
    pub(crate) refusals: Vec<Problem>,
    /// Differences from what the trainer computes, as far as its defaults are known.
    pub(crate) warnings: Vec<Problem>,
}

/// Fills what is known, leaves or refuses the rest, and compares what is concrete, as the trainer would.
/// `place` tells where a key of the config was written. The config is returned even when there are problems, because
/// `check` may find more of them.
pub(crate) fn resolve(context: &FillContext, place: impl Fn(&str) -> Place) -> Resolved {
    let trainer = context.job.trainer;
    let comparing = context.comparing();
    // Behind such a launcher, nothing is known of the arguments of a script that cannot be read.
    let is_unknown = context.by_launcher.is_some() && context.is_unseen();
    let compares = trainer.is_hf() && !is_unknown;
    let mut resolved = Resolved::default();
    let mut problems = Vec::new();
    for rule in RULES {
        let done = match json::get(context.config, rule.key) {
            Some(value) if is_auto(value) => resolved.fill(rule, context, &place),
            Some(value) if compares && rule.compared && !value.is_null() => {
                resolved.compare(rule, value, &comparing, &place)
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
            let what =
                format!("`{key}` is \"auto\", which plain DeepSpeed does not fill in: {why}");
            let problem = Problem::error(Rule::Auto, what).at(place(key));
            let problem = problem.fix(all.take().unwrap_or(fix));
            problems.push(problem.when(noticed(key, context)));
        }
    }
    for key in json::leaves(&resolved.config, is_auto) {
        let by_deepspeed = fills_alone(trainer) && deepspeed_knows_auto(&key);
        if rule_of(&key).is_none() && !by_deepspeed {
            problems.push(nobody_fills(&key, place(&key), context));
        }
    }
    resolved.refusals = problems;
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
            Err(Unfilled::deferred(why))
        } else if fills_alone(trainer) && rule.plain.is_none() {
            Err(Unfilled::deferred("nothing fills it in"))
        } else if trainer.fills_auto() {
            Err(Unfilled::deferred("the trainer does not"))
        } else {
            match rule.value(context) {
                Ok(_) if context.no_fill => Err(Unfilled::deferred("--no-fill")),
                Err(Unfilled::Deferred(_)) if trainer.args_set_in_script() => {
                    Err(Unfilled::deferred("set in the script"))
                }
                answer => answer,
            }
        };
        let key = rule.key;
        match answer {
            Ok(filled) => {
                let argument = match &filled.arguments[..] {
                    [only] => Some(only.clone()),
                    _ => None,
                };
                self.fills.push(Fill {
                    key,
                    value: filled.value,
                    from: filled.from,
                    argument,
                });
            }
            Err(Unfilled::Deferred(why)) => self.left.push(LeftAuto {
                key: key.to_string(),
                why,
            }),
            Err(Unfilled::Unsupported) => return Err(nobody_fills(key, place(key), context)),
            Err(Unfilled::Invalid(problem)) => return Err(problem),
        }
        Ok(())
    }

    fn compare(
        &mut self,
        rule: &AutoRule,
        value: &Value,
        context: &FillContext,
        place: impl Fn(&str) -> Place,
    ) -> Result<(), Problem> {
        let wanted = match rule.value(context) {
            Ok(wanted) if !python_equal(value, &wanted.value) => wanted,
            Err(Unfilled::Invalid(problem)) => return Err(problem),
            _ => return Ok(()),
        };
        let found = mismatch(rule, value, place(rule.key), &wanted, context);
        if found.severity == Severity::Error {
            self.mismatched = true;
            return Err(found);
        }
        self.warnings.push(found);
        Ok(())
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
    let typed = as_typed(value, &place);
    let differs = |what: &str| format!("`{key}` is {typed} in the config, but {what}");
    let (argument, computes) = match &computed.arguments[..] {
        [one] => (Place::from(one), format!("`{one}` makes it {wanted}")),
        _ => {
            let computes = format!("the trainer computes {wanted} from {}", rule.doc);
            (Place::from(&computed.from), computes)
        }
    };
    let arguments = computed.arguments.iter();
    let defaults: Vec<&TrainerDefault> = arguments
        .clone()
        .filter_map(Source::trainer_default)
        .collect();
    let names: Vec<String> = defaults
        .iter()
        .map(|default| format!("--{}", default.argument))
        .collect();
    let are = if names.len() == 1 { "is" } else { "are" };
    let not_set = format!("({} {are} not set)", names.join(" and "));
    let by_default = format!("the trainer defaults to {wanted}");
    let unless = defaults.iter().find_map(|default| default.unless);
    let doubt = arguments.clone().find_map(Source::doubt);
    let found = if let Some(doubt) = doubt {
        let what = format!("{computes} unless the script changes it ({doubt})");
        Problem::warning(Rule::DoubtfulMismatch, differs(&what))
    } else if defaults.is_empty() {
        Problem::error(Rule::Mismatch, differs(&computes))
    } else if let Some(unless) = unless {
        let what = format!("{by_default} unless {unless} {not_set}");
        Problem::warning(Rule::DefaultMismatch, differs(&what))
    } else {
        Problem::error(Rule::Mismatch, differs(&format!("{by_default} {not_set}")))
    };
    let fixes = mismatch_fixes(key, value, &typed, computed, context);
    found.at(place).at(argument).fix(fixes)
}

fn mismatch_fixes(
    key: &str,
    value: &Value,
    typed: &str,
    computed: &FilledValue,
    context: &FillContext,
) -> Fixes {
    let text = value
        .as_str()
        .and_then(|text| serde_json::from_str::<Value>(&text.trim().to_lowercase()).ok());
    let unquoted = text.filter(|value| value.is_number() || value.is_boolean());
    if let Some(plain) = unquoted.as_ref().filter(|plain| **plain == computed.value) {
        return set_json(key, plain)
            .remark(format!("{typed} is a string"))
            .safe()
            .or(set(key, "auto"));
    }
    let is_taken = unquoted.is_some() || !value.is_array() && !value.is_string();
    let argument = match &computed.arguments[..] {
        // A product or a list has other parts too.
        _ if key == "train_batch_size" || !is_taken => None,
        [Source::TrainerDefault(default)] if context.can_be_given(default) => {
            Some(format!("--{}", default.argument))
        }
        [Source::Argument(name)] if name.starts_with("--") => Some(name.clone()),
        _ => None,
    };
    let other = match (
        argument.map(|argument| give(argument, typed.trim_matches('"')).of(Owner::Trainer)),
        &unquoted,
    ) {
        (Some(argument), Some(number)) => set_json(key, number)
            .and(argument)
            .remark("the second for the trainer"),
        (Some(argument), None) => argument.remark("for the trainer"),
        (None, _) => set_json(key, &computed.value),
    };
    set(key, "auto").or(other)
}

/// The samples of a step and the factors, also by the trainer's defaults, as far as they are known.
pub(crate) fn batch(context: &FillContext) -> Option<(Value, String)> {
    if context.job.trainer.is_hf() {
        let filled = rule_of("train_batch_size")?.value(&context.comparing());
        let FilledValue {
            value,
            mut from,
            arguments,
        } = filled.ok()?;
        let mut doubts = arguments
            .iter()
            .filter_map(|source| source.doubt().or(source.trainer_default()?.unless));
        if let Some(unless) = doubts.next() {
            from += &format!(", unless {unless}");
        }
        return Some((value, from));
    }
    let size = |key: &str| context.config.get(key).and_then(Value::as_u64);
    let divides = ["sequence_parallel_size", "pipeline", "tensor_parallel"];
    if divides.iter().any(|key| context.config.get(key).is_some())
        || context.job.trainer.is_passthrough()
    {
        return None;
    }
    let world = context.topology.world_size.as_ref()?.value;
    let steps = size("gradient_accumulation_steps").unwrap_or(1);
    let micro = size("train_micro_batch_size_per_gpu")?;
    let whole = world.checked_mul(micro)?.checked_mul(steps)?;
    let agrees = size("train_batch_size").is_none_or(|said| said == whole);
    let factors = format!("{world} × {micro} × {steps} (the config)");
    agrees.then(|| (whole.into(), factors))
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

fn nobody_fills(key: &str, place: Place, context: &FillContext) -> Problem {
    filled_by_nobody(key, place).when(noticed(key, context))
}

pub(crate) fn filled_by_nobody(key: &str, place: Place) -> Problem {
    let what =
        format!("`{key}` cannot be \"auto\": neither zlaunch nor the trainer fills in that key");
    Problem::error(Rule::Auto, what)
        .at(place)
        .fix(unset(key).or(set(key, "VALUE")))
}

fn noticed(key: &str, context: &FillContext) -> Option<When> {
    let version = schema::in_environment(context.job.python.as_ref()).version();
    schema::refuses_auto(key, version).then_some(When::Parse)
}

/// True if a trainer fills an "auto" there, or DeepSpeed itself understands it.
pub(crate) fn may_be_filled(key: &str) -> bool {
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
