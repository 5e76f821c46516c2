//! A rule of `check`, and the list that it adds problems to.

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
    fixes: fn() -> Fixes,
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
            fixes: Fixes::default,
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
    pub(super) const fn says(self, keys: &'static [&'static str], what: &'static str, fixes: fn() -> Fixes) -> Self {
        Check { keys, what, fixes, ..self }
    }

    pub(super) fn run(&self, subject: &Subject, list: &mut Vec<Problem>) {
        let mut found = Findings { check: self, subject, of_others: list.len(), list };
        (self.code)(subject, &mut found);
        if (self.holds)(subject) {
            let device = subject.zero().optimizer.to_string();
            let value = subject.shown(self.keys[0]);
            let what = self.what.replace("{key}", self.keys[0]).replace("{value}", &value);
            found.key(self.keys, what.replace("{device}", &device), (self.fixes)());
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

    /// A problem with keys of the config. Where an option put a key there, the fix is to change the option.
    pub(super) fn key(&mut self, keys: &[&str], what: impl Into<String>, fixes: impl Into<Fixes>) -> &mut Problem {
        let places: Vec<Place> = keys.iter().map(|key| (self.subject.place)(key)).collect();
        let Fixes(mut fixes) = fixes.into();
        for (key, place) in keys.iter().zip(&places) {
            if place.is_setting() && fixes.len() > 1 {
                fixes.retain(|fix| fix.changes[..] != [Change::Unset((*key).to_string())]);
            }
            for change in fixes.iter_mut().flat_map(|fix| &mut fix.changes) {
                change_the_option(change, key, place);
            }
        }
        self.at(places, what, Fixes(fixes))
    }

    /// Adds a problem that was worded elsewhere.
    pub(super) fn problem(&mut self, severity: Severity, problem: Problem) {
        self.at(problem.places, problem.what, problem.fixes).severity = severity;
    }

    pub(super) fn at(
        &mut self,
        places: impl Into<Vec<Place>>,
        what: impl Into<String>,
        fixes: impl Into<Fixes>,
    ) -> &mut Problem {
        let Check { rule, severity, when, .. } = *self.check;
        let problem = Problem::found(rule, severity, when, what.into());
        self.list.push(Problem { places: places.into(), fixes: fixes.into(), ..problem });
        let last = self.list.len() - 1;
        &mut self.list[last]
    }
}

/// `--unset` is applied before `--set`, and an argument of the trainer decides what an "auto" becomes.
fn change_the_option(change: &mut Change, key: &str, place: &Place) {
    let Place::Option { option, value: given } = place else { return };
    let new = match change {
        Change::Set(set, value) if set == key && !place.is_setting() => Change::Give(option.clone(), value.clone()),
        Change::Unset(unset) if unset == key && place.is_setting() => Change::Drop(place.to_string()),
        Change::Rename(renamed, to, value) if renamed == key && place.is_setting() => {
            // `--set zero_opt.stage=3` is about the section `zero_opt`, too.
            match given.strip_prefix(key).and_then(|rest| rest.split_once('=')) {
                Some((inside, value)) if !inside.is_empty() => Change::Set(format!("{to}{inside}"), value.to_string()),
                _ => Change::Set(to.clone(), value.clone()),
            }
        }
        _ => return,
    };
    *change = new;
}
