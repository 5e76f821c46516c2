//! The shell of a batch job, which runs on one machine of the job. The scheduler lists all of them, in a file or a variable.
//! zlaunch starts nothing on the others: a line of the user's does, through an MPI or a program of the scheduler.

use std::ffi::OsStr;

use super::job::{distinct, hosts, hosts_in_file, is_this_host, port_of_job};
use super::table::Block;
use crate::base::source::Sourced;
use crate::base::{shell, vars};
use crate::host::Host;
use crate::ranks::topology::allocation::Allocation;
use crate::ranks::topology::problems::{alone, give_place, place_unknown};
use crate::ranks::topology::variables::{
    STARTED_BY_TORCHRUN, all_are_set, any_is_set, number, text,
};
use crate::report::fix::run;
use crate::report::{Problem, Rule};

/// `None`: there is no job, or it has one machine.
pub(super) fn detect(block: &Block, host: &Host) -> Result<Option<Allocation>, Vec<Problem>> {
    match machines(block, host)? {
        Some((nnodes, hosts)) if nnodes.value > 1 => {
            let line = line(block.field("manual").unwrap_or_default(), &hosts, host);
            let alone = Some(one_shell_of(block.name(), &nnodes, line));
            let allocation = Allocation::task_per_machine(nnodes, None, None);
            Ok(Some(Allocation {
                alone,
                master_port: None,
                ..allocation
            }))
        }
        _ => Ok(None),
    }
}

pub(super) fn one_shell_of(engine: &str, machines: &Sourced<u32>, line: String) -> Problem {
    let Sourced { value: count, from } = machines;
    let what = format!(
        "this is one shell of the {engine} job on {count} machines: nothing runs on the others"
    );
    Problem::error(Rule::Ranks, what)
        .at(from)
        .fix(run(line).or(alone()))
}

/// A line of the table to paste, in which `{hosts}` stands for the machines and the first `zlaunch …` for what the user typed.
pub(super) fn line(line: &str, hosts: &[String], host: &Host) -> String {
    let line = line.replace("{hosts}", &hosts.join(" "));
    match host.words.get(1..) {
        Some(words) => line.replacen('…', &shell::text(words), 1),
        None => line,
    }
}

type MachineList = (Sourced<u32>, Vec<String>);

/// The number of the job's machines, and their names if a variable tells them. `None`: there is no job.
fn machines(block: &Block, host: &Host) -> Result<Option<MachineList>, Problem> {
    let mut unreadable = None;
    for variable in block.variables() {
        let role = ["file", "list", "pairs", "count"]
            .into_iter()
            .find(|role| variable.is(role));
        let (Some(role), Some(set)) = (role, text(variable.name(), host)) else {
            continue;
        };
        let hosts = match role {
            "file" => hosts_in_file(&set).unwrap_or_default(),
            "list" => distinct(hosts(&set.value)),
            "pairs" => distinct(machines_of_lsf(&set.value)),
            _ => Vec::new(),
        };
        let listed = u32::try_from(hosts.len()).unwrap_or(0);
        let count = if role == "count" {
            set.value.trim().parse().unwrap_or(0)
        } else {
            listed
        };
        if count > 0 {
            return Ok(Some((Sourced::new(count, set.from), hosts)));
        }
        unreadable = unreadable.or(Some(set));
    }
    match unreadable.or_else(|| block.names("mark").find_map(|name| text(name, host))) {
        Some(variable) => {
            let what = format!(
                "the machines of the {} job cannot be read, so their number is unknown",
                block.name()
            );
            Err(Problem::error(Rule::Ranks, what)
                .at(&variable)
                .fix(give_place()))
        }
        None => Ok(None),
    }
}

/// Each machine has its slots behind it.
fn machines_of_lsf(list: &str) -> impl Iterator<Item = &str> {
    list.split_whitespace().step_by(2)
}

