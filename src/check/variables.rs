//! Variables that nothing reads, that contradict each other, or that stop torch, accelerate or DeepSpeed; visible devices
//! that do not exist, and ranks that would share a GPU.

use std::ffi::OsStr;

use super::findings::Findings;
use super::subject::Subject;
use super::tables::names::{TYPED_VARIABLES, VariableFamily};
use crate::base::vars::{self, PYTORCH_ALLOC_CONF, PYTORCH_CUDA_ALLOC_CONF};
use crate::host::{Host, can_be_written};
use crate::ranks::launcher::Launcher;
use crate::ranks::topology::{DeviceFault, Role, Topology};
use crate::report::fix::{give, run, set_variable, unset_variable};
use crate::report::{Place, Problem, Rule, Severity, When};

/// Since then torch reads PYTORCH_ALLOC_CONF, if PYTORCH_CUDA_ALLOC_CONF is not set.
const NEW_ALLOCATOR_CONF: [u32; 3] = [2, 9, 0];

pub(super) fn dead_variables(subject: &Subject, found: &mut Findings) {
    for problem in misspelt(subject.host, subject.template_env) {
        found.problem(Severity::Warning, problem);
    }
    let torch = subject.package("torch");
    if let Some(torch) = torch.filter(|torch| torch.is_before(NEW_ALLOCATOR_CONF))
        && let Some(value) = subject.variable(PYTORCH_ALLOC_CONF)
        && subject.variable(PYTORCH_CUDA_ALLOC_CONF).is_none()
    {
        let what =
            format!("torch {torch} does not read `{PYTORCH_ALLOC_CONF}`: it was added in 2.9");
        let text = value.to_string_lossy();
        let mut fix = unset_variable(PYTORCH_ALLOC_CONF);
        if wrong_item(&text).is_none() {
            fix = fix.and(set_variable(PYTORCH_CUDA_ALLOC_CONF, &text));
        }
        found.at([Place::variable(PYTORCH_ALLOC_CONF, value)], what, fix);
    }
}

pub(super) fn allocator_conf(subject: &Subject, found: &mut Findings) {
    let names = [PYTORCH_CUDA_ALLOC_CONF, PYTORCH_ALLOC_CONF];
    let set = names
        .iter()
        .find_map(|name| Some((*name, subject.variable(name)?)));
    let Some((name, value)) = set else { return };
    let is_read =
        name == PYTORCH_CUDA_ALLOC_CONF || !subject.has_before("torch", NEW_ALLOCATOR_CONF);
    if let Some(item) = value.to_str().and_then(wrong_item).filter(|_| is_read) {
        let what = format!("`{item}` in {name} is not name:value, and torch fails on it");
        let fixes = set_variable(name, "expandable_segments:True").or(unset_variable(name));
        let problem = found.at([Place::variable(name, value)], what, fixes);
        // A template serves more than one torch, and not every one stops.
        problem.severity = Severity::error_if(subject.host.var_os(name).is_some());
    }
}

pub(super) fn unread_env_file(subject: &Subject, found: &mut Findings) {
    let host = subject.host;
    let name = host
        .nonempty_var(vars::DS_ENV_FILE)
        .unwrap_or(".deepspeed_env");
    let pool = subject.topology.and_then(|topology| topology.pool.as_ref());
    let is_read = pool.is_some_and(|pool| pool.0.len() > 1)
        && matches!(subject.launcher, None | Some(Launcher::Deepspeed));
    let path = host.cwd.join(name);
    if !is_read && path.is_file() {
        let what = format!(
            "nothing reads `{name}` here: only DeepSpeed's runner does, for several machines"
        );
        let fix = set_variable("NAME", "VALUE").remark("for each line in it");
        found.at([Place::from(&path)], what, fix);
    }
}

pub(super) fn device_range(subject: &Subject, found: &mut Findings) {
    let (Some(Topology { devices, .. }), true) = (subject.topology, subject.runs_here()) else {
        return;
    };
    let Some(fault @ DeviceFault::MoreThanANumber(_)) = &devices.fault else {
        return;
    };
    let name = devices.variable;
    let list = subject.host.var(name).unwrap_or_default();
    let fix = match numbers_of(list) {
        Some(numbers) => run(format!("export {name}={numbers}")),
        None => fault.fix(name),
    };
    found.at([Place::variable(name, list)], fault.what(1), fix);
}

pub(super) fn extensions_folder(subject: &Subject, found: &mut Findings) {
    let name = vars::TORCH_EXTENSIONS_DIR;
    let (Some(folder), true) = (subject.host.path(name), subject.runs_here()) else {
        return;
    };
    if folder.starts_with("/proc") || folder.starts_with("/sys") || !can_be_written(&folder) {
        let what = format!(
            "`{}` cannot be created or written, and DeepSpeed compiles its operators there",
            folder.display()
        );
        let fixes = set_variable(name, "/tmp/torch_extensions").or(unset_variable(name));
        found.at([Place::variable(name, &folder)], what, fixes);
    }
}

