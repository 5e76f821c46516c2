//! Places: where the cause of a problem is.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::base::source::{Source, Sourced};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A file, with line and column where they are known.
    File { path: PathBuf, at: Option<(usize, usize)> },
    /// A key of a template, of a file, or of a config that is in no file.
    Key { of: String, key: String },
    /// An option with its value: of zlaunch, of the trainer, or of the launcher in the command. In a run file it is
    /// spelled without dashes.
    Option { name: String, value: Option<String> },
    /// An environment variable.
    Variable { name: String, value: Option<String> },
    /// A word of the command, or the name of a thing that is neither of these.
    Word(String),
}

impl Place {
    pub(crate) fn at(path: impl Into<PathBuf>, (line, column): (usize, usize)) -> Self {
        Place::File { path: path.into(), at: Some((line, column)) }
    }

    pub(crate) fn key(of: impl fmt::Display, key: &str) -> Self {
        Place::Key { of: of.to_string(), key: key.to_string() }
    }

    pub(crate) fn option(name: impl Into<String>, value: impl Into<String>) -> Self {
        Place::Option { name: name.into(), value: Some(value.into()).filter(|value: &String| !value.is_empty()) }
    }

    pub(crate) fn variable(name: impl Into<String>, value: impl Into<String>) -> Self {
        Place::Variable { name: name.into(), value: Some(value.into()) }
    }

    pub(crate) fn unset_variable(name: impl Into<String>) -> Self {
        Place::Variable { name: name.into(), value: None }
    }

    pub(crate) fn json(&self) -> Value {
        match self {
            Place::File { path, at: Some((line, column)) } => {
                json!({"file": path.display().to_string(), "line": line, "column": column})
            }
            Place::File { path, at: None } => json!({"file": path.display().to_string()}),
            Place::Key { of, key } => json!({"key": key, "of": of}),
            Place::Option { name, value: Some(value) } => json!({"option": name, "value": value}),
            Place::Option { name, value: None } => json!({"option": name}),
            Place::Variable { name, value: Some(value) } => json!({"variable": name, "value": value}),
            Place::Variable { name, value: None } => json!({"variable": name}),
            Place::Word(word) => json!({"word": word}),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File { path, at: Some((line, column)) } => write!(f, "{}:{line}:{column}", path.display()),
            Place::File { path, at: None } => write!(f, "{}", path.display()),
            Place::Key { of, key } => write!(f, "{of}, {key}"),
            Place::Option { name, value: Some(value) } if name.starts_with('-') => write!(f, "{name} {value}"),
            Place::Option { name, value: Some(value) } => write!(f, "{name}: {value}"),
            Place::Variable { name, value: Some(value) } => write!(f, "{name}={value}"),
            Place::Option { name, value: None } | Place::Variable { name, value: None } => f.write_str(name),
            Place::Word(word) => f.write_str(word),
        }
    }
}

impl From<&str> for Place {
    fn from(word: &str) -> Self {
        Place::Word(word.to_string())
    }
}

impl From<String> for Place {
    fn from(word: String) -> Self {
        Place::Word(word)
    }
}

impl From<&String> for Place {
    fn from(word: &String) -> Self {
        Place::Word(word.clone())
    }
}

impl From<&Path> for Place {
    fn from(path: &Path) -> Self {
        Place::File { path: path.to_path_buf(), at: None }
    }
}

impl From<&PathBuf> for Place {
    fn from(path: &PathBuf) -> Self {
        Place::from(path.as_path())
    }
}

impl From<std::path::Display<'_>> for Place {
    fn from(path: std::path::Display<'_>) -> Self {
        Place::from(Path::new(&path.to_string()))
    }
}

/// The source alone, without its value.
impl From<&Source> for Place {
    fn from(source: &Source) -> Self {
        match source {
            Source::Flag(name) | Source::Argument(name) => Place::Option { name: name.clone(), value: None },
            Source::Doubtful(doubtful) => Place::Option { name: doubtful.argument.clone(), value: None },
            Source::Variable(name) => Place::unset_variable(name),
            other => Place::Word(other.to_string()),
        }
    }
}

impl<T: fmt::Display> From<&Sourced<T>> for Place {
    fn from(Sourced { value, from }: &Sourced<T>) -> Self {
        match from {
            Source::Flag(name) | Source::Argument(name) => Place::option(name, value.to_string()),
            Source::Variable(name) => Place::variable(name, value.to_string()),
            other => Place::from(other),
        }
    }
}

impl<T: fmt::Display> From<&&Sourced<T>> for Place {
    fn from(sourced: &&Sourced<T>) -> Self {
        Place::from(*sourced)
    }
}
