//! Slurm, from the variables of the task itself. Inside a step only the step's variables hold: those of the job are
//! inherited from the batch shell.

use super::batch::{line, one_shell_of};
use super::hostlist::HostList;
use super::job::{is_this_host, port_of_job};
use super::table::Block;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::ranks::topology::allocation::{Allocation, Placement, Task};
use crate::ranks::topology::devices::Devices;
use crate::ranks::topology::problems::place_unknown;
use crate::ranks::topology::rendezvous::reachable_address;
use crate::ranks::topology::variables::{
    STARTED_BY_TORCHRUN, any_is_set, first_number, first_text, number, text,
};
use crate::report::{Place, Problem, Rule};

const SLURM: &str = "Slurm";

pub(super) fn detect(_: &Block, host: &Host) -> Result<Option<Allocation>, Vec<Problem>> {
    if host.nonempty_var(vars::SLURM_JOB_ID).is_none() {
        return half_a_job(host).map_or(Ok(None), |problem| Err(problem.into()));
    }
    if in_step(host) {
        detect_step(host)
    } else {
        detect_job_shell(host)
    }
    .map(Some)
}

/// From here on, Slurm's step ids are special: interactive shells, the batch script, and two of its own.
const FIRST_SPECIAL_STEP: u32 = 0xffff_fff0;

pub(crate) fn in_step(host: &Host) -> bool {
    let step = host.nonempty_var(vars::SLURM_STEP_ID);
    step.is_some_and(|step| {
        step.parse::<u32>()
            .is_ok_and(|step| step < FIRST_SPECIAL_STEP)
    })
}

/// A place among several without the id of the job: somebody passed on a part of the variables.
fn half_a_job(host: &Host) -> Option<Problem> {
    let beyond = |names: &[&str], most: u32| {
        let mut set = names.iter().filter_map(|name| text(name, host));
        set.find(|set| set.value.parse::<u32>().map_or(true, |value| value > most))
            .map(|set| Place::from(&set))
    };
    let counts = [
        vars::SLURM_STEP_NUM_NODES,
        vars::SLURM_JOB_NUM_NODES,
        vars::SLURM_NNODES,
    ];
    let places = [vars::SLURM_PROCID, vars::SLURM_NODEID, vars::SLURM_LOCALID];
    let lists = [
        vars::SLURM_STEP_NODELIST,
        vars::SLURM_JOB_NODELIST,
        "SLURM_NODELIST",
    ];
    let listed = listed_machines(first_text(&lists, host).as_ref());
    let listed = listed
        .filter(|listed| listed.value > 1)
        .map(|listed| Place::from(&listed.from));
    // Alone, this may be an option for the next `srun`; only a task has a number, and a job one of its own.
    let in_job = first_text(&[vars::SLURM_PROCID, "SLURM_JOBID"], host);
    let tasks = in_job.and_then(|_| beyond(&["SLURM_NTASKS", "SLURM_NPROCS"], 1));
    let set: Vec<Place> = beyond(&counts, 1)
        .into_iter()
        .chain(beyond(&places, 0))
        .chain(listed)
        .chain(tasks)
        .collect();
    (!set.is_empty()).then(|| place_unknown(SLURM, set, "which one: SLURM_JOB_ID is not set"))
}

fn machines_not_counted(host: &Host) -> Problem {
    place_unknown(
        SLURM,
        text(vars::SLURM_JOB_ID, host).as_ref(),
        "how many machines it has",
    )
}

fn listed_machines(list: Option<&Sourced<String>>) -> Option<Sourced<u32>> {
    let list = list?;
    let count = u32::try_from(HostList::parse(&list.value)?.count())
        .ok()
        .filter(|count| *count > 0)?;
    Some(Sourced::new(count, list.from.clone()))
}

