//! The rules of `check`: what DeepSpeed, accelerate or torch would refuse minutes later, silently ignore, or do in another
//! way than expected. A rule is one entry of `tables`; the files here have the code of those that need it. Nothing here changes the plan.

mod batch;
mod files;
mod keys;
pub mod machine;
mod optimizer;
mod rejections;
mod rows;
mod subject;
pub mod tables;
pub mod variables;

use crate::report::{Problems, Rule, Severity};

use rows::Check;
pub use subject::{Subject, deepspeed_in_words};
use tables::{
    config_rules::{BATCH, CONFIG},
    launch_rules::{ARGUMENTS, HERE, VARIABLES},
};

/// A rule with two severities has two checks, the first of which says what the rule is.
pub fn rules() -> impl Iterator<Item = &'static Check> {
    about_config()
        .chain(VARIABLES)
        .chain(HERE)
        .chain(ARGUMENTS)
        .filter(|check| !check.about.is_empty())
}

fn about_config() -> impl Iterator<Item = &'static Check> {
    CONFIG.iter().copied().flatten()
}

/// A launch needs it, a plan does not: a plan may be for another machine, and its command may be incomplete.
pub fn is_about_the_start(rule: Rule) -> bool {
    rule == Rule::ArgumentMissing || HERE.iter().any(|check| check.rule == rule)
}

pub fn is_about_batch(rule: Rule) -> bool {
    BATCH.iter().any(|check| check.rule == rule)
}

/// Checks a config without a command.
pub fn diagnose_config(subject: &Subject, allow: &[Rule]) -> Problems {
    run(about_config(), subject, allow, true)
}

/// Without a config, only the rules about the launch are asked. Notes cost time, so they are only made if they are printed.
pub fn diagnose(subject: &Subject, allow: &[Rule], notes: bool) -> Problems {
    let config = about_config().filter(|_| !subject.config.is_null());
    let here = if subject.runs_here() { HERE } else { &[] };
    run(
        config.chain(VARIABLES).chain(here).chain(ARGUMENTS),
        subject,
        allow,
        notes,
    )
}

fn run(
    rules: impl Iterator<Item = &'static Check>,
    subject: &Subject,
    allow: &[Rule],
    notes: bool,
) -> Problems {
    let is_wanted = |severity: Severity| notes || severity != Severity::Note;
    rules
        .filter(|check| is_wanted(check.severity) && !allow.contains(&check.rule))
        .flat_map(|check| check.run(subject))
        .filter(|problem| is_wanted(problem.severity))
        .collect()
}
