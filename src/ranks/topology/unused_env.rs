//! Variables that contradict the topology. torchrun gets everything by flags, so they have no effect, but the user should
//! know. Also variables of engines that zlaunch cannot read.

use super::Topology;
use super::allocation::Allocation;
use super::variables::{
    MASTER_ADDR, MASTER_PORT, NNODES, NODE_RANK, NPROC_PER_NODE, RANK_VARIABLES, all_are_set, text,
};
use crate::base::source::Sourced;
use crate::base::{rows, vars};
use crate::host::Host;
use crate::report::fix::{Fixes, give, run};
use crate::report::{Place, Problem, Rule, Severity};

/// torchrun's own variables for what zlaunch decides otherwise.
pub(crate) const PET_ELSEWHERE: &str = "PET_RDZV_BACKEND PET_RDZV_ENDPOINT PET_RDZV_ID PET_RDZV_CONF PET_STANDALONE \
    PET_MODULE PET_NO_PYTHON PET_RUN_PATH";

pub(super) fn unused_variables(
    topology: &Topology,
    allocation: Option<&Allocation>,
    host: &Host,
) -> Vec<Problem> {
    let mut notes = Vec::new();
    for (names, decided) in decided_values(topology) {
        for variable in names.iter().filter_map(|name| text(name, host)) {
            let is_word = matches!(variable.value.as_str(), "auto" | "gpu" | "cpu");
            if variable.value.trim() != decided.value && variable.from != decided.from && !is_word {
                notes.push(is_ignored(&variable, &decided.spelling()));
            }
        }
    }
    for variable in PET_ELSEWHERE.split(' ').filter_map(|name| text(name, host)) {
        notes.push(is_ignored(
            &variable,
            "static rendezvous, as zlaunch decides it",
        ));
    }
    let is_engines = allocation.is_some_and(|allocation| allocation.sets_rank_variables);
    if all_are_set(&RANK_VARIABLES, host) && !is_engines {
        notes.extend(
            text(vars::RANK, host)
                .map(|rank| is_ignored(&rank, "ranks are started in spite of it")),
        );
    }
    notes
}

fn is_ignored(variable: &Sourced<String>, decided: &str) -> Problem {
    let name = variable.from.to_string();
    let what = format!("`{name}` says something else, and is ignored");
    Problem::warning(Rule::StrayVariable, what)
        .at(variable)
        .at(decided)
        .fix(run(format!("unset {name}")))
}

pub(super) fn uncounted_machines(host: &Host) -> impl Iterator<Item = Problem> {
    let rows = rows::plain::<4>(include_str!("uncounted.txt"))
        .filter(|[name, ..]| host.nonempty_var(name).is_some());
    rows.map(|[name, how, what, help]| {
        let what = format!("{what}: ranks are started on this machine only");
        let fixes = Fixes::from(help).or(give("--nnodes", 1).remark("if this machine is meant"));
        let problem = Problem::warning(Rule::UncountedMachines, what)
            .at(Place::bare_variable(name))
            .fix(fixes);
        let severity = Severity::error_if(how == "error");
        Problem {
            severity,
            allowable: severity == Severity::Warning,
            ..problem
        }
    })
}

/// On one machine, its number and where it would meet others are of no interest.
fn decided_values(
    topology: &Topology,
) -> impl Iterator<Item = ([&'static str; 2], Sourced<String>)> {
    fn text<T: ToString>(value: Option<&Sourced<T>>) -> Option<Sourced<String>> {
        Some(Sourced::new(value?.value.to_string(), value?.from.clone()))
    }
    let several = |value: Option<Sourced<String>>| {
        if topology.has_several_nodes() {
            value
        } else {
            None
        }
    };
    let values = [
        (NNODES, text(topology.nnodes.as_ref())),
        (NODE_RANK, several(text(Some(&topology.node_rank)))),
        (NPROC_PER_NODE, text(topology.nproc_per_node.as_ref())),
        (MASTER_ADDR, several(text(topology.master_addr.as_ref()))),
        (MASTER_PORT, several(text(topology.master_port.as_ref()))),
    ];
    values
        .into_iter()
        .filter_map(|(names, value)| Some((names, value?)))
}
