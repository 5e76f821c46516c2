//! What one argument takes, as the table writes it.

use super::table::{self, GONE};
use super::versions::Versions;
use crate::base::python_value;
use crate::command::argv::hf_bool;
use crate::command::defaults::ArgumentClass;

/// What a parser refuses.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No option has this name.
    Unknown,
    /// Several options start like this.
    Ambiguous(Vec<&'static str>),
    /// Nothing stands behind it.
    NoValue(Kind),
    /// A word that stands behind it.
    WrongValue(String, Kind),
}

/// A mapping or an object: argparse refuses every word.
const NO_WORD: &str = "!";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind(pub(super) &'static str);

impl Fault {
    pub(super) fn is_about(&self, kind: Kind) -> bool {
        matches!(self, Fault::NoValue(of) | Fault::WrongValue(_, of) if *of == kind)
    }
}

impl Kind {
    pub(super) const GONE: Kind = Kind(GONE);
    const MEMBER: &'static str = "+";

    pub(super) fn is_gone(self) -> bool {
        self == Self::GONE
    }

    /// Whether transformers looks it up in a class of choices, wherever it comes from.
    pub(super) fn is_looked_up(self) -> bool {
        self.0.starts_with(|c: char| c.is_ascii_uppercase())
    }

    pub(crate) fn is_number(self) -> bool {
        matches!(self.0, "int" | "float")
    }

    pub(crate) fn is_mapping(self) -> bool {
        self.0 == NO_WORD
    }

    pub(crate) fn is_bool(self) -> bool {
        matches!(self.0, "bool" | "bool!" | "bool?")
    }

    pub(super) fn has_negative(self) -> bool {
        self.0 == "bool!"
    }

    /// What argparse refuses about these values. Those beyond the first are not for it, unless it takes several.
    pub(super) fn fault(self, values: &[&str], versions: Option<&Versions>) -> Option<Fault> {
        let several = self.0.starts_with('+');
        let count = if several { values.len() } else { values.len().min(1) };
        if values.is_empty() {
            let alone = matches!(self.0, "bool" | "bool!" | "?");
            return (!alone).then_some(Fault::NoValue(self));
        }
        // Something else puts a value there.
        if self.0 != NO_WORD && values[..count].iter().any(|value| value.contains(['$', '`', '{', '<'])) {
            return None;
        }
        let wrong = values[..count].iter().find(|value| !self.accepts(value, versions));
        wrong.map(|value| Fault::WrongValue((*value).to_string(), self))
    }

    fn accepts(self, value: &str, versions: Option<&Versions>) -> bool {
        match self.0.trim_start_matches('+') {
            "str" | "?" => true,
            "-" | NO_WORD => false,
            "int" => python_value::large_int(value).is_some(),
            "float" => python_value::float(value).is_some(),
            "bool" | "bool!" | "bool?" => hf_bool(value).is_some(),
            choices if choices.starts_with('|') => choices[1..].split('|').any(|choice| choice == value),
            class => is_member(class, value, versions),
        }
    }

    /// The values it takes, if they can be counted.
    pub(crate) fn choices(self, versions: &Versions) -> Vec<&'static str> {
        match self.0.trim_start_matches('+') {
            choices if choices.starts_with('|') => choices[1..].split('|').collect(),
            class if class.starts_with(|c: char| c.is_ascii_uppercase()) => {
                table::names(choices_of(class)).filter(|choice| is_member(class, choice, Some(versions))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// What it wants, and an example.
    pub(crate) fn wanted(self) -> (&'static str, &'static str) {
        match self.0.trim_start_matches('+') {
            "int" => ("an integer", "4"),
            "float" => ("a number", "1e-5"),
            "bool" | "bool!" | "bool?" => ("true or false", "true"),
            "str" => ("a value", "VALUE"),
            NO_WORD => ("a mapping, which no word makes", ""),
            _ => ("one of", ""),
        }
    }
}

/// Whether a class of choices has this one in a version that counts; without versions, in all there are.
fn is_member(class: &'static str, value: &str, versions: Option<&Versions>) -> bool {
    let Some(history) = table::row(choices_of(class), value) else { return false };
    let Some(versions) = versions else { return table::is_constant(history) };
    if versions.is_any("transformers") {
        return true;
    }
    versions.each(|at| table::at(history, at("transformers"))).contains(&Kind::MEMBER)
}

fn choices_of(name: &'static str) -> ArgumentClass {
    ArgumentClass { distribution: "transformers", name }
}
