//! The shell of a batch job, which runs on one machine of the job. The scheduler lists all of them, in a file or a variable.

use std::collections::BTreeSet;
use std::path::Path;

use super::nodes::hosts;
use crate::base::source::{Source, Sourced};
use crate::host::Host;
use crate::ranks::topology::engine::{Allocation, Detected, Placement, Starter};
use crate::ranks::topology::variables::{VariableReader, text};
use crate::report::{self, reading};

pub(super) struct JobShell {
    pub(super) engine: &'static str,
    /// Where its machines are told, the best first.
    pub(super) machines: &'static [Machines],
    /// Without any of the above, these variables still show that there is a job.
    pub(super) marks: &'static [&'static str],
    pub(super) starter: Starter,
}

/// A variable that tells the machines of a job, and how.
pub(super) enum Machines {
    /// A file; a machine is the first word of each line, and may stand in several.
    File(&'static str),
    /// `n1 n1 n2`, or with `;` or `,` between them.
    List(&'static str),
    /// `n1 2 n2 2`: each with its slots.
    Pairs(&'static str),
    Count(&'static str),
}

impl JobShell {
    /// `None`: there is no job, or it has one machine.
    pub(super) fn detect(&self, host: &Host) -> Option<Detected> {
        let nnodes = match self.count(host) {
            Ok(nnodes) => nnodes?,
            Err(problem) => return Some(Err(vec![problem])),
        };
        (nnodes.value > 1).then(|| {
            let placement = Placement::Shell { starter: self.starter, outside: false };
            let allocation = Allocation::task_per_node(nnodes, Sourced::new(0, Source::Default), None);
            Ok(Allocation { placement, master_port: None, ..allocation })
        })
    }

    /// How many machines the job has. `None`: there is no job.
    fn count(&self, host: &Host) -> Result<Option<Sourced<u32>>, report::Problem> {
        let mut unreadable = None;
        for machines in self.machines {
            let Some(variable) = text(machines.variable(), host) else { continue };
            match machines.count(&variable, host) {
                Some(count) => return Ok(Some(Sourced::new(count, variable.from))),
                None => unreadable = unreadable.or(Some(variable)),
            }
        }
        let marked = || self.marks.iter().find_map(|name| text(name, host));
        match unreadable.or_else(marked) {
            Some(variable) => Err(report::host_file_unreadable(self.engine, &variable)),
            None => Ok(None),
        }
    }
}

impl Machines {
    fn variable(&self) -> &'static str {
        let (Machines::File(name) | Machines::List(name) | Machines::Pairs(name) | Machines::Count(name)) = self;
        name
    }

    fn count(&self, variable: &Sourced<String>, host: &Host) -> Option<u32> {
        let names: Vec<String> = match self {
            Machines::Count(name) => return VariableReader::new(host).number(name, 1).map(|count| count.value),
            Machines::File(_) => hosts_in_file(variable)?,
            Machines::List(_) => distinct(hosts(&variable.value).into_iter()),
            Machines::Pairs(_) => distinct(variable.value.split_whitespace().step_by(2).map(str::to_string)),
        };
        u32::try_from(names.len()).ok().filter(|count| *count > 0)
    }
}

/// The names without those that were there before.
fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(name.clone())).collect()
}

/// The different hosts in the file that a variable names, in its order.
pub(super) fn hosts_in_file(file: &Sourced<String>) -> Option<Vec<String>> {
    let text = reading::text_if_any(Path::new(&file.value))?;
    let hosts = distinct(text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_string));
    (!hosts.is_empty()).then_some(hosts)
}
