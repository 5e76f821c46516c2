//! Compares what the machines of a job say about themselves, by the table of facts.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::tables::facts::{Compared, FACTS, Fact, Name};
use crate::base::size::size;
use crate::report::Problem;

#[derive(Default)]
pub struct Comparison {
    /// What is the same on all machines, as it is shown.
    pub same: Vec<String>,
    pub problems: Vec<Problem>,
}

/// Machines that state the same.
struct Group<'a> {
    value: &'a Value,
    machines: Vec<String>,
}

pub fn compare(answers: &[Value]) -> Comparison {
    let mut comparison = Comparison::default();
    let facts = answers
        .iter()
        .filter_map(|answer| answer["facts"].as_object());
    let names: BTreeSet<&String> = facts.flat_map(Map::keys).collect();
    let mut names: Vec<&String> = names.into_iter().collect();
    for fact in FACTS {
        for name in names.extract_if(.., |name| fact.names.iter().any(|it| it.fits(name))) {
            comparison.add(fact, name, answers);
        }
    }
    comparison
}

impl Name {
    fn fits(&self, name: &str) -> bool {
        match self {
            Name::Is(whole) => name == *whole,
            Name::Below(start) => name.starts_with(start),
        }
    }
}

impl Fact {
    fn text(&self, value: &Value) -> String {
        match value {
            Value::String(text) => text.clone(),
            Value::Number(bytes) if self.is_size => size(bytes.as_u64().unwrap_or_default()),
            other => other.to_string(),
        }
    }

    /// A number that no machine needs to be told of.
    fn is_fine(&self, value: &Value) -> bool {
        match (self.compared, value.as_f64()) {
            (Compared::AtLeast(least), Some(number)) => number >= least.into(),
            (Compared::AtMost(most), Some(number)) => number.abs() <= most.into(),
            _ => false,
        }
    }
}

impl Comparison {
    fn add(&mut self, fact: &Fact, fact_name: &str, answers: &[Value]) {
        if fact.compared == Compared::Free {
            return;
        }
        let absent = fact.absent.map(Value::from);
        let mut groups: Vec<Group<'_>> = Vec::new();
        for answer in answers {
            let Some(value) = answer["facts"].get(fact_name).or(absent.as_ref()) else {
                continue;
            };
            match groups.iter_mut().find(|group| group.value == value) {
                Some(group) => group.machines.push(name(answer)),
                None => groups.push(Group {
                    value,
                    machines: vec![name(answer)],
                }),
            }
        }
        groups.retain(|group| !fact.is_fine(group.value));
        let short = fact_name.split_once('.').map_or(fact_name, |(_, it)| it);
        let mut usual = String::new();
        if fact.compared == Compared::Same {
            let group = groups.remove(largest(&groups));
            let value = fact.text(group.value);
            if groups.is_empty() {
                let shown = fact.shown.map(|shown| shown.replace("{name}", short));
                self.same
                    .extend(shown.map(|shown| shown.replace("{value}", &value)));
            }
            let others = match &group.machines[..] {
                [only] => only,
                _ => "the others",
            };
            usual = format!(", {value} on {others}");
        }
        if groups.is_empty() {
            return;
        }
        let values: Vec<String> = groups.iter().map(|group| fact.text(group.value)).collect();
        let machines = groups.into_iter().flat_map(|group| group.machines);
        let machines: Vec<String> = machines.collect();
        let problem = |what: &str, help: &str| Problem {
            severity: fact.severity,
            ..Problem::error(fact.rule, what).fix(help)
        };
        self.problems
            .push(if fact.compared == Compared::InItsOwnWords {
                let (what, help) = values[0].split_once('\n').unwrap_or((&values[0], ""));
                if machines.len() == answers.len() {
                    problem(what, help)
                } else {
                    problem(&format!("{}: {what}", listed(&machines)), help)
                }
            } else {
                let what = fact
                    .says
                    .replace("{machines}", &listed(&machines))
                    .replace("{name}", fact.called.unwrap_or(short))
                    .replace("{value}", &listed(&values));
                problem(&format!("{what}{usual}: {}", fact.means), fact.help)
            });
    }
}

/// Of groups that are as large, the first machine's is the usual one.
fn largest(groups: &[Group<'_>]) -> usize {
    let most = groups.iter().map(|group| group.machines.len()).max();
    groups
        .iter()
        .position(|group| Some(group.machines.len()) == most)
        .unwrap_or(0)
}

pub(super) fn name(answer: &Value) -> String {
    answer["name"].as_str().unwrap_or_default().to_string()
}

/// `gpu07, gpu08, gpu09 and 6 more`.
pub(super) fn listed(names: &[String]) -> String {
    match names {
        [] | [_] => names.concat(),
        [some @ .., last] if names.len() < 5 => format!("{} and {last}", some.join(", ")),
        _ => format!("{} and {} more", names[..3].join(", "), names.len() - 3),
    }
}
