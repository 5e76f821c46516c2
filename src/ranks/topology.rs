//! How many ranks on how many nodes, where they meet, and what this process is among them. `decision` decides it.

mod decision;
pub mod device_list;
mod devices;
mod engine;
pub mod engines;
mod flags;
pub mod hostfile;
mod problems;
pub mod rendezvous;
pub(crate) mod unused_env;
mod variables;

use crate::base::source::{Source, Sourced};
use crate::report::fix::give;
use crate::report::{Problem, Rule};

pub(crate) use device_list::DeviceFault;
pub(crate) use devices::Devices;
pub use engine::Task;
pub(crate) use flags::Processes;
pub use flags::RankFlags;
pub use hostfile::HostFlags;
pub(crate) use hostfile::ResourcePool;
pub(crate) use problems::{alone, tasks_are_ranks};

#[derive(Debug)]
pub struct Topology {
    /// `None`: the launcher in the user's command leaves it open.
    pub nnodes: Option<Sourced<u32>>,
    pub node_rank: Sourced<u32>,
    /// `None`: left open, or of no interest to this command.
    pub nproc_per_node: Option<Sourced<u32>>,
    pub master_addr: Option<Sourced<String>>,
    pub master_port: Option<Sourced<u16>>,
    /// `None`: not known, for instance because the nodes differ.
    pub world_size: Option<Sourced<u64>>,
    pub role: Role,
    /// The scheduler or MPI that started this process.
    pub(crate) engine: Option<&'static str>,
    /// The hosts of a hostfile.
    pub(crate) pool: Option<ResourcePool>,
    pub(crate) devices: Devices,
    /// What is odd about it, but no reason to refuse.
    pub(crate) notes: Vec<Problem>,
}

/// What this process is among the ranks.
#[derive(Debug)]
pub enum Role {
    /// It starts the ranks.
    Starter,
    /// It is a rank that a launcher started.
    Rank { first: bool },
    /// It is a rank that its engine started, and zlaunch sets the variables of a rank.
    Task(Task),
    /// It is the shell of a Slurm job with so many groups of nodes. Nothing runs on the other nodes yet.
    Shell { groups: u32 },
}

impl Topology {
    fn new(nnodes: Option<Sourced<u32>>, nproc_per_node: Option<Sourced<u32>>, devices: Devices) -> Self {
        let world_size = nnodes.as_ref().zip(nproc_per_node.as_ref()).map(|(nodes, nproc)| {
            let product = u64::from(nodes.value) * u64::from(nproc.value);
            let from = if nodes.value == 1 {
                nproc.from.clone()
            } else {
                Source::Both(Box::new(nodes.from.clone()), Box::new(nproc.from.clone()))
            };
            Sourced::new(product, from)
        });
        Topology {
            nnodes,
            node_rank: Sourced::new(0, Source::Default),
            nproc_per_node,
            master_addr: None,
            master_port: None,
            world_size,
            role: Role::Starter,
            engine: None,
            pool: None,
            devices,
            notes: Vec::new(),
        }
    }

    pub fn has_several_nodes(&self) -> bool {
        self.nnodes.as_ref().is_some_and(|nnodes| nnodes.value > 1)
    }

    pub(crate) fn is_one_process(&self) -> bool {
        let one = |count: &Option<Sourced<u32>>| count.as_ref().is_some_and(|count| count.value == 1);
        one(&self.nnodes) && one(&self.nproc_per_node)
    }

    /// Whether this process is one of the ranks, so that none are to be started.
    pub(crate) fn ranks_exist(&self) -> bool {
        matches!(self.role, Role::Rank { .. } | Role::Task(_))
    }

    /// Whether this process is the first rank, or starts it. Only that one prints warnings.
    pub(crate) fn is_first(&self) -> bool {
        match &self.role {
            Role::Task(task) => task.rank.value == 0,
            Role::Rank { first } => *first,
            Role::Starter | Role::Shell { .. } => self.node_rank.value == 0,
        }
    }

    /// Whether it is known which of the nodes this is and where they meet.
    pub fn can_rendezvous(&self) -> bool {
        let Some(nnodes) = self.nnodes.as_ref() else { return false };
        let reachable = self.master_addr.as_ref().is_some_and(|address| !rendezvous::is_loopback(&address.value));
        nnodes.value == 1 || reachable && self.master_port.is_some() && self.node_rank.value < nnodes.value
    }

    /// The address that the ranks need. On one node they meet on localhost, unless a flag says otherwise.
    pub(crate) fn rendezvous_address(&self) -> Option<&Sourced<String>> {
        let several = self.nnodes.as_ref().is_none_or(|nnodes| nnodes.value > 1);
        self.master_addr.as_ref().filter(|address| several || address.from.is_flag())
    }

    /// The port on which a rank of this machine will listen. `starts`: a launcher starts the ranks.
    pub(crate) fn opens_port(&self, starts: bool) -> Option<&Sourced<u16>> {
        let here = match &self.role {
            Role::Starter => starts && self.node_rank.value == 0,
            Role::Task(task) => task.rank.value == 0 && task.world_size.value > 1,
            Role::Rank { .. } | Role::Shell { .. } => false,
        };
        self.master_port.as_ref().filter(|_| here)
    }

    /// More ranks than any cluster has are a typing error, and some launchers would need a list of them.
    pub(crate) fn size_problem(&self) -> Option<Problem> {
        const MAX_RANKS: u64 = 1 << 20;
        let (nodes, nproc) = (self.nnodes.as_ref()?, self.nproc_per_node.as_ref()?);
        let ranks = u64::from(nodes.value) * u64::from(nproc.value);
        (ranks > MAX_RANKS).then(|| {
            let (nnodes, each) = (nodes.value, nproc.value);
            let what = format!("{nnodes} machines with {each} ranks each are more than {MAX_RANKS} ranks");
            let problem = Problem::error(Rule::Ranks, what).at(nodes).at(nproc);
            problem.fix(give("--nnodes", 2).and(give("--nproc-per-node", 8)))
        })
    }

    /// How many ranks are started where, and what says so.
    pub(crate) fn in_words(&self) -> String {
        match (&self.nnodes, &self.nproc_per_node) {
            (Some(nodes), Some(nproc)) if nodes.value > 1 => {
                format!(
                    "{} × {} on {} machines ({}, {})",
                    nodes.value, nproc.value, nodes.value, nodes.from, nproc.from
                )
            }
            (Some(nodes), None) if nodes.value > 1 => format!("on {} machines ({})", nodes.value, nodes.from),
            (_, Some(nproc)) => format!("{} on this machine ({})", nproc.value, nproc.from),
            (_, None) => "as the command says".to_string(),
        }
    }
}
