//! Variables that contradict the topology. torchrun gets everything by flags, so they have no effect, but the user should
//! know. Also variables of engines that zlaunch cannot read.

use super::Topology;
use super::allocation::Allocation;
use super::variables::{
    MASTER_ADDR, MASTER_PORT, NNODES, NODE_RANK, NPROC_PER_NODE, RANK_VARIABLES, all_are_set, text,
};
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::report::fix::{Fixes, give, run};
use crate::report::{Place, Problem, Rule, Severity};

/// torchrun's own variables for what zlaunch decides otherwise.
pub(crate) const PET_ELSEWHERE: &str = "PET_RDZV_BACKEND PET_RDZV_ENDPOINT PET_RDZV_ID PET_RDZV_CONF PET_STANDALONE \
    PET_MODULE PET_NO_PYTHON PET_RUN_PATH";

pub(super) fn unused_variables(topology: &Topology, allocation: Option<&Allocation>, host: &Host) -> Vec<Problem> {
    let mut notes = Vec::new();
    for (names, (value, from)) in decided_values(topology) {
        for variable in names.iter().filter_map(|name| text(name, host)) {
            let is_word = matches!(variable.value.as_str(), "auto" | "gpu" | "cpu");
            if variable.value.trim() != value && variable.from != from && !is_word {
                notes.push(is_ignored(&variable, &from.with(&value)));
            }
        }
    }
    for variable in PET_ELSEWHERE.split(' ').filter_map(|name| text(name, host)) {
        notes.push(is_ignored(&variable, "static rendezvous, as zlaunch decides it"));
    }
    let is_engines = allocation.is_some_and(|allocation| allocation.sets_rank_variables);
    if all_are_set(&RANK_VARIABLES, host) && !is_engines {
        notes.extend(text(vars::RANK, host).map(|rank| is_ignored(&rank, "ranks are started in spite of it")));
    }
    notes
}

fn is_ignored(variable: &Sourced<String>, decided: &str) -> Problem {
    let name = variable.from.to_string();
    let what = format!("`{name}` says something else, and is ignored");
    Problem::warning(Rule::StrayVariable, what).at(variable).at(decided).fix(run(format!("unset {name}")))
}

pub(super) fn uncounted_machines(host: &Host) -> impl Iterator<Item = Problem> {
    include_str!("uncounted.txt").lines().filter_map(|line| {
        let (name, rest) = line.split_once(" | ").filter(|(name, _)| host.nonempty_var(name).is_some())?;
        let [how, what, help] = rest.split(" | ").collect::<Vec<_>>().try_into().ok()?;
        let what = format!("{what}: ranks are started on this machine only");
        let fixes = Fixes::from(help).or(give("--nnodes", 1).remark("if this machine is meant"));
        let problem = Problem::warning(Rule::UncountedMachines, what).at(Place::bare_variable(name)).fix(fixes);
        let severity = if how == "error" { Severity::Error } else { Severity::Warning };
        Some(Problem { severity, allowable: severity == Severity::Warning, ..problem })
    })
}

fn decided_values(topology: &Topology) -> impl Iterator<Item = ([&'static str; 2], (String, Source))> {
    fn decided<T: ToString>(value: &Sourced<T>) -> (String, Source) {
        (value.value.to_string(), value.from.clone())
    }
    let several = topology.has_several_nodes();
    let values = [
        (NNODES, topology.nnodes.as_ref().map(decided)),
        (NODE_RANK, several.then(|| decided(&topology.node_rank))),
        (NPROC_PER_NODE, topology.nproc_per_node.as_ref().map(decided)),
        (MASTER_ADDR, topology.master_addr.as_ref().filter(|_| several).map(decided)),
        (MASTER_PORT, topology.master_port.as_ref().filter(|_| several).map(decided)),
    ];
    values.into_iter().filter_map(|(names, value)| Some((names, value?)))
}
