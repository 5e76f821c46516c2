//! How many ranks, on how many machines, and where they meet. Flags beat ranks that exist already, those beat the
//! variables of torchrun and ms-swift, those beat what the machine shows. Nothing is guessed.

use std::fmt::Display;
use std::str::FromStr;

use crate::cli::{Processes, TopologyFlags};
use crate::error::{self, Problem};
use crate::host::Host;
use crate::said::{Said, Source};
use crate::trainer::{Family, Job};
use crate::vars;

#[derive(Debug)]
pub(crate) struct Topology {
    /// `None`: the launcher in the user's command leaves it open.
    pub(crate) nnodes: Option<Said<u32>>,
    pub(crate) node_rank: Said<u32>,
    /// `None`: left open, or of no interest to this command.
    pub(crate) nproc_per_node: Option<Said<u32>>,
    pub(crate) master_addr: Option<Said<String>>,
    pub(crate) master_port: Option<Said<u16>>,
    /// All ranks together, where that is known.
    pub(crate) world_size: Option<Said<u64>>,
    /// A launcher already ran: this process is one of its ranks.
    pub(crate) already: bool,
    /// The GPUs that can be seen, by the names of the variable that lists them or by number.
    pub(crate) devices: Option<Vec<String>>,
    /// Who listed them.
    pub(crate) devices_from: Source,
}

impl Topology {
    pub(crate) fn is_one_process(&self) -> bool {
        let one = |said: &Option<Said<u32>>| said.as_ref().is_some_and(|said| said.value == 1);
        one(&self.nnodes) && one(&self.nproc_per_node)
    }

    pub(crate) fn decide(flags: &TopologyFlags, job: &Job, host: &Host) -> Result<Self, Vec<Problem>> {
        let devices = visible_devices(host);
        if let Some(wrapped) = &job.wrapped {
            let nproc = wrapped.processes().and_then(|said| resolve(said, &devices, host));
            let nproc = flags.nproc_per_node.clone().and_then(|said| resolve(said, &devices, host)).or(nproc);
            return Ok(Self::of(wrapped.nnodes(host), nproc, devices));
        }
        let asked = flags.nproc_per_node.is_some() || flags.nnodes.is_some();
        if !asked && let Some(already) = Self::already(host, &devices)? {
            return Ok(already);
        }
        Self::new(flags, job, host, devices)
    }

    fn of(nnodes: Option<Said<u32>>, nproc: Option<Said<u32>>, devices: Devices) -> Self {
        let world = match (&nnodes, &nproc) {
            (Some(nodes), Some(nproc)) => {
                let product = u64::from(nodes.value) * u64::from(nproc.value);
                let from = if nodes.value == 1 {
                    nproc.from.clone()
                } else {
                    Source::Flag(format!("{}, {}", nodes.from, nproc.from))
                };
                Some(Said::new(product, from))
            }
            _ => None,
        };
        Topology {
            nnodes,
            node_rank: Said::new(0, Source::Default),
            nproc_per_node: nproc,
            master_addr: None,
            master_port: None,
            world_size: world,
            already: false,
            devices: devices.names,
            devices_from: devices.from,
        }
    }

