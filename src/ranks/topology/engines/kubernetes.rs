//! Kubeflow's PyTorchJob. WORLD_SIZE is the number of pods, not of ranks, and RANK the number of this pod. Where the
//! operator also sets torchrun's PET_* variables, those are read first.

use crate::base::vars;
use crate::host::Host;
use crate::ranks::topology::engine::{Allocation, Detected, Engine};
use crate::ranks::topology::variables::{VariableReader, all_are_set, text};

pub(super) const ENGINE: Engine = Engine { name: "Kubernetes", detect: |_, host| detect_pods(host) };

/// The RANK and WORLD_SIZE of an operator: without LOCAL_RANK they count pods.
pub(super) fn detect_pods(host: &Host) -> Option<Detected> {
    if !all_are_set(&[vars::RANK, vars::WORLD_SIZE, vars::MASTER_ADDR], host) || host.filled(vars::LOCAL_RANK).is_some()
    {
        return None;
    }
    let mut variables = VariableReader::new(host);
    let (pods, pod) = (variables.number(vars::WORLD_SIZE, 1), variables.number(vars::RANK, 0));
    let (Some(pods), Some(pod)) = (pods, pod) else { return Some(Err(variables.problems)) };
    let allocation = Allocation::task_per_node(pods, pod, text(vars::MASTER_ADDR, host));
    Some(Ok(Allocation { sets_rank_variables: true, ..allocation }))
}
