//! Fills "auto" by one table of rules that mirrors transformers and accelerate, down to the numeric type. Nothing but an
//! "auto" can ever change.

mod context;
mod rules;

use serde::Serialize;
use serde_json::Value;

use super::places::as_typed;
use super::{layers, schema};
use crate::base::json;
use crate::base::python_value::number;
use crate::base::source::{Source, TrainerDefault};
use crate::command::job::Trainer;
use crate::report::fix::{Fix, Fixes, Owner, give, set, set_json, unset};
use crate::report::{Place, Problem, Rule, Severity, When};

pub(crate) use context::{FillContext, hidden_size};
use context::{FilledValue, Unfilled};
use rules::AutoRule;
pub use rules::RULES;

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
    let (mut resolved, mut problems) = (Resolved::default(), Vec::new());
    let comparing = context.comparing();
    // Behind such a launcher, nothing is known of the arguments of a script that cannot be read.
    let is_unknown = context.by_launcher.is_some() && context.is_unseen();
    let compares = trainer.is_hf() && !is_unknown;
    for rule in RULES.iter() {
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
    let by_nobody_else = fills_alone(trainer);
    if by_nobody_else {
        let Resolved { left, config, .. } = &mut resolved;
        let open: Vec<LeftAuto> = left
            .extract_if(.., |open| !take_out(config, open, trainer))
            .collect();
        let plain = |key: &str| {
            RULES
                .iter()
                .find(|rule| rule.key == key)
                .and_then(|rule| rule.plain)
        };
        let sets = open
            .iter()
            .map(|LeftAuto { key, .. }| set(key, plain(key).unwrap_or("VALUE")));
        // One fix for all of them, with the first.
        let mut all = sets.clone().reduce(Fix::and);
        for (LeftAuto { key, why }, fix) in open.iter().zip(sets) {
            let what =
                format!("`{key}` is \"auto\", which plain DeepSpeed does not fill in: {why}");
            let found = Problem::error(Rule::Auto, what)
                .at(place(key))
                .fix(all.take().unwrap_or(fix));
            problems.push(found.when(noticed(key, context)));
        }
    }
    for key in json::leaves(&resolved.config, is_auto) {
        let in_table = RULES.iter().any(|rule| rule.key == key);
        if !(in_table || by_nobody_else && deepspeed_knows_auto(&key)) {
            problems.push(nobody_fills(&key, place(&key), context));
        }
    }
    resolved.refusals = problems;
    resolved
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
        let key = rule.key;
        let mut leave = |why: &str| {
            self.left.push(LeftAuto {
                key: key.to_string(),
                why: why.to_string(),
            });
        };
        if let Some(why) = context.by_launcher.or_else(|| trainer.source_of_auto(key)) {
            leave(why);
            return Ok(());
        }
        let answer = if fills_alone(trainer) && rule.plain.is_none() {
            Err(Unfilled::deferred("nothing fills it in"))
        } else if trainer.fills_auto() {
            Err(Unfilled::deferred("the trainer does not"))
        } else {
            rule.value(context)
        };
        match answer {
            Ok(_) if context.no_fill => leave("--no-fill"),
            Ok(FilledValue {
                value,
                from,
                mut arguments,
            }) => {
                let argument = if arguments.len() == 1 {
                    arguments.pop()
                } else {
                    None
                };
                self.fills.push(Fill {
                    key,
                    value,
                    from,
                    argument,
                });
            }
            Err(Unfilled::Deferred(_)) if trainer.args_set_in_script() => {
                leave("set in the script");
            }
            Err(Unfilled::Deferred(why)) => leave(&why),
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
    use Severity::{Error, Warning};
    let AutoRule { key, doc, .. } = rule;
    let FilledValue {
        value: wanted,
        from,
        ..
    } = computed;
    let defaults: Vec<&TrainerDefault> = computed
        .arguments
        .iter()
        .filter_map(Source::trainer_default)
        .collect();
    let typed = as_typed(value, &place);
    let differs = format!("`{key}` is {typed} in the config, but");
    let (argument, computes) = match &computed.arguments[..] {
        [one] => (Place::from(one), format!("`{one}` makes it {wanted}")),
        _ => (
            Place::from(from),
            format!("the trainer computes {wanted} from {doc}"),
        ),
    };
    let names: Vec<String> = defaults
        .iter()
        .map(|default| format!("--{}", default.argument))
        .collect();
    let not_set = format!(
        "{} {} not set",
        names.join(" and "),
        if names.len() == 1 { "is" } else { "are" }
    );
    let by_default = format!("the trainer defaults to {wanted}");
    let doubt = computed.arguments.iter().find_map(Source::doubt);
    let (severity, rule, what) = match (doubt, defaults.iter().find_map(|default| default.unless)) {
        (Some(doubt), _) => (
            Warning,
            Rule::DoubtfulMismatch,
            format!("{computes} unless the script changes it ({doubt})"),
        ),
        _ if defaults.is_empty() => (Error, Rule::Mismatch, computes),
        (_, None) => (Error, Rule::Mismatch, format!("{by_default} ({not_set})")),
        (_, Some(unless)) => (
            Warning,
            Rule::DefaultMismatch,
            format!("{by_default} unless {unless} ({not_set})"),
        ),
    };
    let found = Problem {
        severity,
        ..Problem::error(rule, format!("{differs} {what}"))
    };
    found
        .at(place)
        .at(argument)
        .fix(mismatch_fixes(key, value, &typed, computed, context))
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
        let rule = RULES.iter().find(|rule| rule.key == "train_batch_size")?;
        let FilledValue {
            value,
            from,
            arguments,
        } = rule.value(&context.comparing()).ok()?;
        let unless = arguments
            .iter()
            .find_map(|from| from.doubt().or(from.trainer_default()?.unless));
        return Some((
            value,
            unless.map_or(from.clone(), |unless| format!("{from}, unless {unless}")),
        ));
    }
    let size = |key: &str| context.config.get(key).and_then(Value::as_u64);
    let world = context.topology.world_size.as_ref()?.value;
    let steps = size("gradient_accumulation_steps").unwrap_or(1);
    if ["sequence_parallel_size", "pipeline", "tensor_parallel"]
        .iter()
        .any(|key| context.config.get(key).is_some())
        || context.job.trainer.is_passthrough()
    {
        return None;
    }
    let micro = size("train_micro_batch_size_per_gpu")?;
    let whole = world.checked_mul(micro)?.checked_mul(steps)?;
    let agrees = size("train_batch_size").is_none_or(|said| said == whole);
    agrees.then(|| {
        (
            whole.into(),
            format!("{world} × {micro} × {steps} (the config)"),
        )
    })
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
    RULES.iter().any(|rule| rule.key == key) || deepspeed_knows_auto(key)
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
