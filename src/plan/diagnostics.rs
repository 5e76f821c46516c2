//! What is gathered while a plan is made, so that all problems are reported at once.

use std::collections::HashSet;

use crate::check;
use crate::report::fix::{Fixes, run};
use crate::report::{Problem, Rule, Severity};
use crate::request::{Launch, Output};

/// Everything that is wrong or odd, gathered while the plan is made.
#[derive(Default)]
pub(super) struct Diagnostics {
    /// Each of them refuses the launch.
    pub(super) errors: Vec<Problem>,
    /// Printed beside the plan.
    pub(super) warnings: Vec<Problem>,
    /// What the rules of `check` found, errors or not.
    pub(super) findings: Vec<Problem>,
    /// The trainer computes another value than the config has.
    pub(super) mismatched: bool,
}

impl Diagnostics {
    /// Keeps the errors and goes on without the value, so that all problems are found at once.
    pub(super) fn keep<T>(&mut self, result: Result<T, Vec<Problem>>) -> Option<T> {
        result.map_err(|mut found| self.errors.append(&mut found)).ok()
    }

    /// Each refuses the launch or is printed beside the plan, as its severity says.
    pub(super) fn add(&mut self, problems: impl IntoIterator<Item = Problem>) {
        for problem in problems {
            if problem.severity == Severity::Error { self.errors.push(problem) } else { self.warnings.push(problem) }
        }
    }

    /// Options of ours behind the command are one mistake with one fix, whatever followed from it.
    pub(super) fn join_misplaced(&mut self, line: impl Fn(&[String]) -> String) {
        let flags: Vec<String> =
            self.findings.iter().filter_map(|found| found.fixes.moved()).map(str::to_string).collect();
        if flags.is_empty() {
            return;
        }
        let line = Fixes::from(run(line(&flags)));
        let misplaced = self.findings.iter_mut().filter(|found| found.fixes.moved().is_some());
        misplaced.for_each(|found| found.fixes.clone_from(&line));
        let is_given = |flag: &str| flags.iter().any(|given| given == flag);
        self.errors.retain(|error| !(is_given("--nproc-per-node") && error.asks_for_gpu_count));
        self.warnings.retain(|warning| !(is_given("--dry-run") && warning.rule == Rule::BehindTheCommand));
    }

    /// Sorts what the rules found into errors and warnings.
    pub(super) fn sort_findings(&mut self, output: Output) {
        let only_printed = output.dry_run.is_some() && !output.check;
        // The mismatch already says what the rules about the batch would.
        let sourced = |found: &Problem| self.mismatched && check::is_about_batch(found.rule);
        let key = |found: &Problem| (found.rule.to_string(), found.places.clone());
        let mut told: HashSet<_> = self.errors.iter().map(key).collect();
        for found in self.findings.drain(..).filter(|found| !sourced(found)) {
            // Of a wrong argument, whoever reads it first says so.
            let is_new =
                if found.severity == Severity::Error { told.insert(key(&found)) } else { !told.contains(&key(&found)) };
            if !is_new {
                continue;
            }
            let warns = only_printed && check::is_about_the_start(found.rule) && found.severity == Severity::Error;
            let found = if warns { found.into_warning() } else { found };
            if found.severity == Severity::Error { self.errors.push(found) } else { self.warnings.push(found) }
        }
    }

    /// The warnings of a plan, or everything that is wrong.
    pub(super) fn verdict(self, launch: &Launch) -> Result<Vec<Problem>, Vec<Problem>> {
        let Diagnostics { mut errors, mut warnings, .. } = self;
        warnings.retain(|problem| !launch.allow.contains(&problem.rule));
        if !errors.is_empty() {
            errors.append(&mut warnings);
            return Err(errors);
        }
        let warned = warnings.iter().any(|problem| problem.severity == Severity::Warning);
        if launch.strict && warned && !launch.output.check {
            warnings.retain(|problem| problem.severity == Severity::Warning);
            for problem in &mut warnings {
                problem.severity = Severity::Error;
            }
            return Err(warnings);
        }
        Ok(warnings)
    }
}
