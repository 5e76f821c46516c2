//! What a rule is, and how it says what it found.

use super::subject::Subject;
use crate::report::{Problem, Rule, Severity, When};

pub struct Check {
    pub rule: Rule,
    pub severity: Severity,
    pub(crate) when: When,
    pub doc: &'static str,
    pub(super) check: fn(&Subject, &mut Findings),
}

/// Collects what a rule finds.
pub(super) struct Findings<'a> {
    pub(super) check: &'a Check,
    pub(super) subject: &'a Subject<'a>,
    pub(super) list: &'a mut Vec<Problem>,
}

impl Findings<'_> {
    /// About keys of the config.
    pub(super) fn key(&mut self, keys: &[&str], what: String, help: impl Into<String>) {
        self.key_with_severity(self.check.severity, keys, what, help);
    }

    /// The same with another severity than the rule's.
    pub(super) fn key_with_severity(
        &mut self,
        severity: Severity,
        keys: &[&str],
        what: String,
        help: impl Into<String>,
    ) {
        let places: Vec<String> = keys.iter().map(|key| (self.subject.place)(key)).collect();
        let help = match places.iter().zip(keys).find(|(place, key)| place.starts_with(&format!("--set {key}="))) {
            Some((place, key)) => instead_of_set(&help.into(), place, key),
            None => help.into(),
        };
        self.add(severity, places, what, help);
    }

    /// About anything else.
    pub(super) fn at(&mut self, places: &[String], what: String, help: impl Into<String>) {
        self.add(self.check.severity, places.to_vec(), what, help.into());
    }

    /// The same with another severity than the rule's.
    pub(super) fn at_with_severity(&mut self, severity: Severity, places: &[String], what: String, help: String) {
        self.add(severity, places.to_vec(), what, help);
    }

    fn add(&mut self, severity: Severity, places: Vec<String>, what: String, help: String) {
        let problem = Problem::found(self.check.rule, severity, self.check.when, what).help(help);
        self.list.push(places.into_iter().fold(problem, Problem::at));
    }
}

/// A help about a key that `--set` wrote: `--unset` comes before that and cannot undo it.
fn instead_of_set(help: &str, place: &str, key: &str) -> String {
    let unset = format!("--unset {key}");
    let kept = help.replace(&format!("{unset} --set"), "--set").replace(&format!(", or {unset}"), "");
    if kept == unset { format!("leave {place} out") } else { kept }
}
