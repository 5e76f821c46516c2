//! Engines that start one process on each machine and say in variables how many machines there are, which this one is, and
//! where the first is.

use std::cmp::Ordering;

use super::job::{hosts, port_of_job, without_port};
use super::table::Block;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::ranks::topology::allocation::Allocation;
use crate::ranks::topology::net::foreign_address;
use crate::ranks::topology::problems::{give_place, not_understood, place_unknown, too_large};
use crate::ranks::topology::rendezvous::is_loopback;
use crate::ranks::topology::variables::{number, parsed, text};
use crate::report::{Place, Problem, Rule};

pub(super) fn detect(block: &Block, host: &Host) -> Result<Option<Allocation>, Vec<Problem>> {
    if let Some(pattern) = block.field("pods")
        && let Some(pods) = detect_pods(pattern, host)?
    {
        return Ok(Some(pods));
    }
    if let Some(role) = text(block.name_of("worker"), host)
        && !role.value.eq_ignore_ascii_case("worker")
    {
        return Err(not_understood(block.name(), &role.spelling()).into());
    }
    let is_told = |role: &str| told(block, role, host).map_or(true, |told| told.is_some());
    let number = told(block, "instance", host)?.or(told(block, "index", host)?);
    // One that is to meet others at an address is not alone.
    let meets = is_told("hosts")
        || block
            .variables()
            .any(|it| it.shows_a_job() && host.nonempty_var(it.name()).is_some())
        || foreign_address(host).is_some();
    let is_instance = !block.name_of("instance").is_empty() && !meets;
    // Processes that are all started here have this machine as the first one.
    let is_here = text(block.name_of("first"), host)
        .is_some_and(|first| is_loopback(&without_port(&first.value)));
    let may_be_alone =
        !is_told("count") && number.as_ref().is_none_or(|number| number.value == "0");
    let is_alone = (is_instance || is_here) && may_be_alone || is_instance && number.is_none();
    let roles = [
        "count", "others", "index", "instance", "main", "hosts", "first", "mark",
    ];
    if is_alone || !roles.into_iter().any(is_told) {
        return Ok(None);
    }
    read(block, host).map(Some)
}

/// Without LOCAL_RANK, WORLD_SIZE is the number of pods, not of ranks, and RANK the number of this pod.
fn detect_pods(pattern: &str, host: &Host) -> Result<Option<Allocation>, Problem> {
    let (start, part) = pattern.split_once('*').unwrap_or((pattern, ""));
    let first = text(vars::MASTER_ADDR, host)
        .filter(|at| at.value.starts_with(start) && at.value.contains(part));
    if first.is_none() || host.nonempty_var(vars::LOCAL_RANK).is_some() {
        return Ok(None);
    }
    let (pods, pod) = (
        number(vars::WORLD_SIZE, 1, host)?,
        number(vars::RANK, 0, host)?,
    );
    let allocation = pods
        .zip(pod)
        .map(|(pods, pod)| Allocation::task_per_machine(pods, pod, first));
    Ok(allocation.map(|it| Allocation {
        sets_rank_variables: true,
        ..it
    }))
}

/// The variable of a role that is set. A name with a `*` stands for the only one of its kind.
fn told(block: &Block, role: &str, host: &Host) -> Result<Option<Sourced<String>>, Problem> {
    let Some((start, end)) = block.name_of(role).split_once('*') else {
        return Ok(block.names(role).find_map(|name| text(name, host)));
    };
    let names = host.env.keys().filter_map(|name| name.to_str());
    let mut set = names
        .filter(|it| it.starts_with(start) && it.ends_with(end))
        .filter_map(|name| text(name, host));
    match (set.next(), set.next()) {
        (_, Some(_)) => Err(not_understood(block.name(), block.name_of(role))),
        (only, None) => Ok(only),
    }
}

