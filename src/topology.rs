//! How many ranks, on how many machines, and where they meet. A flag beats ranks that exist already, those beat the
//! variables of torchrun and ms-swift, those beat what the machine shows. Nothing is guessed.

use std::fmt::{self, Display};
use std::str::FromStr;

use crate::error::{self, Problem};
use crate::host::Host;
use crate::said::{Said, Source};
use crate::vars;

/// What was said about ranks: by our flags, or by a launcher in the user's command (`None` is left open by it).
#[derive(Clone, Default)]
pub(crate) struct SaidRanks {
    pub(crate) nnodes: Option<Said<u32>>,
    pub(crate) node_rank: Option<Said<u32>>,
    pub(crate) nproc_per_node: Option<Said<Processes>>,
    pub(crate) master_addr: Option<Said<String>>,
    pub(crate) master_port: Option<Said<u16>>,
}

/// torchrun's words for a number of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Processes {
    Count(u32),
    Gpus,
    Cpus,
}

impl FromStr for Processes {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "auto" | "gpu" => Ok(Processes::Gpus),
            "cpu" => Ok(Processes::Cpus),
            _ => text.trim().parse().ok().filter(|count| *count > 0).map(Processes::Count).ok_or(()),
        }
    }
}

impl Display for Processes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Processes::Count(count) => write!(f, "{count}"),
            Processes::Gpus => f.write_str("gpu"),
            Processes::Cpus => f.write_str("cpu"),
        }
    }
}

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
    pub(crate) devices: Devices,
}

impl Topology {
    pub(crate) fn is_one_process(&self) -> bool {
        let one = |said: &Option<Said<u32>>| said.as_ref().is_some_and(|said| said.value == 1);
        one(&self.nnodes) && one(&self.nproc_per_node)
    }

    /// `ranked`: the command is started as ranks, not passed through.
    pub(crate) fn decide(flags: &SaidRanks, ranked: bool, host: &Host) -> Result<Self, Vec<Problem>> {
        let devices = Devices::seen(host);
        let flag = |said: Option<&Source>| matches!(said, Some(Source::Flag(_)));
        let insists =
            flag(flags.nproc_per_node.as_ref().map(|it| &it.from)) || flag(flags.nnodes.as_ref().map(|it| &it.from));
        if !insists && let Some(already) = Self::already(host, &devices)? {
            return Ok(already);
        }
        if !ranked {
            return Ok(Self::of(None, None, devices));
        }
        Self::new(flags, host, devices)
    }

    /// A launcher in the command decides; what it leaves open our flags may say.
    pub(crate) fn wrapped(flags: &SaidRanks, stated: SaidRanks, host: &Host) -> Self {
        let devices = Devices::seen(host);
        let nproc = stated.nproc_per_node.and_then(|said| devices.resolve(said, host));
        let mut topology = Self::of(stated.nnodes, nproc, devices);
        topology.node_rank = stated.node_rank.or_else(|| flags.node_rank.clone()).unwrap_or(topology.node_rank);
        topology.master_addr = stated.master_addr.or_else(|| flags.master_addr.clone());
        topology.master_port = stated.master_port.or_else(|| flags.master_port.clone());
        topology
    }

