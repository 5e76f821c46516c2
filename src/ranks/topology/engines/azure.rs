//! Azure ML and Azure Batch. Azure ML starts one process for each rank and sets RANK, LOCAL_RANK, WORLD_SIZE and NODE_RANK
//! (learn.microsoft.com/azure/machine-learning, "Distributed GPU training guide"); with one process an instance, that one is
//! a machine. A task of Azure Batch on several instances runs its command on the first only
//! (learn.microsoft.com/azure/batch, "Multi-instance tasks"), so that is the shell of a job.

use super::job_shell;
use crate::base::vars;
use crate::host::Host;
use crate::ranks::topology::engine::{Allocation, Detected, Engine};
use crate::ranks::topology::variables::{VariableReader, all_are_set, text};

pub(super) const ENGINE: Engine = Engine {
    name: "Azure",
    detect: |block, host| detect_instance(host).or_else(|| job_shell::detect(block, host)),
};

/// The one process that Azure ML started on this instance.
fn detect_instance(host: &Host) -> Option<Detected> {
    let set = [vars::RANK, vars::LOCAL_RANK, vars::WORLD_SIZE, vars::MASTER_ADDR, "AZUREML_NODE_COUNT"];
    // A launcher that runs in the instance says more.
    let started = [vars::LOCAL_WORLD_SIZE, vars::GROUP_RANK, vars::TORCHELASTIC_RUN_ID];
    if !all_are_set(&set, host) || started.iter().any(|name| host.filled(name).is_some()) {
        return None;
    }
    let mut variables = VariableReader::new(host);
    let count = variables.number::<u32>("AZUREML_NODE_COUNT", 1)?;
    let rank = variables.number::<u32>(vars::RANK, 0)?;
    let world = host.filled(vars::WORLD_SIZE)?.parse::<u32>().ok()?;
    let is_machine = world == count.value && host.filled(vars::LOCAL_RANK) == Some("0");
    is_machine.then(|| {
        let allocation = Allocation::task_per_node(count, rank, text(vars::MASTER_ADDR, host));
        Ok(Allocation { sets_rank_variables: true, ..allocation })
    })
}
