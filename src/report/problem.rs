//! What a problem is: what, where, and a help that can be pasted.

use std::fmt;

/// zlaunch refused.
pub(crate) const REFUSED: u8 = 125;
/// Found, but it cannot be executed.
pub(crate) const NOT_EXECUTABLE: u8 = 126;
/// Not found.
pub(crate) const NOT_FOUND: u8 = 127;

/// The rules that only warn and are not about a config: `--allow` silences them.
pub(crate) fn warnings() -> impl Iterator<Item = &'static str> {
    ABOUT_THE_LAUNCH.iter().chain(ABOUT_THE_MACHINE).copied()
}

const ABOUT_THE_LAUNCH: &[&str] = &[
    "old-spelling",
    "two-configs",
    "own-config-differs",
    "no-such-option",
    "unknown-variable",
    "template-dir",
    "behind-the-command",
    "ranks-without-effect",
    "output-without-effect",
    "machines-differ",
    "shown-in-arguments",
    "ranks-by-mpi",
    "config-not-shared",
    "changed-by-shells",
    "stray-variable",
    "contradicts-scheduler",
    "uncounted-machines",
    "not-understood",
    "packages-not-seen",
    "default-mismatch",
    "doubtful-mismatch",
    "memory-short",
];

/// Those of the sentences in `machine.rs`.
pub(crate) const ABOUT_THE_MACHINE: &[&str] = &[
    "package-missing",
    "stale-lock",
    "nvme-folder",
    "cache-on-nfs",
    "no-compiler",
    "small-memlock",
    "small-shm",
    "few-files",
    "not-enough-host-memory",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Error,
    Warning,
    /// Worth knowing; only `check` shows it.
    Note,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// DeepSpeed reads the config: `DeepSpeedConfig`, under ZeRO-3 already while the model is loaded.
    Parse,
    /// The engine or the trainer is set up.
    Start,
    /// At the first step, or when the model is saved.
    Step,
    /// Never: the training goes on silently.
    Silent,
}

impl When {
    pub(crate) fn word(self) -> &'static str {
        match self {
            When::Parse => "parse",
            When::Start => "start",
            When::Step => "step",
            When::Silent => "silent",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// A short name for the kind of problem: `--allow` and `explain` take it.
    pub rule: &'static str,
    pub severity: Severity,
    pub what: String,
    pub(crate) places: Vec<String>,
    pub help: String,
    pub(crate) status: u8,
    /// Where that is known.
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
    /// What a rule of `check` found.
    pub(crate) fn found(rule: &'static str, severity: Severity, when: When, what: String) -> Self {
        Problem { severity, when: Some(when), allowable: true, ..Self::error(rule, what) }
    }

    /// In the words of a command that spells an option otherwise.
    pub(crate) fn spell(&mut self, option: &str, other: &str) {
        let texts = self.places.iter_mut().chain([&mut self.what, &mut self.help]);
        texts.for_each(|text| *text = text.replace(option, other));
    }

    pub(super) fn error(rule: &'static str, what: impl Into<String>) -> Self {
        Problem {
            rule,
            severity: Severity::Error,
            what: what.into(),
            places: Vec::new(),
            help: String::new(),
            status: REFUSED,
            when: None,
            allowable: false,
        }
    }

    pub(super) fn warning(rule: &'static str, what: impl Into<String>) -> Self {
        Problem { severity: Severity::Warning, allowable: true, ..Self::error(rule, what) }
    }

    /// `--strict`.
    pub(crate) fn make_error(&mut self) {
        self.severity = Severity::Error;
    }

    pub(crate) fn into_warning(self) -> Self {
        let allowable = self.allowable || warnings().any(|it| it == self.rule);
        Problem { severity: Severity::Warning, allowable, ..self }
    }

    pub(crate) fn at(mut self, place: impl fmt::Display) -> Self {
        self.places.push(place.to_string());
        self
    }

    pub(crate) fn help(mut self, help: impl fmt::Display) -> Self {
        self.help = help.to_string();
        self
    }

    pub(crate) fn when(mut self, when: Option<When>) -> Self {
        self.when = when;
        self
    }

    pub(super) fn status(mut self, status: u8) -> Self {
        self.status = status;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rules that a file of sentences gives to problems of that severity.
    fn rules(source: &str, severity: Severity) -> Vec<&str> {
        let call = format!("Problem::{severity}(");
        source.split(&call).skip(1).filter_map(|text| text.trim_start().strip_prefix('"')?.split('"').next()).collect()
    }

    #[test]
    fn every_warning_is_in_the_list_of_its_subject() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/report");
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let mut seen = Vec::new();
        for file in files.filter(|file| file.extension().is_some_and(|it| it == "rs") && !file.ends_with("problem.rs"))
        {
            let source: &str = std::fs::read_to_string(&file).unwrap().leak();
            let list = if file.ends_with("machine.rs") { ABOUT_THE_MACHINE } else { ABOUT_THE_LAUNCH };
            for rule in rules(source, Severity::Warning) {
                assert!(list.contains(&rule), "{rule} of {} is in no list", file.display());
            }
            seen.extend([Severity::Warning, Severity::Error].iter().flat_map(|it| rules(source, *it)));
        }
        for rule in warnings() {
            assert!(seen.contains(&rule), "no sentence has the rule {rule}");
        }
    }
}
