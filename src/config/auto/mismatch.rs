//! A key of the config that has another value than the trainer computes.

use serde_json::Value;

use super::context::FilledValue;
use super::rules::AutoRule;
use crate::base::source::TrainerDefault;
use crate::config::places::as_typed;
use crate::report::fix::{Fixes, give, set, set_json};
use crate::report::{Place, Problem, Rule};

pub(super) fn problem(rule: &AutoRule, value: &Value, place: Place, computed: &FilledValue) -> Problem {
    let AutoRule { key, doc, .. } = rule;
    let FilledValue { value: wanted, from, .. } = computed;
    let defaults: Vec<&TrainerDefault> = computed.defaults().collect();
    let typed = as_typed(value, &place);
    let differs = format!("`{key}` is {typed} in the config, but the trainer");
    let names: Vec<String> = defaults.iter().map(|default| format!("--{}", default.argument)).collect();
    let not_given = format!("{} {} not given", names.join(" and "), if names.len() == 1 { "is" } else { "are" });
    let found = match (computed.doubt(), defaults.iter().find_map(|default| default.unless)) {
        (Some(doubt), _) => {
            let unless = format!("unless the script changes that ({doubt})");
            Problem::warning(Rule::DoubtfulMismatch, format!("{differs} computes {wanted} from {doc}, {unless}"))
        }
        _ if defaults.is_empty() => Problem::error(Rule::Mismatch, format!("{differs} computes {wanted} from {doc}")),
        (_, None) => Problem::error(Rule::Mismatch, format!("{differs} takes {wanted} by default: {not_given}")),
        (_, Some(unless)) => {
            let what = format!("{differs} takes {wanted} unless {unless}: {not_given}");
            Problem::warning(Rule::DefaultMismatch, what)
        }
    };
    let argument = match &computed.arguments[..] {
        [one] => Place::from(one),
        _ => Place::from(from),
    };
    found.at(place).at(argument).fix(fixes(key, value, &typed, wanted, &defaults))
}

fn fixes(key: &str, value: &Value, typed: &str, wanted: &Value, defaults: &[&TrainerDefault]) -> Fixes {
    let text = value.as_str().and_then(|text| serde_json::from_str::<Value>(text.trim()).ok());
    let unquoted = text.filter(Value::is_number);
    if let Some(number) = unquoted.as_ref().filter(|number| *number == wanted) {
        return set_json(key, number).remark("numbers have no quotes").safe().or(set(key, "auto"));
    }
    let is_taken = unquoted.is_some() || !value.is_array() && !value.is_string();
    let other = match defaults {
        // Not of a product or a list, which have other parts too.
        [TrainerDefault { argument, unless: None, .. }] if key != "train_batch_size" && is_taken => {
            let argument = give(format!("--{argument}"), typed.trim_matches('"'));
            match &unquoted {
                Some(number) => set_json(key, number).and(argument).remark("the second for the trainer"),
                None => argument.remark("for the trainer"),
            }
            .into()
        }
        _ => Fixes::from("make both sides equal"),
    };
    set(key, "auto").or(other)
}
