//! A rule of `check`, and the list that its rows and its code add problems to.

use super::subject::Subject;
use super::tables::names::OF_RECORDED_VERSIONS;
use super::tables::types::{At, Remedy, Row};
use crate::base::{json, shell};
use crate::report::fix::{
    Change, Fix, Fixes, Owner, drop_word, give, run, say, set, set_variable, unset, unset_variable,
};
use crate::report::{MOST, Place, Problem, Rule, Severity, When};

/// One rule. Its problems come from rows, from code, or from both.
pub struct Check {
    pub rule: Rule,
    /// The sentence for the table of rules and for `explain`.
    pub about: &'static str,
    pub severity: Severity,
    /// When the trainer would come upon the problem.
    pub noticed: When,
    /// Each row whose conditions hold is a problem.
    pub rows: &'static [Row],
    pub(super) code: Option<fn(&Subject, &mut Findings)>,
}

impl Check {
    pub(super) fn run(&self, subject: &Subject, list: &mut Vec<Problem>) {
        let before = list.len();
        let mut found = Findings {
            check: self,
            subject,
            of_others: before,
            list,
        };
        for row in self.rows {
            if row
                .when
                .iter()
                .all(|condition| condition.holds(subject, None))
            {
                found.row(row);
            }
        }
        if let Some(code) = self.code {
            code(subject, &mut found);
        }
        if OF_RECORDED_VERSIONS.contains(&self.rule) {
            for problem in &mut list[before..] {
                problem.severity = problem.severity.max(subject.severity_of_keys());
            }
        }
    }
}

pub(crate) struct Findings<'a> {
    check: &'a Check,
    subject: &'a Subject<'a>,
    list: &'a mut Vec<Problem>,
    /// The number of problems that other rules found before.
    of_others: usize,
}

impl Findings<'_> {
    /// More than are printed, so that it is not worth while to look for what was meant.
    pub(super) fn are_many(&self) -> bool {
        self.list.len() - self.of_others > MOST
    }

    fn row(&mut self, row: &Row) {
        let subject = self.subject;
        let first = &row.at[0];
        let what = filled(row.says, first, subject);
        let fixes = row.fixes.iter().map(|remedy| match remedy {
            Remedy::Say(text) => say(filled(text, first, subject)),
            other => other.fix(subject),
        });
        let fixes = Fixes(fixes.collect());
        let keys: Option<Vec<&str>> = row.at.iter().map(At::key).collect();
        match keys {
            Some(keys) => self.key(&keys, what, fixes),
            None => {
                let places: Vec<Place> = row.at.iter().map(|at| at.place(subject)).collect();
                self.at(places, what, fixes)
            }
        };
    }

    /// A problem with keys of the config. Where an option put a key there, the fix is to change the option.
    pub(super) fn key(
        &mut self,
        keys: &[&str],
        what: impl Into<String>,
        fixes: impl Into<Fixes>,
    ) -> &mut Problem {
        let subject = self.subject;
        let places: Vec<Place> = keys.iter().map(|key| (subject.place)(key)).collect();
        let Fixes(mut fixes) = fixes.into();
        for (key, place) in keys.iter().zip(&places) {
            if place.is_setting() {
                // What `--set` asks for is corrected, not removed.
                let unset = [Change::Unset((*key).to_string())];
                let removal = fixes.iter().skip(1).position(|fix| fix.changes == unset);
                fixes.truncate(removal.map_or(fixes.len(), |at| at + 1));
            }
            for fix in &mut fixes {
                let changes = std::mem::take(&mut fix.changes).into_iter();
                fix.changes = changes
                    .flat_map(|change| change_the_option(subject, change, key, place))
                    .collect();
            }
        }
        fixes.sort_by_key(|fix| matches!(fix.changes[..], [Change::Say(_)]));
        self.at(places, what, Fixes(fixes))
    }

    /// Adds a problem that was worded elsewhere.
    pub(super) fn problem(&mut self, severity: Severity, problem: Problem) {
        self.at(problem.places, problem.what, problem.fixes)
            .severity = severity;
    }

    pub(super) fn at(
        &mut self,
        places: impl Into<Vec<Place>>,
        what: impl Into<String>,
        fixes: impl Into<Fixes>,
    ) -> &mut Problem {
        let Check {
            rule,
            severity,
            noticed,
            ..
        } = *self.check;
        let problem = Problem::found(rule, severity, noticed, what.into());
        self.list.push(Problem {
            places: places.into(),
            fixes: fixes.into(),
            ..problem
        });
        let last = self.list.len() - 1;
        &mut self.list[last]
    }
}

