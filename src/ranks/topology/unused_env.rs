//! Variables that contradict the topology. torchrun gets everything by flags, so they have no effect, but the user should
//! know.

use super::Topology;
use super::engine::{Allocation, Placement};
use super::variables::{MASTER_ADDR, MASTER_PORT, NNODES, NODE_RANK, NPROC_PER_NODE, all_are_set, text};
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::report::{Problem, Rule};

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
    for variable in vars::PET_ELSEWHERE.split(' ').filter_map(|name| text(name, host)) {
        notes.push(is_ignored(&variable, "static rendezvous, as zlaunch decides it"));
    }
    let is_engines = allocation.is_some_and(|allocation| allocation.sets_rank_variables);
    if all_are_set(&[vars::RANK, vars::LOCAL_RANK, vars::WORLD_SIZE], host) && !is_engines {
        let rank = text(vars::RANK, host);
        notes.extend(rank.map(|rank| is_ignored(&rank, "ranks are started in spite of it")));
    }
    let Some((allocation, nnodes)) = allocation.zip(topology.nnodes.as_ref()) else { return notes };
    // The shell of a job says of no machine which one it is.
    let is_shell = matches!(allocation.placement, Placement::SlurmShell { .. } | Placement::Manual(_));
    if allocation.nnodes.value != nnodes.value {
        let what = format!("the job has {} machines, but this launch is for {}", allocation.nnodes.value, nnodes.value);
        let help = format!("drop {} to use all of them together", nnodes.from);
        notes.push(contradicts_scheduler(what).at(nnodes.place()).at(allocation.nnodes.place()).help(help));
    } else if nnodes.value > 1 && allocation.node_rank.value != topology.node_rank.value && !is_shell {
        let (said, seen) = (&topology.node_rank, &allocation.node_rank);
        let problem = contradicts_scheduler(format!("this is machine {}, not {}", seen.value, said.value));
        notes.push(problem.at(seen.place()).at(said.place()).help(
            "leave the number of the machine to the scheduler: a `$SLURM_NODEID` in the batch script is 0 everywhere",
        ));
    }
    notes
}

fn contradicts_scheduler(what: String) -> Problem {
    Problem::warning(Rule::ContradictsScheduler, what)
}

fn is_ignored(variable: &Sourced<String>, decided: &str) -> Problem {
    let name = variable.from.to_string();
    Problem::warning(Rule::StrayVariable, format!("`{name}` says something else, and is ignored"))
        .at(variable.place())
        .at(decided)
        .help(format!("unset {name}"))
}

/// What this process belongs to may have more machines, but no variable counts them: what it is, and what to do there.
const UNCOUNTED: &[(&str, &str, &str)] = &[
    (
        "RAY_JOB_CONFIG_JSON_ENV_VAR",
        "this is the driver of a Ray job",
        "Ray Train starts a rank on each GPU of the cluster",
    ),
    ("RAY_RAYLET_PID", "this is a task of Ray", "Ray Train starts a rank on each GPU of the cluster"),
    (
        "SATURN_JOB_LEADER",
        "this is the first instance of a Saturn Cloud job",
        "--nnodes N --node-rank $SATURN_JOB_RANK --master-addr $SATURN_JOB_LEADER --master-port 29500",
    ),
    ("FLUX_ENCLOSING_ID", "this is the shell of a Flux job", "flux run --nodes=N --tasks-per-node=1 zlaunch …"),
];

pub(super) fn uncounted_machines(host: &Host) -> impl Iterator<Item = Problem> {
    let set = UNCOUNTED.iter().filter(|(name, ..)| host.nonempty_var(name).is_some());
    set.map(|(name, what, help)| {
        let what = format!("{what}: ranks are started on this machine only");
        let help = format!("{help}; --nnodes 1 if this machine is meant");
        Problem::warning(Rule::UncountedMachines, what).at(name).help(help)
    })
}

/// The variables of each decided value, and that value as text. On one node, only the numbers matter.
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
