//! An MPI starts one task for each rank, and says in variables which one this is.

use super::job::{first_host, is_this_host, job_id, machine_count, port_of_job};
use crate::base::source::{Source, Sourced};
use crate::host::{self, Host};
use crate::ranks::topology::allocation::{
    Allocation, Answer, Placement, Task, give_place, refused, tasks_spread_unevenly, too_large,
};
use crate::ranks::topology::tables::engines::{Engine, Kind, Role, Variable};
use crate::report::Problem;
use crate::report::fix::{Fixes, run, say};

pub(super) fn detect(engine: &Engine, host: &Host) -> Answer {
    if engine
        .with_role(Role::Mark)
        .any(|mark| mark.text(host).is_none())
    {
        return Ok(None);
    }
    let numbers = [
        Role::Rank,
        Role::Size,
        Role::LocalRank,
        Role::LocalSize,
        Role::Nodes,
    ];
    let needed = numbers.into_iter().flat_map(|role| engine.with_role(role));
    let unset = needed.filter(|variable| variable.text(host).is_none());
    let mut missing: Vec<_> = unset.map(Variable::name).collect();
    if matches!(engine.kind, Kind::RanksWithoutPlace) {
        missing.push("LOCAL_RANK".into());
    }
    if missing.is_empty() {
        return read(engine, host);
    }
    let shown = engine.variables().filter(|variable| variable.shows_a_job());
    let set: Vec<_> = shown.filter_map(|variable| variable.text(host)).collect();
    // One task alone needs no place.
    let is_one = engine
        .told(Role::Size, host)?
        .is_some_and(|size| size.value == "1");
    if set.is_empty() || is_one {
        return Ok(None);
    }
    let are = if missing.len() == 1 { "is" } else { "are" };
    let what = format!(
        "{} started this as one of several ranks, but {} {are} not set",
        engine.name,
        missing.join(" and ")
    );
    let problem = set.iter().fold(refused(what), Problem::at);
    let rank = say("set RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT for each rank");
    Err(problem.fix(Fixes::from(rank).or(give_place())))
}

/// Without numbers of its own for a machine, an MPI has all tasks on this one.
fn read(engine: &Engine, host: &Host) -> Answer {
    let number = |role, least| engine.number::<u32>(role, least, host);
    let rank = number(Role::Rank, 0)?;
    let local_rank = number(Role::LocalRank, 0)?;
    let size = number(Role::Size, 1)?;
    let local_size = number(Role::LocalSize, 1)?;
    let machines = number(Role::Nodes, 1)?;
    let (Some(rank), Some(world_size)) = (rank, size) else {
        return Ok(None);
    };
    let local_world_size = match machines {
        Some(machines) if world_size.value % machines.value != 0 => {
            return Err(tasks_spread_unevenly(&world_size, &machines));
        }
        Some(machines) => Sourced::new(world_size.value / machines.value, machines.from),
        None => local_size.unwrap_or_else(|| world_size.clone()),
    };
    let task = Task {
        local_rank: local_rank.unwrap_or_else(|| rank.clone()),
        rank,
        world_size,
        local_world_size,
    };
    let start = start(engine, &task, host).or(engine.told(Role::Job, host)?);
    let port = start
        .or_else(|| job_id(host))
        .map(|start| port_of_job(&start));
    Ok(Some(Allocation {
        master_port: port,
        ..allocate(task, host)?
    }))
}

/// What tells this start from another one of the same job, if their variables do not.
fn start(engine: &Engine, task: &Task, host: &Host) -> Option<Sourced<String>> {
    let Kind::RanksBelow(programs, option) = engine.kind else {
        return None;
    };
    let (program, process) = host::ancestor(programs)?;
    let start = if task.world_size.value == task.local_world_size.value {
        let job = job_id(host).map(|job| job.value).unwrap_or_default();
        format!("{job}.{process}")
    } else {
        host::argument_of(process, option?)?
    };
    Some(Sourced::new(start, Source::Machine(program)))
}

fn allocate(task: Task, host: &Host) -> Result<Allocation, Problem> {
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
        return Err(tasks_spread_unevenly(world_size, local_world_size));
    }
    for (rank, size) in [(rank, world_size), (local_rank, local_world_size)] {
        if rank.value >= size.value {
            return Err(too_large("rank", rank, size));
        }
    }
    let first = if nnodes == 1 { None } else { first_host(host) };
    // The other ranks wait for rank 0 at the first host of the list.
    let elsewhere = first
        .as_ref()
        .filter(|first| rank.value == 0 && !is_this_host(&first.value, host));
    let address_problem = elsewhere.map(|first| {
        let here = &host.hostname;
        let what = format!("rank 0 runs on {here}, but the first machine of the job is {first}");
        let fix = run(format!("export MASTER_ADDR={here}")).remark("for all ranks");
        refused(what).at(first).fix(fix)
    });
    let node_rank = Sourced::new(rank.value / local_world_size.value, rank.from.clone());
    let nnodes = Sourced::new(nnodes, world_size.from.clone());
    // The one task of a machine starts as many ranks as it has GPUs, as under `srun --ntasks-per-node=1`.
    let placement = if local_world_size.value == 1 {
        Placement::Machine
    } else {
        Placement::Rank(task)
    };
    Ok(Allocation {
        placement,
        address_problem,
        ..Allocation::task_per_machine(nnodes, Some(node_rank), first)
    })
}
