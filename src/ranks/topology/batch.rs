//! Tasks of an MPI, and the shell of a batch job.
//!
//! An MPI starts one task for each rank, and says in variables which one this is. The shell of a batch job runs on one
//! machine of the job. The scheduler lists all of them, in a file or a variable. zlaunch starts nothing on the others: a line
//! of the user's does, through an MPI or a program of the scheduler.

use super::{
    Allocation, Answer, Placement, Task, alone, any_is_set,
    engine::{
        distinct, first_host, hosts, hosts_in_file, is_this_host, job_id, machine_count,
        port_of_job,
    },
    give_place, number, place_unknown, refused,
    tables::{
        engines::{Engine, Kind, PLACE_A_TASK, Role, Variable},
        rank_variables::STARTED_BY_TORCHRUN,
    },
    text, too_large,
};
use crate::{
    base::{shell, source::Sourced, vars},
    host::Host,
    report::prelude::*,
};

pub fn detect_ranks(engine: &Engine, host: &Host) -> Answer {
    if engine
        .with_role(Role::Mark)
        .any(|mark| mark.text(host).is_none())
    {
        return Ok(None);
    }
    let mut missing: Vec<_> = PLACE_A_TASK
        .into_iter()
        .flat_map(|role| engine.with_role(role))
        .filter(|variable| variable.text(host).is_none())
        .map(Variable::name)
        .collect();
    if matches!(engine.kind, Kind::RanksWithoutPlace) {
        missing.push("LOCAL_RANK".into());
    }
    if missing.is_empty() {
        return read(engine, host);
    }
    // One task alone needs no place.
    let is_one = engine
        .told(Role::Size, host)?
        .is_some_and(|size| size.value == "1");
    if is_one || engine.shown(host).next().is_none() {
        return Ok(None);
    }
    let what = format!(
        "{} started this as one of several ranks, but without {}",
        engine.name,
        missing.join(" and ")
    );
    Err(engine
        .shown(host)
        .fold(refused(what), |problem, set| problem.at(&set))
        .fix(
            say("set RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT for each rank")
                .or(give_place()),
        ))
}