/// Variables that differ by a slip or two from one that people set by hand.
pub(crate) fn misspelt(host: &Host, template_env: &[(String, String)]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for VariableFamily { prefix, names } in TYPED_VARIABLES {
        let of_template = template_env
            .iter()
            .map(|(name, value)| (name.as_str(), OsStr::new(value)));
        for (name, value) in host.vars_from(prefix).chain(of_template) {
            if !name.starts_with(prefix) || names.contains(&name) {
                continue;
            }
            let near = names.iter().find(|known| {
                let most = if known.len() < 18 { 1 } else { 2 };
                known.len().abs_diff(name.len()) <= most
                    && strsim::osa_distance(name, known) <= most
            });
            let Some(known) = near else { continue };
            let mut fix = unset_variable(name);
            if host.var_os(known).is_none() {
                fix = fix.and(set_variable(known, value.to_string_lossy()));
            }
            let what = format!("nothing reads `{name}`: did you mean `{known}`?");
            problems.push(
                Problem::warning(Rule::DeadVariable, what)
                    .at(Place::variable(name, value))
                    .fix(fix),
            );
        }
    }
    problems
}

/// The first item that is not `name:value`. A value may be a list in brackets.
fn wrong_item(text: &str) -> Option<&str> {
    let mut depth = 0;
    let mut items = text.split(|c: char| {
        match c {
            '[' => depth += 1,
            ']' => depth = (depth - 1).max(0),
            _ => {}
        }
        c == ',' && depth == 0
    });
    items.find(|item| match item.split_once(':') {
        Some((name, value)) => name.trim().is_empty() || value.trim().is_empty(),
        None => !item.trim().is_empty(),
    })
}

pub(super) fn visible_devices(subject: &Subject, found: &mut Findings) {
    let Some(topology) = subject.topology else {
        return;
    };
    let devices = &topology.devices;
    let nproc = topology.nproc_per_node.as_ref();
    let Some(fault) = &devices.fault else { return };
    if matches!(fault, DeviceFault::MoreThanANumber(_)) || subject.trains_on_cpu() {
        return;
    }
    let seen = devices.names.as_ref().map_or(0, Vec::len);
    let needed = match nproc {
        Some(nproc) if !topology.ranks_exist() => nproc.value as usize,
        _ => 1,
    };
    // The faulty list may have given the number of ranks.
    let is_counted = nproc.is_some_and(|nproc| devices.counted(nproc));
    let list = subject.host.var(devices.variable).unwrap_or_default();
    let place = Place::variable(devices.variable, list);
    let problem = found.at([place], fault.what(seen), fault.fix(devices.variable));
    problem.severity = Severity::error_if(seen < needed || is_counted);
}

pub(super) fn ranks_share_gpus(subject: &Subject, found: &mut Findings) {
    let Some(problem) = subject.topology.and_then(shared_gpus) else {
        return;
    };
    let by_gloo = ["ddp_backend", "backend", "dist_backend"]
        .iter()
        .any(|name| subject.argument(name) == Some("gloo"));
    if subject.trains_on_cpu() || by_gloo {
        return;
    }
    // Without a count from the driver there may be no GPU at all, and a launcher's file or the script may choose the CPU.
    let are_counted = subject.host.nvidia_gpus.is_some_and(|count| count > 0);
    let perhaps_cpu =
        matches!(subject.launcher, Some(Launcher::Accelerate)) || subject.script_says("gloo");
    let are_hidden = matches!(problem.places[..], [Place::Variable { .. }]);
    let severity = Severity::error_if(are_counted && !perhaps_cpu && !are_hidden);
    found.problem(severity, problem);
}

/// `0,1,2,3` of `0-3`, `0 1 2 3` or `0;1;2;3`.
fn numbers_of(list: &str) -> Option<String> {
    let mut numbers: Vec<u16> = Vec::new();
    for part in list
        .split([',', ';', ' ', ':'])
        .filter(|part| !part.is_empty())
    {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        numbers.extend(first.parse::<u16>().ok()?..=last.parse::<u16>().ok()?.min(1023));
    }
    numbers.dedup();
    let numbers: Vec<String> = numbers.iter().map(u16::to_string).collect();
    (!numbers.is_empty()).then(|| numbers.join(","))
}

pub(crate) fn shared_gpus(topology: &Topology) -> Option<Problem> {
    let devices = &topology.devices;
    let starts = matches!(topology.role, Role::Starter) && topology.pool.is_none();
    if !starts || devices.fault.is_some() {
        return None;
    }
    let gpus = devices.names.as_ref()?.len();
    // One process may well run without a GPU.
    let nproc = topology
        .nproc_per_node
        .as_ref()
        .filter(|nproc| nproc.value as usize > gpus.max(1))?;
    let warning = |what| Problem::found(Rule::RanksShareGpus, Severity::Warning, When::Start, what);
    if gpus == 0 {
        let variable = devices.variable;
        let what = format!("`{variable}` hides every GPU from {} ranks", nproc.value);
        let problem = warning(what).at(Place::bare_variable(variable));
        return Some(problem.fix(unset_variable(variable)));
    }
    let word = if gpus == 1 { "GPU" } else { "GPUs" };
    let what = format!(
        "{} ranks would share {gpus} {word}, which NCCL refuses",
        nproc.value
    );
    let fixes = give("--nproc-per-node", gpus)
        .or(format!("name more GPUs in {}", vars::CUDA_VISIBLE_DEVICES));
    Some(warning(what).at(nproc).fix(fixes))
}
