//! The problems of a launch, gathered so that all of them are reported at once.

use std::collections::HashSet;

use super::{Judge, is_error};
use crate::{
    base::options::launch_option,
    check,
    report::{fix::Change, prelude::*},
};

impl Judge<'_> {
    /// Options of ours behind the command are one mistake with one fix, whatever followed from it.
    pub fn join_misplaced(&mut self) {
        let flags: Vec<String> = self
            .findings
            .iter()
            .filter_map(|found| found.fixes.moved())
            .map(str::to_string)
            .collect();
        if flags.is_empty() {
            return;
        }
        let line = self.draft.understood.with_options_in_front(&flags);
        let line = Fixes::from(run(line));
        for found in &mut self.findings {
            if found.fixes.moved().is_some() {
                found.fixes.clone_from(&line);
            }
        }
        let counts = flags.iter().any(|flag| flag == "--nproc-per-node");
        self.problems
            .retain(|problem| !(counts && problem.asks_for_gpu_count()));
    }

    pub fn sort_findings(&mut self) {
        let output = self.draft.understood.launch.output;
        let only_printed = output.dry_run.is_some() && !output.check;
        let is_mismatched = self
            .problems
            .iter()
            .filter(|known| is_error(known))
            .any(|error| error.rule == Rule::Mismatch);
        let key = |it: &Problem| (it.rule, it.places.clone());
        let mut told: HashSet<(Rule, Vec<Place>)> = self
            .problems
            .iter()
            .filter(|known| is_error(known))
            .map(key)
            .collect();
        let mut kept: Problems = vec![];
        for found in std::mem::take(&mut self.findings) {
            // The mismatch already says what the rules about the batch would. Several rules may read the same wrong argument;
            // the first one reports it.
            let is_told = is_mismatched && check::is_about_batch(found.rule);
            if is_told || told.contains(&key(&found)) {
                continue;
            }
            if is_error(&found) {
                told.insert(key(&found));
            }
            kept.push(found);
        }
        for found in &mut kept {
            if only_printed && is_error(found) && check::is_about_the_start(found.rule) {
                found.severity = Severity::Warning;
            }
        }
        self.add(kept);
    }

    /// Options of the trainer are keys of its run file, where that holds all of them.
    pub fn put_into_run_file(&mut self) {
        let understood = &self.draft.understood;
        if !understood.job.reads_mapping() {
            return;
        }
        let place = |name: &str| understood.job.place_in_run_file(name, &understood.host);
        let name = |option: &str| Some(option.strip_prefix("--")?.split(' ').next()?.to_string());
        for problem in &mut self.problems {
            for it in &mut problem.places {
                if let Place::Option { option, .. } = it
                    && let Some(name) = name(option).filter(|name| launch_option(name).is_none())
                    && let Some(in_file) = place(&name)
                {
                    *it = in_file;
                }
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
    pub fn verdict(self) -> (Problems, bool) {
        let launch = self.draft.understood.launch;
        let (mut problems, mut warnings): (Problems, Problems) =
            self.problems.into_iter().partition(is_error);
        // Whatever else is wrong with the ranks is why nobody knows their number.
        let are_several = problems
            .iter()
            .filter(|error| error.rule == Rule::Ranks)
            .count()
            > 1;
        problems.retain(|error| !(error.asks_for_gpu_count() && are_several));
        warnings.retain(|problem| !launch.allow.contains(&problem.rule));
        let has_error = !problems.is_empty();
        for problem in &mut warnings {
            problem.be_strict(launch.strict);
        }
        problems.append(&mut warnings);
        let is_refused = has_error || !launch.output.check && problems.iter().any(is_error);
        (problems, is_refused)
    }
}
