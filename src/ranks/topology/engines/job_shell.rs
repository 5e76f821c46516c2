//! The shell of a batch job, which runs on one machine of the job. The scheduler lists all of them, in a file or a variable,
//! and most have a program that starts a command on one of them.

use std::ffi::OsStr;

use super::job::is_this_host;
use super::nodes::{distinct, hosts, hosts_in_file};
use super::port::port_of_job;
use crate::base::engines::{Block, Variable};
use crate::base::source::{Source, Sourced};
use crate::host::Host;
use crate::ranks::topology::engine::{Allocation, Detected, OneHost, Placement, Starter};
use crate::ranks::topology::rendezvous::reachable_address;
use crate::ranks::topology::variables::{VariableReader, text};
use crate::report;

pub(super) struct JobShell<'a> {
    /// Its variables, and how a command gets to its machines.
    pub(super) block: &'a Block,
    /// Whether this process is what the engine's program started, and not the shell.
    pub(super) is_task: fn(&Host) -> bool,
}

/// What such a variable tells.
struct Told {
    count: u32,
    /// Empty: only their number is told.
    hosts: Vec<String>,
}

impl JobShell<'_> {
    /// `None`: there is no job, or it has one machine.
    pub(super) fn detect(&self, host: &Host) -> Option<Detected> {
        let Sourced { value: told, from } = match self.read(host) {
            Ok(told) => told?,
            Err(problem) => return Some(Err(vec![problem])),
        };
        let Told { count, hosts } = told;
        (count > 1).then(|| {
            let starter = if self.starts_itself(&hosts, host) {
                let first = Sourced::new(hosts[0].clone(), from.clone());
                let address = reachable_address(first, || hosts.get(1).cloned());
                Starter::OneHost(OneHost {
                    words: self.block.words("starter").collect(),
                    hosts,
                    address,
                    port: self.port(host),
                })
            } else {
                Starter::ByHand(self.by_hand())
            };
            let placement = Placement::Shell { starter, outside: false };
            let allocation =
                Allocation::task_per_node(Sourced::new(count, from), Sourced::new(0, Source::Default), None);
            Ok(Allocation { placement, master_port: None, ..allocation })
        })
    }

    /// The line to paste where zlaunch does not start itself on each machine.
    pub(super) fn by_hand(&self) -> &'static str {
        self.block.field("by-hand").unwrap_or_default()
    }

    /// Whether zlaunch can start itself on every machine from here: every engine runs the shell of a job on its first one.
    /// On another, or in a task, somebody else has started more than one zlaunch.
    fn starts_itself(&self, hosts: &[String], host: &Host) -> bool {
        let program = self.block.words("starter").next();
        let found = program.is_some_and(|program| host.find_program(OsStr::new(program)).is_some());
        found && hosts.first().is_some_and(|first| is_this_host(first, host)) && !(self.is_task)(host)
    }

    /// Where the ranks of this job meet, and of no other.
    fn port(&self, host: &Host) -> Sourced<u16> {
        let ids: Vec<Sourced<String>> = self.block.names("job").filter_map(|name| text(name, host)).collect();
        let from = ids.first().map_or(Source::Default, |id| id.from.clone());
        let job = ids.into_iter().map(|id| id.value).collect::<Vec<_>>().join(".");
        port_of_job(&Sourced::new(job, from))
    }

    /// The machines of the job. `None`: there is no job.
    fn read(&self, host: &Host) -> Result<Option<Sourced<Told>>, report::Problem> {
        let mut unreadable = None;
        for variable in self.block.variables() {
            let Some(read) = reader(variable) else { continue };
            let Some(set) = text(variable.name(), host) else { continue };
            match read(&set, host).filter(|told| told.count > 0) {
                Some(told) => return Ok(Some(Sourced::new(told, set.from))),
                None => unreadable = unreadable.or(Some(set)),
            }
        }
        let marked = || self.block.names("mark").find_map(|name| text(name, host));
        match unreadable.or_else(marked) {
            Some(variable) => Err(report::host_file_unreadable(self.block.name(), &variable)),
            None => Ok(None),
        }
    }
}

type Reader = fn(&Sourced<String>, &Host) -> Option<Told>;

/// How a variable tells the machines of a job, if it does.
fn reader(variable: Variable) -> Option<Reader> {
    let readers: [(&str, Reader); 4] = [
        ("file", |file, _| Some(Told::of(hosts_in_file(file)?))),
        ("list", |list, _| Some(Told::of(distinct(hosts(&list.value).into_iter())))),
        ("pairs", |list, _| Some(Told::of(distinct(list.value.split_whitespace().step_by(2).map(str::to_string))))),
        ("count", |count, host| {
            let count = VariableReader::new(host).number(&count.from.to_string(), 1)?.value;
            Some(Told { count, hosts: Vec::new() })
        }),
    ];
    readers.into_iter().find_map(|(role, reader)| variable.is(role).then_some(reader))
}

impl Told {
    fn of(hosts: Vec<String>) -> Self {
        Told { count: u32::try_from(hosts.len()).unwrap_or(0), hosts }
    }
}