    /// RANK, LOCAL_RANK and WORLD_SIZE are all there: config work only.
    fn already(host: &Host, devices: &Devices) -> Result<Option<Self>, Vec<Problem>> {
        if [vars::RANK, vars::LOCAL_RANK, vars::WORLD_SIZE].iter().any(|name| host.filled(name).is_none()) {
            return Ok(None);
        }
        let mut problems = Vec::new();
        let world = number::<u64>(host, vars::WORLD_SIZE, &1, &mut problems);
        let local = number::<u32>(host, vars::LOCAL_WORLD_SIZE, &1, &mut problems);
        let address = text(host, vars::MASTER_ADDR);
        let port = number::<u16>(host, vars::MASTER_PORT, &1, &mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        let nnodes = match (&world, &local) {
            (Some(world), Some(local)) if world.value % u64::from(local.value) == 0 => {
                u32::try_from(world.value / u64::from(local.value)).ok().map(|n| Said::new(n, world.from.clone()))
            }
            _ => None,
        };
        let seen = Devices { names: devices.names.clone(), from: devices.from.clone() };
        let mut topology = Self::of(nnodes, local, seen);
        topology.world_size = world;
        topology.master_addr = address;
        topology.master_port = port;
        topology.already = true;
        Ok(Some(topology))
    }

    fn new(flags: &TopologyFlags, job: &Job, host: &Host, devices: Devices) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let said = |flag: &Option<Said<u32>>, names: [&str; 2], least: u32, problems: &mut Vec<Problem>| {
            flag.clone().or_else(|| names.iter().find_map(|name| number(host, name, &least, problems)))
        };
        let nnodes = said(&flags.nnodes, [vars::NNODES, vars::PET_NNODES], 1, &mut problems);
        let node_rank = said(&flags.node_rank, [vars::NODE_RANK, vars::PET_NODE_RANK], 0, &mut problems);
        let address = [vars::MASTER_ADDR, vars::PET_MASTER_ADDR];
        let address = flags.master_addr.clone().or_else(|| address.iter().find_map(|name| text(host, name)));
        let port = [vars::MASTER_PORT, vars::PET_MASTER_PORT];
        let port =
            flags.master_port.clone().or_else(|| port.iter().find_map(|name| number(host, name, &1, &mut problems)));
        let stated = flags.nproc_per_node.clone().or_else(|| {
            let names = [vars::NPROC_PER_NODE, vars::PET_NPROC_PER_NODE];
            names.iter().find_map(|name| processes(host, name, &mut problems))
        });
        let asked = stated.is_some() || nnodes.is_some();
        // Nothing is said about ranks and the command is no trainer: it is one process.
        if !asked && job.trainer.family == Family::Opaque {
            return if problems.is_empty() { Ok(Self::of(None, None, devices)) } else { Err(problems) };
        }
        let wanted = stated.unwrap_or(Said::new(Processes::Gpus, Source::Default));
        let nproc = resolve(wanted, &devices, host);
        if nproc.is_none() {
            problems.push(error::unknown_gpu_count(&devices.from.to_string(), devices.names.is_some()));
        }
        let nnodes = nnodes.unwrap_or(Said::new(1, Source::Default));
        let node_rank = node_rank.unwrap_or(Said::new(0, Source::Default));
        if nnodes.value > 1 && (address.is_none() || port.is_none()) {
            problems.push(error::no_meeting_place(&nnodes));
        }
        if node_rank.value >= nnodes.value {
            problems.push(error::node_rank_too_large(&node_rank, &nnodes));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let several = nnodes.value > 1;
        let mut topology = Self::of(Some(nnodes), nproc, devices);
        topology.node_rank = node_rank;
        topology.master_port = port;
        // On one machine the ranks meet on localhost whatever a left-over MASTER_ADDR says, unless a flag insists.
        topology.master_addr = address.filter(|said| several || matches!(said.from, Source::Flag(_)));
        Ok(topology)
    }
}

/// GPUs that can be seen.
struct Devices {
    names: Option<Vec<String>>,
    from: Source,
}

/// A variable that lists devices decides; else the driver's list in /proc.
fn visible_devices(host: &Host) -> Devices {
    let listed = vars::VISIBLE_DEVICES.iter().find_map(|name| Some((*name, host.var(name)?)));
    if let Some((name, list)) = listed {
        return Devices { names: Some(entries(list)), from: Source::Variable(name.to_string()) };
    }
    let names = host.nvidia_gpus.map(|count| (0..count).map(|number| number.to_string()).collect());
    Devices { names, from: Source::Machine("/proc/driver/nvidia/gpus") }
}

/// CUDA reads the list up to the first entry that names no device; names may be numbers, GPU-… or MIG-….
fn entries(list: &str) -> Vec<String> {
    let known = |entry: &&str| !entry.is_empty() && !entry.starts_with('-') && *entry != "NoDevFiles";
    list.split(',').map(str::trim).take_while(known).map(str::to_string).collect()
}

fn resolve(said: Said<Processes>, devices: &Devices, host: &Host) -> Option<Said<u32>> {
    match said.value {
        Processes::Count(count) => Some(Said::new(count, said.from)),
        Processes::Cpus => Some(Said::new(u32::try_from(host.cpus).ok()?, said.from)),
        Processes::Gpus => {
            let count = devices.names.as_ref().map(Vec::len).filter(|count| *count > 0)?;
            Some(Said::new(u32::try_from(count).ok()?, devices.from.clone()))
        }
    }
}

fn text(host: &Host, name: &str) -> Option<Said<String>> {
    host.filled(name).map(|value| Said::new(value.to_string(), Source::Variable(name.to_string())))
}

fn number<T: FromStr + PartialOrd + Display>(
    host: &Host,
    name: &str,
    least: &T,
    problems: &mut Vec<Problem>,
) -> Option<Said<T>> {
    let said = text(host, name)?;
    match said.value.trim().parse::<T>() {
        Ok(value) if value >= *least => Some(Said::new(value, said.from)),
        _ => {
            problems.push(error::variable_not_a_number(&said, &least.to_string()));
            None
        }
    }
}

fn processes(host: &Host, name: &str, problems: &mut Vec<Problem>) -> Option<Said<Processes>> {
    let said = text(host, name)?;
    match said.value.as_str() {
        "auto" | "gpu" => Some(Said::new(Processes::Gpus, said.from)),
        "cpu" => Some(Said::new(Processes::Cpus, said.from)),
        _ => number(host, name, &1, problems).map(|said| said.map(Processes::Count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_counted_never_parsed() {
        for (list, count) in [
            ("0,1,2", 3),
            ("GPU-8c28b4fb,GPU-9d,MIG-1/2", 3),
            (" 3 , 1 ", 2),
            ("", 0),
            ("-1", 0),
            ("0,-1,1", 1),
            ("NoDevFiles", 0),
        ] {
            assert_eq!(entries(list).len(), count, "{list}");
        }
    }
}
