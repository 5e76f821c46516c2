//! Engines that start one process on each node and say in variables how many nodes there are, which this one is, and where
//! the first is.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::Path;

use super::port::port_of_job;
use crate::base::source::{Source, Sourced};
use crate::host::Host;
use crate::ranks::topology::engine::{Allocation, Detected};
use crate::ranks::topology::engines::table::Block;
use crate::ranks::topology::problems::{give_place, node_rank_too_large, not_a_number, not_understood, place_unknown};
use crate::ranks::topology::rendezvous::is_loopback;
use crate::ranks::topology::variables::{VariableReader, check, first_text, text};
use crate::report::{Place, Problem, Rule, reading};

pub(super) fn detect(block: &Block, host: &Host) -> Option<Detected> {
    let other_role = text(block.name_of("worker"), host).filter(|role| !role.value.eq_ignore_ascii_case("worker"));
    if let Some(role) = other_role {
        return Some(Err(not_understood(block.name(), &role.spelling()).into()));
    }
    let is_told = |role: &str| block.names(role).any(|name| host.nonempty_var(name).is_some());
    let number = first_text(&[block.name_of("instance"), block.name_of("index")], host);
    let is_instance = !block.name_of("instance").is_empty();
    // Where the first machine is this one, as it is for processes that are all started here.
    let is_here = text(block.name_of("first"), host).is_some_and(|first| is_loopback(&without_port(&first.value)));
    let may_be_alone = !is_told("count") && number.as_ref().is_none_or(|number| number.value == "0");
    if (is_instance || is_here) && may_be_alone || is_instance && number.is_none() {
        return None;
    }
    let told = ["count", "index", "instance", "main", "hosts", "first", "mark"].into_iter().any(is_told);
    told.then(|| read(block, host))
}

fn read(block: &Block, host: &Host) -> Detected {
    let mut variables = VariableReader::new(host);
    let mut number = |role: &str, least: u32| variables.number::<u32>(block.name_of(role), least);
    let (count, gpus) = (number("count", 1), number("gpus", 0).filter(|gpus| gpus.value > 0));
    let (index, main) = (number("index", 0).or_else(|| number("instance", 0)), number("main", 0));
    let port = first_port(block.name_of("port"), &mut variables);
    check(variables.problems)?;
    let listed = text(block.name_of("hosts"), host).map(|list| list.map(|list| hosts(&list)));
    let first = text(block.name_of("first"), host).map(|first| first.map(|first| without_port(&first)));
    let first = first.or_else(|| first_of(listed.as_ref())).or_else(|| named_after_job(block, host));
    let is_main = main.is_some() && index.as_ref().map(|index| index.value) == main.as_ref().map(|main| main.value);
    let own = || is_main.then(|| Sourced::new(host.hostname.clone(), Source::Machine("hostname")));
    let first = first.or_else(own).filter(|first| !first.value.is_empty());
    // Rank 0 is on the main node; those before it move up by one.
    let main = main.map_or(0, |main| main.value);
    let index = index.map(|index| {
        index.map(|index| match index.cmp(&main) {
            Ordering::Equal => 0,
            Ordering::Less => index + 1,
            Ordering::Greater => index,
        })
    });
    let mut allocation = Nodes { engine: block.name(), count, index, listed, first }.allocate()?;
    allocation.gpus = gpus;
    let job = || text(block.name_of("job"), host).as_ref().map(port_of_job);
    allocation.master_port = port.or_else(job).or(allocation.master_port);
    Ok(allocation)
}

fn first_port(name: &str, variables: &mut VariableReader<'_>) -> Option<Sourced<u16>> {
    let ports = text(name, variables.host)?;
    let first = ports.value.split(',').next().unwrap_or_default().trim().parse::<u16>();
    if let Some(port) = first.ok().filter(|port| *port > 0) {
        return Some(Sourced::new(port, ports.from));
    }
    variables.problems.push(not_a_number(&ports, "1", u16::MAX.into()));
    None
}

/// `PREFIX-0.DOMAIN`.
fn named_after_job(block: &Block, host: &Host) -> Option<Sourced<String>> {
    let prefix = first_text(&block.names("first_prefix").collect::<Vec<_>>(), host)?;
    let domain = text(block.name_of("domain"), host)?;
    let name = format!("{}-0.{}", prefix.value, domain.value);
    Some(Sourced::new(name, Source::Both(Box::new(prefix.from), Box::new(domain.from))))
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
        let places: Vec<Place> = [count.as_ref(), index.as_ref()].into_iter().flatten().map(Place::from).collect();
        let places = if places.is_empty() { first.iter().map(Place::from).collect() } else { places };
        let nnodes = match (count, listed) {
            (Some(count), Some(listed)) if count.value != listed.value => {
                let (one, two) = (count.value, listed.value);
                let what = format!("{engine} counts {one} machines in one variable, {two} in another");
                let problem = Problem::error(Rule::Ranks, what).at(&count);
                let problem = problem.at(listed.from.with(format_args!("{two} machines")));
                return Err(problem.fix(give_place()).into());
            }
            (Some(count), _) | (None, Some(count)) => count,
            (None, None) => return Err(place_unknown(engine, places, "how many machines it has").into()),
        };
        let index = match index {
            Some(index) if index.value >= nnodes.value => return Err(node_rank_too_large(&index, &nnodes).into()),
            Some(index) => index,
            None if nnodes.value == 1 => Sourced::new(0, Source::Default),
            None => return Err(place_unknown(engine, places, "which of its machines this is").into()),
        };
        Ok(Allocation::task_per_node(nnodes, index, first))
    }
}

/// The first of the hosts.
pub(super) fn first_of(listed: Option<&Sourced<Vec<String>>>) -> Option<Sourced<String>> {
    let listed = listed?;
    Some(Sourced::new(listed.value.first()?.clone(), listed.from.clone()))
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
