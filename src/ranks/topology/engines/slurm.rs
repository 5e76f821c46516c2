//! Slurm, from the variables of the task itself. Inside a step only the step's variables hold: those of the job are
//! inherited from the batch shell.

use std::str::FromStr;

use super::hostlist;
use super::job::{is_this_host, port_of_job};
use super::shell::one_shell_of;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::ranks::topology::allocation::{
    Allocation, Answer, Placement, Task, place_unknown, refused,
};
use crate::ranks::topology::devices::Devices;
use crate::ranks::topology::rendezvous::reachable_address;
use crate::ranks::topology::tables::engines::Engine;
use crate::ranks::topology::tables::rank_variables::STARTED_BY_TORCHRUN;
use crate::ranks::topology::tables::slurm::{
    ALL_COUNTS, ALL_LISTS, IN_JOB, JOB_COUNTS, MACHINE_NUMBERS, OF_BATCH_SCRIPT, ON_MACHINE,
    PLACES, STEP_COUNTS, STEP_LISTS, TASKS, TASKS_PER_NODE,
};
use crate::ranks::topology::variables::{any_is_set, first_number, first_text, number, text};
use crate::report::{Place, Problem, Rule};

pub(super) fn detect(engine: &Engine, host: &Host) -> Answer {
    let allocation = match text(vars::SLURM_JOB_ID, host) {
        None => return half_a_job(engine, host),
        Some(job) if in_step(host) => step(engine, &job, host)?,
        Some(job) => job_shell(engine, &job, host)?,
    };
    Ok(Some(allocation))
}

/// From here on, Slurm's step ids are special: interactive shells, the batch script, and two of its own.
const FIRST_SPECIAL_STEP: u32 = 0xffff_fff0;

pub(crate) fn in_step(host: &Host) -> bool {
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
        set.find(|set| set.value.parse::<u32>().map_or(true, |value| value > most))
            .map(|set| Place::from(&set))
    };
    let listed = listed_machines(first_text(&ALL_LISTS, host).as_ref());
    let listed = listed.filter(|listed| listed.value > 1);
    let mut set: Vec<Place> = Vec::new();
    set.extend(beyond(&ALL_COUNTS, 1));
    set.extend(beyond(&PLACES, 0));
    set.extend(listed.map(|listed| Place::from(&listed.from)));
    if any_is_set(&IN_JOB, host) {
        set.extend(beyond(&TASKS, 1));
    }
    if set.is_empty() {
        return Ok(None);
    }
    Err(place_unknown(
        engine.name,
        set,
        "which one: SLURM_JOB_ID is not set",
    ))
}

fn listed_machines(list: Option<&Sourced<String>>) -> Option<Sourced<u32>> {
    let list = list?;
    let count = u32::try_from(hostlist::expand(&list.value)?.len()).ok()?;
    Some(Sourced::new(count, list.from.clone()))
}

