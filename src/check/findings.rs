//! What a rule is, and how it says what it found.

use std::ffi::OsStr;

use super::subject::Subject;
use crate::report::{MOST, Problem, Rule, Severity, When};

/// A rule: either code, or one sentence about keys of the config while a condition holds.
pub struct Check {
    pub rule: Rule,
    pub severity: Severity,
    pub when: When,
    pub doc: &'static str,
    code: fn(&Subject, &mut Findings),
    holds: fn(&Subject) -> bool,
    keys: &'static [&'static str],
    what: &'static str,
    help: &'static str,
}

impl Check {
    /// A rule that `holds` and `says` complete.
    pub(super) const fn row(rule: Rule, severity: Severity, when: When) -> Self {
        Check { rule, severity, when, doc: "", code: |_, _| {}, holds: |_| false, keys: &[], what: "", help: "" }
    }

    /// A rule with more to say than one sentence.
    pub(super) const fn code(rule: Rule, severity: Severity, when: When, code: fn(&Subject, &mut Findings)) -> Self {
        Check { code, ..Check::row(rule, severity, when) }
    }

    /// The sentence for the table of rules.
    pub(super) const fn doc(self, doc: &'static str) -> Self {
        Check { doc, ..self }
    }

    pub(super) const fn holds(self, holds: fn(&Subject) -> bool) -> Self {
        Check { holds, ..self }
    }

    /// `{key}` in the texts is the first of the keys, `{value}` its value, `{device}` where the optimizer is.
    pub(super) const fn says(self, keys: &'static [&'static str], what: &'static str, help: &'static str) -> Self {
        Check { keys, what, help, ..self }
    }

    pub(super) fn run(&self, subject: &Subject, list: &mut Vec<Problem>) {
        let mut found = Findings { check: self, subject, of_others: list.len(), list };
        (self.code)(subject, &mut found);
        if (self.holds)(subject) {
            let device = subject.zero().optimizer.to_string();
            let value = subject.shown(self.keys[0]);
            let fill = |text: &str| {
                text.replace("{key}", self.keys[0]).replace("{value}", &value).replace("{device}", &device)
            };
            found.key(self.keys, fill(self.what), fill(self.help));
        }
    }
}

/// Collects what a rule finds.
pub(super) struct Findings<'a> {
    check: &'a Check,
    pub(super) subject: &'a Subject<'a>,
    list: &'a mut Vec<Problem>,
    /// Those at the front of the list, which other rules found.
    of_others: usize,
}

impl Findings<'_> {
    /// Whether there are more than anybody reads.
    pub(super) fn are_many(&self) -> bool {
        self.list.len() - self.of_others > MOST
    }

    /// Whether a problem that nobody reads has been counted, and need not be told.
    pub(super) fn only_counted(&mut self, severity: Severity) -> bool {
        let is_counted = self.are_many() && !self.subject.in_full;
        if is_counted {
            self.at_with_severity(severity, [], "", "");
        }
        is_counted
    }

    /// About keys of the config.
    pub(super) fn key(&mut self, keys: &[&str], what: impl Into<String>, help: impl Into<String>) {
        self.key_with_severity(self.check.severity, keys, what, help);
    }

    /// About keys of the config, with another severity than the rule's.
    pub(super) fn key_with_severity(
        &mut self,
        severity: Severity,
        keys: &[&str],
        what: impl Into<String>,
        help: impl Into<String>,
    ) {
        let places: Vec<String> = keys.iter().map(|key| (self.subject.place)(key)).collect();
        let said = |place: &str, key: &str| place.strip_prefix("--set ")?.strip_prefix(key).map(str::to_string);
        let help = match places.iter().zip(keys).find_map(|(place, key)| Some((place, key, said(place, key)?))) {
            Some((place, key, rest)) if rest.starts_with('=') => instead_of_set(&help.into(), place, key),
            // A key inside of it was set: the same one, in the section that is meant.
            Some((_, key, rest)) if rest.starts_with('.') => {
                let help = help.into();
                let meant = help.rsplit_once("--set ").and_then(|(before, set)| Some((before, set.split_once('=')?.0)));
                let before = |before: &str| before.split("--unset").next().unwrap_or_default().to_string();
                meant.map_or_else(
                    || instead_of_set(&help, &format!("--set {key}.…"), key),
                    |(said, key)| format!("{}--set {key}{rest}", before(said)),
                )
            }
            // The key was filled from an argument of the trainer's.
            _ => match places.iter().zip(keys).find(|(place, _)| place.starts_with("--") && !place.contains(' ')) {
                Some((place, key)) => help.into().replace(&format!("--set {key}="), &format!("{place} ")),
                None => help.into(),
            },
        };
        self.at_with_severity(severity, places, what, help);
    }

    /// About a variable.
    pub(super) fn variable(
        &mut self,
        name: &str,
        value: impl AsRef<OsStr>,
        what: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.at(&[format!("{name}={}", value.as_ref().to_string_lossy())], what, help);
    }

    /// About anything else.
    pub(super) fn at(&mut self, places: impl Into<Vec<String>>, what: impl Into<String>, help: impl Into<String>) {
        self.at_with_severity(self.check.severity, places, what, help);
    }

    /// About anything else, with another severity than the rule's.
    pub(super) fn at_with_severity(
        &mut self,
        severity: Severity,
        places: impl Into<Vec<String>>,
        what: impl Into<String>,
        help: impl Into<String>,
    ) {
        let problem = Problem::found(self.check.rule, severity, self.check.when, what.into());
        self.list.push(Problem { places: places.into(), help: help.into(), ..problem });
    }
}

/// A help about a key that `--set` wrote: `--unset` comes before that and cannot undo it.
fn instead_of_set(help: &str, place: &str, key: &str) -> String {
    let unset = format!("--unset {key}");
    let kept = help.replace(&format!("{unset} --set"), "--set").replace(&format!(", or {unset}"), "");
    if kept.starts_with(&unset) { format!("leave {place} out") } else { kept }
}