/// Without numbers of its own for a machine, an MPI has all tasks on this one.
fn read(engine: &Engine, host: &Host) -> Answer {
    let number = |role, least| engine.number::<u32>(role, least, host);
    let rank = number(Role::Rank, 0)?;
    let local_rank = number(Role::LocalRank, 0)?.or(rank.clone());
    let size = number(Role::Size, 1)?;
    let local_size = number(Role::LocalSize, 1)?.or(size.clone());
    let local_size = match (number(Role::Nodes, 1)?, &size) {
        (Some(machines), Some(size)) if size.value % machines.value != 0 => {
            return Err(tasks_spread_unevenly(size, &machines));
        }
        (Some(machines), Some(size)) => Some(machines.says(size.value / machines.value)),
        _ => local_size,
    };
    let (Some(rank), Some(local_rank), Some(world_size), Some(local_world_size)) =
        (rank, local_rank, size, local_size)
    else {
        return Ok(None);
    };
    let task = Task {
        rank,
        local_rank,
        world_size,
        local_world_size,
    };
    let start = engine.told(Role::Job, host)?.or_else(|| job_id(host));
    Ok(Some(Allocation {
        master_port: start.as_ref().map(port_of_job),
        ..allocate(task, host)?
    }))
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
    let mut address_problem = None;
    // The other ranks wait for rank 0 at the first host of the list.
    if let Some(first) = &first
        && rank.value == 0
        && !is_this_host(&first.value, host)
    {
        let here = &host.hostname;
        let fix = run(format!("export MASTER_ADDR={here}")).remark("for all ranks");
        address_problem = Some(
            refused(format!(
                "rank 0 runs on {here}, but the first machine of the job is {first}"
            ))
            .at(first)
            .fix(fix),
        );
    }
    let node_rank = rank.says(rank.value / local_world_size.value);
    let nnodes = world_size.says(nnodes);
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

fn tasks_spread_unevenly(size: &Sourced<u32>, local: &Sourced<u32>) -> Problem {
    let fix = run("mpirun --map-by ppr:N:node").remark("the same number on each");
    Rule::UnevenTasks
        .error("the machines have different numbers of tasks")
        .at(size)
        .at(local)
        .fix(fix)
}

/// The machines as the best variable tells them. `None`: there is no job, or it has one machine.
pub fn detect_shell(engine: &Engine, host: &Host) -> Answer {
    let mut unreadable = None;
    for variable in engine.variables() {
        let Some(set) = variable.text(host) else {
            continue;
        };
        let mut count = 0;
        let names = match variable.role() {
            Role::File | Role::FirstFile => hosts_in_file(&set).unwrap_or_default(),
            Role::List => distinct(hosts(&set.value)),
            // Of LSF: each machine has its slots behind it.
            Role::Pairs => distinct(set.value.split_whitespace().step_by(2)),
            Role::Count => {
                count = set.value.trim().parse().unwrap_or(0);
                vec![]
            }
            _ => continue,
        };
        let count = set.says(u32::try_from(names.len()).unwrap_or(0).max(count));
        match count.value {
            0 => unreadable = unreadable.or(Some(set)),
            1 => return Ok(None),
            _ => {
                return Ok(Some(Allocation {
                    alone: Some(one_shell_of(engine, &count, engine.line, host)),
                    master_port: None,
                    ..Allocation::task_per_machine(count, None, None)
                }));
            }
        }
    }
    let Some(variable) = unreadable.or(engine.told(Role::Mark, host)?) else {
        return Ok(None);
    };
    let what = format!(
        "the machines of the {} job cannot be read, so their number is unknown",
        engine.name
    );
    Err(refused(what).at(&variable).fix(give_place()))
}

/// Refuses to start ranks in one shell of a job. `line` starts them on each machine; the first `…` in it stands for what the
/// user typed.
pub fn one_shell_of(engine: &Engine, machines: &Sourced<u32>, line: &str, host: &Host) -> Problem {
    let what = format!(
        "this is one shell of the {} job on {machines} machines: nothing runs on the others",
        engine.name
    );
    let line = match host.words.get(1..) {
        Some(words) => line.replacen('…', &shell::text(words), 1),
        None => line.to_string(),
    };
    refused(what).at(&machines.from).fix(run(line).or(alone()))
}

/// Grid Engine (SGE, Univa, Altair, Son of): the shell of a job in a parallel environment. The first word of each line of
/// PE_HOSTFILE is a machine; NHOSTS counts them (`man sge_pe`, `man qsub`). `qrsh -inherit` runs a command on one of them;
/// what such a task finds was seen with 8.1.9: where it was started from another machine, NHOSTS is 1, however many the job
/// has, and PE_HOSTFILE names a file of the other machine, if anything.
pub fn detect_grid_engine(engine: &Engine, host: &Host) -> Answer {
    let detected = detect_shell(engine, host)?;
    let file = text("PE_HOSTFILE", host);
    if detected.is_none()
        && file.and_then(|file| hosts_in_file(&file)).is_none()
        && let Some(task) = text("JOB_NAME", host)
        && task.value == "petask"
    {
        let from = text("SGE_O_HOST", host).unwrap_or(task);
        if !is_this_host(&from.value, host) {
            return Err(place_unknown(
                engine.name,
                [&from],
                "how many machines it has",
            ));
        }
    }
    Ok(detected)
}

/// Azure ML starts one process for each rank and sets RANK, LOCAL_RANK, WORLD_SIZE and NODE_RANK
/// (learn.microsoft.com/azure/machine-learning, "Distributed GPU training guide"); with one process an instance, that one is
/// a machine. A task of Azure Batch on several instances runs its command on the first only
/// (learn.microsoft.com/azure/batch, "Multi-instance tasks"), so that is the shell of a job.
pub fn detect_azure(engine: &Engine, host: &Host) -> Answer {
    let number = |name: &str| number::<u32>(name, 0, host);
    let address = text(vars::MASTER_ADDR, host);
    if host.nonempty_var(vars::LOCAL_RANK) == Some("0")
        && address.is_some()
        && !any_is_set(&STARTED_BY_TORCHRUN, host)
        && let Some(count) = number("AZUREML_NODE_COUNT")?
        && let Some(rank) = number(vars::RANK)?
        && let Some(world) = number(vars::WORLD_SIZE)?
        && world.value == count.value
    {
        return Ok(Some(Allocation {
            sets_rank_variables: true,
            ..Allocation::task_per_machine(count, Some(rank), address)
        }));
    }
    detect_shell(engine, host)
}
