//! SageMaker training jobs: the hosts as a JSON list, whose order may differ between the nodes.

use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::ranks::topology::engine::{Allocation, Detected, Engine};
use crate::ranks::topology::variables::VariableReader;
use crate::report;

pub(super) const ENGINE: Engine = Engine { name: "SageMaker", variable: vars::SM_HOSTS, detect };

fn detect(host: &Host) -> Option<Detected> {
    let hosts = serde_json::from_str::<Vec<String>>(host.filled(vars::SM_HOSTS)?).ok();
    let (Some(mut hosts), Some(here)) = (hosts, host.filled(vars::SM_CURRENT_HOST)) else {
        return Some(Err(vec![report::engine_not_understood(ENGINE.name, vars::SM_HOSTS)]));
    };
    hosts.sort();
    let from = Source::Variable(vars::SM_HOSTS.to_string());
    let Some(rank) = hosts.iter().position(|name| name == here) else {
        return Some(Err(vec![report::not_among_the_hosts(here, vars::SM_CURRENT_HOST, vars::SM_HOSTS)]));
    };
    let nnodes = Sourced::new(u32::try_from(hosts.len()).ok()?, from.clone());
    let node_rank = Sourced::new(u32::try_from(rank).ok()?, Source::Variable(vars::SM_CURRENT_HOST.to_string()));
    let first = Sourced::new(hosts.swap_remove(0), from);
    let mut variables = VariableReader::new(host);
    let gpus = variables.number(vars::SM_NUM_GPUS, 0).filter(|gpus| gpus.value > 0);
    if !variables.problems.is_empty() {
        return Some(Err(variables.problems));
    }
    Some(Ok(Allocation { gpus, ..Allocation::task_per_node(nnodes, node_rank, Some(first)) }))
}