/// A batch script, or the shell of `salloc`.
fn job_shell(engine: &Engine, job: &Sourced<String>, host: &Host) -> Result<Allocation, Problem> {
    let groups = Groups::read(host)?;
    let nnodes = first_number(&JOB_COUNTS, 1, host)?;
    let nnodes = nnodes.or_else(|| listed_machines(text(vars::SLURM_JOB_NODELIST, host).as_ref()));
    let is_on_machine = any_is_set(&ON_MACHINE, host);
    // The shell of `salloc` runs on the login machine. Every shell of a job has this variable; a container may be given
    // only a part of those of a task.
    let outside = !is_on_machine && host.nonempty_var("SLURM_SUBMIT_DIR").is_some();
    let is_half = !is_on_machine && !outside;
    let has_tasks = number::<u32>("SLURM_NTASKS", 1, host)?.is_some_and(|tasks| tasks.value > 1);
    if nnodes.is_none() && (!outside || has_tasks) {
        return Err(place_unknown(
            engine.name,
            [job],
            "how many machines it has",
        ));
    }
    for name in OF_BATCH_SCRIPT {
        if let Some(task) = text(name, host).filter(|task| task.value != "0") {
            let missing = "which step: SLURM_STEP_ID is not set";
            return Err(place_unknown(engine.name, [&task], missing));
        }
    }
    let mut nnodes = nnodes.unwrap_or(Sourced::new(1, Source::Default));
    if is_half && nnodes.value > 1 {
        let missing = "whether this is its shell or one of its tasks";
        return Err(place_unknown(engine.name, [&nnodes], missing));
    }
    if let Some(groups) = &groups {
        nnodes.value = groups.machines;
    }
    let placement = if nnodes.value > 1 || outside {
        Placement::SlurmShell {
            groups: groups.map_or(1, |groups| groups.count.into()),
            outside,
        }
    } else {
        Placement::Machine
    };
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
        .or_else(|| listed_machines(list.as_ref()))
        .ok_or_else(|| place_unknown(engine.name, [job], "how many machines it has"))?;
    let zero = || Sourced::new(0, Source::Default);
    let node_rank = first_number(&MACHINE_NUMBERS, 0, host)?;
    let local_rank = number(vars::SLURM_LOCALID, 0, host)?.unwrap_or_else(zero);
    let whole = Groups::read(host)?.map(|groups| {
        let from = Source::Variable(vars::SLURM_HET_SIZE.to_string());
        Sourced::new(groups.machines, from)
    });
    let whole = whole.or(number(vars::SLURM_JOB_NUM_NODES, 1, host)?);
    if node_rank.is_none() && nnodes.value > 1 {
        let missing = "which of its machines this is";
        return Err(place_unknown(engine.name, [&nnodes], missing));
    }
    let node_rank = node_rank.unwrap_or_else(zero);
    let hosts = list.as_ref().and_then(|list| hostlist::expand(&list.value));
    if let (Some(list), None) = (&list, &hosts) {
        return Err(refused("this is not a Slurm host list")
            .at(list)
            .fix("give --nnodes, --node-rank, --master-addr and --master-port"));
    }
    let tasks = first_text(&TASKS_PER_NODE, host);
    let per_node = tasks.as_ref().map(tasks_per_node).transpose()?;
    let per_node = per_node.unwrap_or(Sourced::new(1, Source::Default));
    // `srun --pty` connects only the first task to the terminal; the others do not run this command.
    let is_rank = per_node.value > 1 && host.nonempty_var(vars::SLURM_PTY_PORT).is_none();
    let sets_rank_variables = has_enroot_rank(host, nnodes.value, per_node.value);
    let placement = if is_rank {
        Placement::Rank(task(&nnodes, &node_rank, local_rank, per_node))
    } else {
        Placement::Machine
    };
    let first = list.as_ref().zip(hosts).map(|(list, hosts)| {
        let first = Sourced::new(hosts[0].clone(), list.from.clone());
        // Only the machine itself can tell that its name is a loopback address.
        if node_rank.value == 0 && is_this_host(&first.value, host) {
            reachable_address(first, hosts.get(1))
        } else {
            first
        }
    });
    let step_hosts = list.as_ref().map_or("", |list| &list.value);
    let allocation = Allocation {
        sets_rank_variables,
        peers_differ: peers_differ(host, &nnodes, step_hosts),
        placement,
        gpus: gpus(host),
        master_port: reserved_port(host).or_else(|| Some(port_of_step(job, host))),
        ..Allocation::task_per_machine(nnodes, Some(node_rank), first)
    };
    // A step on one machine of several, as in a loop over them, is one shell of the job.
    let Some(whole) = whole.filter(|whole| whole.value > 1 && allocation.nnodes.value == 1) else {
        return Ok(allocation);
    };
    let line = "srun --ntasks-per-node=1 zlaunch …";
    let alone = Some(one_shell_of(engine, &whole, line, host));
    Ok(if is_rank {
        Allocation {
            alone,
            ..allocation
        }
    } else {
        Allocation {
            alone,
            nnodes: whole,
            node_rank: None,
            ..allocation
        }
    })
}

fn tasks_per_node(tasks: &Sourced<String>) -> Result<Sourced<u32>, Problem> {
    let Some(counts) = PerMachine::parse(&tasks.value) else {
        let what = "this is not a list of task counts such as 4(x2)";
        return Err(refused(what)
            .at(tasks)
            .fix("start the step with `srun --ntasks-per-node=1`"));
    };
    let Some(count) = equal_count(&counts) else {
        let what = "Slurm started a different number of tasks on each machine";
        let help = "start the step with `srun --ntasks-per-node=1` (torchrun starts the ranks), or --ntasks-per-node=<GPUs>";
        return Err(Problem::error(Rule::UnevenTasks, what).at(tasks).fix(help));
    };
    Ok(Sourced::new(count, tasks.from.clone()))
}

