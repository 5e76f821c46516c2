//! The rules of `check`: what DeepSpeed, accelerate or torch would refuse minutes later, silently ignore, or do in another
//! way than expected. A rule is one entry in the table of its subject. Nothing here changes the plan.

mod batch;
mod combinations;
mod effects;
mod files;
mod findings;
mod keys;
pub mod machine;
mod offload;
pub(crate) mod operators;
mod optimizer;
pub(crate) mod precision;
mod refusals;
mod rejections;
mod subject;
mod values;
pub(crate) mod variables;

use crate::report::{Problem, Rule, RuleSubject, Severity};

pub(crate) use findings::Check;
pub(crate) use subject::{Derived, Subject, deepspeed_in_words};

/// Rules about the config, by subject. Their order is that of the output.
const CONFIG: &[&[Check]] = &[
    keys::RULES,
    values::RULES,
    batch::RULES,
    precision::RULES,
    offload::RULES,
    combinations::RULES,
    optimizer::RULES,
    effects::RULES,
    operators::RULES,
];

/// Rules about this machine. They are only asked if the ranks run here.
const HERE: &[&[Check]] = &[variables::DEVICES, files::RULES];

pub fn rules() -> impl Iterator<Item = &'static Check> {
    [CONFIG, &[variables::RULES], HERE, &[rejections::RULES]]
        .into_iter()
        .flatten()
        .copied()
        .flatten()
}

/// A launch needs it, a plan does not: a plan may be for another machine, and its command may be incomplete.
pub(crate) fn is_about_the_start(rule: Rule) -> bool {
    rule == Rule::ArgumentMissing
        || HERE
            .iter()
            .copied()
            .flatten()
            .any(|check| check.rule == rule)
}

pub(crate) fn is_about_batch(rule: Rule) -> bool {
    batch::RULES.iter().any(|check| check.rule == rule)
}

/// The names that `--allow` takes.
pub(crate) fn allowable() -> Vec<Rule> {
    Rule::all()
        .filter(|rule| rule.only_warns() || rule.subject() == RuleSubject::Check)
        .collect()
}

/// Checks a config without a command.
pub(crate) fn diagnose_config(subject: &Subject, allow: &[Rule]) -> Vec<Problem> {
    run(CONFIG.iter().copied().flatten(), subject, allow, true)
}

/// Without a config, only the rules about the launch are asked. Notes cost time, so they are only made if they are printed.
pub(crate) fn diagnose(subject: &Subject, allow: &[Rule], notes: bool) -> Vec<Problem> {
    let about_config: &[&[Check]] = if subject.config.is_null() {
        &[]
    } else {
        CONFIG
    };
    let here = if subject.runs_here() { HERE } else { &[] };
    let rules = [
        about_config,
        &[variables::RULES],
        here,
        &[rejections::RULES],
    ]
    .into_iter()
    .flatten();
    run(rules.copied().flatten(), subject, allow, notes)
}

fn run(
    rules: impl Iterator<Item = &'static Check>,
    subject: &Subject,
    allow: &[Rule],
    notes: bool,
) -> Vec<Problem> {
    let is_wanted = |severity: Severity| notes || severity != Severity::Note;
    let mut found = Vec::new();
    for check in rules.filter(|check| is_wanted(check.severity) && !allow.contains(&check.rule)) {
        check.run(subject, &mut found);
    }
    found.retain(|problem| is_wanted(problem.severity));
    found
}