/// A batch script, or the shell of `salloc`.
fn detect_job_shell(host: &Host) -> Result<Allocation, Vec<Problem>> {
    let groups = groups(host)?;
    let nnodes = first_number(&[vars::SLURM_JOB_NUM_NODES, vars::SLURM_NNODES], 1, host)?;
    let nnodes = nnodes.or_else(|| listed_machines(text(vars::SLURM_JOB_NODELIST, host).as_ref()));
    let is_on_machine = any_is_set(
        &[
            vars::SLURM_NODEID,
            vars::SLURMD_NODENAME,
            vars::SLURM_PROCID,
        ],
        host,
    );
    // The shell of `salloc` runs on the login machine. Every shell of a job has this variable; a container may be given
    // only a part of those of a task.
    let outside = !is_on_machine && host.nonempty_var("SLURM_SUBMIT_DIR").is_some();
    let is_half = !is_on_machine && !outside;
    let tasks = number::<u32>("SLURM_NTASKS", 1, host)?.filter(|tasks| tasks.value > 1);
    if nnodes.is_none() && (!outside || tasks.is_some()) {
        return Err(machines_not_counted(host).into());
    }
    // The batch script is task 0 on machine 0.
    let tasks = [vars::SLURM_PROCID, vars::SLURM_NODEID]
        .into_iter()
        .filter_map(|name| text(name, host));
    if let Some(task) = tasks.into_iter().find(|task| task.value != "0") {
        return Err(place_unknown(SLURM, [&task], "which step: SLURM_STEP_ID is not set").into());
    }
    if let Some(nnodes) = nnodes.as_ref().filter(|nnodes| is_half && nnodes.value > 1) {
        return Err(place_unknown(
            SLURM,
            [nnodes],
            "whether this is its shell or one of its tasks",
        )
        .into());
    }
    let mut nnodes = nnodes.unwrap_or(Sourced::new(1, Source::Default));
    nnodes.value = groups.map_or(nnodes.value, |(_, machines)| machines);
    Ok(Allocation {
        placement: if nnodes.value > 1 || outside {
            Placement::SlurmShell {
                groups: groups.map_or(1, |(groups, _)| groups.into()),
                outside,
            }
        } else {
            Placement::Machine
        },
        gpus: gpus(host),
        master_port: None,
        peers_differ: peers_differ(host, &nnodes, ""),
        ..Allocation::task_per_machine(nnodes, None, None)
    })
}

/// The groups of a job that has several, and the machines of all of them. Its plain variables describe one of them only.
fn groups(host: &Host) -> Result<Option<(u8, u32)>, Problem> {
    let groups = number::<u8>(vars::SLURM_HET_SIZE, 1, host)?.map_or(0, |groups| groups.value);
    let mut all = 0_u32;
    for group in 0..groups {
        let machines = number::<u32>(
            &format!("{}_HET_GROUP_{group}", vars::SLURM_JOB_NUM_NODES),
            1,
            host,
        )?;
        all = all.saturating_add(machines.map_or(0, |machines| machines.value));
    }
    Ok((all > 0).then_some((groups, all)))
}

