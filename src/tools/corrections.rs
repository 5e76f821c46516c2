//! `zlaunch check --fix`: corrects config files. One safe fix after another is applied in memory, and the text is judged
//! again after each. Fixes that lead to a problem that was not there before are left out.

use super::proof::{Trial, Tried, is_same};
use crate::{base::json::Edit, report::prelude::*};

/// No config has as many mistakes that can be corrected.
const MOST_CORRECTIONS: usize = 200;

/// A text of the config, and the last edits that led to it.
pub struct Corrected {
    pub text: String,
    pub edits: Vec<Edit>,
    problems: Problems,
}

/// The text after each correction. If they end in a new problem, those that lead to one are left out.
pub fn corrections(text: &str, judge: impl Fn(&str) -> Option<Problems>) -> Vec<Corrected> {
    let mut steps = steps(text, &judge, false);
    if let [first, .., last] = &steps[..]
        && last.leads_on_from(first)
    {
        steps = self::steps(text, &judge, true);
    }
    // The first is the text as it stands.
    steps.split_off(steps.len().min(1))
}

fn steps(text: &str, judge: impl Fn(&str) -> Option<Problems>, is_careful: bool) -> Vec<Corrected> {
    let mut steps: Vec<Corrected> = vec![];
    let corrected = |text: String, edits| {
        let mut problems = judge(&text)?;
        problems.sort_by_key(|problem| problem.severity);
        Some(Corrected {
            text,
            edits,
            problems,
        })
    };
    let mut next = corrected(text.to_string(), vec![]);
    while let Some(step) = next.filter(|_| steps.len() <= MOST_CORRECTIONS) {
        next = step.problems.iter().find_map(|problem| {
            let edits = problem.fixes.safe()?.edits();
            let text = Edit::apply_all(&edits, &step.text)?;
            let is_known = steps.iter().any(|step| step.text == text) || step.text == text;
            let made = corrected(text, edits).filter(|_| !is_known)?;
            (!is_careful || !made.leads_on_from(&step)).then_some(made)
        });
        steps.push(step);
    }
    steps
}

impl Corrected {
    /// It has a new problem, which is not corrected by itself.
    fn leads_on_from(&self, before: &Self) -> bool {
        self.problems.iter().any(|found| {
            let is_known = before.problems.iter().any(|known| is_same(known, found));
            found.severity != Severity::Note && !is_known && found.fixes.safe().is_none()
        })
    }
}

/// A config and its judge.
pub struct Config<'a> {
    pub text: String,
    pub judge: &'a dyn Fn(&str) -> Option<Problems>,
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