/// LSF: tasks of `blaunch`, which LSF numbers from 1 in LSF_PM_TASKID (as PRRTE's ess/lsf reads it), and the shell of a job.
/// `blaunch HOST COMMAND` stands in for ssh (ibm.com/docs, "blaunch").
pub(super) fn detect_lsf(block: &Block, host: &Host) -> Result<Option<Allocation>, Vec<Problem>> {
    let Some(mut allocation) = detect(block, host)? else {
        return Ok(None);
    };
    let (Some(task), Some(machines)) = (text("LSF_PM_TASKID", host), text("LSB_MCPU_HOSTS", host))
    else {
        if host.find_program(OsStr::new("jsrun")).is_some() {
            // There the first machine only launches, and runs no ranks.
            let line = line("jsrun -r 1 -a 1 zlaunch …", &[], host);
            allocation.alone = Some(one_shell_of(block.name(), &allocation.nnodes, line));
        }
        return Ok(Some(allocation));
    };
    let here = machines_of_lsf(&machines.value).position(|name| is_this_host(name, host));
    // With more tasks than machines, several would start the ranks of one.
    let is_one_of_each = task
        .value
        .parse::<u32>()
        .is_ok_and(|task| (1..=allocation.nnodes.value).contains(&task));
    let (Some(Ok(index)), true) = (here.map(u32::try_from), is_one_of_each) else {
        return Err(place_unknown(
            block.name(),
            [&task, &machines],
            "which of its machines this is",
        )
        .into());
    };
    let first = machines_of_lsf(&machines.value)
        .next()
        .unwrap_or_default()
        .to_string();
    Ok(Some(Allocation {
        alone: None,
        node_rank: Some(Sourced::new(index, machines.from.clone())),
        master_addr: Some(Sourced::new(first, machines.from)),
        master_port: text(vars::LSB_JOBID, host).as_ref().map(port_of_job),
        ..allocation
    }))
}

/// Grid Engine (SGE, Univa, Altair, Son of): the shell of a job in a parallel environment. The first word of each line of
/// PE_HOSTFILE is a machine; NHOSTS counts them (`man sge_pe`, `man qsub`). `qrsh -inherit` runs a command on one of them;
/// what such a task finds was seen with 8.1.9: where it was started from another machine, NHOSTS is 1, however many the job
/// has, and PE_HOSTFILE names a file of the other machine, if anything.
pub(super) fn detect_grid_engine(
    block: &Block,
    host: &Host,
) -> Result<Option<Allocation>, Vec<Problem>> {
    let detected = detect(block, host)?;
    let knows_all = text("PE_HOSTFILE", host).is_some_and(|file| hosts_in_file(&file).is_some());
    if detected.is_none()
        && !knows_all
        && let Some(task) = text("JOB_NAME", host)
        && task.value == "petask"
    {
        let from = text("SGE_O_HOST", host).unwrap_or(task);
        if !is_this_host(&from.value, host) {
            return Err(place_unknown(block.name(), [&from], "how many machines it has").into());
        }
    }
    Ok(detected)
}

/// Azure ML starts one process for each rank and sets RANK, LOCAL_RANK, WORLD_SIZE and NODE_RANK
/// (learn.microsoft.com/azure/machine-learning, "Distributed GPU training guide"); with one process an instance, that one is
/// a machine. A task of Azure Batch on several instances runs its command on the first only
/// (learn.microsoft.com/azure/batch, "Multi-instance tasks"), so that is the shell of a job.
pub(super) fn detect_azure(block: &Block, host: &Host) -> Result<Option<Allocation>, Vec<Problem>> {
    let set = [
        vars::RANK,
        vars::LOCAL_RANK,
        vars::WORLD_SIZE,
        vars::MASTER_ADDR,
        "AZUREML_NODE_COUNT",
    ];
    let is_first_here = host.nonempty_var(vars::LOCAL_RANK) == Some("0");
    if is_first_here && all_are_set(&set, host) && !any_is_set(&STARTED_BY_TORCHRUN, host) {
        let number = |name: &str| number::<u32>(name, 0, host);
        let (count, rank) = (number("AZUREML_NODE_COUNT")?, number(vars::RANK)?);
        if let Some((count, rank)) = count.zip(rank)
            && number(vars::WORLD_SIZE)?.is_some_and(|world| world.value == count.value)
        {
            let allocation =
                Allocation::task_per_machine(count, rank, text(vars::MASTER_ADDR, host));
            return Ok(Some(Allocation {
                sets_rank_variables: true,
                ..allocation
            }));
        }
    }
    detect(block, host)
}
