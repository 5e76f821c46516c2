//! An MPI starts one task for each rank, and sets four variables for it.

use super::job::{first_host, is_this_host, job_id, machine_count, port_of_job};
use super::table::Block;
use crate::base::source::{Source, Sourced};
use crate::host::{self, Host};
use crate::ranks::topology::allocation::{Allocation, Placement, Task};
use crate::ranks::topology::problems::{give_place, tasks_spread_unevenly, too_large};
use crate::ranks::topology::variables::{number, text};
use crate::report::fix::{Fixes, run, say};
use crate::report::{Problem, Rule};

pub(super) fn detect(block: &Block, host: &Host) -> Result<Option<Allocation>, Vec<Problem>> {
    if !block
        .names("mark")
        .all(|name| host.nonempty_var(name).is_some())
    {
        return Ok(None);
    }
    let names =
        ["rank", "size", "local_rank", "local_size", "nodes"].map(|role| block.name_of(role));
    let unset = names
        .into_iter()
        .filter(|name| !name.is_empty() && host.nonempty_var(name).is_none());
    let missing: Vec<&str> = unset.chain(block.field("untold")).collect();
    if missing.is_empty() {
        return read(block, host);
    }
    let shown = block.variables().filter(|variable| variable.shows_a_job());
    let set: Vec<_> = shown
        .filter_map(|variable| text(variable.name(), host))
        .collect();
    // One task alone needs no place.
    if set.is_empty() || host.nonempty_var(block.name_of("size")) == Some("1") {
        return Ok(None);
    }
    let (engine, is) = (block.name(), if missing.len() == 1 { "is" } else { "are" });
    let what = format!(
        "{engine} started this as one of several ranks, but {} {is} not set",
        missing.join(" and ")
    );
    let problem = set
        .iter()
        .fold(Problem::error(Rule::Ranks, what), Problem::at);
    let rank = say("set RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT for each rank");
    Err(problem.fix(Fixes::from(rank).or(give_place())).into())
}

fn read(block: &Block, host: &Host) -> Result<Option<Allocation>, Vec<Problem>> {
    let number = |role: &str, least: u32| number::<u32>(block.name_of(role), least, host);
    let (rank, local_rank) = (number("rank", 0)?, number("local_rank", 0)?);
    let (size, local_size, machines) = (
        number("size", 1)?,
        number("local_size", 1)?,
        number("nodes", 1)?,
    );
    let local_size = match (&size, machines) {
        (Some(size), Some(machines)) if size.value % machines.value != 0 => {
            return Err(tasks_spread_unevenly(size, &machines).into());
        }
        (Some(size), Some(machines)) => {
            Some(Sourced::new(size.value / machines.value, machines.from))
        }
        _ => local_size,
    };
    let (Some(rank), Some(world_size), Some(local_rank), Some(local_world_size)) =
        (rank, size, local_rank, local_size)
    else {
        return Ok(None);
    };
    let is_one_machine = world_size.value == local_world_size.value;
    let allocation = allocate(
        Task {
            rank,
            local_rank,
            world_size,
            local_world_size,
        },
        host,
    )?;
    let job = text(block.name_of("job"), host).or_else(|| job_id(host));
    let master_port = start(block, is_one_machine, host)
        .or(job)
        .map(|start| port_of_job(&start));
    Ok(Some(Allocation {
        master_port,
        ..allocation
    }))
}

/// Tells this start from another one of the same job, if their variables do not.
fn start(block: &Block, is_one_machine: bool, host: &Host) -> Option<Sourced<String>> {
    let proxies: Vec<&str> = block.field("proxies")?.split_ascii_whitespace().collect();
    let (proxy, process) = host::ancestor(&proxies)?;
    let start = if is_one_machine {
        format!(
            "{}.{process}",
            job_id(host).map(|job| job.value).unwrap_or_default()
        )
    } else {
        host::argument_of(process, block.field("proxy-option")?)?
    };
    Some(Sourced::new(start, Source::Machine(proxy)))
}

fn allocate(task: Task, host: &Host) -> Result<Allocation, Vec<Problem>> {
    let Task {
        rank,
        local_rank,
        world_size,
        local_world_size,
    } = &task;
    let nnodes = world_size.value / local_world_size.value;
    let divides = world_size.value % local_world_size.value == 0;
    // A machine with one task cannot see that others have more, but then the job has too few machines. Where machines
    // differ, Open MPI 5 may count one task on each of them (seen, 5.0.11: 2 + 1).
    let miscounted =
        local_rank.value > 0 || machine_count(host).is_some_and(|machines| nnodes > machines);
    if !divides || local_world_size.value == 1 && miscounted {
        return Err(tasks_spread_unevenly(world_size, local_world_size).into());
    }
    for (rank, size) in [(rank, world_size), (local_rank, local_world_size)] {
        if rank.value >= size.value {
            return Err(too_large("rank", rank, size).into());
        }
    }
    let first = if nnodes == 1 { None } else { first_host(host) };
    // The other ranks wait for rank 0 at the first host of the list.
    let elsewhere = first
        .as_ref()
        .filter(|first| rank.value == 0 && !is_this_host(&first.value, host));
    let address_problem = elsewhere.map(|first| {
        let (here, name) = (&host.hostname, &first.value);
        let what = format!("rank 0 runs on {here}, but the first machine of the job is {name}");
        let fix = run(format!("export MASTER_ADDR={here}")).remark("for all ranks");
        Problem::error(Rule::Ranks, what).at(first).fix(fix)
    });
    let node_rank = Sourced::new(rank.value / local_world_size.value, rank.from.clone());
    let allocation = Allocation::task_per_machine(
        Sourced::new(nnodes, world_size.from.clone()),
        node_rank,
        first,
    );
    // The one task of a machine starts as many ranks as it has GPUs, as under `srun --ntasks-per-node=1`.
    let placement = if local_world_size.value == 1 {
        Placement::Machine
    } else {
        Placement::Rank(task)
    };
    Ok(Allocation {
        placement,
        address_problem,
        ..allocation
    })
}