    fn of(nnodes: Option<Said<u32>>, nproc: Option<Said<u32>>, devices: Devices) -> Self {
        let world = nnodes.as_ref().zip(nproc.as_ref()).map(|(nodes, nproc)| {
            let product = u64::from(nodes.value) * u64::from(nproc.value);
            let from = if nodes.value == 1 {
                nproc.from.clone()
            } else {
                Source::Both(Box::new(nodes.from.clone()), Box::new(nproc.from.clone()))
            };
            Said::new(product, from)
        });
        Topology {
            nnodes,
            node_rank: Said::new(0, Source::Default),
            nproc_per_node: nproc,
            master_addr: None,
            master_port: None,
            world_size: world,
            already: false,
            devices,
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
        let port = number::<u16>(host, vars::MASTER_PORT, &0, &mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        let nnodes = world.as_ref().zip(local.as_ref()).and_then(|(world, local)| {
            let whole = world.value % u64::from(local.value) == 0;
            let nodes = u32::try_from(world.value / u64::from(local.value)).ok().filter(|_| whole)?;
            Some(Said::new(nodes, world.from.clone()))
        });
        let mut topology = Self::of(nnodes, local, devices.clone());
        topology.world_size = world;
        topology.master_addr = address;
        topology.master_port = port;
        topology.already = true;
        Ok(Some(topology))
    }

    fn new(flags: &SaidRanks, host: &Host, devices: Devices) -> Result<Self, Vec<Problem>> {
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
        let nproc = devices.resolve(stated.unwrap_or(Said::new(Processes::Gpus, Source::Default)), host);
        if nproc.is_none() {
            problems.push(devices.unknown());
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
#[derive(Clone, Debug)]
pub(crate) struct Devices {
    /// By the names of the variable that lists them, or by number.
    pub(crate) names: Option<Vec<String>>,
    from: Source,
    /// CUDA_VISIBLE_DEVICES can select among them.
    pub(crate) cuda: bool,
}

impl Devices {
    /// A variable that lists devices decides; else the driver's list in /proc.
    fn seen(host: &Host) -> Self {
        let listed = vars::VISIBLE_DEVICES.iter().find_map(|name| Some((*name, host.var(name)?)));
        if let Some((name, list)) = listed {
            let cuda = name == vars::CUDA_VISIBLE_DEVICES;
            return Devices { names: Some(entries(list)), from: Source::Variable(name.to_string()), cuda };
        }
        let names = host.nvidia_gpus.filter(|count| *count > 0);
        let names = names.map(|count| (0..count).map(|number| number.to_string()).collect());
        Devices { names, from: Source::Machine("/proc/driver/nvidia/gpus"), cuda: true }
    }

    fn resolve(&self, said: Said<Processes>, host: &Host) -> Option<Said<u32>> {
        match said.value {
            Processes::Count(count) => Some(Said::new(count, said.from)),
            Processes::Cpus => Some(Said::new(u32::try_from(host.cpus).ok()?, said.from)),
            Processes::Gpus => {
                let count = self.names.as_ref().map(Vec::len).filter(|count| *count > 0)?;
                Some(Said::new(u32::try_from(count).ok()?, self.from.clone()))
            }
        }
    }

    fn unknown(&self) -> Problem {
        match &self.from {
            Source::Variable(name) => error::every_gpu_is_hidden(name),
            from => error::unknown_gpu_count(&from.to_string()),
        }
    }
}

/// CUDA reads the list up to the first entry that names no device; names may be numbers, GPU-… or MIG-….
fn entries(list: &str) -> Vec<String> {
    let known = |entry: &&str| !entry.is_empty() && !entry.starts_with('-') && *entry != "NoDevFiles";
    list.split(',').map(str::trim).take_while(known).map(str::to_string).collect()
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
            let most = u64::MAX >> (64 - 8 * size_of::<T>());
            problems.push(error::variable_not_a_number(&said, &least.to_string(), most));
            None
        }
    }
}

fn processes(host: &Host, name: &str, problems: &mut Vec<Problem>) -> Option<Said<Processes>> {
    let said = text(host, name)?;
    match said.value.parse() {
        Ok(processes) => Some(Said::new(processes, said.from)),
        Err(()) => {
            problems.push(error::variable_not_a_number(&said, "1", u32::MAX.into()));
            None
        }
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

    #[test]
    fn the_drivers_list_counts_when_no_variable_does() {
        let nproc = |gpus, env: &[(&str, &str)]| {
            let env = env.iter().map(|(name, value)| (name.into(), value.into())).collect();
            let host = Host { nvidia_gpus: gpus, env, ..Host::default() };
            let topology = Topology::decide(&SaidRanks::default(), true, &host);
            topology.map(|it| it.nproc_per_node.map(|said| (said.value, said.from.to_string())))
        };
        assert_eq!(nproc(Some(8), &[]), Ok(Some((8, "/proc/driver/nvidia/gpus".to_string()))));
        assert_eq!(
            nproc(Some(8), &[("CUDA_VISIBLE_DEVICES", "3,4")]),
            Ok(Some((2, "CUDA_VISIBLE_DEVICES".to_string())))
        );
        assert!(nproc(None, &[]).is_err() && nproc(Some(0), &[]).is_err());
    }
}
