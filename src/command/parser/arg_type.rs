//! The type of an argument, and which values its parser rejects.

use super::versions::Versions;
use crate::base::python_value;
use crate::base::recorded::at;
use crate::command::argument_class::{ArgumentClass, GONE};
use crate::command::argv::hf_bool;
use crate::report::Wanted;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Rejection {
    Unknown,
    /// It abbreviates all of these.
    Ambiguous(Vec<&'static str>),
    NoValue(ArgType),
    WrongValue(String, ArgType),
    /// It takes only the first of these words.
    Leftover(Vec<String>),
}

/// As the recorder writes it (`tools/record/arguments.py`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArgType {
    Gone,
    Text,
    Int,
    Float,
    /// `alone`: without a value it means true. `negative`: there is `--no_NAME` too.
    Bool {
        alone: bool,
        negative: bool,
    },
    /// `a|b`.
    OneOf(&'static str),
    /// A member of this class of transformers, which looks it up wherever it comes from.
    MemberOf(&'static str),
    /// Several words, of the type that is written here.
    Several(&'static str),
    /// A mapping or an object: argparse rejects every word.
    Mapping,
    Anything,
}

impl ArgType {
    pub(super) fn parse(written: &'static str) -> Self {
        match written {
            GONE => ArgType::Gone,
            "str" => ArgType::Text,
            "int" => ArgType::Int,
            "float" => ArgType::Float,
            "bool" => ArgType::Bool {
                alone: true,
                negative: false,
            },
            "bool!" => ArgType::Bool {
                alone: true,
                negative: true,
            },
            "bool?" => ArgType::Bool {
                alone: false,
                negative: false,
            },
            "!" => ArgType::Mapping,
            "?" => ArgType::Anything,
            _ => match written.split_at(1) {
                ("|", choices) => ArgType::OneOf(choices),
                ("+", of) => ArgType::Several(of),
                _ => ArgType::MemberOf(written),
            },
        }
    }

    pub(super) fn is_gone(self) -> bool {
        self == ArgType::Gone
    }

    pub(crate) fn is_number(self) -> bool {
        matches!(self, ArgType::Int | ArgType::Float)
    }

    pub(crate) fn is_mapping(self) -> bool {
        self == ArgType::Mapping
    }

    fn of_word(self) -> Self {
        if let ArgType::Several(of) = self {
            ArgType::parse(of)
        } else {
            self
        }
    }

    /// Values beyond the first are not for this option, unless it takes several.
    pub(super) fn rejection(self, values: &[&str], versions: &Versions) -> Option<Rejection> {
        if values.is_empty() {
            let alone = matches!(self, ArgType::Bool { alone: true, .. } | ArgType::Anything);
            return (!alone).then_some(Rejection::NoValue(self));
        }
        let own = if matches!(self, ArgType::Several(_)) {
            values
        } else {
            &values[..1]
        };
        // A shell or a template engine puts another value there.
        if !self.is_mapping() && own.iter().any(|value| value.contains(['$', '`', '{', '<'])) {
            return None;
        }
        let wrong = own
            .iter()
            .find(|value| !self.of_word().accepts(value, versions));
        let wrong = wrong.map(|value| Rejection::WrongValue((*value).to_string(), self));
        // A space is a mistake of another kind.
        let is_over =
            own.len() < values.len() && self != ArgType::Anything && !values[1].trim().is_empty();
        wrong.or_else(|| {
            is_over.then(|| Rejection::Leftover(values.iter().map(ToString::to_string).collect()))
        })
    }

    fn accepts(self, value: &str, versions: &Versions) -> bool {
        match self {
            ArgType::Text | ArgType::Anything | ArgType::Several(_) => true,
            ArgType::Gone | ArgType::Mapping => false,
            ArgType::Int => python_value::large_int(value).is_some(),
            ArgType::Float => python_value::float(value).is_some(),
            ArgType::Bool { .. } => hf_bool(value).is_some(),
            ArgType::OneOf(choices) => choices.split('|').any(|choice| choice == value),
            ArgType::MemberOf(class) => is_member(class, value, versions),
        }
    }

    pub(crate) fn choices(self, versions: &Versions) -> Vec<&'static str> {
        match self.of_word() {
            ArgType::OneOf(choices) => choices.split('|').collect(),
            ArgType::MemberOf(class) => choices_of(class)
                .names()
                .filter(|choice| is_member(class, choice, versions))
                .collect(),
            _ => Vec::new(),
        }
    }

    pub(crate) fn wanted<'a>(self, choices: &'a [&'a str]) -> Wanted<'a> {
        match self.of_word() {
            ArgType::Int => Wanted::Int,
            ArgType::Float => Wanted::Number,
            ArgType::Bool { .. } => Wanted::Bool,
            ArgType::Mapping => Wanted::Mapping,
            _ if choices.is_empty() => Wanted::Text,
            _ => Wanted::OneOf(choices),
        }
    }
}

fn is_member(class: &'static str, value: &str, versions: &Versions) -> bool {
    let Some(history) = choices_of(class).row(value) else {
        return false;
    };
    versions.is_any("transformers")
        || versions
            .each(|of| at(history, of("transformers")))
            .contains(&Some("+"))
}

fn choices_of(name: &'static str) -> ArgumentClass {
    ArgumentClass {
        distribution: "transformers",
        name,
    }
}
