//! Slurm, from the variables of the task itself. Inside a step only the step's variables hold: those of the job are
//! inherited from the batch shell.

use std::{
    net::IpAddr,
    process::{Command, Stdio},
    str::FromStr,
};

use super::{
    Allocation, Answer, Placement, Stated, Task, any_is_set,
    batch::one_shell_of,
    devices::Devices,
    engine::{expand_hosts, port_of_job},
    first_number, first_text, is_set, number, place_unknown, same_count,
    tables::{
        engines::Engine,
        rank_variables::STARTED_BY_TORCHRUN,
        slurm::{
            ALL_COUNTS, ALL_LISTS, FIRST_SPECIAL_STEP, IN_JOB, JOB_COUNTS, MACHINE_NUMBERS,
            OF_BATCH_SCRIPT, ON_MACHINE, PLACES, STEP_COUNTS, STEP_LISTS, TASKS, TASKS_PER_NODE,
        },
    },
    text,
};
use crate::{
    base::{
        source::{Given, Source, Sourced, default},
        vars,
    },
    host::Host,
    report::{Place, Problem, Rule},
};

pub fn detect(engine: &Engine, host: &Host) -> Answer {
    let allocation = match text(vars::SLURM_JOB_ID, host) {
        None => return half_a_job(engine, host),
        Some(job) if in_step(host) => step(engine, &job, host)?,
        Some(job) => job_shell(engine, &job, host)?,
    };
    Ok(Some(allocation))
}

pub fn in_step(host: &Host) -> bool {
    value::<u32>(vars::SLURM_STEP_ID, host).is_some_and(|step| step < FIRST_SPECIAL_STEP)
}

/// The value of a variable, if it is set and can be read so.
fn value<T: FromStr>(name: &str, host: &Host) -> Option<T> {
    host.nonempty_var(name)?.parse().ok()
}

/// Refuses a place among several without the id of the job: somebody passed on a part of the variables.
fn half_a_job(engine: &Engine, host: &Host) -> Answer {
    let beyond = |names: &[&str], most: u32| {
        let mut set = names.iter().filter_map(|name| text(name, host));
        let beyond = set.find(|set| !set.value.parse::<u32>().is_ok_and(|value| value <= most))?;
        Some(Place::from(&beyond))
    };
    let listed = listed_machines(&ALL_LISTS, host);
    let listed = listed.filter(|listed| listed.value > 1);
    let tasks = beyond(&TASKS, 1).filter(|_| any_is_set(&IN_JOB, host));
    let set = [
        beyond(&ALL_COUNTS, 1),
        beyond(&PLACES, 0),
        listed.map(|listed| Place::from(&listed.from)),
        tasks,
    ];
    if set.iter().all(Option::is_none) {
        return Ok(None);
    }
    Err(place_unknown(
        engine.name,
        set.into_iter().flatten(),
        "which one: SLURM_JOB_ID is not set",
    ))
}

fn listed_machines(lists: &[&str], host: &Host) -> Stated<u32> {
    let list = first_text(lists, host)?;
    let count = u32::try_from(expand_hosts(&list.value)?.len()).ok()?;
    Some(list.says(count))
}

/// A batch script, or the shell of `salloc`.
fn job_shell(engine: &Engine, job: &Sourced<String>, host: &Host) -> Result<Allocation, Problem> {
    let unknown = |place: Place, missing: &str| Err(place_unknown(engine.name, [place], missing));
    let groups = Groups::read(host)?;
    let nnodes = first_number(&JOB_COUNTS, 1, host)?
        .or_else(|| listed_machines(&[vars::SLURM_JOB_NODELIST], host));
    let is_on_machine = any_is_set(&ON_MACHINE, host);
    // The shell of `salloc` runs on the login machine. Every shell of a job has this variable; a container may be given
    // only a part of those of a task.
    let outside = !is_on_machine && is_set("SLURM_SUBMIT_DIR", host);
    let tasks = number::<u32>("SLURM_NTASKS", 1, host)?;
    if nnodes.is_none() && (!outside || tasks.value() > Some(1)) {
        return unknown(job.into(), "how many machines it has");
    }
    if let Some(task) = OF_BATCH_SCRIPT
        .iter()
        .filter_map(|name| text(name, host))
        .find(|task| task.value != "0")
    {
        return unknown(Place::from(&task), "which step: SLURM_STEP_ID is not set");
    }
    let mut nnodes = nnodes.unwrap_or(default(1));
    if !is_on_machine && !outside && nnodes.value > 1 {
        return unknown(
            Place::from(&nnodes),
            "whether this is its shell or one of its tasks",
        );
    }
    let mut placement = Placement::Machine;
    if let Some(groups) = &groups {
        nnodes.value = groups.machines;
    }
    if nnodes.value > 1 || outside {
        let groups = groups.map_or(1, |groups| groups.count.into());
        placement = Placement::SlurmShell { groups, outside };
    }
    Ok(Allocation {
        placement,
        gpus: gpus(host),
        master_port: None,
        peers_differ: peers_differ(host, &nnodes, ""),
        ..Allocation::task_per_machine(nnodes, None, None)
    })
}

