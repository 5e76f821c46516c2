//! The types and ranges of the recorded file, and the values that DeepSpeed accepts for each.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::{Deserialize, Serialize, de};
use serde_json::{Value, json};

use super::coercion::{can_be_int, count, is_true, real, scale, truth, whole};
use crate::base::python_value::number;
use crate::base::recorded::Version;

/// DeepSpeed's models before this version are those of pydantic 1.
pub(super) const PYDANTIC_2: Version = Version([0, 15, 0]);

/// What messages call the types, and their JSON Schemas.
pub(super) const TYPES: &str = include_str!("types.txt");

/// The type of a key's value, by its name in the file; `types.txt` says what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueType {
    Bool,
    Int,
    Float,
    Str,
    Any,
    Section,
    Model,
    Object,
    List,
    Path,
    Word,
    Count,
    Scale,
    Interval,
    Choices,
    Strings,
    #[serde(rename = "str|strings")]
    StrOrStrings,
    #[serde(rename = "auto|strings")]
    AutoOrStrings,
    Names,
    Flag,
    Bits,
    Truthy,
    CastInt,
    #[serde(rename = "none")]
    Nothing,
    #[serde(rename = "model|bool")]
    ModelOrBool,
    PlainModel,
    #[serde(rename = "section|falsy")]
    SectionOrFalsy,
    #[serde(rename = "section|iterable")]
    SectionOrIterable,
    Switched,
    Unread,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownKeys {
    /// They are refused, and an "auto" is dropped.
    Refused,
    /// They are refused, and an "auto" is a value like any other.
    RefusedPlainly,
    Ignored,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueFault {
    Type,
    Value,
}

impl ValueType {
    /// `text`: as the file writes it, without marks.
    pub fn parse(text: &str) -> Option<Self> {
        Self::deserialize(StrDeserializer::<de::value::Error>::new(text)).ok()
    }

    pub(super) fn policy(self) -> Option<UnknownKeys> {
        match self {
            ValueType::Model | ValueType::ModelOrBool => Some(UnknownKeys::Refused),
            ValueType::PlainModel => Some(UnknownKeys::RefusedPlainly),
            ValueType::Section | ValueType::SectionOrFalsy | ValueType::SectionOrIterable => {
                Some(UnknownKeys::Ignored)
            }
            _ => None,
        }
    }

    pub(super) fn is_section(self) -> bool {
        self.policy().is_some() || matches!(self, ValueType::Object | ValueType::Switched)
    }

    pub(super) fn is_model(self) -> bool {
        matches!(
            self,
            ValueType::Model | ValueType::ModelOrBool | ValueType::PlainModel
        )
    }

    pub(super) fn fault(self, value: &Value, range: ValueRange) -> Option<ValueFault> {
        let word = |word: &str| {
            range
                .choices()
                .is_some_and(|all| !all.contains(&word))
                .then_some(ValueFault::Value)
        };
        let fits = match self {
            ValueType::Int => return range.fault(whole(value)),
            ValueType::Float => return range.fault(real(value)),
            ValueType::Count => return range.fault(count(value)),
            ValueType::Scale => return range.fault(scale(value)),
            ValueType::Interval => match value {
                Value::String(text) => return (text != "auto").then_some(ValueFault::Value),
                _ => return range.fault(whole(value)),
            },
            ValueType::Str | ValueType::Path => {
                return value.as_str().map_or(Some(ValueFault::Type), word);
            }
            ValueType::Word => {
                return value
                    .as_str()
                    .map_or(Some(ValueFault::Type), |text| word(&text.to_lowercase()));
            }
            ValueType::Choices => {
                let Value::Array(list) = value else {
                    return Some(ValueFault::Type);
                };
                return list
                    .iter()
                    .find_map(|item| item.as_str().map_or(Some(ValueFault::Type), word));
            }
            ValueType::Any | ValueType::Unread => true,
            ValueType::Nothing => false,
            ValueType::Switched => value.get("enabled").is_some(),
            ValueType::Bool => truth(value).is_some(),
            ValueType::Flag => is_flag(value),
            ValueType::Bits => {
                value.is_boolean() || value.is_i64() || value.is_u64() || value.is_object()
            }
            ValueType::Truthy => is_true(value),
            ValueType::CastInt => can_be_int(value),
            ValueType::List => value.is_array(),
            ValueType::Strings => are_texts(value),
            ValueType::StrOrStrings => value.is_string() || are_texts(value),
            ValueType::AutoOrStrings => *value == "auto" || are_texts(value),
            ValueType::Names => value.is_string() || value.is_object() || are_texts(value),
            ValueType::Object | ValueType::Model | ValueType::PlainModel | ValueType::Section => {
                value.is_object()
            }
            ValueType::ModelOrBool => value.is_object() || value.is_boolean(),
            ValueType::SectionOrFalsy => value.is_object() || !is_true(value),
            ValueType::SectionOrIterable => match value {
                Value::Array(list) => !list.iter().any(|item| item == "throughput"),
                Value::String(text) => !text.contains("throughput"),
                other => other.is_object(),
            },
        };
        (!fits).then_some(ValueFault::Type)
    }

    /// The judgement of pydantic 1 on a value that is not null, in a field of a model.
    pub(super) fn fault_of_pydantic1(self, value: &Value, range: ValueRange) -> Option<ValueFault> {
        let is_enum = matches!(range, ValueRange::OneOf(_));
        let is_empty = *value == "" || value.as_array().is_some_and(Vec::is_empty);
        let fits = match self {
            // An enum is looked up by its value, without a coercion.
            ValueType::Int if is_enum => return range.fault(number(value)),
            ValueType::Int if value.is_string() => return range.fault(count(value)),
            // Python's `int` cuts fractions off.
            ValueType::Int => return range.fault(number(value).map(f64::trunc)),
            ValueType::Str if !is_enum => {
                value.is_string() || value.is_number() || value.is_boolean()
            }
            // `dict(value)` is tried.
            ValueType::Object | ValueType::Model => value.is_object() || is_empty,
            other => return other.fault(value, range),
        };
        (!fits).then_some(ValueFault::Type)
    }

    /// `a number from 0 to 1`
    pub(super) fn wanted(self, range: ValueRange) -> String {
        if let ValueRange::OneOf(list) = range {
            let form = if self == ValueType::Choices {
                "a list of"
            } else {
                "one of"
            };
            return format!("{form} {}", list.replace('|', ", "));
        }
        format!("{}{range}", self.row().0)
    }

    /// Its name in messages, and its JSON Schemas as a list.
    pub(super) fn row(self) -> (&'static str, &'static str) {
        let name = json!(self);
        let mut rows = TYPES.lines().filter_map(|line| line.split_once('\t'));
        let row = rows
            .find(|(known, _)| name == *known)
            .and_then(|(_, row)| row.split_once('\t'));
        row.unwrap_or_default()
    }
}

/// A bool without coercion. Python's 0 and 1 count as bools.
pub(super) fn is_flag(value: &Value) -> bool {
    value.is_boolean() || matches!(value.as_u64(), Some(0 | 1))
}

fn are_texts(value: &Value) -> bool {
    value
        .as_array()
        .is_some_and(|list| list.iter().all(Value::is_string))
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
        let inner = text
            .strip_prefix('(')
            .and_then(|text| text.strip_suffix(')'));
        let (least, most) = inner.unwrap_or(text).split_once("..")?;
        let (least, most) = (least.parse().ok()?, most.parse().ok()?);
        Some(if inner.is_some() {
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