/// Ranks are numbered machine by machine, whatever srun's distribution is: rank 0 must be on the first machine, where the
/// others look for it.
fn task(
    nnodes: &Sourced<u32>,
    node_rank: &Sourced<u32>,
    local_rank: Sourced<u32>,
    per_node: Sourced<u32>,
) -> Task {
    let both = |value: u32, one: &Source, two: &Source| {
        let from = Source::Both(Box::new(one.clone()), Box::new(two.clone()));
        Sourced::new(value, from)
    };
    let before = node_rank.value.saturating_mul(per_node.value);
    let rank = before.saturating_add(local_rank.value);
    let size = nnodes.value.saturating_mul(per_node.value);
    Task {
        rank: both(rank, &node_rank.from, &local_rank.from),
        local_rank,
        world_size: both(size, &nnodes.from, &per_node.from),
        local_world_size: per_node,
    }
}

/// So many tasks, or CPUs, on each of so many machines.
pub(crate) struct PerMachine {
    pub(crate) count: u32,
    pub(crate) machines: u32,
}

impl PerMachine {
    /// `4(x2),1`: four on each of two machines, then one on another.
    pub(crate) fn parse(text: &str) -> Option<Vec<Self>> {
        let number = |text: &str| text.trim().parse::<u32>().ok().filter(|count| *count > 0);
        let counts = text.split(',').map(|item| {
            let (count, machines) = match item.split_once("(x") {
                Some((count, machines)) => (count, machines.strip_suffix(')')?),
                None => (item, "1"),
            };
            Some(PerMachine {
                count: number(count)?,
                machines: number(machines)?,
            })
        });
        counts.collect()
    }
}

fn equal_count(counts: &[PerMachine]) -> Option<u32> {
    let first = counts.first()?.count;
    let is_equal = counts.iter().all(|per_machine| per_machine.count == first);
    is_equal.then_some(first)
}

/// The number in `8` or `a100:8`.
pub(crate) fn requested_gpus(text: &str) -> Option<u32> {
    text.rsplit(':').next()?.parse().ok()
}

/// True if enroot's hook set RANK and WORLD_SIZE for every task, as if each were a rank. torchrun sets more than these.
fn has_enroot_rank(host: &Host, nnodes: u32, per_node: u32) -> bool {
    let tasks = u64::from(nnodes) * u64::from(per_node);
    value(vars::WORLD_SIZE, host) == Some(tasks)
        && value::<u64>(vars::RANK, host) == value(vars::SLURM_PROCID, host)
        && STARTED_BY_TORCHRUN
            .iter()
            .all(|name| host.var_os(name).is_none())
}

/// The step's GPUs on this machine. A task that got fewer of them has CUDA_VISIBLE_DEVICES, which is read first.
fn gpus(host: &Host) -> Option<Sourced<u32>> {
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
    if host.nonempty_var(vars::SLURM_GPUS_PER_NODE).is_some() {
        return false;
    }
    if let Some(all) = host.nonempty_var(vars::SLURM_GPUS).and_then(requested_gpus) {
        let machines = value(vars::SLURM_JOB_NUM_NODES, host).unwrap_or(nnodes.value);
        let here = Devices::detect(host).processes(None, gpus(host), host);
        return here.and_then(|here| here.value.checked_mul(machines)) != Some(all);
    }
    let cpus = host.nonempty_var(vars::SLURM_JOB_CPUS_PER_NODE);
    let cpus = cpus.and_then(PerMachine::parse);
    cpus.is_some_and(|cpus| equal_count(&cpus).is_none())
}

/// The first port of `srun --resv-ports`. No other step gets it.
fn reserved_port(host: &Host) -> Option<Sourced<u16>> {
    let ports = text(vars::SLURM_STEP_RESV_PORTS, host)?;
    let first = ports.value.split(['-', ',']).next()?.parse().ok()?;
    Some(Sourced::new(first, ports.from))
}

fn port_of_step(job: &Sourced<String>, host: &Host) -> Sourced<u16> {
    let part = |name: &str| host.nonempty_var(name).unwrap_or("0");
    let step = part(vars::SLURM_STEP_ID);
    let restart = part(vars::SLURM_RESTART_COUNT);
    let id = format!("{job}.{step}.{restart}");
    port_of_job(&Sourced::new(id, job.from.clone()))
}
