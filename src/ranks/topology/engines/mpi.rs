//! An MPI starts one task for each rank, and sets four variables for it.

use super::job::{first_host, is_this_host, job_id, node_count, port_of_job};
use crate::base::source::Sourced;
use crate::host::Host;
use crate::ranks::topology::engine::{Allocation, Detected, Placement, Task};
use crate::ranks::topology::variables::{VariableReader, all_are_set};
use crate::report;

/// The names of the four variables.
pub(super) struct MpiVariables {
    pub(super) rank: &'static str,
    pub(super) size: &'static str,
    pub(super) local_rank: &'static str,
    pub(super) local_size: &'static str,
}

impl MpiVariables {
    pub(super) fn detect(&self, host: &Host) -> Option<Detected> {
        all_are_set(&[self.rank, self.size, self.local_rank, self.local_size], host).then(|| self.read(host))
    }

    fn read(&self, host: &Host) -> Detected {
        let mut variables = VariableReader::new(host);
        let rank = variables.number::<u32>(self.rank, 0);
        let size = variables.number::<u32>(self.size, 1);
        let local_rank = variables.number(self.local_rank, 0);
        let local_size = variables.number::<u32>(self.local_size, 1);
        let (Some(rank), Some(world_size), Some(local_rank), Some(local_world_size)) =
            (rank, size, local_rank, local_size)
        else {
            return Err(variables.problems);
        };
        let nnodes = world_size.value / local_world_size.value;
        let divides = world_size.value % local_world_size.value == 0 && rank.value < world_size.value;
        // A node with one task cannot see that others have more, but then the job has too few nodes.
        let too_few_nodes = local_world_size.value == 1 && node_count(host).is_some_and(|nodes| nnodes > nodes);
        if !divides || too_few_nodes {
            return Err(vec![report::mpi_tasks_spread_unevenly(&world_size, &local_world_size)]);
        }
        let first = if nnodes == 1 { None } else { first_host(host) };
        // The other ranks would wait at the first host of the list for a rank 0 that runs elsewhere.
        let elsewhere = first.as_ref().filter(|first| rank.value == 0 && !is_this_host(&first.value, host));
        let address_problem = elsewhere.map(|first| report::rank_0_is_elsewhere(first, &host.hostname));
        let node_rank = Sourced::new(rank.value / local_world_size.value, rank.from.clone());
        let allocation = Allocation::task_per_node(Sourced::new(nnodes, world_size.from.clone()), node_rank, first);
        Ok(Allocation {
            address_problem,
            master_port: job_id(host).map(|job| port_of_job(&job)),
            placement: if local_world_size.value == 1 && nnodes > 1 {
                Placement::Node
            } else {
                Placement::Rank(Task { rank, local_rank, world_size, local_world_size })
            },
            ..allocation
        })
    }
}
