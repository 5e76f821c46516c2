//! The topology: the number of ranks and machines, the place where they meet, and the role of this process. `decision`
//! makes one.

mod allocation;
mod decision;
pub mod devices;
pub mod engines;
mod evidence;
pub mod hostfile;
pub mod rendezvous;
mod stray;
pub(crate) mod tables;
mod variables;

use crate::base::source::{Source, Sourced};
use crate::report::Problem;
use crate::report::fix::give;

pub use allocation::Task;
use allocation::refused;
pub(crate) use allocation::{alone, tasks_are_ranks};
pub(crate) use devices::DeviceFault;
use devices::Devices;
pub use hostfile::HostFlags;
use hostfile::ResourcePool;
pub(crate) use tables::rank_variables::PET_ELSEWHERE;
pub use variables::RankFlags;
pub(crate) use variables::{Processes, text};

#[derive(Debug, Default)]
pub struct Topology {
    /// `None`: the launcher in the user's command leaves it open.
    pub nnodes: Option<Sourced<u32>>,
    pub node_rank: Sourced<u32>,
    /// `None`: left open, or of no interest to this command.
    pub nproc_per_node: Option<Sourced<u32>>,
    pub master_addr: Option<Sourced<String>>,
    pub master_port: Option<Sourced<u16>>,
    /// `None`: not known, for instance because the machines differ.
    pub world_size: Option<Sourced<u64>>,
    pub role: Role,
    pub(crate) engine: Option<&'static str>,
    /// Each piece of evidence about the machines in words, if there are several.
    pub(crate) evidence: Vec<String>,
    pub(crate) pool: Option<ResourcePool>,
    pub(crate) devices: Devices,
    pub(crate) notes: Vec<Problem>,
}

#[derive(Debug, Default)]
pub enum Role {
    #[default]
    Starter,
    /// It is a rank that a launcher started.
    Rank { first: bool },
    /// It is a rank that its engine started, and zlaunch sets the variables of a rank.
    Task(Task),
    /// It is the shell of a Slurm job with so many groups of machines. Nothing runs on the other machines yet.
    Shell { groups: u32 },
}

impl Topology {
    fn new(
        nnodes: Option<Sourced<u32>>,
        nproc_per_node: Option<Sourced<u32>>,
        devices: Devices,
    ) -> Self {
        let world_size = nnodes
            .as_ref()
            .zip(nproc_per_node.as_ref())
            .map(|(nnodes, nproc)| {
                let mut from = nproc.from.clone();
                if nnodes.value != 1 {
                    from = Source::Both(Box::new(nnodes.from.clone()), Box::new(from));
                }
                Sourced::new(u64::from(nnodes.value) * u64::from(nproc.value), from)
            });
        Topology {
            nnodes,
            nproc_per_node,
            world_size,
            devices,
            ..Topology::default()
        }
    }

    /// One, if the launcher in the user's command leaves their number open.
    pub(super) fn machines(&self) -> u32 {
        self.nnodes.as_ref().map_or(1, |nnodes| nnodes.value)
    }

    pub fn has_several_nodes(&self) -> bool {
        self.machines() > 1
    }

    pub(crate) fn is_one_machine(&self) -> bool {
        self.nnodes.is_some() && self.machines() == 1
    }

    pub(crate) fn ranks_exist(&self) -> bool {
        matches!(self.role, Role::Rank { .. } | Role::Task(_))
    }

    /// This process is the first rank, or starts it. Only that one prints warnings.
    pub(crate) fn is_first(&self) -> bool {
        match &self.role {
            Role::Task(task) => task.rank.value == 0,
            Role::Rank { first } => *first,
            // Alone, every machine is the first, whatever number it has elsewhere.
            Role::Starter | Role::Shell { .. } => {
                self.node_rank.value == 0 || self.is_one_machine()
            }
        }
    }

    /// It is known which of the machines this is and where they meet.
    pub fn can_rendezvous(&self) -> bool {
        let address = self.master_addr.as_ref();
        let is_reachable = address.is_some_and(|it| !rendezvous::is_loopback(&it.value));
        let is_numbered = self.node_rank.value < self.machines();
        self.is_one_machine()
            || self.has_several_nodes() && is_numbered && is_reachable && self.master_port.is_some()
    }

    /// The address that the ranks need. On one machine they meet on localhost, unless a flag says otherwise.
    pub(crate) fn rendezvous_address(&self) -> Option<&Sourced<String>> {
        self.master_addr
            .as_ref()
            .filter(|address| !self.is_one_machine() || address.from.is_flag())
    }

    /// The port on which a rank of this machine will listen. `starts`: a launcher starts the ranks.
    pub(crate) fn opens_port(&self, starts: bool) -> Option<&Sourced<u16>> {
        let here = match &self.role {
            Role::Starter => starts && self.node_rank.value == 0,
            Role::Task(task) => task.rank.value == 0 && task.world_size.value > 1,
            Role::Rank { .. } | Role::Shell { .. } => false,
        };
        if here {
            self.master_port.as_ref()
        } else {
            None
        }
    }

    /// More ranks than any cluster has are a typing error, and some launchers would need a list of them.
    pub(crate) fn size_problem(&self) -> Option<Problem> {
        const MAX_RANKS: u64 = 1 << 20;
        let nnodes = self.nnodes.as_ref()?;
        let nproc = self.nproc_per_node.as_ref()?;
        if u64::from(nnodes.value) * u64::from(nproc.value) <= MAX_RANKS {
            return None;
        }
        let what =
            format!("{nnodes} machines with {nproc} ranks each is more than {MAX_RANKS} ranks");
        let fix = give("--nnodes", 2).and(give("--nproc-per-node", 8));
        Some(refused(what).at(nnodes).at(nproc).fix(fix))
    }

    pub(crate) fn in_words(&self) -> String {
        let several = self.nnodes.as_ref().filter(|nnodes| nnodes.value > 1);
        match (several, &self.nproc_per_node) {
            (Some(machines), Some(nproc)) => format!(
                "{machines} × {nproc} on {machines} machines ({}, {})",
                machines.from, nproc.from
            ),
            (Some(machines), None) => format!("on {machines} machines ({})", machines.from),
            (None, Some(nproc)) => format!("{nproc} on this machine ({})", nproc.from),
            (None, None) => "as the command says".to_string(),
        }
    }
}
