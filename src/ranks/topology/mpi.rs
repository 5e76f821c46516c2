//! An MPI, which starts one task for each rank: four variables.

use super::engine::{Look, Others, Placement, Seen, Task, is_this_machine, port};
use super::jobs::{first_host, job, machines_of_the_job};
use super::read::number;
use crate::base::source::Sourced;
use crate::host::Host;
use crate::report;
use crate::report::Problem;

/// The variables of an MPI, which starts one task for each rank.
pub(super) struct Tasks {
    pub(super) rank: &'static str,
    pub(super) size: &'static str,
    pub(super) local_rank: &'static str,
    pub(super) local_size: &'static str,
}

impl Tasks {
    pub(super) fn look(&self, host: &Host) -> Option<Look> {
        let names = [self.rank, self.size, self.local_rank, self.local_size];
        names.iter().all(|name| host.filled(name).is_some()).then(|| self.read(host))
    }

    fn read(&self, host: &Host) -> Result<Seen, Vec<Problem>> {
        let mut problems = Vec::new();
        let rank = number::<u32>(host, self.rank, &0, &mut problems);
        let size = number::<u32>(host, self.size, &1, &mut problems);
        let local_rank = number(host, self.local_rank, &0, &mut problems);
        let local_size = number::<u32>(host, self.local_size, &1, &mut problems);
        let (Some(rank), Some(world_size), Some(local_rank), Some(local_world_size)) =
            (rank, size, local_rank, local_size)
        else {
            return Err(problems);
        };
        let nnodes = world_size.value / local_world_size.value;
        let whole = world_size.value % local_world_size.value == 0 && rank.value < world_size.value;
        // From a machine with fewer tasks than the others all looks even, but the machines are too few for that.
        let listed = machines_of_the_job(host).filter(|listed| local_world_size.value == 1 && nnodes > *listed);
        if !whole || listed.is_some() {
            return Err(vec![report::mpi_tasks_spread_unevenly(&world_size, &local_world_size)]);
        }
        let machine = Sourced::new(rank.value / local_world_size.value, rank.from.clone());
        let first = if nnodes == 1 { None } else { first_host(host) };
        // Whoever waits at the first machine of the list would wait for a rank that sits elsewhere.
        let strayed = first.as_ref().filter(|first| rank.value == 0 && !is_this_machine(&first.value, host));
        let not_there = strayed.map(|first| report::rank_0_is_elsewhere(first, &host.hostname));
        Ok(Seen {
            nnodes: Sourced::new(nnodes, world_size.from.clone()),
            node_rank: machine,
            gpus: None,
            master_addr: first,
            master_port: job(host).map(|job| port(&job)),
            others: Others::Same,
            not_there,
            owns_rank: false,
            placement: if local_world_size.value == 1 && nnodes > 1 {
                Placement::Machine
            } else {
                Placement::Rank(Task { rank, local_rank, world_size, local_world_size })
            },
        })
    }
}
