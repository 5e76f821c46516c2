//! Volcano. With its pytorch plugin RANK and WORLD_SIZE count pods; without it the lists of its svc plugin tell the
//! pods, as long as there is only one kind of them.

use super::engine::{Engine, Look, Seen, machines};
use super::read::number;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::report;

pub(super) const ENGINE: Engine =
    Engine { name: "Volcano", mark: vars::VC_TASK_INDEX, look: |host| machines(host).or_else(|| listed(host)) };

fn listed(host: &Host) -> Option<Look> {
    let list = |name: &str| name.starts_with("VC_") && name.ends_with("_HOSTS");
    let mut lists = host.env.keys().filter_map(|name| name.to_str()).filter(|name| list(name));
    let (name, None) = (lists.next()?, lists.next()) else {
        return Some(Err(vec![report::engine_not_understood(ENGINE.name, "VC_*_HOSTS")]));
    };
    let hosts: Vec<&str> = host.filled(name)?.split(',').map(str::trim).filter(|host| !host.is_empty()).collect();
    let from = Source::Variable(name.to_string());
    let first = Sourced::new((*hosts.first()?).to_string(), from.clone());
    let nnodes = Sourced::new(u32::try_from(hosts.len()).ok()?, from);
    let mut problems = Vec::new();
    let index = number(host, vars::VC_TASK_INDEX, &0, &mut problems);
    Some(index.map(|index| Seen::on_machines(nnodes, index, Some(first))).ok_or(problems))
}
