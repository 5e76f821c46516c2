//! Machines and their GPUs as DeepSpeed's runner takes them: a file of `host slots=N` lines, and `--include` or
//! `--exclude host:0,1@host`. Without a file, these select among the GPUs of this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::variables::check;
use crate::base::source::Sourced;
use crate::report::fix::{Owner, give_as, meant, say};
use crate::report::{Place, Problem, Rule, nearest};

#[derive(Clone, Default)]
pub struct HostFlags {
    pub(crate) hostfile: Option<Sourced<PathBuf>>,
    pub(crate) include: Option<Sourced<String>>,
    pub(crate) exclude: Option<Sourced<String>>,
}

/// Machines by name, each with the names of its GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourcePool(pub Vec<(String, Vec<String>)>);

impl HostFlags {
    /// The GPUs of this machine, after the filters; `None` if there are no filters for it.
    pub(super) fn local_gpus(&self, gpus: &[String]) -> Result<Option<Vec<String>>, Vec<Problem>> {
        if self.hostfile.is_some() || self.include.is_none() && self.exclude.is_none() {
            return Ok(None);
        }
        let pool = self.filtered(ResourcePool(vec![("localhost".to_string(), gpus.to_vec())]))?;
        Ok(pool.0.into_iter().next().map(|(_, gpus)| gpus))
    }

    /// As the user typed them, without those given by variables.
    pub(crate) fn flags(&self) -> impl Iterator<Item = String> {
        let file = self
            .hostfile
            .iter()
            .map(|sourced| (&sourced.from, sourced.from.with(sourced.value.display())));
        let filters = self
            .include
            .iter()
            .chain(&self.exclude)
            .map(|sourced| (&sourced.from, sourced.spelling()));
        file.chain(filters)
            .filter(|(from, _)| from.is_flag())
            .map(|(_, place)| place)
    }

    pub(super) fn filtered(&self, pool: ResourcePool) -> Result<ResourcePool, Vec<Problem>> {
        match (&self.include, &self.exclude) {
            (Some(include), Some(exclude)) => {
                let problem =
                    Problem::error(Rule::Hosts, "`--include` cannot be used with `--exclude`");
                Err(problem
                    .at(include)
                    .at(exclude)
                    .fix("drop one of them")
                    .into())
            }
            (Some(filter), None) => pool.filtered(filter, true),
            (None, Some(filter)) => pool.filtered(filter, false),
            (None, None) => Ok(pool),
        }
    }
}

impl ResourcePool {
    /// Only what the filter names, or everything else. A machine without a list of GPUs means all of them.
    pub fn filtered(&self, filter: &Sourced<String>, keep: bool) -> Result<Self, Vec<Problem>> {
        let pool: BTreeMap<&str, &Vec<String>> = self
            .0
            .iter()
            .map(|(host, slots)| (host.as_str(), slots))
            .collect();
        let mut named: BTreeSet<(&str, &str)> = BTreeSet::new();
        let mut problems = Vec::new();
        for item in filter.value.split('@') {
            let (name, slots) = item
                .split_once(':')
                .map_or((item, None), |(name, slots)| (name, Some(slots)));
            let name = name.trim();
            match (pool.get(name), slots) {
                (None, _) => problems.push(self.no_such_machine(filter, name)),
                (Some(have), None) => named.extend(have.iter().map(|slot| (name, slot.as_str()))),
                (Some(have), Some(slots)) => {
                    for slot in slots.split(',').map(str::trim) {
                        if !have.iter().any(|own| own == slot) {
                            problems.push(no_such_slot(filter, name, slot, have));
                        }
                        named.insert((name, slot));
                    }
                }
            }
        }
        check(problems)?;
        let mut left = self.0.clone();
        for (host, slots) in &mut left {
            slots.retain(|slot| named.contains(&(host, slot)) == keep);
        }
        left.retain(|(_, slots)| !slots.is_empty());
        if left.is_empty() {
            return Err(Problem::error(Rule::Hosts, "no GPU is left")
                .at(filter)
                .fix("keep at least one")
                .into());
        }
        Ok(ResourcePool(left))
    }

    fn no_such_machine(&self, filter: &Sourced<String>, name: &str) -> Problem {
        let known: Vec<&str> = self.0.iter().map(|(host, _)| host.as_str()).collect();
        let help = match nearest(name, known.iter().copied()) {
            Some(near) => meant(near),
            None if known.len() == 1 && name.starts_with(|c: char| c.is_ascii_digit()) => {
                let fix = give_as(&filter.from, format!("{}:{name}", known[0]));
                if filter.from.is_flag() {
                    fix
                } else {
                    fix.of(Owner::Launcher)
                }
            }
            None => say(format!("one of {}", known.join(", "))),
        };
        Problem::error(Rule::Hosts, format!("there is no machine `{name}`"))
            .at(filter)
            .fix(help)
    }
}

pub fn parse(text: &str, file: &str) -> Result<ResourcePool, Vec<Problem>> {
    let mut pool: Vec<(String, Vec<String>)> = Vec::new();
    let (mut known, mut problems) = (BTreeSet::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut problem = |what: String, help: &str| {
            problems.push(
                Problem::error(Rule::Hosts, what)
                    .at(Place::line(file, (number, 1)))
                    .fix(help),
            );
        };
        match parse_line(line) {
            None => {
                let (name, rest) = line.split_once([' ', '\t', ':']).unwrap_or((line, ""));
                let digits = rest.trim_matches(|c: char| !c.is_ascii_digit());
                let number = if digits.parse::<u32>().is_ok() {
                    digits
                } else {
                    "N"
                };
                problem(
                    format!("`{line}` is not of the form `host slots=N`"),
                    &format!("{name} slots={number}"),
                );
            }
            Some((name, _)) if !known.insert(name) => {
                problem(
                    format!("`{name}` is in the hostfile twice"),
                    "put all its slots on one line",
                );
            }
            Some((name, slots)) => {
                pool.push((
                    name.to_string(),
                    (0..slots).map(|slot| slot.to_string()).collect(),
                ));
            }
        }
    }
    if pool.is_empty() && problems.is_empty() {
        problems.push(
            Problem::error(Rule::Hosts, "the hostfile names no machine")
                .at(file)
                .fix("node01 slots=8"),
        );
    }
    check(problems).map(|()| ResourcePool(pool))
}

fn no_such_slot(filter: &Sourced<String>, machine: &str, slot: &str, have: &[String]) -> Problem {
    let have = if have.is_empty() {
        "no GPU is visible".to_string()
    } else {
        format!("it has {}", have.join(","))
    };
    let problem =
        Problem::error(Rule::Hosts, format!("`{machine}` has no GPU `{slot}`")).at(filter);
    problem.fix(
        have + if slot.contains('-') {
            "; write a range such as 0-3 as 0,1,2,3"
        } else {
            ""
        },
    )
}

fn parse_line(line: &str) -> Option<(&str, u32)> {
    let (name, rest) = line.split_once(char::is_whitespace)?;
    let digits = rest.trim_start().strip_prefix("slots=")?;
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    let slots = digits[..end]
        .parse::<u32>()
        .ok()
        .filter(|slots| (1..=1024).contains(slots))?;
    Some((name, slots))
}
