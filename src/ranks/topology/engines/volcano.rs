//! Volcano (github.com/volcano-sh/volcano, pkg/controllers/job/plugins). With its pytorch plugin, RANK and WORLD_SIZE count pods. Without it, the host list of its svc plugin names the
//! pods, as long as the job has only one kind of them.

use super::kubernetes::detect_pods;
use super::nodes::{Nodes, hosts};
use crate::base::source::Sourced;
use crate::base::vars;
use crate::host::Host;
use crate::ranks::topology::engine::{Detected, Engine};
use crate::ranks::topology::variables::{VariableReader, first_text, text};
use crate::report;

pub(super) const ENGINE: Engine =
    Engine { name: "Volcano", detect: |_, host| detect_pods(host).or_else(|| detect_host_list(host)) };

fn detect_host_list(host: &Host) -> Option<Detected> {
    let index = first_text(&[vars::VC_TASK_INDEX, "VK_TASK_INDEX"], host);
    let is_list = |name: &&str| name.starts_with("VC_") && name.ends_with("_HOSTS");
    let mut lists =
        host.env.keys().filter_map(|name| name.to_str()).filter(is_list).filter_map(|name| text(name, host));
    let (list, another) = (lists.next(), lists.next());
    if index.is_none() && list.is_none() {
        return None;
    }
    if another.is_some() {
        return Some(Err(vec![report::engine_not_understood(ENGINE.name, "VC_*_HOSTS")]));
    }
    let mut variables = VariableReader::new(host);
    let index = index.and_then(|index| variables.number(&index.from.to_string(), 0));
    if !variables.problems.is_empty() {
        return Some(Err(variables.problems));
    }
    let listed = list.map(|list| list.map(|list| hosts(&list)));
    let first =
        listed.as_ref().and_then(|listed| Some(Sourced::new(listed.value.first()?.clone(), listed.from.clone())));
    Some(Nodes { engine: ENGINE.name, count: None, index, listed, first }.allocate())
}
