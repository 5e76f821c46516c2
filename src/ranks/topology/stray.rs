//! Variables that contradict what was decided, and variables of tools that have no row among the engines.

use super::Topology;
use super::allocation::{Allocation, place_unknown};
use super::rendezvous::is_loopback;
use super::tables::engines::ENGINES;
use super::tables::other_tools::{BARE_COUNTS, BARE_PLACES, COUNTS, NO_MACHINES, OF_TORCH, PLACES};
use super::tables::rank_variables::{
    MASTER_ADDR, MASTER_PORT, NNODES, NODE_RANK, NPROC_PER_NODE, PET_ELSEWHERE, RANK_VARIABLES,
};
use super::tables::uncounted::UNCOUNTED;
use super::variables::{all_are_set, first_text, text};

use crate::base::source::Sourced;
use crate::base::vars;
use crate::host::Host;
use crate::report::fix::{Fixes, give, run};
use crate::report::{Place, Problem, Rule, Severity};

/// Warns of variables that say something else than what was decided: torchrun gets everything by flags, so they have no
/// effect.
pub(super) fn unused_variables(
    topology: &Topology,
    allocation: &Allocation,
    host: &Host,
) -> Vec<Problem> {
    fn written<T: ToString>(value: &Sourced<T>) -> Sourced<String> {
        Sourced::new(value.value.to_string(), value.from.clone())
    }
    let decided = [
        (NNODES, topology.nnodes.as_ref().map(written)),
        (NODE_RANK, Some(written(&topology.node_rank))),
        (
            NPROC_PER_NODE,
            topology.nproc_per_node.as_ref().map(written),
        ),
        (MASTER_ADDR, topology.master_addr.clone()),
        (MASTER_PORT, topology.master_port.as_ref().map(written)),
    ];
    let mut notes = Vec::new();
    for (names, decided) in decided {
        // On one machine, its number and where it would meet others are of no interest.
        let is_counted = names == NNODES || names == NPROC_PER_NODE;
        let Some(decided) = decided.filter(|_| is_counted || topology.has_several_nodes()) else {
            continue;
        };
        for variable in names.iter().filter_map(|name| text(name, host)) {
            let is_word = matches!(variable.value.as_str(), "auto" | "gpu" | "cpu");
            if variable.value.trim() != decided.value && variable.from != decided.from && !is_word {
                notes.push(is_ignored(&variable, &decided.spelling()));
            }
        }
    }
    for variable in PET_ELSEWHERE.iter().filter_map(|name| text(name, host)) {
        let decided = "static rendezvous, as zlaunch decides it";
        notes.push(is_ignored(&variable, decided));
    }
    if let Some(rank) = text(vars::RANK, host)
        && all_are_set(&RANK_VARIABLES, host)
        && !allocation.sets_rank_variables
    {
        notes.push(is_ignored(&rank, "ranks are started in spite of it"));
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
    let set = UNCOUNTED
        .iter()
        .filter(|row| host.nonempty_var(row.variable).is_some());
    set.map(|row| {
        let what = format!("{}: ranks are started on this machine only", row.what);
        let alone = give("--nnodes", 1).remark("if this machine is meant");
        let problem = Problem::warning(Rule::UncountedMachines, what)
            .at(Place::bare_variable(row.variable))
            .fix(Fixes::from(row.help).or(alone));
        Problem {
            severity: row.severity,
            allowable: row.severity == Severity::Warning,
            ..problem
        }
    })
}

/// The net under the table of engines: a tool that is not in it is seen by how it calls its numbers.
pub(super) fn counted_by_another(host: &Host) -> Option<Problem> {
    let missing = "where its machines meet";
    if let Some(found) = counted_without_name(host) {
        return Some(place_unknown("another tool", &found, missing));
    }
    let names = || host.env.keys().filter_map(|name| name.to_str());
    names().find_map(|count| {
        let (tool, _) = count.split_once('_').filter(|_| ends_so(count, COUNTS))?;
        let mut prefixes = ENGINES.iter().flat_map(|engine| engine.prefixes);
        if tool.is_empty()
            || OF_TORCH.contains(&tool)
            || prefixes.any(|prefix| count.starts_with(prefix))
        {
            return None;
        }
        let machines = several(count, host)?;
        let mut places = names().filter(|name| {
            let rest = name.strip_prefix(tool).unwrap_or_default();
            rest.starts_with('_')
                && ends_so(name, PLACES)
                && !NO_MACHINES.iter().any(|part| name.contains(part))
                && is_among(machines, name, host)
        });
        let found = [text(count, host)?, text(places.next()?, host)?];
        Some(place_unknown(tool, &found, missing))
    })
}

/// The number of several machines, and of this one or where they meet, in variables of common names.
fn counted_without_name(host: &Host) -> Option<[Sourced<String>; 2]> {
    BARE_COUNTS.iter().find_map(|count| {
        let machines = several(count, host)?;
        let mut places = BARE_PLACES.iter();
        let place = match places.find(|name| is_among(machines, name, host)) {
            Some(place) => text(place, host),
            None => foreign_address(host),
        };
        Some([text(count, host)?, place?])
    })
}

fn number(name: &str, host: &Host) -> Option<u64> {
    host.nonempty_var(name)?.trim().parse().ok()
}

fn several(count: &str, host: &Host) -> Option<u64> {
    number(count, host).filter(|machines| *machines > 1)
}

fn is_among(machines: u64, name: &str, host: &Host) -> bool {
    number(name, host).is_some_and(|place| place <= machines)
}

fn ends_so(name: &str, endings: &[&str]) -> bool {
    let mut before = endings
        .iter()
        .filter_map(|ending| name.strip_suffix(ending));
    before.any(|before| before.ends_with('_'))
}

/// The address where the ranks are to meet, unless it is a loopback address. It is that of another machine, or of this one
/// as others know it.
pub(super) fn foreign_address(host: &Host) -> Option<Sourced<String>> {
    first_text(&MASTER_ADDR, host).filter(|address| !is_loopback(&address.value))
}
