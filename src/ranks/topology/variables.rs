//! The ranks as flags and environment variables state them.

use std::fmt::{self, Display};
use std::str::FromStr;

use super::problems::{not_a_number, range_of_machines};
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::report::Problem;

/// The flags of zlaunch, or of a launcher in the user's command. `None` is left open.
#[derive(Clone, Default)]
pub struct RankFlags {
    pub(crate) nnodes: Option<Sourced<u32>>,
    pub(crate) node_rank: Option<Sourced<u32>>,
    pub(crate) nproc_per_node: Option<Sourced<Processes>>,
    pub(crate) master_addr: Option<Sourced<String>>,
    pub(crate) master_port: Option<Sourced<u16>>,
}

/// A number of processes as torchrun takes it: `4`, `gpu` (or `auto`), `cpu`.
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

/// The variables of ms-swift and torchrun that mean the same as our flags.
pub(super) const NNODES: [&str; 2] = [vars::NNODES, vars::PET_NNODES];
pub(super) const NODE_RANK: [&str; 2] = [vars::NODE_RANK, vars::PET_NODE_RANK];
pub(super) const NPROC_PER_NODE: [&str; 2] = [vars::NPROC_PER_NODE, vars::PET_NPROC_PER_NODE];
pub(super) const MASTER_ADDR: [&str; 2] = [vars::MASTER_ADDR, vars::PET_MASTER_ADDR];
pub(super) const MASTER_PORT: [&str; 2] = [vars::MASTER_PORT, vars::PET_MASTER_PORT];

/// Every launcher sets these for each rank.
pub(super) const RANK_VARIABLES: [&str; 3] = [vars::RANK, vars::LOCAL_RANK, vars::WORLD_SIZE];

/// torchrun sets these for each rank, and no engine does.
pub(super) const STARTED_BY_TORCHRUN: [&str; 3] = [vars::LOCAL_WORLD_SIZE, vars::GROUP_RANK, vars::TORCHELASTIC_RUN_ID];

/// The machines of so many ranks, if each has `local` of them.
pub(super) fn machines_of(world: u64, local: u64) -> Option<u32> {
    let machines = world.checked_div(local).filter(|machines| machines * local == world)?;
    u32::try_from(machines).ok()
}

pub(super) fn all_are_set(names: &[&str], host: &Host) -> bool {
    names.iter().all(|name| host.nonempty_var(name).is_some())
}

pub(super) fn any_is_set(names: &[&str], host: &Host) -> bool {
    names.iter().any(|name| host.nonempty_var(name).is_some())
}

pub(super) fn text(name: &str, host: &Host) -> Option<Sourced<String>> {
    host.nonempty_var(name).map(|value| Sourced::new(value.to_string(), Source::Variable(name.to_string())))
}

pub(super) fn first_text(names: &[&str], host: &Host) -> Option<Sourced<String>> {
    names.iter().find_map(|name| text(name, host))
}

pub(super) fn check(problems: Vec<Problem>) -> Result<(), Vec<Problem>> {
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

pub(super) struct VariableReader<'a> {
    pub(super) host: &'a Host,
    pub(super) problems: Vec<Problem>,
}

impl<'a> VariableReader<'a> {
    pub(super) fn new(host: &'a Host) -> Self {
        VariableReader { host, problems: Vec::new() }
    }

    pub(super) fn number<T>(&mut self, name: &str, least: T) -> Option<Sourced<T>>
    where
        T: FromStr + PartialOrd + Display + Copy,
    {
        let text = text(name, self.host)?;
        match text.value.trim().parse::<T>() {
            Ok(value) if value >= least => Some(Sourced::new(value, text.from)),
            _ => {
                let most = u64::MAX >> (64 - 8 * size_of::<T>());
                self.problems.push(not_a_number(&text, &least.to_string(), most));
                None
            }
        }
    }

    pub(super) fn first_number<T>(&mut self, names: &[&str], least: T) -> Option<Sourced<T>>
    where
        T: FromStr + PartialOrd + Display + Copy,
    {
        names.iter().find_map(|name| self.number(name, least))
    }

    pub(super) fn nnodes(&mut self) -> Option<Sourced<u32>> {
        self.machines(&NNODES)
    }

    /// torchrun also takes a range of machines.
    pub(super) fn machines(&mut self, names: &[&str]) -> Option<Sourced<u32>> {
        let stated = first_text(names, self.host)?;
        let (least, most) = stated.value.split_once(':').unwrap_or((&stated.value, &stated.value));
        match (least.trim().parse::<u32>(), most.trim().parse::<u32>()) {
            (Ok(least), Ok(most)) if least == most && least > 0 => Some(Sourced::new(least, stated.from)),
            (Ok(_), Ok(_)) if least != most => {
                self.problems.push(range_of_machines(&stated));
                None
            }
            _ => self.first_number(names, 1),
        }
    }

    pub(super) fn nproc_per_node(&mut self) -> Option<Sourced<Processes>> {
        NPROC_PER_NODE.iter().find_map(|name| {
            let text = text(name, self.host)?;
            if let Ok(processes) = text.value.parse() {
                return Some(Sourced::new(processes, text.from));
            }
            self.problems.push(not_a_number(&text, "1", u32::MAX.into()));
            None
        })
    }
}
