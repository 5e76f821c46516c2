//! Places: where the cause of a problem is. As JSON, a place has the names of these fields.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

use crate::base::source::{Source, Sourced};

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub enum Place {
    Line {
        #[serde(serialize_with = "lossy")]
        file: PathBuf,
        line: usize,
        column: usize,
    },
    File {
        #[serde(serialize_with = "lossy")]
        file: PathBuf,
    },
    /// A key of a template, or of a config that is in no file.
    Key { key: String, of: String },
    /// An option of zlaunch, of the trainer, or of the launcher in the command. In a run file it has no dashes.
    Option {
        option: String,
        #[serde(skip_serializing_if = "String::is_empty")]
        value: String,
    },
    Variable {
        variable: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<String>,
    },
    /// A word of the command, or the name of a thing that is none of these.
    Word { word: String },
}

fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

impl Place {
    pub(crate) fn line(file: impl Into<PathBuf>, (line, column): (usize, usize)) -> Self {
        Place::Line {
            file: file.into(),
            line,
            column,
        }
    }

    pub(crate) fn key(of: impl fmt::Display, key: &str) -> Self {
        Place::Key {
            key: key.to_string(),
            of: of.to_string(),
        }
    }

    pub(crate) fn option(option: impl Into<String>, value: impl Into<String>) -> Self {
        Place::Option {
            option: option.into(),
            value: value.into(),
        }
    }

    pub(crate) fn variable(variable: impl Into<String>, value: impl AsRef<OsStr>) -> Self {
        let value = value.as_ref().to_string_lossy().into_owned();
        Place::Variable {
            variable: variable.into(),
            value: Some(value),
        }
    }

    /// `--set key=value`, not an argument of the trainer.
    pub(crate) fn is_setting(&self) -> bool {
        matches!(self, Place::Option { option, .. } if option == "--set")
    }

    pub(crate) fn bare_variable(variable: impl Into<String>) -> Self {
        Place::Variable {
            variable: variable.into(),
            value: None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line { file, line, column } => write!(f, "{}:{line}:{column}", file.display()),
            Place::File { file } => write!(f, "{}", file.display()),
            Place::Key { key, of } => write!(f, "{of}, {key}"),
            Place::Option { option, value } if value.is_empty() => f.write_str(option),
            Place::Option { option, value } if option.starts_with('-') => {
                write!(f, "{option} {value}")
            }
            Place::Option { option, value } => write!(f, "{option}: {value}"),
            Place::Variable {
                variable,
                value: Some(value),
            } => write!(f, "{variable}={value}"),
            Place::Variable {
                variable: word,
                value: None,
            }
            | Place::Word { word } => f.write_str(word),
        }
    }
}

macro_rules! places {
    ($($kind:ty, $it:ident => $place:expr;)*) => {
        $(impl From<$kind> for Place { fn from($it: $kind) -> Self { $place } })*
    };
}

places! {
    &str, word => Place::Word { word: word.to_string() };
    &String, word => Place::Word { word: word.clone() };
    String, word => Place::Word { word };
    &Path, path => Place::File { file: path.to_path_buf() };
    &PathBuf, path => Place::File { file: path.clone() };
}

/// The place of a source, without its value.
impl From<&Source> for Place {
    fn from(source: &Source) -> Self {
        match source {
            Source::Flag(name) | Source::Argument(name) => Place::option(name, ""),
            Source::Implied(words) => Place::option(&words[0], &words[1]),
            Source::Doubtful(doubtful) => Place::option(&doubtful.argument, ""),
            Source::Variable(name) => Place::bare_variable(name),
            other => Place::from(other.to_string()),
        }
    }
}

impl<T: fmt::Display> From<&Sourced<T>> for Place {
    fn from(Sourced { value, from }: &Sourced<T>) -> Self {
        match from {
            Source::Flag(name) | Source::Argument(name) => Place::option(name, value.to_string()),
            Source::Variable(name) => Place::variable(name, value.to_string()),
            Source::Operand(_) => Place::from(value.to_string()),
            other => Place::from(other),
        }
    }
}
