//! The shell of a batch job, which runs on one machine of the job. The scheduler lists all of them, in a file or a variable.
//! zlaunch starts nothing on the others: a line of the user's does, through an MPI or a program of the scheduler.

use super::nodes::{distinct, hosts, hosts_in_file};
use crate::base::engines::{Block, Variable};
use crate::base::shell;
use crate::base::source::{Source, Sourced};
use crate::host::Host;
use crate::ranks::topology::engine::{Allocation, Detected, Placement};
use crate::ranks::topology::variables::{VariableReader, text};
use crate::report::{self, Problem};

/// What a variable tells of the machines.
struct MachineList {
    count: u32,
    /// Empty: only their number is told.
    hosts: Vec<String>,
}

/// `None`: there is no job, or it has one machine.
pub(super) fn detect(block: &Block, host: &Host) -> Option<Detected> {
    let Sourced { value: MachineList { count, hosts }, from } = match read(block, host) {
        Ok(machines) => machines?,
        Err(problem) => return Some(Err(vec![problem])),
    };
    (count > 1).then(|| {
        let placement = manual(block.field("manual").unwrap_or_default(), &hosts, host);
        let allocation = Allocation::task_per_node(Sourced::new(count, from), Sourced::new(0, Source::Default), None);
        Ok(Allocation { placement, master_port: None, ..allocation })
    })
}

/// The line to paste: a line of the table, in which `HOSTS` stands for the machines and the first `zlaunch …` for what the
/// user typed.
pub(super) fn manual(line: &str, hosts: &[String], host: &Host) -> Placement {
    let line = line.replace("HOSTS", &hosts.join(" "));
    let Some((_, words)) = host.words.split_first() else { return Placement::Manual(line) };
    let typed = shell::line(words);
    Placement::Manual(line.replacen("zlaunch …", &format!("zlaunch {}", typed.to_string_lossy()), 1))
}

/// The machines of the job. `None`: there is no job.
fn read(block: &Block, host: &Host) -> Result<Option<Sourced<MachineList>>, Problem> {
    let mut unreadable = None;
    for variable in block.variables() {
        let Some(read) = reader(variable) else { continue };
        let Some(set) = text(variable.name(), host) else { continue };
        match read(&set, host).filter(|machines| machines.count > 0) {
            Some(machines) => return Ok(Some(Sourced::new(machines, set.from))),
            None => unreadable = unreadable.or(Some(set)),
        }
    }
    let marked = || block.names("mark").find_map(|name| text(name, host));
    match unreadable.or_else(marked) {
        Some(variable) => Err(report::host_file_unreadable(block.name(), &variable)),
        None => Ok(None),
    }
}

type Reader = fn(&Sourced<String>, &Host) -> Option<MachineList>;

/// How a variable tells the machines of a job, if it does.
fn reader(variable: Variable) -> Option<Reader> {
    let readers: [(&str, Reader); 4] = [
        ("file", |file, _| Some(MachineList::of(hosts_in_file(file)?))),
        ("list", |list, _| Some(MachineList::of(distinct(hosts(&list.value).into_iter())))),
        ("pairs", |list, _| {
            Some(MachineList::of(distinct(list.value.split_whitespace().step_by(2).map(str::to_string))))
        }),
        ("count", |count, host| {
            let count = VariableReader::new(host).number(&count.from.to_string(), 1)?.value;
            Some(MachineList { count, hosts: Vec::new() })
        }),
    ];
    readers.into_iter().find_map(|(role, reader)| variable.is(role).then_some(reader))
}

impl MachineList {
    fn of(hosts: Vec<String>) -> Self {
        MachineList { count: u32::try_from(hosts.len()).unwrap_or(0), hosts }
    }
}
