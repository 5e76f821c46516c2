//! The names of the environment variables that zlaunch reads or sets.

use std::borrow::Cow;

use super::tables::vars::VARS;

#[cfg(feature = "testing")]
pub use super::tables::var_names::NAMES;
pub use super::tables::var_names::*;
pub use super::tables::vars::READS;

/// Variables that one sentence is about.
#[derive(Clone)]
pub struct Var {
    pub names: Vec<Cow<'static, str>>,
    /// `reads`, `sets`.
    pub does: &'static str,
    pub about: &'static str,
}

impl Var {
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(Cow::as_ref)
    }

    pub fn is_called(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }
}

/// The variables that are not only an engine's.
pub fn of_no_engine() -> Vec<Var> {
    VARS.iter()
        .map(|row| Var {
            names: row.names.iter().copied().map(Cow::from).collect(),
            does: row.does,
            about: row.about,
        })
        .collect()
}

/// A word of the list that ends with `_` is a prefix.
pub fn lists(list: &str, name: &str) -> bool {
    list.split(' ')
        .any(|known| name == known || known.ends_with('_') && name.starts_with(known))
}

/// A name that a shell can `export`.
pub fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
