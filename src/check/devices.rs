//! Visible devices that do not exist, and ranks that would share a GPU.

use super::findings::{Check, Findings};
use super::subject::Subject;
use crate::base::vars;
use crate::ranks::launcher::Launcher;
use crate::ranks::topology::{DeviceFault, Role, Topology};
use crate::report::fix::give;
use crate::report::{Place, Problem, Rule, Severity, When};

pub(super) const RULES: &[Check] = &[
    Check::code(Rule::VisibleDevices, Severity::Error, When::Start, visible_devices)
        .doc("CUDA_VISIBLE_DEVICES (or ROCm's) names a GPU twice, one that this machine does not have, or none at all"),
    Check::code(Rule::RanksShareGpus, Severity::Error, When::Start, ranks_share_gpus).doc(
        "more ranks on this machine than GPUs, which NCCL refuses (a warning where only a variable counts the \
             GPUs)",
    ),
];

fn visible_devices(subject: &Subject, found: &mut Findings) {
    let Some(topology) = subject.topology.filter(|_| subject.runs_here()) else { return };
    let devices = &topology.devices;
    let Some(fault) = devices.fault.as_ref().filter(|_| !subject.trains_on_cpu()) else { return };
    let seen = devices.names.as_ref().map_or(0, Vec::len);
    let needed =
        if topology.ranks_exist() { 1 } else { topology.nproc_per_node.as_ref().map_or(1, |nproc| nproc.value) };
    // The faulty list may have given the number of ranks.
    let enough =
        seen >= needed as usize && topology.nproc_per_node.as_ref().is_none_or(|nproc| !devices.counted(nproc));
    let harmless = enough || matches!(fault, DeviceFault::MoreThanANumber(_));
    let severity = if harmless { Severity::Warning } else { Severity::Error };
    let place = Place::variable(devices.variable, subject.host.var(devices.variable).unwrap_or_default());
    found.at([place], fault.what(seen), fault.fixes(devices.variable)).severity = severity;
}

fn ranks_share_gpus(subject: &Subject, found: &mut Findings) {
    let shared = subject.topology.filter(|_| subject.runs_here()).and_then(shared_gpus);
    let gloo = || ["ddp_backend", "backend", "dist_backend"].iter().any(|name| subject.argument_is(name, "gloo"));
    let Some(problem) = shared.filter(|_| !subject.trains_on_cpu() && !gloo()) else { return };
    // Without a count from the driver there may be no GPU at all, and a launcher's file or the script may choose the CPU.
    let counted = subject.host.nvidia_gpus.is_some_and(|count| count > 0);
    let perhaps_cpu = matches!(subject.launcher, Some(Launcher::Existing(_))) || subject.script_says("gloo");
    let severity = if counted && !perhaps_cpu { Severity::Error } else { Severity::Warning };
    found.problem(severity, problem);
}

pub(crate) fn shared_gpus(topology: &Topology) -> Option<Problem> {
    let starts = matches!(topology.role, Role::Starter) && topology.pool.is_none() && topology.devices.fault.is_none();
    let gpus = topology.devices.names.as_ref().map(Vec::len).filter(|gpus| starts && *gpus > 0)?;
    let nproc = topology.nproc_per_node.as_ref().filter(|nproc| nproc.value as usize > gpus)?;
    let word = if gpus == 1 { "GPU" } else { "GPUs" };
    let what = format!("{} ranks would share {gpus} {word}, which NCCL refuses", nproc.value);
    let fixes = give("--nproc-per-node", gpus).or(format!("name more GPUs in {}", vars::CUDA_VISIBLE_DEVICES));
    Some(Problem::found(Rule::RanksShareGpus, Severity::Warning, When::Start, what).at(nproc).fix(fixes))
}
