//! Machines and their GPUs as DeepSpeed's runner takes them: a file of `host slots=N` lines, and `--include` or
//! `--exclude host:0,1@host`. Without a file, these select among the GPUs of this machine.

use std::collections::BTreeSet;
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourcePool(pub Vec<PoolMachine>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolMachine {
    pub name: String,
    /// The names of its GPUs.
    pub slots: Vec<String>,
}

impl HostFlags {
    /// The GPUs of this machine, after the filters; `None` if there are no filters for it.
    pub(super) fn local_gpus(&self, gpus: &[String]) -> Result<Option<Vec<String>>, Vec<Problem>> {
        if self.hostfile.is_some() || self.include.is_none() && self.exclude.is_none() {
            return Ok(None);
        }
        let mut pool = self.filtered(ResourcePool::of_this_machine(gpus.to_vec()))?;
        Ok(pool.0.pop().map(|machine| machine.slots))
    }

    /// As the user typed them, without those given by variables.
    pub(crate) fn flags(&self) -> impl Iterator<Item = String> {
        let file = self.hostfile.clone();
        let file = file.map(|file| file.map(|path| path.display().to_string()));
        let filters = [file, self.include.clone(), self.exclude.clone()];
        let flags = filters
            .into_iter()
            .flatten()
            .filter(|flag| flag.from.is_flag());
        flags.map(|flag| flag.spelling())
    }

    pub(super) fn filtered(&self, pool: ResourcePool) -> Result<ResourcePool, Vec<Problem>> {
        match (&self.include, &self.exclude) {
            (Some(include), Some(exclude)) => {
                let what = "`--include` cannot be used with `--exclude`";
                let problem = Problem::error(Rule::Hosts, what).at(include).at(exclude);
                Err(problem.fix("drop one of them").into())
            }
            (Some(filter), None) => pool.filtered(filter, true),
            (None, Some(filter)) => pool.filtered(filter, false),
            (None, None) => Ok(pool),
        }
    }
}

impl ResourcePool {
    pub(crate) fn of_this_machine(slots: Vec<String>) -> Self {
        let name = "localhost".to_string();
        ResourcePool(vec![PoolMachine { name, slots }])
    }

    /// Keeps only what the filter names, or everything else. A machine without a list of GPUs means all of them.
    pub fn filtered(mut self, filter: &Sourced<String>, keep: bool) -> Result<Self, Vec<Problem>> {
        let mut named: BTreeSet<(&str, String)> = BTreeSet::new();
        let mut problems = Vec::new();
        for item in filter.value.split('@') {
            let mut parts = item.splitn(2, ':').map(str::trim);
            let name = parts.next().unwrap_or_default();
            let Some(machine) = self.0.iter().find(|machine| machine.name == name) else {
                problems.push(self.no_such_machine(filter, name));
                continue;
            };
            let Some(slots) = parts.next() else {
                named.extend(machine.slots.iter().map(|slot| (name, slot.clone())));
                continue;
            };
            for slot in slots.split(',').map(|slot| slot.trim().to_string()) {
                if !machine.slots.contains(&slot) {
                    problems.push(machine.no_such_slot(filter, &slot));
                }
                named.insert((name, slot));
            }
        }
        check(problems)?;
        for PoolMachine { name, slots } in &mut self.0 {
            slots.retain(|slot| named.contains(&(name, slot.clone())) == keep);
        }
        self.0.retain(|machine| !machine.slots.is_empty());
        if self.0.is_empty() {
            let problem = Problem::error(Rule::Hosts, "no GPU is left").at(filter);
            return Err(problem.fix("keep at least one").into());
        }
        Ok(self)
    }

    fn no_such_machine(&self, filter: &Sourced<String>, name: &str) -> Problem {
        let known: Vec<&str> = self.0.iter().map(|machine| machine.name.as_str()).collect();
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

impl PoolMachine {
    fn no_such_slot(&self, filter: &Sourced<String>, slot: &str) -> Problem {
        let mut help = if self.slots.is_empty() {
            "no GPU is visible".to_string()
        } else {
            format!("it has {}", self.slots.join(","))
        };
        if slot.contains('-') {
            help += "; write a range such as 0-3 as 0,1,2,3";
        }
        let what = format!("`{}` has no GPU `{slot}`", self.name);
        Problem::error(Rule::Hosts, what).at(filter).fix(help)
    }
}

pub fn parse(text: &str, file: &str) -> Result<ResourcePool, Vec<Problem>> {
    let mut pool: Vec<PoolMachine> = Vec::new();
    let mut known = BTreeSet::new();
    let mut problems = Vec::new();
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let problem =
            |what: String| Problem::error(Rule::Hosts, what).at(Place::line(file, (number, 1)));
        match parse_line(line) {
            None => {
                let (name, rest) = line.split_once([' ', '\t', ':']).unwrap_or((line, ""));
                let digits = rest.trim_matches(|c: char| !c.is_ascii_digit());
                let is_number = digits.parse::<u32>().is_ok();
                let slots = if is_number { digits } else { "N" };
                let problem = problem(format!("`{line}` is not of the form `host slots=N`"));
                problems.push(problem.fix(format!("{name} slots={slots}")));
            }
            Some(machine) if !known.insert(machine.name.clone()) => {
                let problem = problem(format!("`{}` is in the hostfile twice", machine.name));
                problems.push(problem.fix("put all its slots on one line"));
            }
            Some(machine) => pool.push(machine),
        }
    }
    if pool.is_empty() && problems.is_empty() {
        let problem = Problem::error(Rule::Hosts, "the hostfile names no machine").at(file);
        problems.push(problem.fix("node01 slots=8"));
    }
    check(problems).map(|()| ResourcePool(pool))
}

fn parse_line(line: &str) -> Option<PoolMachine> {
    let (name, rest) = line.split_once(char::is_whitespace)?;
    let rest = rest.trim_start().strip_prefix("slots=")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    let slots = digits.parse::<u32>().ok()?;
    (1..=1024).contains(&slots).then(|| PoolMachine {
        name: name.to_string(),
        slots: (0..slots).map(|slot| slot.to_string()).collect(),
    })
}
