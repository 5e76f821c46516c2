//! Flux: `flux run` sets these for every task (github.com/flux-framework/flux-core, doc/man7/flux-environment.rst). Tasks are
//! spread evenly, or the division below has a remainder. Where the ranks meet is not told.

use super::mpi::{Tasks, unset};
use crate::base::source::Sourced;
use crate::host::Host;
use crate::ranks::topology::engine::{Detected, Engine};
use crate::ranks::topology::variables::{VariableReader, text};
use crate::report;

pub(super) const ENGINE: Engine = Engine { name: "Flux", detect: |_, host| detect(host) };

const VARIABLES: [&str; 4] = ["FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", "FLUX_JOB_NNODES"];

fn detect(host: &Host) -> Option<Detected> {
    match unset(&VARIABLES, host) {
        (set, _) if set.is_empty() => None,
        (_, missing) if missing.is_empty() => Some(read(host)),
        (set, missing) => Some(Err(report::tasks_unknown(ENGINE.name, &set, &missing).into())),
    }
}

fn read(host: &Host) -> Detected {
    let mut variables = VariableReader::new(host);
    let [rank, size, local_rank, nodes] = VARIABLES;
    let (rank, size) = (variables.number::<u32>(rank, 0), variables.number::<u32>(size, 1));
    let (local_rank, nodes) = (variables.number::<u32>(local_rank, 0), variables.number::<u32>(nodes, 1));
    let (Some(rank), Some(world_size), Some(local_rank), Some(nodes)) = (rank, size, local_rank, nodes) else {
        return Err(variables.problems);
    };
    if world_size.value % nodes.value != 0 {
        return Err(report::mpi_tasks_spread_unevenly(&world_size, &nodes).into());
    }
    let local_world_size = Sourced::new(world_size.value / nodes.value, nodes.from);
    Tasks { rank, local_rank, world_size, local_world_size }.allocate(text("FLUX_JOB_ID", host), host)
}
