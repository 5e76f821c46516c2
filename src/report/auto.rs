//! Sentences about what "auto" becomes, and where both sides disagree.

use serde_json::Value;

use super::problem::Problem;
use super::rule::Rule;
use crate::base::source::TrainerDefault;

/// A key of the config that has another value than the trainer computes.
pub(crate) struct Mismatch<'a> {
    pub(crate) key: &'a str,
    /// What the trainer computes it from.
    pub(crate) doc: &'a str,
    pub(crate) value: &'a Value,
    pub(crate) place: &'a str,
    pub(crate) wanted: &'a Value,
    pub(crate) from: String,
    /// Why the trainer may get another argument than the one that is given.
    pub(crate) doubt: Option<&'a str>,
    /// The arguments that are not given, where a default counts.
    pub(crate) defaults: Vec<&'a TrainerDefault>,
}

impl Mismatch<'_> {
    pub(crate) fn problem(&self) -> Problem {
        let Mismatch { key, doc, defaults, .. } = self;
        let (value, wanted) = (typed(self.value), typed(self.wanted));
        let differs = format!("`{key}` is {value} in the config, but the trainer");
        let names: Vec<String> = defaults.iter().map(|default| format!("--{}", default.argument)).collect();
        let names = format!("{} {} not given", names.join(" and "), if names.len() == 1 { "is" } else { "are" });
        let found = match defaults.iter().find_map(|default| default.unless) {
            _ if let Some(doubt) = self.doubt => {
                let unless = format!("unless the script changes that ({doubt})");
                Problem::warning(Rule::DoubtfulMismatch, format!("{differs} computes {wanted} from {doc}, {unless}"))
            }
            _ if defaults.is_empty() => {
                Problem::error(Rule::Mismatch, format!("{differs} computes {wanted} from {doc}"))
            }
            None => Problem::error(Rule::Mismatch, format!("{differs} takes {wanted} by default: {names}")),
            Some(unless) => {
                Problem::warning(Rule::DefaultMismatch, format!("{differs} takes {wanted} unless {unless}: {names}"))
            }
        };
        found.at(self.place).at(&self.from).help(self.help())
    }

    fn help(&self) -> String {
        let key = self.key;
        let text = self.value.as_str().and_then(|text| serde_json::from_str::<Value>(text.trim()).ok());
        let unquoted = text.filter(Value::is_number);
        if let Some(number) = unquoted.as_ref().filter(|number| *number == self.wanted) {
            return format!("--set {key}={number} (numbers are written without quotes), or --set {key}=auto");
        }
        let advice = match (self.value, &self.defaults[..]) {
            // Not of a product or a list, which have other parts too.
            (value, [TrainerDefault { argument, unless: None, .. }])
                if key != "train_batch_size" && !value.is_array() =>
            {
                let number = unquoted.as_ref().map(|number| format!("--set {key}={number} and ")).unwrap_or_default();
                format!("{number}give the trainer --{argument} {}", unquoted.as_ref().unwrap_or(value))
            }
            _ => "make both sides equal".to_string(),
        };
        format!("--set {key}=auto, or {advice}")
    }
}

pub(crate) fn nobody_fills(key: &str, place: &str) -> Problem {
    let what = format!("`{key}` cannot be \"auto\": neither zlaunch nor the trainer fills that key");
    Problem::error(Rule::Auto, what).at(place).help(format!("--set {key}=VALUE, or --unset {key}"))
}

pub(crate) fn left_for_nobody(key: &str, place: &str, why: &str, example: &str) -> Problem {
    Problem::error(Rule::Auto, format!("`{key}` is \"auto\", and plain DeepSpeed does not fill it: {why}"))
        .at(place)
        .help(format!("--set {key}={example}"))
}

/// A JSON value with its Python type, since `"8"` and `8` print alike.
pub(crate) fn typed(value: &Value) -> String {
    let kind = match value {
        Value::Null => "None",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "int",
        Value::String(_) => "str",
        Value::Array(_) => "list",
        Value::Object(_) => "dict",
    };
    format!("{value} ({kind})")
}
