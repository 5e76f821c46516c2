//! Volcano. With its pytorch plugin, RANK and WORLD_SIZE count pods. Without it, the host list of its svc plugin names the
//! pods, as long as the job has only one kind of them.

use super::kubernetes::detect_pods;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::ranks::topology::engine::{Allocation, Detected, Engine};
use crate::ranks::topology::variables::VariableReader;
use crate::report;

pub(super) const ENGINE: Engine = Engine {
    name: "Volcano",
    variable: vars::VC_TASK_INDEX,
    detect: |host| detect_pods(host).or_else(|| detect_host_list(host)),
};

fn detect_host_list(host: &Host) -> Option<Detected> {
    let is_list = |name: &&str| name.starts_with("VC_") && name.ends_with("_HOSTS");
    let mut lists = host.env.keys().filter_map(|name| name.to_str()).filter(is_list);
    let (name, None) = (lists.next()?, lists.next()) else {
        return Some(Err(vec![report::engine_not_understood(ENGINE.name, "VC_*_HOSTS")]));
    };
    let hosts: Vec<&str> = host.filled(name)?.split(',').map(str::trim).filter(|host| !host.is_empty()).collect();
    let from = Source::Variable(name.to_string());
    let first = Sourced::new((*hosts.first()?).to_string(), from.clone());
    let nnodes = Sourced::new(u32::try_from(hosts.len()).ok()?, from);
    let mut variables = VariableReader::new(host);
    let index = variables.number(vars::VC_TASK_INDEX, 0);
    Some(index.map(|index| Allocation::task_per_node(nnodes, index, Some(first))).ok_or(variables.problems))
}
