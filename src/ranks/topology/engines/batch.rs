//! The shell of a batch job, which runs on one machine of the job. The scheduler lists all of them, in a file or a variable.
//! zlaunch starts nothing on the others: a line of the user's does, through an MPI or a program of the scheduler.

use std::ffi::OsStr;

use super::job::is_this_host;
use super::nodes::{distinct, hosts, hosts_in_file};
use super::port::port_of_job;
use crate::base::shell;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::ranks::topology::engine::{Allocation, Detected, Placement};
use crate::ranks::topology::engines::table::{Block, Variable};
use crate::ranks::topology::problems::{machines_unreadable, place_unknown};
use crate::ranks::topology::variables::{VariableReader, all_are_set, text};
use crate::report::Problem;

/// What a variable tells of the machines.
struct MachineList {
    count: u32,
    /// Empty: only their number is told.
    hosts: Vec<String>,
}

/// `None`: there is no job, or it has one machine.
pub(super) fn detect(block: &Block, host: &Host) -> Option<Detected> {
    let Sourced { value: MachineList { count, hosts }, from } = match read(block, host) {
        Ok(machines) => machines?,
        Err(problem) => return Some(Err(vec![problem])),
    };
    (count > 1).then(|| {
        let placement = Placement::Manual(line(block.field("manual").unwrap_or_default(), &hosts, host));
        let allocation = Allocation::task_per_node(Sourced::new(count, from), Sourced::new(0, Source::Default), None);
        Ok(Allocation { placement, master_port: None, ..allocation })
    })
}

/// A line of the table to paste, in which `{hosts}` stands for the machines and the first `zlaunch …` for what the user typed.
pub(super) fn line(line: &str, hosts: &[String], host: &Host) -> String {
    let line = line.replace("{hosts}", &hosts.join(" "));
    match host.words.get(1..) {
        Some(words) => line.replacen('…', &shell::text(words), 1),
        None => line,
    }
}

/// The machines of the job. `None`: there is no job.
fn read(block: &Block, host: &Host) -> Result<Option<Sourced<MachineList>>, Problem> {
    let mut unreadable = None;
    for variable in block.variables() {
        let Some(read) = reader(variable) else { continue };
        let Some(set) = text(variable.name(), host) else { continue };
        match read(&set, host).filter(|machines| machines.count > 0) {
            Some(machines) => return Ok(Some(Sourced::new(machines, set.from))),
            None => unreadable = unreadable.or(Some(set)),
        }
    }
    let marked = || block.names("mark").find_map(|name| text(name, host));
    match unreadable.or_else(marked) {
        Some(variable) => Err(machines_unreadable(block.name(), &variable)),
        None => Ok(None),
    }
}

type Reader = fn(&Sourced<String>, &Host) -> Option<MachineList>;

/// How a variable tells the machines of a job, if it does.
fn reader(variable: Variable) -> Option<Reader> {
    let readers: [(&str, Reader); 4] = [
        ("file", |file, _| Some(MachineList::of(hosts_in_file(file)?))),
        ("list", |list, _| Some(MachineList::of(distinct(hosts(&list.value).into_iter())))),
        ("pairs", |list, _| Some(MachineList::of(distinct(machines_of_lsf(&list.value).map(str::to_string))))),
        ("count", |count, host| {
            let count = VariableReader::new(host).number(&count.from.to_string(), 1)?.value;
            Some(MachineList { count, hosts: Vec::new() })
        }),
    ];
    readers.into_iter().find_map(|(role, reader)| variable.is(role).then_some(reader))
}

impl MachineList {
    fn of(hosts: Vec<String>) -> Self {
        MachineList { count: u32::try_from(hosts.len()).unwrap_or(0), hosts }
    }
}

/// Each machine has its slots behind it.
fn machines_of_lsf(list: &str) -> impl Iterator<Item = &str> {
    list.split_whitespace().step_by(2)
}