fn detect_step(host: &Host) -> Result<Allocation, Vec<Problem>> {
    let list = first_text(&[vars::SLURM_STEP_NODELIST, vars::SLURM_JOB_NODELIST], host);
    let nnodes = first_number(&[vars::SLURM_STEP_NUM_NODES, vars::SLURM_NNODES], 1, host)?;
    let nnodes = nnodes
        .or_else(|| listed_machines(list.as_ref()))
        .ok_or_else(|| machines_not_counted(host))?;
    let zero = Sourced::new(0, Source::Default);
    let node_rank = first_number(&[vars::SLURM_NODEID, vars::SLURM_PROCID], 0, host)?;
    let local_rank = number(vars::SLURM_LOCALID, 0, host)?.unwrap_or(zero.clone());
    let groups = groups(host)?
        .map(|(_, all)| Sourced::new(all, Source::Variable(vars::SLURM_HET_SIZE.to_string())));
    let whole = groups.or(number(vars::SLURM_JOB_NUM_NODES, 1, host)?);
    if node_rank.is_none() && nnodes.value > 1 {
        return Err(place_unknown(SLURM, [&nnodes], "which of its machines this is").into());
    }
    let node_rank = node_rank.unwrap_or(zero);
    let hosts = list.as_ref().and_then(|list| HostList::parse(&list.value));
    if let (Some(list), None) = (&list, &hosts) {
        let problem = Problem::error(Rule::Ranks, "this is not a Slurm host list").at(list);
        return Err(problem
            .fix("give --nnodes, --node-rank, --master-addr and --master-port")
            .into());
    }
    let tasks = first_text(
        &[vars::SLURM_STEP_TASKS_PER_NODE, vars::SLURM_TASKS_PER_NODE],
        host,
    );
    let per_node = tasks.as_ref().map_or(Ok(1), tasks_per_node)?;
    let placement = match &tasks {
        // `srun --pty` connects only the first task to the terminal; the others do not run this command.
        Some(tasks) if per_node > 1 && host.nonempty_var(vars::SLURM_PTY_PORT).is_none() => {
            let per_node = Sourced::new(per_node, tasks.from.clone());
            Placement::Rank(task(&nnodes, &node_rank, local_rank, per_node))
        }
        _ => Placement::Machine,
    };
    // A step on one machine of several, as in a loop over them, is one shell of the job.
    let whole = whole.filter(|whole| whole.value > 1 && nnodes.value == 1);
    let alone = whole.as_ref().map(|whole| {
        one_shell_of(
            SLURM,
            whole,
            line("srun --ntasks-per-node=1 zlaunch …", &[], host),
        )
    });
    let whole = if matches!(placement, Placement::Machine) {
        whole
    } else {
        None
    };
    let master_addr = hosts.as_ref().zip(list.as_ref()).and_then(|(hosts, list)| {
        let first = Sourced::new(hosts.get(0)?, list.from.clone());
        // Only the machine itself can tell that its name is a loopback address.
        let is_here = node_rank.value == 0 && is_this_host(&first.value, host);
        Some(if is_here {
            reachable_address(first, || hosts.get(1))
        } else {
            first
        })
    });
    let number = whole.is_none().then_some(node_rank);
    Ok(Allocation {
        sets_rank_variables: has_enroot_rank(host, &nnodes, per_node),
        peers_differ: peers_differ(host, &nnodes, list.as_ref().map_or("", |list| &list.value)),
        placement,
        alone,
        gpus: gpus(host),
        master_port: reserved_port(host).or_else(|| port_of_step(host)),
        ..Allocation::task_per_machine(whole.clone().unwrap_or(nnodes), number, master_addr)
    })
}

fn tasks_per_node(tasks: &Sourced<String>) -> Result<u32, Problem> {
    let counts = node_counts(&tasks.value).ok_or_else(|| {
        let problem = Problem::error(
            Rule::Ranks,
            "this is not a list of task counts such as 4(x2)",
        )
        .at(tasks);
        problem.fix("start the step with `srun --ntasks-per-node=1`")
    })?;
    equal_count(&counts).ok_or_else(|| {
        let what = "Slurm started a different number of tasks on each machine";
        let help =
            "start the step with `srun --ntasks-per-node=1` (torchrun starts the ranks), or --ntasks-per-node=<GPUs>";
        Problem::error(Rule::UnevenTasks, what).at(tasks).fix(help)
    })
}

/// Ranks are numbered machine by machine, whatever srun's distribution is: rank 0 must be on the first machine, where the
/// others look for it.
fn task(
    nnodes: &Sourced<u32>,
    node_rank: &Sourced<u32>,
    local_rank: Sourced<u32>,
    per_node: Sourced<u32>,
) -> Task {
    let both =
        |one: &Source, two: &Source| Source::Both(Box::new(one.clone()), Box::new(two.clone()));
    let rank = node_rank
        .value
        .saturating_mul(per_node.value)
        .saturating_add(local_rank.value);
    Task {
        rank: Sourced::new(rank, both(&node_rank.from, &local_rank.from)),
        local_rank,
        world_size: Sourced::new(
            nnodes.value.saturating_mul(per_node.value),
            both(&nnodes.from, &per_node.from),
        ),
        local_world_size: per_node,
    }
}

