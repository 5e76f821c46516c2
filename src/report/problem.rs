//! A problem: its rule, what is wrong, its places, and how to fix it. As JSON, a place has the names of its fields.

use std::{
    ffi::OsStr,
    fmt,
    path::{Path, PathBuf},
};

use serde::{Serialize, Serializer};

use super::{
    fix::{Change, Fixes},
    tables::rules::{NamedRule, RULES, Rule, RuleSubject},
};
use crate::base::source::{Source, Sourced};

/// The exit statuses of zlaunch itself.
pub const REFUSED: u8 = 125;
pub const NOT_EXECUTABLE: u8 = 126;
pub const NOT_FOUND: u8 = 127;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Error,
    Warning,
    /// Worth knowing; only `check` shows it.
    Note,
}

impl Severity {
    pub fn error_if(is_certain: bool) -> Self {
        if is_certain {
            Severity::Error
        } else {
            Severity::Warning
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

/// When the trainer would come upon a problem.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// DeepSpeed reads the config: `DeepSpeedConfig`, under ZeRO-3 already while the model is loaded.
    Parse,
    /// The engine or the trainer is set up.
    Start,
    /// The first step, or the first save.
    Step,
    /// Never: the training goes on silently.
    Silent,
}

pub type Problems = Vec<Problem>;

#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    pub rule: Rule,
    pub severity: Severity,
    pub what: String,
    pub places: Vec<Place>,
    pub fixes: Fixes,
    /// The config is a file, which is edited instead of adding options.
    pub is_about_file: bool,
    pub status: u8,
    pub when: Option<When>,
    /// `--allow` silences it.
    pub allowable: bool,
}

/// Lets `?` return one problem where a list of them is expected.
impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        vec![problem]
    }
}

impl Rule {
    pub fn error(self, what: impl Into<String>) -> Problem {
        Problem {
            rule: self,
            severity: Severity::Error,
            what: what.into(),
            places: vec![],
            fixes: Fixes::default(),
            is_about_file: false,
            status: REFUSED,
            when: None,
            allowable: false,
        }
    }

    pub fn warning(self, what: impl Into<String>) -> Problem {
        Problem {
            severity: Severity::Warning,
            allowable: true,
            ..self.error(what)
        }
    }
}

impl Problem {
    pub fn found(rule: Rule, severity: Severity, when: When, what: String) -> Self {
        Problem {
            severity,
            when: Some(when),
            allowable: true,
            ..rule.error(what)
        }
    }

    /// With `--strict`, warnings are errors.
    pub fn be_strict(&mut self, strict: bool) {
        if strict && self.severity == Severity::Warning {
            self.severity = Severity::Error;
        }
    }

    pub fn into_warning(self) -> Self {
        let allowable = self.allowable || self.rule.only_warns();
        Problem {
            severity: Severity::Warning,
            allowable,
            ..self
        }
    }

    pub fn into_warning_unless(self, is_error: bool) -> Self {
        if is_error { self } else { self.into_warning() }
    }

    pub fn at(mut self, place: impl Into<Place>) -> Self {
        self.places.push(place.into());
        self
    }

    pub fn fix(mut self, fixes: impl Into<Fixes>) -> Self {
        self.fixes = fixes.into();
        self
    }

    pub fn help(&self) -> String {
        // `check --fix` edits the file of the first place.
        let file = self.places.first().and_then(Place::file);
        self.fixes.text(self.is_about_file, file)
    }

    /// Nothing is wrong but that the number of GPUs is unknown, and with it that of the ranks.
    pub fn asks_for_gpu_count(&self) -> bool {
        let first = self.fixes.0.first().and_then(|fix| fix.changes.first());
        self.rule == Rule::Ranks
            && matches!(first, Some(Change::Give { option, .. }) if option == "--nproc-per-node")
    }

    pub fn status(mut self, status: u8) -> Self {
        self.status = status;
        self
    }
}

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
        #[serde(skip_serializing_if = "String::is_empty")]
        value: String,
    },
    /// A word of the command, or the name of a thing that is none of these.
    Word { word: String },
}

fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

impl Place {
    pub fn line(file: impl Into<PathBuf>, (line, column): (usize, usize)) -> Self {
        Place::Line {
            file: file.into(),
            line,
            column,
        }
    }

    pub fn key(of: impl fmt::Display, key: &str) -> Self {
        Place::Key {
            key: key.to_string(),
            of: of.to_string(),
        }
    }

    pub fn option(option: impl Into<String>, value: impl Into<String>) -> Self {
        Place::Option {
            option: option.into(),
            value: value.into(),
        }
    }

    pub fn variable(variable: impl Into<String>, value: impl AsRef<OsStr>) -> Self {
        let value = value.as_ref().to_string_lossy().into_owned();
        Place::Variable {
            variable: variable.into(),
            value,
        }
    }

    /// The file with the line.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Place::Line { file, .. } => Some(file),
            _ => None,
        }
    }

    /// `--set key=value`, not an argument of the trainer.
    pub fn is_setting(&self) -> bool {
        matches!(self, Place::Option { option, .. } if option == "--set")
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Place::Line { file, line, column } => write!(f, "{}:{line}:{column}", file.display()),
            Place::File { file } => write!(f, "{}", file.display()),
            Place::Key { key, of } => write!(f, "{of}, {key}"),
            Place::Option {
                option: word,
                value,
            }
            | Place::Variable {
                variable: word,
                value,
            } if value.is_empty() => f.write_str(word),
            Place::Option { option, value } if option.starts_with('-') => {
                write!(f, "{option} {value}")
            }
            Place::Option { option, value } => write!(f, "{option}: {value}"),
            Place::Variable { variable, value } => write!(f, "{variable}={value}"),
            Place::Word { word } => f.write_str(word),
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
            Source::Variable(name) => Place::variable(name, ""),
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

impl Rule {
    pub fn all() -> impl Iterator<Item = Rule> {
        RULES.iter().map(|row| row.rule)
    }

    /// Every rule has a row, which a test holds.
    fn row(self) -> &'static NamedRule {
        RULES
            .iter()
            .find(|row| row.rule == self)
            .unwrap_or(&RULES[0])
    }

    pub fn name(self) -> &'static str {
        self.row().name
    }

    pub fn subject(self) -> RuleSubject {
        self.row().subject
    }

    /// `None` for a rule of `check`, whose sentence stands in its row.
    pub fn about(self) -> Option<&'static str> {
        self.row().about
    }

    /// A warning that is not about a config: `--allow` silences it.
    pub fn only_warns(self) -> bool {
        matches!(self.subject(), RuleSubject::Warning | RuleSubject::Machine)
    }

    /// The rules whose names `--allow` takes.
    pub fn allowable() -> Vec<Rule> {
        Rule::all()
            .filter(|rule| rule.only_warns() || rule.subject() == RuleSubject::Check)
            .collect()
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}