/// A text of a row, with the values in place of their names in braces.
fn filled(text: &str, first: &At, subject: &Subject) -> String {
    let value = |name: &str| match (name, first) {
        ("key", At::Key(key) | At::Variable(key) | At::Word(key)) => (*key).to_string(),
        ("key", argument) => argument.place(subject).to_string(),
        ("value", At::Key(key)) => subject.shown(key),
        ("value", At::Argument(name)) => subject.argument(name).unwrap_or_default().to_string(),
        ("device", _) => subject.zero().optimizer.to_string(),
        ("deepspeed", _) => subject.deepspeed(),
        ("torch", _) => subject.package("torch").unwrap_or_default().to_string(),
        _ => String::new(),
    };
    let mut filled = String::new();
    let mut is_name = false;
    for part in text.split(['{', '}']) {
        filled += &if is_name {
            value(part)
        } else {
            part.to_string()
        };
        is_name = !is_name;
    }
    filled
}

/// `--unset` is applied before `--set`, and an argument of the trainer decides what an "auto" becomes.
fn change_the_option(subject: &Subject, change: Change, key: &str, place: &Place) -> Vec<Change> {
    let is_setting = place.is_setting();
    match (change, place) {
        (Change::Unset(unset), _) if key.starts_with(&*unset) => removal(subject, unset),
        // `--torch_dtype float16` decides more than this key.
        (Change::Set(set, _), Place::Option { option, value })
            if set == key && !is_setting && !value.is_empty() =>
        {
            vec![Change::Say(format!("another {option}"))]
        }
        (Change::Set(set, value), Place::Option { option, .. }) if set == key && !is_setting => {
            vec![Change::Give {
                owner: Owner::Trainer,
                option: option.clone(),
                value,
            }]
        }
        (
            Change::Rename(renamed, to, value),
            Place::Option {
                option,
                value: given,
            },
        ) if renamed == key && is_setting => {
            // `--set zero_opt.stage=3` is about the section `zero_opt`, too.
            let inside = given
                .strip_prefix(key)
                .and_then(|rest| rest.split_once('='))
                .filter(|(name, _)| !name.is_empty());
            let set = inside.map_or_else(
                || format!("{to}={value}"),
                |(name, value)| format!("{to}{name}={value}"),
            );
            vec![Change::CorrectSetting(
                place.to_string(),
                shell::text(&[option.into(), set.into()]),
            )]
        }
        (change, _) => vec![change],
    }
}

/// Removes a key or a section: the options that set something in it are dropped, and the rest is unset.
fn removal(subject: &Subject, unset: String) -> Vec<Change> {
    let inside = subject.get(&unset).map(|it| json::leaves(it, |_| true));
    let mut changes = Vec::new();
    for leaf in inside.unwrap_or_default() {
        let place = (subject.place)(format!("{unset}.{leaf}").trim_end_matches('.'));
        changes.push(if place.is_setting() {
            Change::Drop {
                owner: Owner::Zlaunch,
                word: place.to_string(),
            }
        } else {
            Change::Unset(unset.clone())
        });
    }
    if changes.is_empty() {
        changes.push(Change::Unset(unset));
    }
    changes.sort_by_key(|change| matches!(change, Change::Drop { .. }));
    changes.dedup();
    changes
}

impl At {
    fn key(&self) -> Option<&'static str> {
        if let At::Key(key) = self {
            Some(key)
        } else {
            None
        }
    }

    fn place(&self, subject: &Subject) -> Place {
        match self {
            At::Key(key) => (subject.place)(key),
            At::Word(word) => Place::from(*word),
            At::Option(name) => Place::option(subject.spelled(name), ""),
            At::Argument(name) => {
                let value = subject.given(name).and_then(|given| given.value);
                Place::option(subject.spelled(name), value.unwrap_or_default())
            }
            At::Variable(name) => match subject.variable(name) {
                Some(value) if !value.is_empty() => Place::variable(*name, value),
                _ => Place::bare_variable(*name),
            },
        }
    }
}

impl Remedy {
    pub(super) fn fix(&self, subject: &Subject) -> Fix {
        match *self {
            Remedy::Set(key, value) => set(key, value),
            Remedy::Unset(key) => unset(key),
            Remedy::Give {
                owner,
                option,
                value,
            } => give(option, value).of(owner),
            Remedy::GiveSame { option, argument } => {
                let value = subject.argument(argument.name).unwrap_or(argument.default);
                give(option, value).of(Owner::Trainer)
            }
            Remedy::GiveInstead { argument, value } => {
                give(subject.spelled(argument), value).of(Owner::Trainer)
            }
            Remedy::Drop { owner, word } => drop_word(word).of(owner),
            Remedy::DropArgument(name) => drop_word(subject.spelled(name)).of(Owner::Trainer),
            Remedy::SetVariable(name, value) => set_variable(name, value),
            Remedy::UnsetVariable(name) => unset_variable(name),
            Remedy::Run(line) => run(line),
            Remedy::Say(text) => say(text),
            Remedy::Both(one, two) => one.fix(subject).and(two.fix(subject)),
            Remedy::With { remark, remedy } => remedy.fix(subject).remark(remark),
        }
    }
}
