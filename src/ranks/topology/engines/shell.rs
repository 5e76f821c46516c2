//! The shell of a batch job, which runs on one machine of the job. The scheduler lists all of them, in a file or a variable.
//! zlaunch starts nothing on the others: a line of the user's does, through an MPI or a program of the scheduler.

use std::ffi::OsStr;

use super::job::{distinct, hosts, hosts_in_file, is_this_host, port_of_job};
use crate::base::source::Sourced;
use crate::base::{shell, vars};
use crate::host::Host;
use crate::ranks::topology::allocation::{
    Allocation, Answer, alone, give_place, place_unknown, refused,
};
use crate::ranks::topology::tables::engines::{Engine, Role};
use crate::ranks::topology::tables::rank_variables::STARTED_BY_TORCHRUN;
use crate::ranks::topology::variables::{any_is_set, number, text};
use crate::report::Problem;
use crate::report::fix::run;

/// `None`: there is no job, or it has one machine.
pub(super) fn detect(engine: &Engine, host: &Host) -> Answer {
    let Some(JobMachines { count, names }) = machines(engine, host)? else {
        return Ok(None);
    };
    if count.value == 1 {
        return Ok(None);
    }
    let line = engine.line().unwrap_or_default();
    let line = line.replace("{hosts}", &names.join(" "));
    Ok(Some(Allocation {
        alone: Some(one_shell_of(engine, &count, &line, host)),
        master_port: None,
        ..Allocation::task_per_machine(count, None, None)
    }))
}

/// Refuses to start ranks in one shell of a job. `line` starts them on each machine; the first `…` in it stands for what the
/// user typed.
pub(super) fn one_shell_of(
    engine: &Engine,
    machines: &Sourced<u32>,
    line: &str,
    host: &Host,
) -> Problem {
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

struct JobMachines {
    count: Sourced<u32>,
    /// Empty if no variable tells them.
    names: Vec<String>,
}

/// The machines as the best variable tells them. `None`: there is no job.
fn machines(engine: &Engine, host: &Host) -> Result<Option<JobMachines>, Problem> {
    let mut unreadable = None;
    for variable in engine.variables() {
        let Some(set) = variable.text(host) else {
            continue;
        };
        let names = match variable.role() {
            Role::File | Role::FirstFile => hosts_in_file(&set).unwrap_or_default(),
            Role::List => distinct(hosts(&set.value)),
            Role::Pairs => distinct(machines_of_lsf(&set.value)),
            Role::Count => Vec::new(),
            _ => continue,
        };
        let count = if variable.role() == Role::Count {
            set.value.trim().parse().unwrap_or(0)
        } else {
            u32::try_from(names.len()).unwrap_or(0)
        };
        if count > 0 {
            let count = Sourced::new(count, set.from);
            return Ok(Some(JobMachines { count, names }));
        }
        unreadable = unreadable.or(Some(set));
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

/// The machines of a list in which each has its slots behind it.
fn machines_of_lsf(list: &str) -> impl Iterator<Item = &str> {
    list.split_whitespace().step_by(2)
}

/// LSF: tasks of `blaunch`, which LSF numbers from 1 in LSF_PM_TASKID (as PRRTE's ess/lsf reads it), and the shell of a job.
/// `blaunch HOST COMMAND` stands in for ssh (ibm.com/docs, "blaunch").
pub(super) fn detect_lsf(engine: &Engine, host: &Host) -> Answer {
    let Some(mut allocation) = detect(engine, host)? else {
        return Ok(None);
    };
    let (Some(task), Some(machines)) = (text("LSF_PM_TASKID", host), text("LSB_MCPU_HOSTS", host))
    else {
        if host.find_program(OsStr::new("jsrun")).is_some() {
            // There the first machine only launches, and runs no ranks.
            let line = "jsrun -r 1 -a 1 zlaunch …";
            allocation.alone = Some(one_shell_of(engine, &allocation.nnodes, line, host));
        }
        return Ok(Some(allocation));
    };
    let names: Vec<&str> = machines_of_lsf(&machines.value).collect();
    let here = names.iter().position(|name| is_this_host(name, host));
    // With more tasks than machines, several would start the ranks of one.
    let tasks = 1..=allocation.nnodes.value;
    let is_one_of_each = task.value.parse().is_ok_and(|task| tasks.contains(&task));
    let (Some(Ok(index)), true) = (here.map(u32::try_from), is_one_of_each) else {
        let missing = "which of its machines this is";
        return Err(place_unknown(engine.name, [&task, &machines], missing));
    };
    let first = Sourced::new(names[0].to_string(), machines.from.clone());
    let index = Sourced::new(index, machines.from);
    let port = text(vars::LSB_JOBID, host);
    Ok(Some(Allocation {
        master_port: port.as_ref().map(port_of_job),
        ..Allocation::task_per_machine(allocation.nnodes, Some(index), Some(first))
    }))
}

/// Grid Engine (SGE, Univa, Altair, Son of): the shell of a job in a parallel environment. The first word of each line of
/// PE_HOSTFILE is a machine; NHOSTS counts them (`man sge_pe`, `man qsub`). `qrsh -inherit` runs a command on one of them;
/// what such a task finds was seen with 8.1.9: where it was started from another machine, NHOSTS is 1, however many the job
/// has, and PE_HOSTFILE names a file of the other machine, if anything.
pub(super) fn detect_grid_engine(engine: &Engine, host: &Host) -> Answer {
    let detected = detect(engine, host)?;
    let knows_all = text("PE_HOSTFILE", host).is_some_and(|file| hosts_in_file(&file).is_some());
    if detected.is_none()
        && !knows_all
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
pub(super) fn detect_azure(engine: &Engine, host: &Host) -> Answer {
    let is_first_here = host.nonempty_var(vars::LOCAL_RANK) == Some("0");
    let address = text(vars::MASTER_ADDR, host);
    if is_first_here && address.is_some() && !any_is_set(&STARTED_BY_TORCHRUN, host) {
        let number = |name: &str| number::<u32>(name, 0, host);
        if let Some(count) = number("AZUREML_NODE_COUNT")?
            && let Some(rank) = number(vars::RANK)?
            && let Some(world) = number(vars::WORLD_SIZE)?
            && world.value == count.value
        {
            return Ok(Some(Allocation {
                sets_rank_variables: true,
                ..Allocation::task_per_machine(count, Some(rank), address)
            }));
        }
    }
    detect(engine, host)
}
