//! The rules of `check`: what DeepSpeed, accelerate or torch would refuse minutes later, silently ignore, or do in another
//! way than expected. A rule is one entry of `tables`; the files here have the code of those that need it. Nothing here changes the plan.

mod batch;
mod combinations;
mod conditions;
mod files;
mod findings;
mod keys;
pub mod machine;
pub(crate) mod operators;
mod optimizer;
mod precision;
mod rejections;
mod subject;
pub(crate) mod tables;
mod values;
pub(crate) mod variables;

use crate::report::{Problem, Rule, Severity};

use findings::Check;
pub(crate) use subject::{Derived, Subject, deepspeed_in_words};
use tables::config_rules::{BATCH, CONFIG};
use tables::launch_rules::{ARGUMENTS, HERE, VARIABLES};

pub fn rules() -> impl Iterator<Item = &'static Check> {
    about_config().chain(VARIABLES).chain(HERE).chain(ARGUMENTS)
}

fn about_config() -> impl Iterator<Item = &'static Check> {
    CONFIG.iter().copied().flatten()
}

/// A launch needs it, a plan does not: a plan may be for another machine, and its command may be incomplete.
pub(crate) fn is_about_the_start(rule: Rule) -> bool {
    rule == Rule::ArgumentMissing || HERE.iter().any(|check| check.rule == rule)
}

pub(crate) fn is_about_batch(rule: Rule) -> bool {
    BATCH.iter().any(|check| check.rule == rule)
}

/// Checks a config without a command.
pub(crate) fn diagnose_config(subject: &Subject, allow: &[Rule]) -> Vec<Problem> {
    run(about_config(), subject, allow, true)
}

/// Without a config, only the rules about the launch are asked. Notes cost time, so they are only made if they are printed.
pub(crate) fn diagnose(subject: &Subject, allow: &[Rule], notes: bool) -> Vec<Problem> {
    let config = about_config().filter(|_| !subject.config.is_null());
    let here = if subject.runs_here() { HERE } else { &[] };
    let rules = config.chain(VARIABLES).chain(here).chain(ARGUMENTS);
    run(rules, subject, allow, notes)
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