/// `4(x2),1`: four tasks, or CPUs, on each of two machines, then one on another. As pairs of a count and a number of machines.
pub(crate) fn node_counts(text: &str) -> Option<Vec<(u32, u32)>> {
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|count| *count > 0);
    let counts = text.split(',').map(|item| match item.split_once("(x") {
        Some((count, machines)) => Some((number(count)?, number(machines.strip_suffix(')')?)?)),
        None => Some((number(item)?, 1)),
    });
    counts.collect()
}

fn equal_count(counts: &[(u32, u32)]) -> Option<u32> {
    let (first, _) = counts.first()?;
    counts
        .iter()
        .all(|(count, _)| count == first)
        .then_some(*first)
}

/// The number in `8` or `a100:8`.
pub(crate) fn requested_gpus(text: &str) -> Option<u32> {
    text.rsplit(':').next()?.parse().ok()
}

/// enroot's hook sets RANK and WORLD_SIZE for every task, as if each were a rank. torchrun sets more than these.
fn has_enroot_rank(host: &Host, nnodes: &Sourced<u32>, per_node: u32) -> bool {
    let number = |name: &str| {
        host.nonempty_var(name)
            .and_then(|value| value.parse::<u64>().ok())
    };
    let tasks = u64::from(nnodes.value) * u64::from(per_node);
    number(vars::WORLD_SIZE) == Some(tasks)
        && number(vars::RANK) == number(vars::SLURM_PROCID)
        && STARTED_BY_TORCHRUN
            .iter()
            .all(|name| host.var_os(name).is_none())
}

/// The step's GPUs on this machine. A task that got fewer of them has CUDA_VISIBLE_DEVICES, which is read first.
fn gpus(host: &Host) -> Option<Sourced<u32>> {
    number(vars::SLURM_GPUS_ON_NODE, 1, host).ok().flatten()
}

/// `--gpus` states a sum, and a heterogeneous job has groups. Where nothing is stated, machines with different numbers of
/// CPUs may have different numbers of GPUs.
fn peers_differ(host: &Host, nnodes: &Sourced<u32>, step_hosts: &str) -> bool {
    if nnodes.value == 1 {
        return false;
    }
    let groups = host
        .nonempty_var(vars::SLURM_HET_SIZE)
        .and_then(|size| size.parse::<u8>().ok())
        .unwrap_or(1);
    let mut lists =
        (0..groups).map(|group| format!("{}_HET_GROUP_{group}", vars::SLURM_JOB_NODELIST));
    if groups > 1 && !lists.any(|name| host.nonempty_var(&name) == Some(step_hosts)) {
        return true;
    }
    if host.nonempty_var(vars::SLURM_GPUS_PER_NODE).is_some() {
        return false;
    }
    if let Some(all) = host.nonempty_var(vars::SLURM_GPUS).and_then(requested_gpus) {
        let machines = host
            .nonempty_var(vars::SLURM_JOB_NUM_NODES)
            .and_then(|count| count.parse::<u32>().ok());
        let here = Devices::detect(host).processes(None, gpus(host), host);
        return here.and_then(|here| here.value.checked_mul(machines.unwrap_or(nnodes.value)))
            != Some(all);
    }
    let cpus = host
        .nonempty_var(vars::SLURM_JOB_CPUS_PER_NODE)
        .and_then(node_counts);
    cpus.is_some_and(|cpus| equal_count(&cpus).is_none())
}

/// `srun --resv-ports`: no other step gets these.
fn reserved_port(host: &Host) -> Option<Sourced<u16>> {
    let ports = text(vars::SLURM_STEP_RESV_PORTS, host)?;
    let first = ports.value.split(['-', ',']).next()?.parse().ok()?;
    Some(Sourced::new(first, ports.from))
}

fn port_of_step(host: &Host) -> Option<Sourced<u16>> {
    let part = |name: &str| host.nonempty_var(name).unwrap_or("0");
    let job = text(vars::SLURM_JOB_ID, host)?;
    let (step, restart) = (part(vars::SLURM_STEP_ID), part(vars::SLURM_RESTART_COUNT));
    Some(port_of_job(&Sourced::new(
        format!("{}.{step}.{restart}", job.value),
        job.from,
    )))
}
