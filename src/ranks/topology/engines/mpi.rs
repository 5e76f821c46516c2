//! An MPI starts one task for each rank, and sets four variables for it.

use super::job::{first_host, is_this_host, job_id, node_count};
use super::port::port_of_job;
use crate::base::engines::Block;
use crate::base::source::{Source, Sourced};
use crate::host::{self, Host};
use crate::ranks::topology::engine::{Allocation, Detected, Placement, Task};
use crate::ranks::topology::variables::{VariableReader, text};
use crate::report;

/// The names of the four variables, and what tells two jobs apart.
pub(super) struct MpiVariables {
    pub(super) engine: &'static str,
    pub(super) rank: &'static str,
    pub(super) size: &'static str,
    pub(super) local_rank: &'static str,
    pub(super) local_size: &'static str,
    /// A variable that all tasks of one start have in common, and no other start has. Empty: there is none.
    pub(super) job: &'static str,
    /// Programs that are above all tasks of a node, and of which each start has its own. Empty: `job` says enough.
    pub(super) proxies: &'static str,
    /// An option of theirs with the same value on every node of one start, and another one in every other start.
    pub(super) proxy_option: Option<&'static str>,
}

impl MpiVariables {
    pub(super) const NONE: Self = MpiVariables {
        engine: "",
        rank: "",
        size: "",
        local_rank: "",
        local_size: "",
        job: "",
        proxies: "",
        proxy_option: None,
    };

    pub(super) fn of(block: &Block) -> Self {
        MpiVariables {
            engine: block.name(),
            rank: block.name_of("rank"),
            size: block.name_of("size"),
            local_rank: block.name_of("local_rank"),
            local_size: block.name_of("local_size"),
            job: block.name_of("job"),
            proxies: block.field("proxies").unwrap_or_default(),
            proxy_option: block.field("proxy-option"),
        }
    }

    pub(super) fn detect(&self, host: &Host) -> Option<Detected> {
        let (set, missing) = unset(&[self.rank, self.size, self.local_rank, self.local_size], host);
        if missing.is_empty() {
            return Some(self.read(host));
        }
        // One task alone needs no place.
        let larger = !set.is_empty() && host.filled(self.size) != Some("1");
        larger.then(|| Err(report::tasks_unknown(self.engine, &set, &missing).into()))
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
        let is_one_node = world_size.value == local_world_size.value;
        let mut allocation =
            Tasks { rank, local_rank, world_size, local_world_size }.allocate(text(self.job, host), host)?;
        if let Some(start) = self.start(is_one_node, host) {
            allocation.master_port = Some(port_of_job(&start));
        }
        Ok(allocation)
    }

    /// What tells this start from another one of the same job, where their variables do not.
    fn start(&self, is_one_node: bool, host: &Host) -> Option<Sourced<String>> {
        let (proxy, process) = host::ancestor(&self.proxies.split_ascii_whitespace().collect::<Vec<_>>())?;
        let start = if is_one_node {
            format!("{}.{process}", job_id(host).map(|job| job.value).unwrap_or_default())
        } else {
            host::argument_of(process, self.proxy_option?)?
        };
        Some(Sourced::new(start, Source::Machine(proxy)))
    }
}

/// Which of these are set, with their values, and which are missing.
pub(super) fn unset<'a>(names: &[&'a str], host: &Host) -> (Vec<String>, Vec<&'a str>) {
    let set = names.iter().filter_map(|name| text(name, host)).map(|set| set.place()).collect();
    (set, names.iter().copied().filter(|name| host.filled(name).is_none()).collect())
}

/// The place of one task among the ranks.
pub(super) struct Tasks {
    pub(super) rank: Sourced<u32>,
    pub(super) local_rank: Sourced<u32>,
    pub(super) world_size: Sourced<u32>,
    pub(super) local_world_size: Sourced<u32>,
}

impl Tasks {
    /// `start`: what all tasks of one start have in common.
    pub(super) fn allocate(self, start: Option<Sourced<String>>, host: &Host) -> Detected {
        let Tasks { rank, local_rank, world_size, local_world_size } = self;
        let nnodes = world_size.value / local_world_size.value;
        let divides = world_size.value % local_world_size.value == 0;
        // A node with one task cannot see that others have more, but then the job has too few nodes.
        let too_few_nodes = local_world_size.value == 1 && node_count(host).is_some_and(|nodes| nnodes > nodes);
        // Where nodes differ, Open MPI 5 may count one task on each of them (seen, 5.0.11: 2 + 1).
        let miscounted = local_world_size.value == 1 && local_rank.value > 0;
        if !divides || too_few_nodes || miscounted {
            return Err(report::mpi_tasks_spread_unevenly(&world_size, &local_world_size).into());
        }
        for (rank, size) in [(&rank, &world_size), (&local_rank, &local_world_size)] {
            if rank.value >= size.value {
                let wide = |it: &Sourced<u32>| it.clone().map(u64::from);
                return Err(report::rank_too_large(&wide(rank), &wide(size)).into());
            }
        }
        let first = if nnodes == 1 { None } else { first_host(host) };
        // The other ranks would wait at the first host of the list for a rank 0 that runs elsewhere.
        let elsewhere = first.as_ref().filter(|first| rank.value == 0 && !is_this_host(&first.value, host));
        let address_problem = elsewhere.map(|first| report::rank_0_is_elsewhere(first, &host.hostname));
        let node_rank = Sourced::new(rank.value / local_world_size.value, rank.from.clone());
        let allocation = Allocation::task_per_node(Sourced::new(nnodes, world_size.from.clone()), node_rank, first);
        Ok(Allocation {
            address_problem,
            master_port: start.or_else(|| job_id(host)).map(|job| port_of_job(&job)),
            // The one task of a node starts as many ranks as it has GPUs, as under `srun --ntasks-per-node=1`.
            placement: if local_world_size.value == 1 {
                Placement::Node
            } else {
                Placement::Rank(Task { rank, local_rank, world_size, local_world_size })
            },
            ..allocation
        })
    }
}
