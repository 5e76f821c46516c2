//! The types and ranges of the recorded file, and the values that DeepSpeed accepts for each.

use std::fmt;

use serde_json::Value;

use super::coercion::{can_be_int, count, is_true, is_whole, real, scale, truth, whole};
use crate::base::python_value::number;
use crate::base::recorded::Version;
use crate::config::tables::{Form, TYPES, UnknownKeys, ValueType};

/// DeepSpeed's models before this version are those of pydantic 1.
pub(super) const PYDANTIC_2: Version = Version([0, 15, 0]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueFault {
    Type,
    Value,
}

impl ValueType {
    /// `written`: as the file writes it, without marks.
    pub fn find(written: &str) -> Option<&'static Self> {
        TYPES.iter().find(|row| row.written == written)
    }

    pub(super) fn is_section(&self) -> bool {
        self.unknown_keys.is_some() || matches!(self.forms, [Form::Object | Form::Switched])
    }

    pub(super) fn is_model(&self) -> bool {
        let refuses = self
            .unknown_keys
            .filter(|keys| *keys != UnknownKeys::Ignored);
        refuses.is_some()
    }

    /// `a number from 0 to 1`
    pub(super) fn wanted(&self, range: ValueRange) -> String {
        let ValueRange::OneOf(list) = range else {
            return format!("{}{range}", self.name);
        };
        let form = if self.forms == [Form::Texts] {
            "a list of"
        } else {
            "one of"
        };
        format!("{form} {}", list.replace('|', ", "))
    }
}

/// The fault of a value that has none of these forms.
pub(super) fn fault(forms: &[Form], value: &Value, range: ValueRange) -> Option<ValueFault> {
    let mut found = Some(ValueFault::Type);
    for form in forms {
        match form.fault(value, range) {
            Some(ValueFault::Type) => {}
            Some(ValueFault::Value) => found = Some(ValueFault::Value),
            None => return None,
        }
    }
    found
}

impl Form {
    fn fault(self, value: &Value, range: ValueRange) -> Option<ValueFault> {
        let word = |text: &str| {
            let choices = range.choices();
            let is_other = choices.is_some_and(|choices| !choices.contains(&text));
            is_other.then_some(ValueFault::Value)
        };
        let text = |value: &Value| value.as_str().map_or(Some(ValueFault::Type), word);
        let fits = match self {
            Form::Int => return range.fault(whole(value)),
            Form::Float => return range.fault(real(value)),
            Form::Count => return range.fault(count(value)),
            Form::Scale => return range.fault(scale(value)),
            Form::CutInt if range.choices().is_some() => return range.fault(number(value)),
            Form::CutInt if value.is_string() => return range.fault(count(value)),
            Form::CutInt => return range.fault(number(value).map(f64::trunc)),
            Form::Interval => match value {
                Value::String(text) => return (text != "auto").then_some(ValueFault::Value),
                _ => return range.fault(whole(value)),
            },
            Form::Printable if value.is_number() || value.is_boolean() => range.choices().is_none(),
            Form::Text | Form::Printable => return text(value),
            Form::Word => {
                let lower = value.as_str().map(str::to_lowercase);
                return lower.map_or(Some(ValueFault::Type), |lower| word(&lower));
            }
            Form::Texts => match value {
                Value::Array(list) => return list.iter().find_map(text),
                _ => false,
            },
            Form::Names => match value {
                Value::Array(list) => list.iter().all(Value::is_string),
                _ => value.is_string() || value.is_object(),
            },
            Form::Iterable => match value {
                Value::Array(list) => !list.iter().any(|item| item == "throughput"),
                Value::String(text) => !text.contains("throughput"),
                _ => false,
            },
            Form::Anything | Form::Unread => true,
            Form::NotNull => !value.is_null(),
            Form::Auto => value == "auto",
            Form::Bool => truth(value).is_some(),
            Form::Boolean => value.is_boolean(),
            Form::Flag => value.is_boolean() || matches!(value.as_u64(), Some(0 | 1)),
            Form::Bits => value.is_boolean() || is_whole(value) || value.is_object(),
            Form::Truthy => is_true(value),
            Form::Falsy => !is_true(value),
            Form::CastInt => can_be_int(value),
            Form::PlainInt => is_whole(value),
            Form::PlainNumber => value.is_number(),
            Form::List => value.is_array(),
            Form::Object | Form::Section => value.is_object(),
            Form::Switched => value.get("enabled").is_some(),
            Form::Empty => value == "" || value.as_array().is_some_and(Vec::is_empty),
        };
        (!fits).then_some(ValueFault::Type)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRange {
    All,
    AtLeast(f64),
    Above(f64),
    /// Includes both ends.
    Within(f64, f64),
    /// Excludes both ends.
    Between(f64, f64),
    OneOf(&'static str),
}

impl ValueRange {
    /// `>=0`, `>0`, `0..1`, `(0..1)` or `a|b`.
    pub fn parse(text: &'static str) -> Option<Self> {
        if let Some(least) = text.strip_prefix(">=") {
            return least.parse().ok().map(ValueRange::AtLeast);
        }
        if let Some(least) = text.strip_prefix('>') {
            return least.parse().ok().map(ValueRange::Above);
        }
        if text.contains('|') {
            return Some(ValueRange::OneOf(text));
        }
        let inner = text.trim_start_matches('(').trim_end_matches(')');
        let (least, most) = inner.split_once("..")?;
        let least = least.parse().ok()?;
        let most = most.parse().ok()?;
        Some(if text.starts_with('(') {
            ValueRange::Between(least, most)
        } else {
            ValueRange::Within(least, most)
        })
    }

    pub(super) fn holds(self, number: f64) -> bool {
        match self {
            ValueRange::All => true,
            ValueRange::AtLeast(least) => number >= least,
            ValueRange::Above(least) => number > least,
            ValueRange::Within(least, most) => number >= least && number <= most,
            ValueRange::Between(least, most) => number > least && number < most,
            ValueRange::OneOf(list) => {
                let mut known = list
                    .split('|')
                    .filter_map(|choice| choice.parse::<f64>().ok());
                known.any(|known| (known - number).abs() < f64::EPSILON)
            }
        }
    }

    fn fault(self, number: Option<f64>) -> Option<ValueFault> {
        let Some(number) = number else {
            return Some(ValueFault::Type);
        };
        (!self.holds(number)).then_some(ValueFault::Value)
    }

    pub(super) fn choices(self) -> Option<Vec<&'static str>> {
        if let ValueRange::OneOf(list) = self {
            Some(list.split('|').collect())
        } else {
            None
        }
    }
}

/// Continues a sentence such as "a number".
impl fmt::Display for ValueRange {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            ValueRange::All | ValueRange::OneOf(_) => Ok(()),
            ValueRange::AtLeast(least) => write!(f, ", {least} or more"),
            ValueRange::Above(least) => write!(f, " above {least}"),
            ValueRange::Within(least, most) => write!(f, " from {least} to {most}"),
            ValueRange::Between(least, most) => write!(f, " between {least} and {most}, exclusive"),
        }
    }
}
