//! A problem: what is wrong, where, and how to fix it.

use std::fmt;

use serde::Serialize;

use super::fix::{Change, Fixes};
use super::place::Place;
use super::tables::rules::Rule;

/// The exit statuses of zlaunch itself.
pub(crate) const REFUSED: u8 = 125;
pub(crate) const NOT_EXECUTABLE: u8 = 126;
pub(crate) const NOT_FOUND: u8 = 127;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Error,
    Warning,
    /// Worth knowing; only `check` shows it.
    Note,
}

impl Severity {
    pub(crate) fn error_if(is_certain: bool) -> Self {
        if is_certain {
            Severity::Error
        } else {
            Severity::Warning
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

/// When the trainer would come upon a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub rule: Rule,
    pub severity: Severity,
    pub what: String,
    pub(crate) places: Vec<Place>,
    pub(crate) fixes: Fixes,
    /// The config is a file, which is edited instead of adding options.
    pub(crate) is_about_file: bool,
    pub status: u8,
    pub when: Option<When>,
    /// `--allow` silences it.
    pub(crate) allowable: bool,
}

/// Lets `?` return one problem where a list of them is expected.
impl From<Problem> for Vec<Problem> {
    fn from(problem: Problem) -> Self {
        vec![problem]
    }
}

impl Problem {
    pub(crate) fn found(rule: Rule, severity: Severity, when: When, what: String) -> Self {
        Problem {
            severity,
            when: Some(when),
            allowable: true,
            ..Self::error(rule, what)
        }
    }

    pub(crate) fn error(rule: Rule, what: impl Into<String>) -> Self {
        Problem {
            rule,
            severity: Severity::Error,
            what: what.into(),
            places: Vec::new(),
            fixes: Fixes::default(),
            is_about_file: false,
            status: REFUSED,
            when: None,
            allowable: false,
        }
    }

    pub(crate) fn warning(rule: Rule, what: impl Into<String>) -> Self {
        Problem {
            severity: Severity::Warning,
            allowable: true,
            ..Self::error(rule, what)
        }
    }

    /// With `--strict`, warnings are errors.
    pub(crate) fn be_strict(&mut self, strict: bool) {
        let is_warning = self.severity == Severity::Warning;
        self.severity = if strict && is_warning {
            Severity::Error
        } else {
            self.severity
        };
    }

    pub(crate) fn into_warning(self) -> Self {
        let allowable = self.allowable || self.rule.only_warns();
        Problem {
            severity: Severity::Warning,
            allowable,
            ..self
        }
    }

    pub(crate) fn at(mut self, place: impl Into<Place>) -> Self {
        self.places.push(place.into());
        self
    }

    pub(crate) fn fix(mut self, fixes: impl Into<Fixes>) -> Self {
        self.fixes = fixes.into();
        self
    }

    pub fn help(&self) -> String {
        // `check --fix` edits the file of the first place.
        let file = if let Some(Place::Line { file, .. }) = self.places.first() {
            Some(file.as_path())
        } else {
            None
        };
        self.fixes.text(self.is_about_file, file)
    }

    /// Nothing is wrong but that the number of GPUs is unknown, and with it that of the ranks.
    pub(crate) fn asks_for_gpu_count(&self) -> bool {
        let first = self.fixes.0.first().and_then(|fix| fix.changes.first());
        self.rule == Rule::Ranks
            && matches!(first, Some(Change::Give { option, .. }) if option == "--nproc-per-node")
    }

    pub(crate) fn when(mut self, when: Option<When>) -> Self {
        self.when = when;
        self
    }

    pub(crate) fn status(mut self, status: u8) -> Self {
        self.status = status;
        self
    }
}
