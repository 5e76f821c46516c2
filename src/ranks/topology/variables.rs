//! The ranks as flags and environment variables state them.

use std::fmt::{self, Display};
use std::str::FromStr;

use super::allocation::{not_a_number, range_of_machines};
use super::tables::rank_variables::{MASTER_ADDR, MASTER_PORT, NNODES, NODE_RANK, NPROC_PER_NODE};
use crate::base::source::{Source, Sourced};
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

impl RankFlags {
    /// The flags, and what variables say of those that are left open.
    pub(super) fn or_variables(&self, host: &Host) -> Result<Self, Problem> {
        fn or<T>(
            flag: Option<T>,
            variable: Result<Option<T>, Problem>,
        ) -> Result<Option<T>, Problem> {
            flag.map_or(variable, |flag| Ok(Some(flag)))
        }
        let flags = self.clone();
        Ok(RankFlags {
            nnodes: or(flags.nnodes, machines(&NNODES, host))?,
            node_rank: or(flags.node_rank, first_number(&NODE_RANK, 0, host))?,
            nproc_per_node: or(
                flags.nproc_per_node,
                first_text(&NPROC_PER_NODE, host).map(processes).transpose(),
            )?,
            master_addr: flags.master_addr.or_else(|| first_text(&MASTER_ADDR, host)),
            master_port: or(flags.master_port, first_number(&MASTER_PORT, 1, host))?,
        })
    }
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
            _ => text
                .trim()
                .parse()
                .ok()
                .filter(|count| *count > 0)
                .map(Processes::Count)
                .ok_or(()),
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

/// The number of machines of so many ranks, if each has `local` of them.
pub(super) fn machines_of(world: u64, local: u64) -> Option<u32> {
    let machines = world
        .checked_div(local)
        .filter(|machines| machines * local == world)?;
    u32::try_from(machines).ok()
}

pub(super) fn all_are_set(names: &[&str], host: &Host) -> bool {
    names.iter().all(|name| host.nonempty_var(name).is_some())
}

pub(super) fn any_is_set(names: &[&str], host: &Host) -> bool {
    names.iter().any(|name| host.nonempty_var(name).is_some())
}

pub(crate) fn text(name: &str, host: &Host) -> Option<Sourced<String>> {
    host.nonempty_var(name)
        .map(|value| Sourced::new(value.to_string(), Source::Variable(name.to_string())))
}

pub(super) fn first_text(names: &[&str], host: &Host) -> Option<Sourced<String>> {
    names.iter().find_map(|name| text(name, host))
}

pub(super) fn check(problems: Vec<Problem>) -> Result<(), Vec<Problem>> {
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems)
    }
}

pub(crate) trait Number: FromStr + PartialOrd + Display + Copy {}
impl<T: FromStr + PartialOrd + Display + Copy> Number for T {}

/// Reads a number, which must be `least` or more.
pub(super) fn parsed<T: Number>(text: Sourced<String>, least: T) -> Result<Sourced<T>, Problem> {
    match text.value.trim().parse::<T>() {
        Ok(value) if value >= least => Ok(Sourced::new(value, text.from)),
        _ => Err(not_a_number(
            &text,
            &least.to_string(),
            u64::MAX >> (64 - 8 * size_of::<T>()),
        )),
    }
}

pub(super) fn first_number<T: Number>(
    names: &[&str],
    least: T,
    host: &Host,
) -> Result<Option<Sourced<T>>, Problem> {
    first_text(names, host)
        .map(|text| parsed(text, least))
        .transpose()
}

pub(super) fn number<T: Number>(
    name: &str,
    least: T,
    host: &Host,
) -> Result<Option<Sourced<T>>, Problem> {
    first_number(&[name], least, host)
}

/// A number of machines. torchrun also takes a range of them.
pub(super) fn machines(names: &[&str], host: &Host) -> Result<Option<Sourced<u32>>, Problem> {
    let Some(stated) = first_text(names, host) else {
        return Ok(None);
    };
    let (least, most) = stated
        .value
        .split_once(':')
        .unwrap_or((&stated.value, &stated.value));
    match (least.trim().parse::<u32>(), most.trim().parse::<u32>()) {
        (Ok(least), Ok(most)) if least == most && least > 0 => {
            Ok(Some(Sourced::new(least, stated.from)))
        }
        (Ok(_), Ok(_)) if least != most => Err(range_of_machines(&stated)),
        _ => parsed(stated, 1).map(Some),
    }
}

fn processes(text: Sourced<String>) -> Result<Sourced<Processes>, Problem> {
    let processes = text
        .value
        .parse()
        .map_err(|()| not_a_number(&text, "1", u32::MAX.into()))?;
    Ok(Sourced::new(processes, text.from))
}
