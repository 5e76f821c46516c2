//! The ranks as flags state them: those of zlaunch, or those of a launcher in the user's command.

use std::fmt::{self, Display};
use std::str::FromStr;

use crate::base::source::Sourced;

/// `None` is left open.
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
