//! Operators of Kubernetes that are more than a block of the table.

use super::batch;
use super::nodes::{Nodes, first_of, hosts};
use crate::base::source::Sourced;
use crate::base::vars;
use crate::host::Host;
use crate::ranks::topology::Devices;
use crate::ranks::topology::engine::{Allocation, Detected};
use crate::ranks::topology::engines::table::Block;
use crate::ranks::topology::problems::{alone, not_understood};
use crate::ranks::topology::variables::{VariableReader, all_are_set, first_text, text};
use crate::report::fix::run;
use crate::report::{Problem, Rule};

/// Kubeflow's PyTorchJob. Without LOCAL_RANK, WORLD_SIZE is the number of pods, not of ranks, and RANK the number of this
/// pod. Where the operator also sets torchrun's PET_* variables, those are read first.
pub(super) fn detect_pods(_: &Block, host: &Host) -> Option<Detected> {
    if !all_are_set(&[vars::RANK, vars::WORLD_SIZE, vars::MASTER_ADDR], host)
        || host.nonempty_var(vars::LOCAL_RANK).is_some()
    {
        return None;
    }
    let mut variables = VariableReader::new(host);
    let (pods, pod) = (variables.number(vars::WORLD_SIZE, 1), variables.number(vars::RANK, 0));
    let (Some(pods), Some(pod)) = (pods, pod) else { return Some(Err(variables.problems)) };
    let allocation = Allocation::task_per_node(pods, pod, text(vars::MASTER_ADDR, host));
    Some(Ok(Allocation { sets_rank_variables: true, ..allocation }))
}

/// ClearML's pods are counted by their GPUs.
pub(super) fn detect_clearml(block: &Block, host: &Host) -> Option<Detected> {
    if host.nonempty_var(vars::LOCAL_RANK).is_some() {
        return None;
    }
    let mut variables = VariableReader::new(host);
    let all = variables.number::<u32>(vars::WORLD_SIZE, 1)?;
    let index = variables.first_number::<u32>(&[vars::NODE_RANK, vars::RANK], 0)?;
    let here = Devices::detect(host).names.and_then(|names| u32::try_from(names.len()).ok()).filter(|here| *here > 0);
    let count = here.filter(|here| all.value % here == 0).map(|here| Sourced::new(all.value / here, all.from.clone()));
    let nodes =
        Nodes { engine: block.name(), count, index: Some(index), listed: None, first: text(vars::MASTER_ADDR, host) };
    Some(nodes.allocate().map(|allocation| Allocation { sets_rank_variables: true, ..allocation }))
}

/// Alibaba's PAI-DLC (help.aliyun.com/zh/pai, "General environment variables"), which names its pods `dlc…-master-0` and
/// sets NPROC_PER_NODE to the number of their GPUs.
pub(super) fn detect_dlc(block: &Block, host: &Host) -> Option<Detected> {
    let address = host.nonempty_var(vars::MASTER_ADDR)?;
    (address.starts_with("dlc") && address.contains("-master-")).then(|| detect_pods(block, host)).flatten()
}

/// Volcano (github.com/volcano-sh/volcano, pkg/controllers/job/plugins). With its pytorch plugin, RANK and WORLD_SIZE count
/// pods. Without it, the host list of its svc plugin names the pods, as long as the job has only one kind of them.
pub(super) fn detect_volcano(block: &Block, host: &Host) -> Option<Detected> {
    if let Some(pods) = detect_pods(block, host) {
        return Some(pods);
    }
    let index = first_text(&[vars::VC_TASK_INDEX, "VK_TASK_INDEX"], host);
    let is_list = |name: &&str| name.starts_with("VC_") && name.ends_with("_HOSTS");
    let names = host.env.keys().filter_map(|name| name.to_str()).filter(is_list);
    let mut lists = names.filter_map(|name| text(name, host));
    let (list, another) = (lists.next(), lists.next());
    if index.is_none() && list.is_none() {
        return None;
    }
    if another.is_some() {
        return Some(Err(vec![not_understood(block.name(), "VC_*_HOSTS")]));
    }
    let mut variables = VariableReader::new(host);
    let index = index.and_then(|index| variables.number(&index.from.to_string(), 0));
    if !variables.problems.is_empty() {
        return Some(Err(variables.problems));
    }
    let listed = list.map(|list| list.map(|list| hosts(&list)));
    let first = first_of(listed.as_ref());
    Some(Nodes { engine: block.name(), count: None, index, listed, first }.allocate())
}

/// Kubeflow's MPIJob: github.com/kubeflow/mpi-operator, pkg/controller/mpi_job_controller.go. In its pods nothing is a rank
/// until `mpirun` starts it, and then the variables of that MPI are there. Older ones have only those for `mpirun` itself.
pub(super) fn detect_mpi_job(block: &Block, host: &Host) -> Option<Detected> {
    let Some(role) = text("K_MPI_JOB_ROLE", host) else { return batch::detect(block, host) };
    let what = format!("this is the {} pod of an MPIJob, where mpirun starts the ranks", role.value);
    let by_mpirun = run("mpirun zlaunch …").remark("in the command of the launcher");
    Some(Err(Problem::error(Rule::Ranks, what).at(&role).fix(by_mpirun.or(alone())).into()))
}