/// The groups of a heterogeneous job. Its plain variables describe one of them only.
struct Groups {
    count: u8,
    /// Of all groups.
    machines: u32,
}

impl Groups {
    fn read(host: &Host) -> Result<Option<Self>, Problem> {
        let count = number::<u8>(vars::SLURM_HET_SIZE, 1, host)?.map_or(0, |count| count.value);
        let mut machines = 0_u32;
        for group in 0..count {
            let name = format!("{}_HET_GROUP_{group}", vars::SLURM_JOB_NUM_NODES);
            let of_group = number::<u32>(&name, 1, host)?;
            machines = machines.saturating_add(of_group.map_or(0, |machines| machines.value));
        }
        Ok((machines > 0).then_some(Groups { count, machines }))
    }
}

fn step(engine: &Engine, job: &Sourced<String>, host: &Host) -> Result<Allocation, Problem> {
    let list = first_text(&STEP_LISTS, host);
    let nnodes = first_number(&STEP_COUNTS, 1, host)?
        .or_else(|| listed_machines(&STEP_LISTS, host))
        .ok_or_else(|| place_unknown(engine.name, [job], "how many machines it has"))?;
    let node_rank = first_number(&MACHINE_NUMBERS, 0, host)?;
    if node_rank.is_none() && nnodes.value > 1 {
        return Err(place_unknown(
            engine.name,
            [&nnodes],
            "which of its machines this is",
        ));
    }
    let node_rank = node_rank.unwrap_or_default();
    let mut first = None;
    if let Some(list) = &list
        && let Some(hosts) = expand_hosts(&list.value)
    {
        let listed = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
        same_count(engine.name, &nnodes, &list.says(listed))?;
        first = Some(list.says(hosts[0].clone()));
    }
    let per_node = first_text(&TASKS_PER_NODE, host)
        .as_ref()
        .map(tasks_per_node)
        .transpose()?
        .unwrap_or(default(1));
    let local_rank = number(vars::SLURM_LOCALID, 0, host)?.unwrap_or_default();
    let sets_rank_variables = has_enroot_rank(host, nnodes.value, per_node.value);
    // `srun --pty` connects only the first task to the terminal; the others do not run this command.
    let is_rank = per_node.value > 1 && !is_set(vars::SLURM_PTY_PORT, host);
    let placement = if is_rank {
        Placement::Rank(task(&nnodes, &node_rank, local_rank, per_node))
    } else {
        Placement::Machine
    };
    let step_hosts = list.as_ref().map_or("", |list| &list.value);
    let mut allocation = Allocation {
        sets_rank_variables,
        peers_differ: peers_differ(host, &nnodes, step_hosts),
        placement,
        gpus: gpus(host),
        master_port: reserved_port(host).or_else(|| Some(port_of_step(job, host))),
        ..Allocation::task_per_machine(nnodes, Some(node_rank), first)
    };
    let whole = Groups::read(host)?
        .map(|groups| {
            Sourced::new(
                groups.machines,
                Source::Variable(vars::SLURM_HET_SIZE.to_string()),
            )
        })
        .or(number(vars::SLURM_JOB_NUM_NODES, 1, host)?)
        .or_else(|| listed_machines(&[vars::SLURM_JOB_NODELIST], host));
    // A step on one machine of several, as in a loop over them, is one shell of the job.
    if let Some(whole) = whole.filter(|whole| whole.value > 1 && allocation.nnodes.value == 1) {
        let line = "srun --ntasks-per-node=1 zlaunch …";
        allocation.alone = Some(one_shell_of(engine, &whole, line, host));
        if !is_rank {
            allocation.nnodes = whole;
            allocation.node_rank = None;
        }
    }
    Ok(allocation)
}

fn tasks_per_node(tasks: &Sourced<String>) -> Result<Sourced<u32>, Problem> {
    let what = "Slurm started a different number of tasks on each machine";
    let help = "start the step with `srun --ntasks-per-node=1` (torchrun starts the ranks), or --ntasks-per-node=<GPUs>";
    PerMachine::parse(&tasks.value)
        .and_then(|counts| equal_count(&counts))
        .map(|count| tasks.says(count))
        .ok_or_else(|| Rule::UnevenTasks.error(what).at(tasks).fix(help))
}

