//! LSF: tasks of `jsrun`; tasks of `blaunch`, which LSF numbers from 1 in LSF_PM_TASKID (as PRRTE's ess/lsf reads it); and the
//! shell of a job. LSB_MCPU_HOSTS has each machine with its slots. `blaunch HOST COMMAND` stands in for ssh (ibm.com/docs,
//! "blaunch"). On machines with `jsrun` the first one of a job only launches.

use std::ffi::OsStr;

use super::job::is_this_host;
use super::job_shell;
use super::mpi::MpiVariables;
use super::port::port_of_job;
use crate::base::source::Sourced;
use crate::base::vars;
use crate::host::Host;
use crate::ranks::topology::engine::{Allocation, Detected, Engine, Placement};
use crate::ranks::topology::variables::text;
use crate::report;

pub(super) const ENGINE: Engine = Engine {
    name: "LSF",
    detect: |block, host| {
        let job = || Some(job_shell::detect(block, host)?.and_then(|allocation| task_of_blaunch(allocation, host)));
        JSRUN.detect(host).or_else(job)
    },
};

const JSRUN: MpiVariables = MpiVariables {
    engine: ENGINE.name,
    rank: "JSM_NAMESPACE_RANK",
    size: "JSM_NAMESPACE_SIZE",
    local_rank: "JSM_NAMESPACE_LOCAL_RANK",
    local_size: "JSM_NAMESPACE_LOCAL_SIZE",
    ..MpiVariables::NONE
};

const MACHINES: &str = "LSB_MCPU_HOSTS";

/// If `blaunch` started this, its place among the machines; else the shell of the job.
fn task_of_blaunch(mut allocation: Allocation, host: &Host) -> Detected {
    let (Some(task), Some(machines)) = (text("LSF_PM_TASKID", host), text(MACHINES, host)) else {
        if host.find_program(OsStr::new("jsrun")).is_some() {
            // One of the machines runs no ranks.
            allocation.placement = job_shell::manual("jsrun -r 1 -a 1 zlaunch …", &[], host);
        }
        return Ok(allocation);
    };
    let names: Vec<&str> = machines.value.split_whitespace().step_by(2).collect();
    let here = names.iter().position(|name| is_this_host(name, host));
    let index = here.and_then(|index| u32::try_from(index).ok());
    // With more tasks than machines, several would start the ranks of one.
    let is_one_of_each = task.value.parse::<u32>().is_ok_and(|task| (1..=allocation.nnodes.value).contains(&task));
    let (Some(index), true) = (index, is_one_of_each) else {
        let set = [task.place(), machines.place()];
        return Err(report::place_unknown(ENGINE.name, &set, "which of its machines this is").into());
    };
    allocation.node_rank = Sourced::new(index, machines.from.clone());
    allocation.master_addr = names.first().map(|first| Sourced::new((*first).to_string(), machines.from.clone()));
    allocation.master_port = text(vars::LSB_JOBID, host).as_ref().map(port_of_job);
    Ok(Allocation { placement: Placement::Node, ..allocation })
}
