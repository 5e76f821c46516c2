//! `zlaunch check --fix`: corrects config files. One safe fix after another is applied in memory, and the text is judged
//! again after each. Fixes that end in a problem that was not there before are left out.

use super::proof::is_same;
use super::proof::{Trial, Tried};
use crate::{
    base::json::Edit,
    report::{Problem, Severity, fix::Fix},
};

/// No config has as many mistakes that can be corrected.
const MOST_CORRECTIONS: usize = 200;
const MOST_DECLINED: usize = 20;

/// A text of the config, and the last edits that led to it.
pub struct Corrected {
    pub text: String,
    pub edits: Vec<Edit>,
    problems: Vec<Problem>,
}

/// The text after each correction. One that ends in a new problem is not made.
pub fn corrections(text: &str, judge: impl Fn(&str) -> Option<Vec<Problem>>) -> Vec<Corrected> {
    let mut declined = Vec::new();
    while declined.len() < MOST_DECLINED {
        let mut steps = all_corrections(text, &judge, &declined);
        // The first is the text as it stands.
        let made = steps.split_off(steps.len().min(1));
        let is_new = |found: &&Problem| {
            let mut before = steps.iter().flat_map(|step| &step.problems);
            found.severity != Severity::Note && !before.any(|known| is_same(known, found))
        };
        let new = made
            .last()
            .and_then(|last| last.problems.iter().find(is_new));
        let leads_there = |step: &&Corrected| {
            new.is_some_and(|new| step.problems.iter().any(|it| is_same(it, new)))
        };
        match made.iter().find(leads_there) {
            Some(step) => declined.push(step.edits.clone()),
            None => return made,
        }
    }
    Vec::new()
}

fn all_corrections(
    text: &str,
    judge: impl Fn(&str) -> Option<Vec<Problem>>,
    declined: &[Vec<Edit>],
) -> Vec<Corrected> {
    let mut steps: Vec<Corrected> = Vec::new();
    let mut next = Some((text.to_string(), Vec::new()));
    while let Some((text, edits)) = next.filter(|_| steps.len() <= MOST_CORRECTIONS) {
        let Some(mut problems) = judge(&text) else {
            break;
        };
        problems.sort_by_key(|problem| problem.severity);
        let is_known = |text: &str| steps.iter().any(|step| step.text == text);
        next = problems.iter().find_map(|problem| {
            let edits = problem.fixes.safe()?.edits();
            let text = Edit::apply_all(&edits, &text).filter(|text| !is_known(text))?;
            (!edits.is_empty() && !declined.contains(&edits)).then_some((text, edits))
        });
        steps.push(Corrected {
            text,
            edits,
            problems,
        });
    }
    steps
}

/// A config and its judge.
pub struct Config<'a> {
    pub text: String,
    pub judge: &'a dyn Fn(&str) -> Option<Vec<Problem>>,
}

impl Trial for Config<'_> {
    fn with(&self, fix: &Fix, _: bool) -> Tried<Self> {
        let edits = fix.edits();
        if edits.is_empty() {
            return Tried::NotHere;
        }
        let judge = self.judge;
        let text = Edit::apply_all(&edits, &self.text);
        match text.and_then(|text| Some((judge(&text)?, text))) {
            Some((after, text)) => Tried::Judged(Config { text, judge }, after),
            None => Tried::Impossible,
        }
    }

    fn is_partly_judged(&self) -> bool {
        false
    }

    fn pasted(&self, fix: Fix) -> Fix {
        fix
    }
}

/// The lines that differ, as `diff` marks them.
pub fn difference(old: &str, new: &str) -> String {
    let mut old: Vec<&str> = old.lines().collect();
    let mut new: Vec<&str> = new.lines().collect();
    let mut text = String::new();
    while !old.is_empty() || !new.is_empty() {
        // The nearest line that both have: the sum of how many others come before it in each is the least.
        let sums = 0..old.len() + new.len();
        let mut places = sums.flat_map(|sum| (0..=sum).map(move |at| (at, sum - at)));
        let is_common = |(at, other): &(usize, usize)| {
            old.get(*at)
                .is_some_and(|line| new.get(*other) == Some(line))
        };
        let ends = (old.len(), new.len());
        let (removed, added) = places.find(is_common).unwrap_or(ends);
        for line in old.drain(..removed) {
            text += &format!("-{line}\n");
        }
        for line in new.drain(..added) {
            text += &format!("+{line}\n");
        }
        old.drain(..old.len().min(1));
        new.drain(..new.len().min(1));
    }
    text
}
