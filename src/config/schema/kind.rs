//! The types and ranges that the recorded file knows, and what DeepSpeed takes for a value of each.

use std::fmt;

use serde_json::Value;

use super::{Fault, Policy, can_be_int, count, is_true, real, scale, truth, whole};

/// What a key takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
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
    /// Text in any case.
    Word,
    /// fp16's counts, which its validator reads.
    Count,
    /// fp16's `loss_scale`.
    Scale,
    /// "auto" or an int.
    Interval,
    /// A list of words.
    Choices,
    Strings,
    StrOrStrings,
    AutoOrStrings,
    /// Iterated over: characters and keys are names too.
    Names,
    /// Looked up in `[True, False]`.
    Flag,
    /// Read by `one | other`.
    Bits,
    Truthy,
    /// Handed to Python's `int`.
    CastInt,
    /// An object of Python's.
    Nothing,
    ModelOrBool,
    SectionOrFalsy,
    SectionOrIterable,
}

impl Kind {
    /// As the file writes it, without marks. The frequent ones come first: every key of a config is read at every launch.
    pub(super) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "bool" => Kind::Bool,
            "int" => Kind::Int,
            "float" => Kind::Float,
            "str" => Kind::Str,
            "any" => Kind::Any,
            "section" => Kind::Section,
            "model" => Kind::Model,
            "object" => Kind::Object,
            "list" => Kind::List,
            "path" => Kind::Path,
            "word" => Kind::Word,
            "count" => Kind::Count,
            "scale" => Kind::Scale,
            "interval" => Kind::Interval,
            "choices" => Kind::Choices,
            "strings" => Kind::Strings,
            "str|strings" => Kind::StrOrStrings,
            "auto|strings" => Kind::AutoOrStrings,
            "names" => Kind::Names,
            "flag" => Kind::Flag,
            "bits" => Kind::Bits,
            "truthy" => Kind::Truthy,
            "castint" => Kind::CastInt,
            "none" => Kind::Nothing,
            "model|bool" => Kind::ModelOrBool,
            "section|falsy" => Kind::SectionOrFalsy,
            "section|iterable" => Kind::SectionOrIterable,
            _ => return None,
        })
    }

    /// What a section of known keys does with others; `strict_since`: a model refuses them since then.
    pub(super) fn policy(self, strict_since: Option<[u32; 3]>) -> Option<Policy> {
        match self {
            Kind::Model | Kind::ModelOrBool => Some(Policy::Strict(strict_since)),
            Kind::Section | Kind::SectionOrFalsy | Kind::SectionOrIterable => Some(Policy::Loose),
            _ => None,
        }
    }

    /// What is wrong with a value that is not null.
    pub(super) fn fault(self, value: &Value, range: Range) -> Option<Fault> {
        let number = |read: Option<f64>| match read {
            Some(number) => (!range.holds(number)).then_some(Fault::Value),
            None => Some(Fault::Type),
        };
        let word = |word: &str| (!range.lists(word)).then_some(Fault::Value);
        let fits = match self {
            Kind::Int => return number(whole(value)),
            Kind::Float => return number(real(value)),
            Kind::Count => return number(count(value)),
            Kind::Scale => return number(scale(value)),
            Kind::Interval => match value {
                Value::String(text) => return (text != "auto").then_some(Fault::Value),
                _ => return number(whole(value)),
            },
            Kind::Str | Kind::Path => return value.as_str().map_or(Some(Fault::Type), word),
            Kind::Word => return value.as_str().map_or(Some(Fault::Type), |text| word(&text.to_lowercase())),
            Kind::Choices => match value {
                Value::Array(list) => {
                    return list.iter().find_map(|item| item.as_str().map_or(Some(Fault::Type), word));
                }
                _ => false,
            },
            Kind::Any => true,
            Kind::Nothing => false,
            Kind::Bool => truth(value).is_some(),
            Kind::Flag => is_flag(value),
            Kind::Bits => value.is_boolean() || value.is_i64() || value.is_u64() || value.is_object(),
            Kind::Truthy => is_true(value),
            Kind::CastInt => can_be_int(value),
            Kind::List => value.is_array(),
            Kind::Strings => are_texts(value),
            Kind::StrOrStrings => value.is_string() || are_texts(value),
            Kind::AutoOrStrings => *value == "auto" || are_texts(value),
            Kind::Names => value.is_string() || value.is_object() || are_texts(value),
            Kind::Object | Kind::Model | Kind::Section => value.is_object(),
            Kind::ModelOrBool => value.is_object() || value.is_boolean(),
            Kind::SectionOrFalsy => value.is_object() || !is_true(value),
            Kind::SectionOrIterable => match value {
                Value::Array(list) => !list.iter().any(|item| item == "throughput"),
                Value::String(text) => !text.contains("throughput"),
                other => other.is_object(),
            },
        };
        (!fits).then_some(Fault::Type)
    }

    /// What it takes, in words.
    pub(super) fn wanted(self, range: Range) -> String {
        if let Range::OneOf(list) = range {
            let form = if self == Kind::Choices { "a list of" } else { "one of" };
            return format!("{form} {}", list.replace('|', ", "));
        }
        let text = match self {
            Kind::Int | Kind::Count | Kind::CastInt => return format!("a whole number{range}"),
            Kind::Float | Kind::Scale => return format!("a number{range}"),
            Kind::Interval => return format!("\"auto\" or a whole number{range}"),
            Kind::Str | Kind::Word => "text",
            Kind::Path => "a path",
            Kind::Bool | Kind::Flag | Kind::Bits => "true or false",
            Kind::List => "a list",
            Kind::Strings | Kind::Names | Kind::Choices => "a list of texts",
            Kind::StrOrStrings => "a text or a list of texts",
            Kind::AutoOrStrings => "\"auto\" or a list of texts",
            Kind::Truthy => "a text that is not empty",
            Kind::Nothing => "nothing that JSON can say",
            Kind::Any
            | Kind::Object
            | Kind::Model
            | Kind::ModelOrBool
            | Kind::Section
            | Kind::SectionOrFalsy
            | Kind::SectionOrIterable => "an object",
        };
        text.to_string()
    }
}

