//! Compares what the machines of a job say about themselves, by the table of facts.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::base::rows::{self, Row};
use crate::base::size::size;
use crate::report::{Problem, Rule, Severity};

pub const TABLE: &str = include_str!("facts.txt");

/// What is the same on all machines, and the problems. Of values that are as frequent, the first machine's is the usual one.
pub fn compare(answers: &[Value]) -> (Vec<String>, Vec<Problem>) {
    let (mut same, mut problems) = (Vec::new(), Vec::new());
    let facts = answers
        .iter()
        .filter_map(|answer| answer["facts"].as_object());
    let mut names: Vec<&String> = facts
        .flat_map(Map::keys)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    for row in rows::rows(TABLE) {
        let fits = |name: &str, pattern: &str| {
            pattern
                .strip_suffix('*')
                .map_or(name == pattern, |it| name.starts_with(it))
        };
        for name in names.extract_if(.., |name| row.names().any(|pattern| fits(name, pattern))) {
            match compare_fact(row, name, answers) {
                Ok(shown) => same.extend(shown),
                Err(problem) => problems.push(problem),
            }
        }
    }
    (same, problems)
}

/// How the fact is shown, where it is the same on all machines.
fn compare_fact(row: Row, fact: &str, answers: &[Value]) -> Result<Option<String>, Problem> {
    let cells = row.cells();
    let cell = |name: &str| cells.get(name).and_then(Value::as_str);
    let short = fact.split_once('.').map_or(fact, |(_, short)| short);
    let text = |value: &Value| match value.as_u64() {
        Some(bytes) if cells.contains_key("bytes") => size(bytes),
        _ => value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_string),
    };
    let mut groups: Vec<(&Value, Vec<String>)> = Vec::new();
    for answer in answers {
        let Some(value) = answer["facts"].get(fact).or(cells.get("absent")) else {
            continue;
        };
        match groups.iter_mut().find(|(known, _)| *known == value) {
            Some((_, machines)) => machines.push(name(answer)),
            None => groups.push((value, vec![name(answer)])),
        }
    }
    let [least, most] = ["least", "most"].map(|name| cells.get(name).and_then(Value::as_f64));
    let is_fine = |it: f64| {
        least.is_some_and(|least| it >= least) || most.is_some_and(|most| it.abs() <= most)
    };
    groups.retain(|(value, _)| !value.as_f64().is_some_and(is_fine) && !cells.contains_key("free"));
    let mut usual = String::new();
    if cells.contains_key("same") {
        let most = groups.iter().map(|(_, machines)| machines.len()).max();
        let at = groups
            .iter()
            .position(|(_, machines)| Some(machines.len()) == most)
            .unwrap_or(0);
        let (value, machines) = groups.remove(at);
        if groups.is_empty() {
            return Ok(cell("shown").map(|shown| {
                shown
                    .replace("{name}", short)
                    .replace("{value}", &text(value))
            }));
        }
        usual = format!(
            ", {} on {}",
            text(value),
            if most == Some(1) {
                &machines[0]
            } else {
                "the others"
            }
        );
    }
    if groups.is_empty() {
        return Ok(None);
    }
    let is = |name: &str| cells.contains_key(name);
    let values: Vec<String> = groups
        .iter()
        .take(if is("own") { 1 } else { 99 })
        .map(|group| text(group.0))
        .collect();
    let machines: Vec<String> = groups
        .into_iter()
        .flat_map(|(_, machines)| machines)
        .collect();
    let is_everywhere = is("own") && machines.len() == answers.len();
    let says = if is_everywhere {
        "{value}"
    } else {
        cell("says").unwrap_or("{name} is {value} on {machines}")
    };
    let what = says
        .replace("{machines}", &listed(&machines))
        .replace("{name}", cell("called").unwrap_or(short));
    let what =
        what.replace("{value}", &listed(&values)) + &usual + cell("means").unwrap_or_default();
    let (what, help) = what
        .split_once('\n')
        .unwrap_or((&what, cell("help").unwrap_or_default()));
    let severity = if is("note") {
        Severity::Note
    } else {
        Severity::error_if(is("error"))
    };
    let rule = if is("no-answer") {
        Rule::NoAnswer
    } else {
        Rule::UnlikeOthers
    };
    Err(Problem {
        severity,
        ..Problem::error(rule, what).fix(help)
    })
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
