//! The problems of a launch, gathered so that all of them are reported at once.

use std::collections::HashSet;

use crate::base::options::launch_option;
use crate::check;
use crate::report::fix::{Change, Fixes, Owner, run};
use crate::report::{Place, Problem, Rule, Severity};
use crate::request::{Launch, Output};

#[derive(Default)]
pub(super) struct Diagnostics {
    pub(super) errors: Vec<Problem>,
    pub(super) warnings: Vec<Problem>,
    /// Errors and warnings of the rules in `check`.
    pub(super) findings: Vec<Problem>,
    /// The trainer computes another value than the config has.
    pub(super) mismatched: bool,
}

impl Diagnostics {
    pub(super) fn add(&mut self, problems: impl IntoIterator<Item = Problem>) {
        for problem in problems {
            if problem.severity == Severity::Error {
                self.errors.push(problem);
            } else {
                self.warnings.push(problem);
            }
        }
    }

    /// Options of ours behind the command are one mistake with one fix, whatever followed from it.
    pub(super) fn join_misplaced(&mut self, line: impl Fn(&[String]) -> String) {
        let moved = self.findings.iter().filter_map(|found| found.fixes.moved());
        let flags: Vec<String> = moved.map(str::to_string).collect();
        if flags.is_empty() {
            return;
        }
        let line = Fixes::from(run(line(&flags)));
        for found in self
            .findings
            .iter_mut()
            .filter(|found| found.fixes.moved().is_some())
        {
            found.fixes.clone_from(&line);
        }
        let is_given = |flag: &str| flags.iter().any(|given| given == flag);
        self.errors
            .retain(|error| !(is_given("--nproc-per-node") && error.asks_for_gpu_count()));
        self.warnings
            .retain(|warning| !(is_given("--dry-run") && warning.rule == Rule::AfterTheCommand));
    }

    pub(super) fn sort_findings(&mut self, output: Output) {
        let only_printed = output.dry_run.is_some() && !output.check;
        let key = |found: &Problem| (found.rule.to_string(), found.places.clone());
        let mut known: HashSet<_> = self.errors.iter().map(key).collect();
        for found in std::mem::take(&mut self.findings) {
            // The mismatch already says what the rules about the batch would.
            if self.mismatched && check::is_about_batch(found.rule) {
                continue;
            }
            let is_error = found.severity == Severity::Error;
            // Several rules may read the same wrong argument; the first one reports it.
            let is_new = if is_error {
                known.insert(key(&found))
            } else {
                !known.contains(&key(&found))
            };
            if is_new {
                let warns = is_error && only_printed && check::is_about_the_start(found.rule);
                self.add([if warns { found.into_warning() } else { found }]);
            }
        }
    }

    /// Options of the trainer are keys of its run file, where that holds all of them.
    pub(super) fn put_into_run_file(&mut self, place: impl Fn(&str) -> Option<Place>) {
        let name = |option: &str| Some(option.strip_prefix("--")?.split(' ').next()?.to_string());
        let key = |option: &str| name(option).filter(|name| launch_option(name).is_none());
        for problem in self.errors.iter_mut().chain(&mut self.warnings) {
            for it in &mut problem.places {
                let name = if let Place::Option { option, .. } = it {
                    key(option)
                } else {
                    None
                };
                *it = name
                    .and_then(|name| place(&name))
                    .unwrap_or_else(|| it.clone());
            }
            for change in problem.fixes.changes() {
                let (Change::Give {
                    owner: Owner::Trainer,
                    option,
                    ..
                }
                | Change::Drop {
                    owner: Owner::Trainer,
                    word: option,
                }) = change
                else {
                    continue;
                };
                *option = name(option).unwrap_or_else(|| option.clone());
                // In the command it is `name=value`.
                if let Some(Place::Word { word }) = place(option)
                    && let Change::Give { option, value, .. } = change
                {
                    *change = Change::RenameOption {
                        owner: Owner::Trainer,
                        to: format!("{option}={value}"),
                        option: word,
                    };
                }
            }
        }
    }

    /// Everything there is to say, and whether it refuses the launch.
    pub(super) fn verdict(self, launch: &Launch) -> (Vec<Problem>, bool) {
        let Diagnostics {
            mut errors,
            mut warnings,
            ..
        } = self;
        // Whatever else is wrong with the ranks is why nobody knows their number.
        let of_ranks = errors
            .iter()
            .filter(|error| error.rule == Rule::Ranks)
            .count();
        errors.retain(|error| !(error.asks_for_gpu_count() && of_ranks > 1));
        warnings.retain(|problem| !launch.allow.contains(&problem.rule));
        for problem in &mut warnings {
            problem.be_strict(launch.strict);
        }
        let has_error = warnings
            .iter()
            .any(|problem| problem.severity == Severity::Error);
        let is_refused = !errors.is_empty() || !launch.output.check && has_error;
        errors.append(&mut warnings);
        (errors, is_refused)
    }
}