fn read(block: &Block, host: &Host) -> Result<Allocation, Vec<Problem>> {
    let told = |role: &str| told(block, role, host);
    let number = |role: &str, least: u32| told(role)?.map(|text| parsed(text, least)).transpose();
    let (count, gpus) = (
        number("count", 1)?,
        number("gpus", 0)?.filter(|gpus| gpus.value > 0),
    );
    let count =
        count.or(number("others", 0)?.map(|others| others.map(|others| others.saturating_add(1))));
    let (index, main) = (
        number("index", 0)?.or(number("instance", 0)?),
        number("main", 0)?,
    );
    let port = told("port")?
        .map(|ports| ports.map(|it| it.split(',').next().unwrap_or_default().to_string()));
    let port = port.map(|port| parsed(port, 1)).transpose()?;
    let listed = told("hosts")?.map(|list| list.map(|list| hosts(&list)));
    let first = told("first")?.map(|first| first.map(|first| without_port(&first)));
    let mut first = first
        .or_else(|| first_of(listed.as_ref()?))
        .or_else(|| named_after_job(block, host));
    if first.is_none()
        && let (Some(index), Some(main)) = (&index, &main)
        && index.value == main.value
    {
        first = Some(Sourced::new(
            host.hostname.clone(),
            Source::Machine("hostname"),
        ));
    }
    let first = first.filter(|first| !first.value.is_empty());
    // Rank 0 is on the main machine; those before it move up by one.
    let main = main.map_or(0, |main| main.value);
    let index = index.map(|index| {
        index.map(|index| match index.cmp(&main) {
            Ordering::Equal => 0,
            Ordering::Less => index + 1,
            Ordering::Greater => index,
        })
    });
    let allocation = Machines {
        count,
        index,
        listed,
        first,
    }
    .allocate(block)?;
    let port = port.or_else(|| text(block.name_of("job"), host).as_ref().map(port_of_job));
    Ok(Allocation {
        gpus,
        master_port: port.or(allocation.master_port),
        ..allocation
    })
}

/// `PREFIX-0.DOMAIN`.
fn named_after_job(block: &Block, host: &Host) -> Option<Sourced<String>> {
    let prefix = block
        .names("first_prefix")
        .find_map(|name| text(name, host))?;
    let domain = text(block.name_of("domain"), host)?;
    let name = format!("{}-0.{}", prefix.value, domain.value);
    Some(Sourced::new(
        name,
        Source::Both(Box::new(prefix.from), Box::new(domain.from)),
    ))
}

#[derive(Default)]
pub(super) struct Machines {
    pub(super) count: Option<Sourced<u32>>,
    pub(super) index: Option<Sourced<u32>>,
    pub(super) listed: Option<Sourced<Vec<String>>>,
    /// `None`: the first that is listed.
    pub(super) first: Option<Sourced<String>>,
}

impl Machines {
    pub(super) fn allocate(self, block: &Block) -> Result<Allocation, Vec<Problem>> {
        let Machines {
            count,
            index,
            listed,
            first,
        } = self;
        let engine = block.name();
        let first = first.or_else(|| first_of(listed.as_ref()?));
        let listed = listed
            .map(|listed| listed.map(|listed| u32::try_from(listed.len()).unwrap_or(u32::MAX)));
        let mut places: Vec<Place> = [&count, &index]
            .into_iter()
            .flatten()
            .map(Place::from)
            .collect();
        if places.is_empty() {
            places.extend(first.as_ref().map(Place::from));
        }
        let nnodes = match (count, listed.filter(|listed| listed.value > 0)) {
            (Some(count), Some(listed)) if count.value != listed.value => {
                let (one, two) = (count.value, listed.value);
                let what =
                    format!("{engine} reports {one} machines in one variable and {two} in another");
                let problem = Problem::error(Rule::Ranks, what).at(&count);
                let problem = problem.at(listed.from.with(format_args!("{two} machines")));
                return Err(problem.fix(give_place()).into());
            }
            (Some(count), _) | (None, Some(count)) => count,
            (None, None) => {
                return Err(place_unknown(engine, places, "how many machines it has").into());
            }
        };
        let index = match index {
            Some(index) if index.value >= nnodes.value => {
                return Err(too_large("machine", &index, &nnodes).into());
            }
            Some(index) => index,
            None if nnodes.value == 1 => Sourced::new(0, Source::Default),
            None => {
                return Err(place_unknown(engine, places, "which of its machines this is").into());
            }
        };
        Ok(Allocation::task_per_machine(nnodes, index, first))
    }
}

fn first_of(listed: &Sourced<Vec<String>>) -> Option<Sourced<String>> {
    let first = listed.value.first().filter(|first| !first.is_empty())?;
    Some(Sourced::new(first.clone(), listed.from.clone()))
}
