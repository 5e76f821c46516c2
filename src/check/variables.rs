//! Variables that nothing reads, that contradict each other, or that stop torch, accelerate or DeepSpeed; visible devices
//! that do not exist, and ranks that would share a GPU.

use super::{
    rows::Findings,
    subject::Subject,
    tables::names::{
        ALLOCATOR_NUMBERS, ALLOCATOR_SWITCHES, BACKEND_ARGUMENTS, NEW_ALLOCATOR_CONF,
        TYPED_VARIABLES, VariableFamily,
    },
};
use crate::{
    base::{
        layout::plural,
        vars::{PYTORCH_ALLOC_CONF, PYTORCH_CUDA_ALLOC_CONF},
    },
    config::schema,
    ranks::{
        launcher::Launcher,
        topology::{Role, Topology},
    },
    report::{When, fix::set_variable, prelude::*},
};

pub fn allocator_conf(subject: &Subject, found: &mut Findings) {
    let host = subject.host;
    let reads_new = !subject.job.has_older("torch", NEW_ALLOCATOR_CONF);
    let name = match host.var(PYTORCH_CUDA_ALLOC_CONF) {
        None if reads_new => PYTORCH_ALLOC_CONF,
        _ => PYTORCH_CUDA_ALLOC_CONF,
    };
    let value = host.var(name).unwrap_or_default();
    if subject.trains_on_cpu() {
        return;
    }
    if let Some((item, why, _)) = value.split(',').find_map(wrong_item) {
        let what = format!("`{item}` in {name} {why}, and torch fails on it");
        let right = value.replace('=', ":").replace(';', ",");
        let give = |meant| set_variable(name, meant).or(unset_variable(name));
        let fixes = match right.split(',').find_map(wrong_item) {
            Some((item, _, Some(meant))) => give(right.replace(item, &meant)),
            Some(_) => say("write NAME:VALUE").or(unset_variable(name)),
            None => give(right),
        };
        found.at([Place::variable(name, value)], what, fixes);
    }
}

/// Variables that differ by a slip or two from one that people set by hand.
pub fn dead_variables(subject: &Subject, found: &mut Findings) {
    let host = subject.host;
    for VariableFamily { prefix, names } in TYPED_VARIABLES {
        for (name, value) in host.vars_from(prefix) {
            let Some(known) = names
                .iter()
                .find(|known| {
                    let most = if known.len() < 18 { 1 } else { 2 };
                    strsim::osa_distance(name, known) <= most
                })
                .filter(|_| !names.contains(&name))
            else {
                continue;
            };
            let mut fix = unset_variable(name);
            if host.var_os(known).is_none() {
                fix = fix.and(set_variable(known, value.to_string_lossy()));
            }
            let what = format!("nothing reads `{name}`: did you mean `{known}`?");
            found.at([Place::variable(name, value)], what, fix);
        }
    }
}

/// What torch does not read of an item, why, and what may be meant. A release may have more names than are known here.
fn wrong_item(item: &str) -> Option<(&str, &'static str, Option<String>)> {
    let item = item.trim();
    let (name, value) = item.split_once(':').unwrap_or((item, ""));
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() || value.is_empty() {
        let meant = ALLOCATOR_SWITCHES
            .contains(&name)
            .then(|| format!("{name}:True"));
        return (!item.is_empty()).then_some((item, "is not name:value", meant));
    }
    if ALLOCATOR_SWITCHES.contains(&name) && !["True", "False"].contains(&value) {
        let is_off = schema::truth(&value.into()) == Some(false);
        let meant = format!("{name}:{}", if is_off { "False" } else { "True" });
        return Some((item, "is neither True nor False", Some(meant)));
    }
    let mut known = ALLOCATOR_SWITCHES.iter().chain(ALLOCATOR_NUMBERS);
    let known = known
        .clone()
        .find(|known| strsim::osa_distance(name, known) < 3)
        .filter(|_| !known.any(|known| *known == name))?;
    Some((item, "is misspelt", Some(format!("{known}:{value}"))))
}

/// A list of devices that names another GPU than there is, or none.
pub fn visible_devices(subject: &Subject, found: &mut Findings) {
    let Some(topology) = subject.topology.filter(|_| subject.runs_here()) else {
        return;
    };
    let devices = &topology.devices;
    let Some(fault) = &devices.fault else { return };
    if subject.trains_on_cpu() {
        return;
    }
    let nproc = topology.nproc_per_node.as_ref();
    let seen = devices.names.as_ref().map_or(0, Vec::len);
    let needed = match nproc {
        Some(nproc) if !topology.ranks_exist() => nproc.value as usize,
        _ => 1,
    };
    // The faulty list may have given the number of ranks.
    let is_counted = nproc.is_some_and(|nproc| devices.counted(nproc));
    let list = subject.host.var(devices.variable).unwrap_or_default();
    let place = Place::variable(devices.variable, list);
    let fix = fault.fix(devices.variable, list);
    found
        .at([place], fault.to_string(), fix)
        .error_if(is_counted || seen < needed);
}

pub fn ranks_share_gpus(subject: &Subject, found: &mut Findings) {
    let Some(problem) = subject.topology.and_then(shared_gpus) else {
        return;
    };
    let by_gloo = BACKEND_ARGUMENTS
        .iter()
        .any(|name| subject.argument(name) == Some("gloo"));
    if subject.trains_on_cpu() || by_gloo {
        return;
    }
    // Without a count from the driver there may be no GPU at all, and a launcher's file or the script may choose the CPU.
    let are_counted = subject.host.nvidia_gpus.is_some_and(|count| count > 0);
    let perhaps_cpu = subject.launcher == Some(Launcher::Accelerate)
        || subject.script_says(&["gloo"]) == Some(true);
    let are_hidden = matches!(problem.places[..], [Place::Variable { .. }]);
    let severity = Severity::error_if(are_counted && !perhaps_cpu && !are_hidden);
    found.problem(severity, problem);
}

pub fn shared_gpus(topology: &Topology) -> Option<Problem> {
    let devices = &topology.devices;
    let starts = matches!(topology.role, Role::Starter) && topology.pool.is_none();
    let gpus = devices.names.as_ref()?.len();
    let nproc = topology.nproc_per_node.as_ref()?;
    // One process may well run without a GPU.
    if !starts || devices.fault.is_some() || nproc.value as usize <= gpus.max(1) {
        return None;
    }
    let warning = |what| Problem::found(Rule::RanksShareGpus, Severity::Warning, When::Start, what);
    let ranks = nproc.value;
    if gpus == 0 {
        let variable = devices.variable;
        return Some(
            warning(format!("`{variable}` hides every GPU from {ranks} ranks"))
                .at(Place::variable(variable, ""))
                .fix(unset_variable(variable)),
        );
    }
    let gpus_here = plural(gpus as u64, "GPU", "s");
    let what = format!("{ranks} ranks would share {gpus_here}, which NCCL refuses");
    Some(warning(what).at(nproc).fix(give("--nproc-per-node", gpus)))
}
