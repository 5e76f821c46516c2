//! Engines that start one process on each node and say in variables how many nodes there are, which this one is, and where
//! the first is.

use std::collections::BTreeSet;
use std::path::Path;

use super::port::port_of_job;
use crate::base::engines::Block;
use crate::base::source::{Source, Sourced};
use crate::host::Host;
use crate::ranks::topology::engine::{Allocation, Detected};
use crate::ranks::topology::variables::{VariableReader, check, text};
use crate::report::{self, reading};

/// The names of the variables; those that an engine does not have are empty.
pub(super) struct NodeVariables {
    pub(super) engine: &'static str,
    pub(super) count: &'static str,
    pub(super) index: &'static str,
    /// Every node, with a comma, semicolon, blank or line feed between them. The first is node 0.
    pub(super) hosts: &'static str,
    /// The first node, perhaps with its port.
    pub(super) first: &'static str,
    /// One port, or several with a comma between them.
    pub(super) port: &'static str,
    pub(super) gpus: &'static str,
    /// What every node of one job has in common, and no other job has.
    pub(super) job: &'static str,
}

impl NodeVariables {
    pub(super) fn of(block: &Block) -> Self {
        NodeVariables {
            engine: block.name(),
            count: block.name_of("count"),
            index: block.name_of("index"),
            hosts: block.name_of("hosts"),
            first: block.name_of("first"),
            port: block.name_of("port"),
            gpus: block.name_of("gpus"),
            job: block.name_of("job"),
        }
    }

    pub(super) fn detect(&self, host: &Host) -> Option<Detected> {
        let told = [self.count, self.index, self.hosts, self.first].iter().any(|name| host.filled(name).is_some());
        told.then(|| self.read(host))
    }

    fn read(&self, host: &Host) -> Detected {
        let mut variables = VariableReader::new(host);
        let count = variables.number::<u32>(self.count, 1);
        let index = variables.number::<u32>(self.index, 0);
        let port = first_port(self.port, &mut variables);
        let gpus = variables.number::<u32>(self.gpus, 0).filter(|gpus| gpus.value > 0);
        check(variables.problems)?;
        let listed = text(self.hosts, host).map(|list| list.map(|list| hosts(&list)));
        let first = text(self.first, host).map(|first| first.map(|first| without_port(&first)));
        let first = first
            .or_else(|| Some(Sourced::new(listed.as_ref()?.value.first()?.clone(), listed.as_ref()?.from.clone())));
        let job = text(self.job, host);
        let mut allocation = Nodes { engine: self.engine, count, index, listed, first }.allocate()?;
        allocation.gpus = gpus;
        allocation.master_port = port.or_else(|| job.as_ref().map(port_of_job)).or(allocation.master_port);
        Ok(allocation)
    }
}

fn first_port(name: &str, variables: &mut VariableReader<'_>) -> Option<Sourced<u16>> {
    let ports = text(name, variables.host)?;
    let first = ports.value.split(',').next().unwrap_or_default().trim().parse::<u16>();
    if let Some(port) = first.ok().filter(|port| *port > 0) {
        return Some(Sourced::new(port, ports.from));
    }
    variables.problems.push(report::variable_not_a_number(&ports, "1", u16::MAX.into()));
    None
}

/// What is known of the nodes, from wherever an engine says it.
pub(super) struct Nodes {
    pub(super) engine: &'static str,
    pub(super) count: Option<Sourced<u32>>,
    pub(super) index: Option<Sourced<u32>>,
    pub(super) listed: Option<Sourced<Vec<String>>>,
    pub(super) first: Option<Sourced<String>>,
}

impl Nodes {
    /// The allocation, if it is all there.
    pub(super) fn allocate(self) -> Detected {
        let Nodes { engine, count, index, listed, first } = self;
        let listed = listed.map(|listed| listed.map(|listed| u32::try_from(listed.len()).unwrap_or(u32::MAX)));
        let listed = listed.filter(|listed| listed.value > 0);
        let places: Vec<String> = [count.as_ref(), index.as_ref()].into_iter().flatten().map(Sourced::place).collect();
        let places = if places.is_empty() { first.iter().map(Sourced::place).collect() } else { places };
        let nnodes = match (count, listed) {
            (Some(count), Some(listed)) if count.value != listed.value => {
                return Err(report::counts_differ(engine, &count, &listed).into());
            }
            (Some(count), _) | (None, Some(count)) => count,
            (None, None) => return Err(report::place_unknown(engine, &places, "how many machines it has").into()),
        };
        let index = match index {
            Some(index) if index.value >= nnodes.value => {
                return Err(report::node_rank_too_large(&index, &nnodes).into());
            }
            Some(index) => index,
            None if nnodes.value == 1 => Sourced::new(0, Source::Default),
            None => return Err(report::place_unknown(engine, &places, "which of its machines this is").into()),
        };
        Ok(Allocation::task_per_node(nnodes, index, first))
    }
}

/// The hosts of a list, in its order.
pub(super) fn hosts(list: &str) -> Vec<String> {
    let words = list.split(|c: char| c.is_whitespace() || c == ',' || c == ';').filter(|word| !word.is_empty());
    words.map(without_port).collect()
}

/// The names without those that were there before.
pub(super) fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(name.clone())).collect()
}

/// The different hosts in the file that a variable names, in its order.
pub(super) fn hosts_in_file(file: &Sourced<String>) -> Option<Vec<String>> {
    let text = reading::text_if_any(Path::new(&file.value))?;
    let hosts = distinct(text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_string));
    (!hosts.is_empty()).then_some(hosts)
}

/// `host` of `host:2222`. An IPv6 address has more colons.
pub(super) fn without_port(address: &str) -> String {
    let (host, port) = address.rsplit_once(':').unwrap_or((address, ""));
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) && !host.contains(':');
    if is_port { host } else { address }.trim().to_string()
}