/// LSF: tasks of `blaunch`, which LSF numbers from 1 in LSF_PM_TASKID (as PRRTE's ess/lsf reads it), and the shell of a job.
/// `blaunch HOST COMMAND` stands in for ssh (ibm.com/docs, "blaunch").
pub(super) fn detect_lsf(block: &Block, host: &Host) -> Option<Detected> {
    let mut allocation = match detect(block, host)? {
        Ok(allocation) => allocation,
        refused => return Some(refused),
    };
    let (Some(task), Some(machines)) = (text("LSF_PM_TASKID", host), text("LSB_MCPU_HOSTS", host)) else {
        if host.find_program(OsStr::new("jsrun")).is_some() {
            // There the first machine only launches, and runs no ranks.
            allocation.placement = Placement::Manual(line("jsrun -r 1 -a 1 zlaunch …", &[], host));
        }
        return Some(Ok(allocation));
    };
    let here = machines_of_lsf(&machines.value).position(|name| is_this_host(name, host));
    // With more tasks than machines, several would start the ranks of one.
    let is_one_of_each = task.value.parse::<u32>().is_ok_and(|task| (1..=allocation.nnodes.value).contains(&task));
    let Some(index) = here.and_then(|index| u32::try_from(index).ok()).filter(|_| is_one_of_each) else {
        return Some(Err(place_unknown(block.name(), [&task, &machines], "which of its machines this is").into()));
    };
    let first = machines_of_lsf(&machines.value).next().unwrap_or_default().to_string();
    allocation.node_rank = Sourced::new(index, machines.from.clone());
    allocation.master_addr = Some(Sourced::new(first, machines.from));
    allocation.master_port = text(vars::LSB_JOBID, host).as_ref().map(port_of_job);
    Some(Ok(Allocation { placement: Placement::Node, ..allocation }))
}

/// Grid Engine (SGE, Univa, Altair, Son of): the shell of a job in a parallel environment. The first word of each line of
/// PE_HOSTFILE is a machine; NHOSTS counts them (`man sge_pe`, `man qsub`). `qrsh -inherit` runs a command on one of them;
/// what such a task finds was seen with 8.1.9: where it was started from another machine, NHOSTS is 1, however many the job
/// has, and PE_HOSTFILE names a file of the other machine, if anything.
pub(super) fn detect_grid_engine(block: &Block, host: &Host) -> Option<Detected> {
    detect(block, host).or_else(|| {
        let task = text("JOB_NAME", host).filter(|name| name.value == "petask")?;
        let knows_all = text("PE_HOSTFILE", host).is_some_and(|file| hosts_in_file(&file).is_some());
        let from = text("SGE_O_HOST", host).unwrap_or(task);
        let is_elsewhere = !knows_all && !is_this_host(&from.value, host);
        is_elsewhere.then(|| Err(place_unknown(block.name(), [&from], "how many machines it has").into()))
    })
}

/// Azure ML starts one process for each rank and sets RANK, LOCAL_RANK, WORLD_SIZE and NODE_RANK
/// (learn.microsoft.com/azure/machine-learning, "Distributed GPU training guide"); with one process an instance, that one is
/// a machine. A task of Azure Batch on several instances runs its command on the first only
/// (learn.microsoft.com/azure/batch, "Multi-instance tasks"), so that is the shell of a job.
pub(super) fn detect_azure(block: &Block, host: &Host) -> Option<Detected> {
    instance_of_azure_ml(host).map(Ok).or_else(|| detect(block, host))
}

fn instance_of_azure_ml(host: &Host) -> Option<Allocation> {
    let set = [vars::RANK, vars::LOCAL_RANK, vars::WORLD_SIZE, vars::MASTER_ADDR, "AZUREML_NODE_COUNT"];
    // A launcher that runs in the instance says more.
    let started = [vars::LOCAL_WORLD_SIZE, vars::GROUP_RANK, vars::TORCHELASTIC_RUN_ID];
    if !all_are_set(&set, host) || started.iter().any(|name| host.nonempty_var(name).is_some()) {
        return None;
    }
    let mut variables = VariableReader::new(host);
    let count = variables.number::<u32>("AZUREML_NODE_COUNT", 1)?;
    let rank = variables.number::<u32>(vars::RANK, 0)?;
    let world = host.nonempty_var(vars::WORLD_SIZE)?.parse::<u32>().ok()?;
    let is_machine = world == count.value && host.nonempty_var(vars::LOCAL_RANK) == Some("0");
    let allocation = Allocation::task_per_node(count, rank, text(vars::MASTER_ADDR, host));
    is_machine.then_some(Allocation { sets_rank_variables: true, ..allocation })
}
