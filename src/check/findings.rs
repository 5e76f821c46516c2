//! A rule of `check`, and the list that it adds problems to.

use std::ffi::OsStr;

use super::subject::Subject;
use crate::report::fix::{Change, Fixes};
use crate::report::{MOST, Place, Problem, Rule, Severity, When};

/// A rule is code, or a condition with one sentence about keys of the config.
pub struct Check {
    pub rule: Rule,
    pub severity: Severity,
    pub when: When,
    pub doc: &'static str,
    code: fn(&Subject, &mut Findings),
    holds: fn(&Subject) -> bool,
    keys: &'static [&'static str],
    what: &'static str,
    fixes: fn(&Subject) -> Fixes,
}

impl Check {
    /// To be completed by `holds` and `says`.
    pub(super) const fn row(rule: Rule, severity: Severity, when: When) -> Self {
        Check {
            rule,
            severity,
            when,
            doc: "",
            code: |_, _| {},
            holds: |_| false,
            keys: &[],
            what: "",
            fixes: |_| Fixes::default(),
        }
    }

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

    /// `{key}` in the text is the first of the keys, `{value}` its value, `{device}` where the optimizer is.
    pub(super) const fn says(
        self,
        keys: &'static [&'static str],
        what: &'static str,
        fixes: fn(&Subject) -> Fixes,
    ) -> Self {
        Check { keys, what, fixes, ..self }
    }

    pub(super) fn run(&self, subject: &Subject, list: &mut Vec<Problem>) {
        let mut found = Findings { check: self, subject, of_others: list.len(), list };
        (self.code)(subject, &mut found);
        if (self.holds)(subject) {
            let device = subject.zero().optimizer.to_string();
            let value = subject.shown(self.keys[0]);
            let what = self.what.replace("{key}", self.keys[0]).replace("{value}", &value);
            found.key(self.keys, what.replace("{device}", &device), (self.fixes)(subject));
        }
    }
}

pub(super) struct Findings<'a> {
    check: &'a Check,
    pub(super) subject: &'a Subject<'a>,
    list: &'a mut Vec<Problem>,
    /// The number of problems that other rules found before.
    of_others: usize,
}

impl Findings<'_> {
    pub(super) fn are_many(&self) -> bool {
        self.list.len() - self.of_others > MOST
    }

    /// Counts a problem beyond those that are printed. False if it must be added instead.
    pub(super) fn only_counted(&mut self, severity: Severity) -> bool {
        if !self.are_many() || self.subject.in_full {
            return false;
        }
        let last = self.list[self.of_others..].iter_mut().rfind(|problem| problem.severity == severity);
        last.map(|last| last.more += 1).is_some()
    }

    pub(super) fn key(&mut self, keys: &[&str], what: impl Into<String>, fixes: impl Into<Fixes>) {
        self.key_with_severity(self.check.severity, keys, what, fixes);
    }

    pub(super) fn key_with_severity(
        &mut self,
        severity: Severity,
        keys: &[&str],
        what: impl Into<String>,
        fixes: impl Into<Fixes>,
    ) {
        let places: Vec<Place> = keys.iter().map(|key| (self.subject.place)(key)).collect();
        let Fixes(mut fixes) = fixes.into();
        for (key, place) in keys.iter().zip(&places) {
            if matches!(place, Place::Option { .. }) && fixes.len() > 1 {
                let unset = Change::Unset { unset: (*key).to_string() };
                fixes.retain(|fix| fix.changes[..] != [unset.clone()]);
            }
            for change in fixes.iter_mut().flat_map(|fix| &mut fix.changes) {
                change_the_option(change, key, place);
            }
        }
        self.at_with_severity(severity, places, what, Fixes(fixes));
    }

    pub(super) fn variable(
        &mut self,
        name: &str,
        value: impl AsRef<OsStr>,
        what: impl Into<String>,
        fixes: impl Into<Fixes>,
    ) {
        self.at([Place::variable(name, value.as_ref().to_string_lossy())], what, fixes);
    }

    pub(super) fn at(&mut self, places: impl Into<Vec<Place>>, what: impl Into<String>, fixes: impl Into<Fixes>) {
        self.at_with_severity(self.check.severity, places, what, fixes);
    }

    /// Adds a problem that was worded elsewhere.
    pub(super) fn problem(&mut self, severity: Severity, problem: Problem) {
        self.at_with_severity(severity, problem.places, problem.what, problem.fixes);
    }

    pub(super) fn at_with_severity(
        &mut self,
        severity: Severity,
        places: impl Into<Vec<Place>>,
        what: impl Into<String>,
        fixes: impl Into<Fixes>,
    ) {
        let problem = Problem::found(self.check.rule, severity, self.check.when, what.into());
        self.list.push(Problem { places: places.into(), fixes: fixes.into(), ..problem });
    }
}

/// Where an option put the key into the config, the option is what must change: `--unset` is applied before `--set`, and
/// an argument of the trainer decides what an "auto" becomes.
fn change_the_option(change: &mut Change, key: &str, place: &Place) {
    let new = match (place, &*change) {
        (Place::BareOption { option }, Change::Set { set, value }) if set == key => {
            Change::Give { give: option.clone(), value: value.clone() }
        }
        (Place::Option { option, value }, Change::Unset { unset }) if unset == key => {
            Change::Drop { drop: format!("{option} {value}") }
        }
        (Place::Option { value: given, .. }, Change::Rename { rename, to, value }) if rename == key => {
            // `--set zero_opt.stage=3` is about the section `zero_opt`, too.
            let inside = given.strip_prefix(key).and_then(|rest| rest.split_once('=')).unwrap_or_default();
            let value = if inside.0.is_empty() { value } else { inside.1 };
            Change::Set { set: format!("{to}{}", inside.0), value: value.to_string() }
        }
        _ => return,
    };
    *change = new;
}