/// Ranks are numbered machine by machine, whatever srun's distribution is: rank 0 must be on the first machine, where the
/// others look for it.
fn task(
    nnodes: &Sourced<u32>,
    node_rank: &Sourced<u32>,
    local_rank: Sourced<u32>,
    per_node: Sourced<u32>,
) -> Task {
    let rank = node_rank
        .value
        .saturating_mul(per_node.value)
        .saturating_add(local_rank.value);
    let size = nnodes.value.saturating_mul(per_node.value);
    Task {
        rank: Sourced::new(rank, node_rank.from.and(&local_rank.from)),
        local_rank,
        world_size: Sourced::new(size, nnodes.from.and(&per_node.from)),
        local_world_size: per_node,
    }
}

/// So many tasks, or CPUs, on each of so many machines.
pub struct PerMachine {
    pub count: u32,
    pub machines: u32,
}

impl PerMachine {
    /// `4(x2),1`: four on each of two machines, then one on another.
    pub fn parse(text: &str) -> Option<Vec<Self>> {
        let number = |text: &str| text.trim().parse::<u32>().ok().filter(|count| *count > 0);
        text.split(',')
            .map(|item| {
                let (count, machines) = match item.split_once("(x") {
                    Some((count, machines)) => (count, machines.strip_suffix(')')?),
                    None => (item, "1"),
                };
                Some(PerMachine {
                    count: number(count)?,
                    machines: number(machines)?,
                })
            })
            .collect()
    }
}

fn equal_count(counts: &[PerMachine]) -> Option<u32> {
    let first = counts.first()?.count;
    counts
        .iter()
        .all(|other| other.count == first)
        .then_some(first)
}

/// The number in `8`, `a100:8` or `:a100=8`.
pub fn requested_gpus(text: &str) -> Option<u32> {
    text.rsplit([':', '=']).next()?.parse().ok()
}

/// True if enroot's hook set RANK and WORLD_SIZE for every task, as if each were a rank. torchrun sets more than these.
fn has_enroot_rank(host: &Host, nnodes: u32, per_node: u32) -> bool {
    value(vars::WORLD_SIZE, host) == nnodes.checked_mul(per_node)
        && value::<u32>(vars::RANK, host) == value(vars::SLURM_PROCID, host)
        && STARTED_BY_TORCHRUN
            .iter()
            .all(|name| host.var_os(name).is_none())
}

/// The step's GPUs on this machine. A task that got fewer of them has CUDA_VISIBLE_DEVICES, which is read first.
fn gpus(host: &Host) -> Stated<u32> {
    number(vars::SLURM_GPUS_ON_NODE, 1, host).ok().flatten()
}

/// True if the machines may have different numbers of GPUs: `--gpus` states a sum, and a heterogeneous job has groups. Where
/// nothing is stated, machines with different numbers of CPUs may differ in GPUs, too.
fn peers_differ(host: &Host, nnodes: &Sourced<u32>, step_hosts: &str) -> bool {
    if nnodes.value == 1 {
        return false;
    }
    let groups = value::<u8>(vars::SLURM_HET_SIZE, host).unwrap_or(1);
    let mut lists =
        (0..groups).map(|group| format!("{}_HET_GROUP_{group}", vars::SLURM_JOB_NODELIST));
    if groups > 1 && !lists.any(|name| host.nonempty_var(&name) == Some(step_hosts)) {
        return true;
    }
    if is_set(vars::SLURM_GPUS_PER_NODE, host) {
        return false;
    }
    if let Some(all) = host.nonempty_var(vars::SLURM_GPUS).and_then(requested_gpus) {
        let machines = value(vars::SLURM_JOB_NUM_NODES, host).unwrap_or(nnodes.value);
        let here = Devices::detect(host).processes(None, gpus(host), host);
        return here.and_then(|here| here.value.checked_mul(machines)) != Some(all);
    }
    let cpus = host
        .nonempty_var(vars::SLURM_JOB_CPUS_PER_NODE)
        .and_then(PerMachine::parse);
    cpus.is_some_and(|cpus| equal_count(&cpus).is_none())
}

/// The first port of `srun --resv-ports`. No other step gets it.
fn reserved_port(host: &Host) -> Stated<u16> {
    let ports = text(vars::SLURM_STEP_RESV_PORTS, host)?;
    Some(ports.says(ports.value.split(['-', ',']).next()?.parse().ok()?))
}

fn port_of_step(job: &Sourced<String>, host: &Host) -> Sourced<u16> {
    let part = |name: &str| host.nonempty_var(name).unwrap_or("0");
    let step = part(vars::SLURM_STEP_ID);
    let restart = part(vars::SLURM_RESTART_COUNT);
    port_of_job(&job.says(format!("{job}.{step}.{restart}")))
}

/// The addresses of a host. `getent` is asked, because the packaged executable is static and cannot load the system's
/// resolver.
pub fn resolve(host: &str) -> Vec<IpAddr> {
    let text = Command::new("/usr/bin/getent")
        .args(["ahosts", host])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .map(|output| output.stdout)
        .unwrap_or_default();
    str::from_utf8(&text)
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().next()?.parse().ok())
        .collect()
}
