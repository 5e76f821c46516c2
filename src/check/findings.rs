//! A rule of `check`, and the list that it adds problems to.

use super::refusals::Block;
use super::subject::Subject;
use crate::base::{json, rows, shell};
use crate::report::fix::{Change, Fixes, Owner};
use crate::report::{MOST, Place, Problem, Rule, Severity, When};

/// A rule is code, or a condition. Its texts are a block of `rules.txt`.
pub struct Check {
    pub rule: Rule,
    pub severity: Severity,
    pub when: When,
    code: fn(&Subject, &mut Findings),
    holds: fn(&Subject) -> bool,
}

impl Check {
    pub(super) const fn row(
        rule: Rule,
        severity: Severity,
        when: When,
        holds: fn(&Subject) -> bool,
    ) -> Self {
        Check {
            rule,
            severity,
            when,
            code: |_, _| {},
            holds,
        }
    }

    pub(super) const fn code(
        rule: Rule,
        severity: Severity,
        when: When,
        code: fn(&Subject, &mut Findings),
    ) -> Self {
        Check {
            rule,
            severity,
            when,
            code,
            holds: |_| false,
        }
    }

    /// The sentence for the table of rules.
    pub fn about(&self) -> &'static str {
        self.block().text("about")
    }

    fn block(&self) -> Block {
        let mut blocks = rows::blocks(include_str!("rules.txt")).map(Block::of);
        blocks
            .find(|block| block.name == self.rule.name())
            .unwrap_or_default()
    }

    pub(super) fn run(&self, subject: &Subject, list: &mut Vec<Problem>) {
        let before = list.len();
        let mut found = Findings {
            check: self,
            subject,
            of_others: before,
            list,
        };
        (self.code)(subject, &mut found);
        if (self.holds)(subject) {
            let block = self.block();
            let keys: Vec<&str> = block.text("keys").split(' ').collect();
            let (device, value) = (subject.zero().optimizer.to_string(), subject.shown(keys[0]));
            let what = block.text("says").replace("{key}", keys[0]);
            found.key(
                &keys,
                what.replace("{value}", &value).replace("{device}", &device),
                block.joined_fixes(),
            );
        }
        let of_release = [
            Rule::OptimizerType,
            Rule::OptimizerParameter,
            Rule::SchedulerType,
            Rule::SchedulerParameter,
        ];
        for problem in list[before..]
            .iter_mut()
            .filter(|problem| of_release.contains(&problem.rule))
        {
            problem.severity = problem.severity.max(subject.severity_of_keys());
        }
    }
}

pub(super) struct Findings<'a> {
    pub(super) check: &'a Check,
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
        let last = self.list[self.of_others..]
            .iter_mut()
            .rfind(|problem| problem.severity == severity);
        last.map(|last| last.more += 1).is_some()
    }

    /// A problem with keys of the config. Where an option put a key there, the fix is to change the option.
    pub(super) fn key(
        &mut self,
        keys: &[&str],
        what: impl Into<String>,
        fixes: impl Into<Fixes>,
    ) -> &mut Problem {
        let places: Vec<Place> = keys.iter().map(|key| (self.subject.place)(key)).collect();
        let Fixes(mut fixes) = fixes.into();
        for (key, place) in keys.iter().zip(&places) {
            if place.is_setting() {
                let unset = [Change::Unset((*key).to_string())];
                fixes.truncate(
                    1 + fixes
                        .iter()
                        .skip(1)
                        .take_while(|fix| fix.changes[..] != unset)
                        .count(),
                );
            }
            for fix in &mut fixes {
                let changes = std::mem::take(&mut fix.changes).into_iter();
                fix.changes = changes
                    .flat_map(|change| self.change_the_option(change, key, place))
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
            when,
            ..
        } = *self.check;
        let problem = Problem::found(rule, severity, when, what.into());
        self.list.push(Problem {
            places: places.into(),
            fixes: fixes.into(),
            ..problem
        });
        let last = self.list.len() - 1;
        &mut self.list[last]
    }

    /// `--unset` is applied before `--set`, and an argument of the trainer decides what an "auto" becomes.
    fn change_the_option(&self, change: Change, key: &str, place: &Place) -> Vec<Change> {
        match (change, place) {
            (Change::Unset(unset), _) if key.starts_with(&*unset) => {
                let inside = self
                    .subject
                    .get(&unset)
                    .map(|it| json::leaves(it, |_| true))
                    .unwrap_or_default();
                let places = inside.iter().map(|leaf| {
                    (self.subject.place)(format!("{unset}.{leaf}").trim_end_matches('.'))
                });
                let (options, others): (Vec<Place>, Vec<Place>) =
                    places.partition(Place::is_setting);
                let unset =
                    (!others.is_empty() || options.is_empty()).then_some(Change::Unset(unset));
                unset
                    .into_iter()
                    .chain(options.iter().map(|option| Change::Drop {
                        owner: Owner::Zlaunch,
                        word: option.to_string(),
                    }))
                    .collect()
            }
            // `--torch_dtype float16` decides more than this key.
            (
                Change::Set(set, _),
                Place::Option {
                    option,
                    value: given,
                },
            ) if set == key && !place.is_setting() && !given.is_empty() => {
                vec![Change::Say(format!("another {option}"))]
            }
            (Change::Set(set, value), Place::Option { option, .. })
                if set == key && !place.is_setting() =>
            {
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
            ) if renamed == key && place.is_setting() => {
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
}
