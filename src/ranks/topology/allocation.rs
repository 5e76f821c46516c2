//! An allocation: what a scheduler, an MPI, a Kubernetes operator or a cloud says about this process. Each tells it by its
//! own environment variables: no server is asked.

use crate::base::source::{Source, Sourced};
use crate::report::Problem;

#[derive(Debug, Default)]
pub(super) struct Allocation {
    pub(super) placement: Placement,
    pub(super) nnodes: Sourced<u32>,
    /// `None`: this is the shell of the job, which is none of its tasks.
    pub(super) node_rank: Option<Sourced<u32>>,
    /// Refused unless the user says which machine this is: nothing would run on the others.
    pub(super) alone: Option<Problem>,
    /// GPUs on this machine, if the engine counts them.
    pub(super) gpus: Option<Sourced<u32>>,
    pub(super) master_addr: Option<Sourced<String>>,
    pub(super) master_port: Option<Sourced<u16>>,
    /// The other machines may have another number of GPUs.
    pub(super) peers_differ: bool,
    /// `master_addr` does not lead to rank 0.
    pub(super) address_problem: Option<Problem>,
    /// RANK and WORLD_SIZE were set by this engine, and count machines or tasks.
    pub(super) sets_rank_variables: bool,
}

impl Allocation {
    /// The operators of Kubernetes reserve this port, unless they name another.
    pub(super) fn task_per_machine(
        nnodes: Sourced<u32>,
        node_rank: impl Into<Option<Sourced<u32>>>,
        master_addr: Option<Sourced<String>>,
    ) -> Self {
        let (node_rank, master_port) =
            (node_rank.into(), Some(Sourced::new(23456, Source::Default)));
        Allocation {
            nnodes,
            node_rank,
            master_addr,
            master_port,
            ..Allocation::default()
        }
    }
}

#[derive(Debug, Default)]
pub(super) enum Placement {
    /// One task on each machine: a launcher starts the ranks there.
    #[default]
    Machine,
    Rank(Task),
    /// The shell of a Slurm job with so many groups of machines, before anything runs on the other machines. `outside`: it is
    /// on none of the job's machines.
    SlurmShell {
        groups: u32,
        outside: bool,
    },
}

#[derive(Clone, Debug)]
pub struct Task {
    pub rank: Sourced<u32>,
    pub(crate) local_rank: Sourced<u32>,
    pub world_size: Sourced<u32>,
    pub(crate) local_world_size: Sourced<u32>,
}
