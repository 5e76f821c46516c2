//! The shell of a batch job, which runs on one machine of the job. The scheduler lists all of them, in a file or a variable,
//! and most have a program that starts a command on one of them.

use std::ffi::OsStr;

use super::job::is_this_host;
use super::nodes::{distinct, hosts, hosts_in_file};
use super::port::port_of_job;
use crate::base::source::{Source, Sourced};
use crate::host::Host;
use crate::ranks::topology::engine::{Allocation, Detected, OneHost, Placement, Starter};
use crate::ranks::topology::rendezvous::reachable_address;
use crate::ranks::topology::variables::{VariableReader, text};
use crate::report;

pub(super) struct JobShell {
    pub(super) engine: &'static str,
    /// Where its machines are told, the best first.
    pub(super) machines: &'static [Machines],
    /// Without any of the above, these variables still show that there is a job.
    pub(super) marks: &'static [&'static str],
    /// What tells this job from all others: its number, and that of a task of an array.
    pub(super) job: &'static [&'static str],
    /// The program that runs a command on one of the machines, and its options: the name of the machine and the command
    /// follow. It must exit as the command does. Empty: there is none.
    pub(super) starter: &'static [&'static str],
    /// Whether this process is what such a program started, and not the shell.
    pub(super) is_task: fn(&Host) -> bool,
    /// The line to paste where zlaunch does not start itself on each machine.
    pub(super) by_hand: &'static str,
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

/// What such a variable tells.
struct Told {
    count: u32,
    /// Empty: only their number is told.
    hosts: Vec<String>,
}

impl JobShell {
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
                Starter::OneHost(OneHost { words: self.starter, hosts, address, port: self.port(host) })
            } else {
                Starter::ByHand(self.by_hand)
            };
            let placement = Placement::Shell { starter, outside: false };
            let allocation =
                Allocation::task_per_node(Sourced::new(count, from), Sourced::new(0, Source::Default), None);
            Ok(Allocation { placement, master_port: None, ..allocation })
        })
    }

    /// Whether zlaunch can start itself on every machine from here: every engine runs the shell of a job on its first one.
    /// On another, or in a task, somebody else has started more than one zlaunch.
    fn starts_itself(&self, hosts: &[String], host: &Host) -> bool {
        let found = self.starter.first().is_some_and(|program| host.find_program(OsStr::new(program)).is_some());
        found && hosts.first().is_some_and(|first| is_this_host(first, host)) && !(self.is_task)(host)
    }

    /// Where the ranks of this job meet, and of no other.
    fn port(&self, host: &Host) -> Sourced<u16> {
        let ids: Vec<Sourced<String>> = self.job.iter().filter_map(|name| text(name, host)).collect();
        let from = ids.first().map_or(Source::Default, |id| id.from.clone());
        let job = ids.into_iter().map(|id| id.value).collect::<Vec<_>>().join(".");
        port_of_job(&Sourced::new(job, from))
    }

    /// The machines of the job. `None`: there is no job.
    fn read(&self, host: &Host) -> Result<Option<Sourced<Told>>, report::Problem> {
        let mut unreadable = None;
        for machines in self.machines {
            let Some(variable) = text(machines.variable(), host) else { continue };
            match machines.read(&variable, host) {
                Some(told) => return Ok(Some(Sourced::new(told, variable.from))),
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

    fn read(&self, variable: &Sourced<String>, host: &Host) -> Option<Told> {
        let hosts: Vec<String> = match self {
            Machines::Count(name) => {
                let count = VariableReader::new(host).number(name, 1)?.value;
                return Some(Told { count, hosts: Vec::new() });
            }
            Machines::File(_) => hosts_in_file(variable)?,
            Machines::List(_) => distinct(hosts(&variable.value).into_iter()),
            Machines::Pairs(_) => distinct(variable.value.split_whitespace().step_by(2).map(str::to_string)),
        };
        u32::try_from(hosts.len()).ok().filter(|count| *count > 0).map(|count| Told { count, hosts })
    }
}