/// A bool without coercion; Python's 0 and 1 are as good.
pub(super) fn is_flag(value: &Value) -> bool {
    value.is_boolean() || matches!(value.as_u64(), Some(0 | 1))
}

fn are_texts(value: &Value) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(Value::is_string))
}

/// Which values of its type a key takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Range {
    All,
    AtLeast(f64),
    Above(f64),
    /// With both ends.
    Within(f64, f64),
    /// Without either.
    Between(f64, f64),
    /// Words or numbers, as the file writes them.
    OneOf(&'static str),
}

impl Range {
    /// `>=0`, `>0`, `0..1`, `(0..1)` or `a|b`.
    pub(super) fn parse(text: &'static str) -> Option<Self> {
        if let Some(least) = text.strip_prefix(">=") {
            return least.parse().ok().map(Range::AtLeast);
        }
        if let Some(least) = text.strip_prefix('>') {
            return least.parse().ok().map(Range::Above);
        }
        if text.contains('|') {
            return Some(Range::OneOf(text));
        }
        let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
        let (least, most) = inner.unwrap_or(text).split_once("..")?;
        let (least, most) = (least.parse().ok()?, most.parse().ok()?);
        Some(if inner.is_some() { Range::Between(least, most) } else { Range::Within(least, most) })
    }

    fn holds(self, number: f64) -> bool {
        match self {
            Range::All => true,
            Range::AtLeast(least) => number >= least,
            Range::Above(least) => number > least,
            Range::Within(least, most) => number >= least && number <= most,
            Range::Between(least, most) => number > least && number < most,
            Range::OneOf(list) => {
                let is_it = |choice: &str| choice.parse::<f64>().is_ok_and(|it| (it - number).abs() < f64::EPSILON);
                list.split('|').any(is_it)
            }
        }
    }

    fn lists(self, word: &str) -> bool {
        match self {
            Range::OneOf(list) => list.split('|').any(|choice| choice == word),
            Range::All | Range::AtLeast(_) | Range::Above(_) | Range::Within(..) | Range::Between(..) => true,
        }
    }
}

/// As it follows "a number".
impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Range::All | Range::OneOf(_) => Ok(()),
            Range::AtLeast(least) => write!(f, ", {least} or more"),
            Range::Above(least) => write!(f, " above {least}"),
            Range::Within(least, most) => write!(f, " from {least} to {most}"),
            Range::Between(least, most) => write!(f, " between {least} and {most}, neither of them"),
        }
    }
}
