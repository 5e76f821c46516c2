//! An MPI starts one task for each rank, and sets four variables for it.

use super::job::{first_host, is_this_host, job_id, node_count};
use super::port::port_of_job;
use crate::base::source::{Source, Sourced};
use crate::host::{self, Host};
use crate::ranks::topology::engine::{Allocation, Detected, Placement, Task};
use crate::ranks::topology::engines::table::Block;
use crate::ranks::topology::problems::{give_place, rank_too_large, tasks_spread_unevenly};
use crate::ranks::topology::variables::{VariableReader, text};
use crate::report::fix::{Fixes, run, say};
use crate::report::{Problem, Rule};

pub(super) fn detect(block: &Block, host: &Host) -> Option<Detected> {
    if !block.names("mark").all(|name| host.nonempty_var(name).is_some()) {
        return None;
    }
    let roles = ["rank", "size", "local_rank", "local_size", "nodes"];
    let names: Vec<&str> = roles.iter().map(|role| block.name_of(role)).filter(|name| !name.is_empty()).collect();
    let (set, missing) = split(&names, host);
    if missing.is_empty() {
        return Some(read(block, host));
    }
    // One task alone needs no place.
    let is_larger = !set.is_empty() && host.nonempty_var(block.name_of("size")) != Some("1");
    is_larger.then(|| Err(tasks_unknown(block.name(), &set, &missing).into()))
}

/// An MPI of which only PMI or PMIx is seen. PRRTE's `prterun` (seen with 3.0) says which rank this is, but neither of how
/// many nor on which machine.
pub(super) fn detect_pmi(block: &Block, host: &Host) -> Option<Detected> {
    let (set, missing) = split(&["PMI_RANK", "PMI_SIZE"], host);
    if !set.is_empty() {
        let is_one = host.nonempty_var("PMI_SIZE") == Some("1");
        let missing = [&missing[..], &["LOCAL_RANK"]].concat();
        return (!is_one).then(|| Err(tasks_unknown(block.name(), &set, &missing).into()));
    }
    let (set, _) = split(&["PMIX_RANK", "PMIX_NAMESPACE"], host);
    (!set.is_empty()).then(|| Err(tasks_unknown("PMIx", &set, &["WORLD_SIZE", "LOCAL_RANK"]).into()))
}

/// Which of these are set, with their values, and which are missing.
fn split<'a>(names: &[&'a str], host: &Host) -> (Vec<String>, Vec<&'a str>) {
    let set = names.iter().filter_map(|name| text(name, host)).map(|set| set.spelling()).collect();
    (set, names.iter().copied().filter(|name| host.nonempty_var(name).is_none()).collect())
}

fn tasks_unknown(engine: &str, set: &[String], missing: &[&str]) -> Problem {
    let is = if missing.len() == 1 { "is" } else { "are" };
    let what = format!("{engine} started this as one of several ranks, but {} {is} not set", missing.join(" and "));
    let problem = set.iter().fold(Problem::error(Rule::Ranks, what), Problem::at);
    let rank = say("set RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT for each rank");
    problem.fix(Fixes::from(rank).or(give_place()))
}

fn read(block: &Block, host: &Host) -> Detected {
    let mut variables = VariableReader::new(host);
    let mut number = |role: &str, least: u32| variables.number::<u32>(block.name_of(role), least);
    let (rank, size, local_rank) = (number("rank", 0), number("size", 1), number("local_rank", 0));
    let (local_size, nodes) = (number("local_size", 1), number("nodes", 1));
    let local_size = match (&size, nodes) {
        (Some(size), Some(nodes)) if size.value % nodes.value != 0 => {
            return Err(tasks_spread_unevenly(size, &nodes).into());
        }
        (Some(size), Some(nodes)) => Some(Sourced::new(size.value / nodes.value, nodes.from)),
        _ => local_size,
    };
    let (Some(rank), Some(world_size), Some(local_rank), Some(local_world_size)) = (rank, size, local_rank, local_size)
    else {
        return Err(variables.problems);
    };
    let is_one_node = world_size.value == local_world_size.value;
    let mut allocation = allocate(Task { rank, local_rank, world_size, local_world_size }, host)?;
    let job = text(block.name_of("job"), host).or_else(|| job_id(host));
    allocation.master_port = start(block, is_one_node, host).or(job).map(|start| port_of_job(&start));
    Ok(allocation)
}

/// What tells this start from another one of the same job, where their variables do not.
fn start(block: &Block, is_one_node: bool, host: &Host) -> Option<Sourced<String>> {
    let proxies: Vec<&str> = block.field("proxies")?.split_ascii_whitespace().collect();
    let (proxy, process) = host::ancestor(&proxies)?;
    let start = if is_one_node {
        format!("{}.{process}", job_id(host).map(|job| job.value).unwrap_or_default())
    } else {
        host::argument_of(process, block.field("proxy-option")?)?
    };
    Some(Sourced::new(start, Source::Machine(proxy)))
}

fn allocate(task: Task, host: &Host) -> Detected {
    let Task { rank, local_rank, world_size, local_world_size } = &task;
    let nnodes = world_size.value / local_world_size.value;
    let divides = world_size.value % local_world_size.value == 0;
    // A node with one task cannot see that others have more, but then the job has too few nodes.
    let too_few_nodes = local_world_size.value == 1 && node_count(host).is_some_and(|nodes| nnodes > nodes);
    // Where nodes differ, Open MPI 5 may count one task on each of them (seen, 5.0.11: 2 + 1).
    let miscounted = local_world_size.value == 1 && local_rank.value > 0;
    if !divides || too_few_nodes || miscounted {
        return Err(tasks_spread_unevenly(world_size, local_world_size).into());
    }
    for (rank, size) in [(rank, world_size), (local_rank, local_world_size)] {
        let wide = |number: &Sourced<u32>| number.clone().map(u64::from);
        if let Some(problem) = rank_too_large(Some(&wide(rank)), Some(&wide(size))) {
            return Err(problem.into());
        }
    }
    let first = if nnodes == 1 { None } else { first_host(host) };
    // The other ranks would wait at the first host of the list for a rank 0 that runs elsewhere.
    let elsewhere = first.as_ref().filter(|first| rank.value == 0 && !is_this_host(&first.value, host));
    let address_problem = elsewhere.map(|first| {
        let (here, first_name) = (&host.hostname, &first.value);
        Problem::error(Rule::Ranks, format!("rank 0 runs on {here}, but the first machine of the job is {first_name}"))
            .at(first)
            .fix(run(format!("export MASTER_ADDR={here}")).remark("for all ranks"))
    });
    let node_rank = Sourced::new(rank.value / local_world_size.value, rank.from.clone());
    let allocation = Allocation::task_per_node(Sourced::new(nnodes, world_size.from.clone()), node_rank, first);
    // The one task of a node starts as many ranks as it has GPUs, as under `srun --ntasks-per-node=1`.
    let placement = if local_world_size.value == 1 { Placement::Node } else { Placement::Rank(task) };
    Ok(Allocation { placement, address_problem, ..allocation })
}
