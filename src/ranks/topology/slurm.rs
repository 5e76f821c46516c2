//! Slurm, from the variables of the task itself. Inside a step only the step's variables tell the truth: those of the
//! job leak in from the batch shell.

use super::engine::{Engine, Look, Others, Placement, Seen, Task, is_this_machine, port};
use super::hostlist::Hosts;
use super::read::{number, text};
use super::rendezvous;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::report::{self, Problem};

pub(super) const ENGINE: Engine = Engine {
    name: "Slurm",
    mark: vars::SLURM_JOB_ID,
    look: |host| Some(if in_step(host) { step(host) } else { shell(host) }),
};

/// The numbers Slurm gives to what is no step of tasks: interactive shells, the batch script, and two of its own.
const FIRST_SPECIAL_STEP: u32 = 0xffff_fff0;

/// Whether this is a task of a step, and not the shell of the job.
pub(crate) fn in_step(host: &Host) -> bool {
    let step = host.filled(vars::SLURM_STEP_ID);
    step.is_some_and(|step| step.parse::<u32>().is_ok_and(|step| step < FIRST_SPECIAL_STEP))
}

/// A batch script, or the shell of `salloc`.
fn shell(host: &Host) -> Look {
    let mut problems = Vec::new();
    let mut nnodes = first_number(host, [vars::SLURM_JOB_NUM_NODES, vars::SLURM_NNODES], 1, &mut problems);
    let groups = number(host, vars::SLURM_HET_SIZE, &1, &mut problems).map_or(1, |groups: Sourced<u8>| groups.value);
    // The plain variables tell of the first group only.
    for group in (0..groups).filter(|_| groups > 1) {
        let name = format!("{}_HET_GROUP_{group}", vars::SLURM_JOB_NUM_NODES);
        let more = number::<u32>(host, &name, &1, &mut problems).map_or(0, |more| more.value);
        nnodes.value = if group == 0 { more } else { nnodes.value.saturating_add(more) };
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    // The shell of `salloc` is not on the machines of the job at all.
    let elsewhere = [vars::SLURM_NODEID, vars::SLURMD_NODENAME].iter().all(|name| host.filled(name).is_none());
    let through_srun = nnodes.value > 1 || elsewhere;
    Ok(Seen {
        placement: if through_srun {
            Placement::Shell { groups: groups.into(), elsewhere }
        } else {
            Placement::Machine
        },
        node_rank: Sourced::new(0, Source::Default),
        gpus: gpus(host),
        master_addr: None,
        master_port: None,
        others: others(host, &nnodes, ""),
        not_there: None,
        nnodes,
        owns_rank: false,
    })
}

/// A task that `srun` started.
fn step(host: &Host) -> Look {
    let mut problems = Vec::new();
    let nnodes = first_number(host, [vars::SLURM_STEP_NUM_NODES, vars::SLURM_NNODES], 1, &mut problems);
    let node_rank = first_number(host, [vars::SLURM_NODEID, vars::SLURM_PROCID], 0, &mut problems);
    let local_rank = number(host, vars::SLURM_LOCALID, &0, &mut problems).unwrap_or(Sourced::new(0, Source::Default));
    let list = first_text(host, [vars::SLURM_STEP_NODELIST, vars::SLURM_JOB_NODELIST]);
    let hosts = list.as_ref().and_then(|list| {
        let hosts = Hosts::parse(&list.value);
        if hosts.is_none() {
            problems.push(report::not_a_host_list(list));
        }
        hosts
    });
    let tasks = first_text(host, [vars::SLURM_STEP_TASKS_PER_NODE, vars::SLURM_TASKS_PER_NODE]);
    let per_node = tasks.as_ref().map_or(Some(1), |tasks| {
        let counts = counts(&tasks.value);
        let same = counts.as_deref().and_then(common);
        if same.is_none() {
            let uneven = counts.map(|_| report::tasks_spread_unevenly(tasks));
            problems.push(uneven.unwrap_or_else(|| report::not_task_counts(tasks)));
        }
        same
    });
    let (Some(per_node), true) = (per_node, problems.is_empty()) else { return Err(problems) };
    let placement = match &tasks {
        // `srun --pty` connects the first task to a terminal; the others are not this command.
        Some(_) if host.filled(vars::SLURM_PTY_PORT).is_some() => Placement::Machine,
        Some(tasks) if per_node > 1 => Placement::Rank(task(per_node, &nnodes, &node_rank, local_rank, tasks)),
        _ => Placement::Machine,
    };
    let first = hosts.as_ref().and_then(Hosts::first).zip(list.as_ref());
    let master_addr = first.map(|(first, list)| {
        let first = Sourced::new(first, list.from.clone());
        let second = || hosts.as_ref().and_then(|hosts| hosts.get(1));
        // Only the machine itself knows its name to be a loopback address.
        if node_rank.value == 0 && is_this_machine(&first.value, host) {
            rendezvous::not_loopback(first, second)
        } else {
            first
        }
    });
    Ok(Seen {
        owns_rank: rank_is_the_containers(host, &nnodes, per_node),
        others: others(host, &nnodes, list.as_ref().map_or("", |list| &list.value)),
        not_there: None,
        placement,
        nnodes,
        node_rank,
        gpus: gpus(host),
        master_addr,
        master_port: reserved_port(host).or_else(|| own_port(host)),
    })
}

/// Ranks are numbered machine by machine, so that rank 0 sits where the others look for it whatever the distribution.
fn task(
    per_node: u32,
    nnodes: &Sourced<u32>,
    node_rank: &Sourced<u32>,
    local_rank: Sourced<u32>,
    tasks: &Sourced<String>,
) -> Task {
    let both = |one: &Source, two: &Source| Source::Both(Box::new(one.clone()), Box::new(two.clone()));
    let rank = node_rank.value.saturating_mul(per_node).saturating_add(local_rank.value);
    Task {
        rank: Sourced::new(rank, both(&node_rank.from, &local_rank.from)),
        local_rank,
        world_size: Sourced::new(nnodes.value.saturating_mul(per_node), both(&nnodes.from, &tasks.from)),
        local_world_size: Sourced::new(per_node, tasks.from.clone()),
    }
}

/// `4(x2),1`: so many tasks, or CPUs, on so many machines.
pub(crate) fn counts(text: &str) -> Option<Vec<(u32, u32)>> {
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|count| *count > 0);
    let count = |item: &str| match item.split_once("(x") {
        Some((tasks, machines)) => Some((number(tasks)?, number(machines.strip_suffix(')')?)?)),
        None => Some((number(item)?, 1)),
    };
    text.split(',').map(count).collect()
}

