//! Variables that contradict the topology. torchrun gets everything by flags, so they have no effect, but the user should
//! know. Also variables of engines that zlaunch cannot read.

use super::Topology;
use super::allocation::{Allocation, Placement};
use super::engines::table;
use super::problems::place_unknown;
use super::variables::{
    MASTER_ADDR, MASTER_PORT, NNODES, NODE_RANK, NPROC_PER_NODE, RANK_VARIABLES, all_are_set, text,
};
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::report::fix::{Fixes, drop_word, give, run};
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
    let Some((allocation, nnodes)) = allocation.zip(topology.nnodes.as_ref()) else { return notes };
    // The shell of a job says of no machine which one it is.
    let is_shell = matches!(allocation.placement, Placement::SlurmShell { .. } | Placement::Manual(_));
    if allocation.nnodes.value != nnodes.value {
        let what = format!("the job has {} machines, but this launch is for {}", allocation.nnodes.value, nnodes.value);
        let fix = drop_word(&nnodes.from).remark("to use all of them together");
        let problem = Problem::warning(Rule::ContradictsScheduler, what);
        notes.push(problem.at(nnodes).at(&allocation.nnodes).fix(fix));
    } else if nnodes.value > 1 && allocation.node_rank.value != topology.node_rank.value && !is_shell {
        let (said, seen) = (&topology.node_rank, &allocation.node_rank);
        let what = format!("this is machine {}, not {}", seen.value, said.value);
        let help =
            "leave the number of the machine to the scheduler: a `$SLURM_NODEID` in the batch script is 0 everywhere";
        notes.push(Problem::warning(Rule::ContradictsScheduler, what).at(seen).at(said).fix(help));
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

/// The variables of a tool for the number of machines, and for its own place among them, end with these.
const COUNTS: &str = "NUM_NODES NNODES NODE_COUNT NUM_WORKERS JOBS_COUNT WORLD_SIZE";
const PLACES: &str = "RANK INDEX IDX NODE_ID NODEID WORKER_ID";
/// Names with these words count something else.
const OTHER_PLACES: &str = "LORA GPU DEVICE";
/// torch's own variables begin with these, and are judged elsewhere.
const OF_TORCH: &str = "LOCAL GROUP ROLE PET";

/// A tool that is not in the table says how many machines there are, and which this is.
pub(super) fn counted_by_another(host: &Host) -> Option<Problem> {
    let number = |name: &str| host.nonempty_var(name).and_then(|value| value.trim().parse::<u64>().ok());
    let ends_so = |name: &str, endings: &str| {
        endings.split(' ').any(|part| name.strip_suffix(part).is_some_and(|part| part.ends_with('_')))
    };
    let names = || host.env.keys().filter_map(|name| name.to_str());
    let is_known = |name: &str| table::all().any(|block| block.env_prefixes().any(|prefix| name.starts_with(prefix)));
    names().filter(|name| ends_so(name, COUNTS)).find_map(|count| {
        let (tool, _) = count.split_once('_')?;
        let machines = number(count).filter(|machines| *machines > 1)?;
        if tool.is_empty() || OF_TORCH.split(' ').any(|known| known == tool) || is_known(count) {
            return None;
        }
        let is_place = |name: &&str| {
            name.strip_prefix(tool).is_some_and(|rest| rest.starts_with('_'))
                && ends_so(name, PLACES)
                && !OTHER_PLACES.split(' ').any(|part| name.contains(part))
                && number(name).is_some_and(|place| place <= machines)
        };
        let place = names().find(is_place)?;
        let set: Vec<_> = [count, place].into_iter().filter_map(|name| text(name, host)).collect();
        Some(place_unknown(tool, &set, "where its machines meet"))
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
