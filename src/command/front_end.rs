//! What the files in `trainer/` find out about a command, beside its arguments.

use crate::{base::source::Sourced, command::argv::ArgumentError};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ranks {
    Single,
    /// This plan executes a launcher.
    Launched,
    /// This process is one of them.
    Existing,
}

/// On or off, and the argument that says so; nothing where the arguments do not tell.
pub type Precision = Result<Option<Sourced<bool>>, ArgumentError>;

#[derive(Clone, Debug, PartialEq)]
pub struct NoConfig {
    pub why: String,
    pub help: String,
}

impl NoConfig {
    pub fn new(why: impl Into<String>, help: impl Into<String>) -> Self {
        NoConfig {
            why: why.into(),
            help: help.into(),
        }
    }
}

/// A variable that a front end sets, even where the user has set it.
#[derive(Clone, PartialEq)]
pub struct Variable {
    pub name: String,
    pub value: String,
    pub why: String,
}

impl Variable {
    pub fn new(name: impl Into<String>, value: impl Into<String>, why: impl Into<String>) -> Self {
        Variable {
            name: name.into(),
            value: value.into(),
            why: why.into(),
        }
    }
}