/// The count that all machines have.
fn common(counts: &[(u32, u32)]) -> Option<u32> {
    let (first, _) = counts.first()?;
    counts.iter().all(|(count, _)| count == first).then_some(*first)
}

/// `8` or `a100:8`.
pub(crate) fn gpus_asked_for(text: &str) -> Option<u32> {
    text.rsplit(':').next()?.parse().ok()
}

/// The hook of enroot sets RANK and WORLD_SIZE for every task, as if each were a rank. A real launcher sets more.
fn rank_is_the_containers(host: &Host, nnodes: &Sourced<u32>, per_node: u32) -> bool {
    let number = |name: &str| host.filled(name).and_then(|value| value.parse::<u64>().ok());
    let tasks = u64::from(nnodes.value) * u64::from(per_node);
    number(vars::WORLD_SIZE) == Some(tasks)
        && number(vars::RANK) == number(vars::SLURM_PROCID)
        && [vars::LOCAL_WORLD_SIZE, vars::GROUP_RANK, vars::TORCHELASTIC_RUN_ID]
            .iter()
            .all(|name| host.raw(name).is_none())
}

/// Of the step on this machine. A task that was given fewer sees that in CUDA_VISIBLE_DEVICES, which is read first.
fn gpus(host: &Host) -> Option<Sourced<u32>> {
    let sourced = text(host, vars::SLURM_GPUS_ON_NODE)?;
    let count = sourced.value.parse().ok().filter(|count| *count > 0)?;
    Some(Sourced::new(count, sourced.from))
}

/// `--gpus` states a sum, a heterogeneous job has groups, and where nobody states anything, machines that differ in
/// CPUs may differ in GPUs.
fn others(host: &Host, nnodes: &Sourced<u32>, step_hosts: &str) -> Others {
    if nnodes.value == 1 {
        return Others::Same;
    }
    let group_list = |group: u8| host.filled(&format!("{}_HET_GROUP_{group}", vars::SLURM_JOB_NODELIST));
    let groups = host.filled(vars::SLURM_HET_SIZE).and_then(|size| size.parse().ok()).unwrap_or(1);
    if groups > 1 && !(0..groups).any(|group| group_list(group) == Some(step_hosts)) {
        return Others::Differ;
    }
    if host.filled(vars::SLURM_GPUS_PER_NODE).is_some() {
        return Others::Same;
    }
    if let Some(gpus) = host.filled(vars::SLURM_GPUS).and_then(gpus_asked_for) {
        let machines = host.filled(vars::SLURM_JOB_NUM_NODES).and_then(|count| count.parse().ok());
        return Others::Together(gpus, machines.unwrap_or(nnodes.value));
    }
    let alike = |cpus: &str| counts(cpus).is_none_or(|counts| common(&counts).is_some());
    if host.filled(vars::SLURM_JOB_CPUS_PER_NODE).is_none_or(alike) { Others::Same } else { Others::Differ }
}

/// `srun --resv-ports`: nobody else gets these.
fn reserved_port(host: &Host) -> Option<Sourced<u16>> {
    let sourced = text(host, vars::SLURM_STEP_RESV_PORTS)?;
    let first = sourced.value.split(['-', ',']).next()?.parse().ok()?;
    Some(Sourced::new(first, sourced.from))
}

fn own_port(host: &Host) -> Option<Sourced<u16>> {
    let part = |name: &str| host.filled(name).unwrap_or("0");
    let job = text(host, vars::SLURM_JOB_ID)?;
    let (step, restart) = (part(vars::SLURM_STEP_ID), part(vars::SLURM_RESTART_COUNT));
    Some(port(&Sourced::new(format!("{}.{step}.{restart}", job.value), job.from)))
}

fn first_number(host: &Host, names: [&str; 2], default: u32, problems: &mut Vec<Problem>) -> Sourced<u32> {
    let sourced = names.iter().find_map(|name| number(host, name, &default, problems));
    sourced.unwrap_or(Sourced::new(default, Source::Default))
}

fn first_text(host: &Host, names: [&str; 2]) -> Option<Sourced<String>> {
    names.iter().find_map(|name| text(host, name))
}
