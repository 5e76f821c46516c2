//! Variables that nothing reads, that contradict each other, or that stop torch, accelerate or DeepSpeed; visible devices
//! that do not exist, and ranks that would share a GPU.

use std::ffi::OsStr;

use super::findings::Check;
use crate::base::vars;
use crate::host::{Host, can_be_written};
use crate::ranks::launcher::Launcher;
use crate::ranks::topology::{DeviceFault, Role, Topology};
use crate::report::fix::{give, run, set_variable, unset_variable};
use crate::report::{Place, Problem, Rule, Severity, When};

pub(super) const RULES: &[Check] = &[
    Check::code(
        Rule::DeadVariable,
        Severity::Warning,
        When::Silent,
        |subject, found| {
            // Found in documents, read by no program.
            for name in [
                "DS_PIPE_RESERVE",
                "DS_SKIP_UNUSED_PARAMETERS",
                "DS_REUSE_BUFFERS",
                "DS_USE_CUDA_TILING",
            ] {
                if let Some(value) = subject.variable(name) {
                    found.at(
                        [Place::variable(name, value)],
                        format!("nothing reads `{name}`"),
                        unset_variable(name),
                    );
                }
            }
            for problem in misspelt(subject.host, subject.template_env) {
                found.problem(Severity::Warning, problem);
            }
            let (old, new) = ALLOCATOR_CONF;
            let torch = subject
                .package("torch")
                .filter(|torch| torch.is_before(NEW_ALLOCATOR_CONF));
            if let (Some(value), None, Some(torch)) =
                (subject.variable(new), subject.variable(old), torch)
            {
                let what = format!("torch {torch} does not read `{new}`: it was added in 2.9");
                let (drop, text) = (unset_variable(new), value.to_string_lossy());
                let fix = if wrong_item(&text).is_none() {
                    drop.and(set_variable(old, &text))
                } else {
                    drop
                };
                found.at([Place::variable(new, value)], what, fix);
            }
        },
    ),
    Check::code(
        Rule::AllocatorConf,
        Severity::Error,
        When::Start,
        |subject, found| {
            let (old, new) = ALLOCATOR_CONF;
            let name = if subject.variable(old).is_some() {
                old
            } else {
                new
            };
            let Some(value) = subject.variable(name) else {
                return;
            };
            if let Some(item) = value.to_str().and_then(wrong_item)
                && (name == old || !subject.has_before("torch", NEW_ALLOCATOR_CONF))
            {
                let what = format!("`{item}` in {name} is not name:value, and torch fails on it");
                let fixes = set_variable(name, "expandable_segments:True").or(unset_variable(name));
                // A template serves more than one torch, and not every one stops.
                found
                    .at([Place::variable(name, value)], what, fixes)
                    .severity = Severity::error_if(subject.host.var_os(name).is_some());
            }
        },
    ),
    Check::code(
        Rule::TwoAllocatorConfs,
        Severity::Warning,
        When::Silent,
        |subject, found| {
            let (old, new) = ALLOCATOR_CONF;
            if let (Some(one), Some(two)) = (subject.variable(old), subject.variable(new))
                && one != two
            {
                let places =
                    [(old, one), (new, two)].map(|(name, value)| Place::variable(name, value));
                found.at(
                    places,
                    format!("torch follows {old} and ignores {new}"),
                    unset_variable(new),
                );
            }
        },
    ),
    Check::code(
        Rule::MaxConnections,
        Severity::Warning,
        When::Silent,
        |subject, found| {
            let name = "CUDA_DEVICE_MAX_CONNECTIONS";
            let parallel = ["tensor_parallel.autotp_size", "sequence_parallel_size"];
            let mut sizes = parallel.iter().filter_map(|key| subject.get(key)?.as_u64());
            // A template may set it on purpose.
            if subject.host.var(name) == Some("1") && !sizes.any(|size| size > 1) {
                let what = format!(
                    "{name}=1 keeps communication from overlapping: it is meant for Megatron's tensor parallelism"
                );
                found.at([Place::variable(name, "1")], what, unset_variable(name));
            }
        },
    ),
    Check::code(
        Rule::NcclContradiction,
        Severity::Warning,
        When::Silent,
        |subject, found| {
            for (off, value, chooses, why) in NCCL {
                if subject.host.var(off) == Some(value)
                    && let Some(chosen) = subject.host.var(chooses)
                {
                    let places = [
                        Place::variable(*off, *value),
                        Place::variable(*chooses, chosen),
                    ];
                    found.at(
                        places,
                        *why,
                        unset_variable(off).or(unset_variable(chooses)),
                    );
                }
            }
            if subject.host.var("NCCL_NET") == Some("IB")
                && subject.host.var("NCCL_IB_DISABLE") == Some("1")
            {
                let places = [
                    Place::variable("NCCL_NET", "IB"),
                    Place::variable("NCCL_IB_DISABLE", "1"),
                ];
                let what = "these tell NCCL to use InfiniBand and not to use it";
                found.at(places, what, unset_variable("NCCL_IB_DISABLE"));
            }
            let name = "NCCL_SOCKET_IFNAME";
            if subject.topology.is_some_and(Topology::has_several_nodes)
                && subject.host.var(name) == Some("lo")
            {
                let what = "`lo` does not reach other machines";
                found.at([Place::variable(name, "lo")], what, unset_variable(name));
            }
        },
    ),
    Check::code(
        Rule::EnvFileUnread,
        Severity::Warning,
        When::Silent,
        |subject, found| {
            let name = subject
                .host
                .nonempty_var(vars::DS_ENV_FILE)
                .unwrap_or(".deepspeed_env");
            let read = subject
                .topology
                .and_then(|topology| topology.pool.as_ref())
                .is_some_and(|pool| pool.0.len() > 1);
            let by_runner = subject
                .launcher
                .is_none_or(|kind| kind == Launcher::Deepspeed)
                && read;
            let path = subject.host.cwd.join(name);
            if !by_runner && path.is_file() {
                let what = format!(
                    "nothing reads `{name}` here: only DeepSpeed's runner does, for several machines"
                );
                found.at(
                    [Place::from(&path)],
                    what,
                    set_variable("NAME", "VALUE").remark("for each line in it"),
                );
            }
        },
    ),
    Check::code(
        Rule::IncompleteRanks,
        Severity::Error,
        When::Start,
        |subject, found| {
            const MPI: &[&str] = &["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"];
            // zlaunch itself sets them for an engine's task.
            let is_rank = subject
                .topology
                .is_some_and(|topology| matches!(topology.role, Role::Rank { .. }));
            if !is_rank || MPI.iter().any(|name| subject.host.var_os(name).is_some()) {
                return;
            }
            for name in [vars::MASTER_ADDR, vars::MASTER_PORT] {
                if subject.host.nonempty_var(name).is_none() {
                    let what = format!(
                        "this is a rank (RANK, LOCAL_RANK, WORLD_SIZE), but {name} is not set: it cannot meet the others"
                    );
                    let example = if name == vars::MASTER_ADDR {
                        "HOST"
                    } else {
                        "29500"
                    };
                    let anew = give("--nnodes", 1).remark("to start new ranks here");
                    found.at(
                        [Place::bare_variable(name)],
                        what,
                        set_variable(name, example).or(anew),
                    );
                }
            }
        },
    ),
    // Since torch 2.10, zlaunch tells torchrun not to handle SIGHUP.
    Check::code(
        Rule::NohupUndone,
        Severity::Warning,
        When::Silent,
        |subject, found| {
            let by_torchrun = matches!(
                subject.launcher,
                Some(Launcher::Torchrun | Launcher::Existing(_))
            );
            let by_torchrun = by_torchrun || subject.job.trainer.launch.has_own_launcher;
            if subject.host.ignores_hangup
                && by_torchrun
                && let Some(torch) = subject
                    .package("torch")
                    .filter(|torch| torch.is_before([2, 10, 0]))
            {
                let what = format!(
                    "SIGHUP is ignored here (nohup), but torchrun of torch {torch} handles it anyway and exits"
                );
                found.at(
                    [Place::from("SIGHUP")],
                    what,
                    give("--launcher", "local").or("use `setsid` instead of `nohup`"),
                );
            }
        },
    ),
    Check::code(
        Rule::DeviceRange,
        Severity::Error,
        When::Start,
        |subject, found| {
            let (Some(Topology { devices, .. }), true) = (subject.topology, subject.runs_here())
            else {
                return;
            };
            let (Some(fault @ DeviceFault::MoreThanANumber(_)), name) =
                (&devices.fault, devices.variable)
            else {
                return;
            };
            let list = subject.host.var(name).unwrap_or_default();
            let fix = numbers_of(list).map_or_else(
                || fault.fix(name),
                |numbers| run(format!("export {name}={numbers}")),
            );
            found.at([Place::variable(name, list)], fault.what(1), fix);
        },
    ),
    Check::code(
        Rule::ExtensionsFolder,
        Severity::Warning,
        When::Start,
        |subject, found| {
            let (Some(folder), true) = (
                subject.host.path(vars::TORCH_EXTENSIONS_DIR),
                subject.runs_here(),
            ) else {
                return;
            };
            if folder.starts_with("/proc") || folder.starts_with("/sys") || !can_be_written(&folder)
            {
                let (name, shown) = (vars::TORCH_EXTENSIONS_DIR, folder.display());
                let what = format!(
                    "`{shown}` cannot be created or written, and DeepSpeed compiles its operators there"
                );
                let fixes = set_variable(name, "/tmp/torch_extensions").or(unset_variable(name));
                found.at([Place::variable(name, &folder)], what, fixes);
            }
        },
    ),
];

/// Variables that differ by a slip or two from one that people set by hand. A row of the table has what its names begin
/// with, and the rest of each. No variable that a program reads is so near to one of them.
pub(crate) fn misspelt(host: &Host, template_env: &[(String, String)]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (family, names) in include_str!("typed_variables.txt")
        .lines()
        .filter_map(|row| row.split_once(' '))
    {
        let of_template = template_env
            .iter()
            .map(|(name, value)| (name.as_str(), OsStr::new(value)));
        for (name, value) in host.vars_from(family).chain(of_template) {
            let word = name
                .strip_prefix(family)
                .filter(|word| names.split(' ').all(|known| known != *word));
            let Some(word) = word else { continue };
            let near = names.split(' ').find(|known| {
                let most = if family.len() + known.len() < 18 {
                    1
                } else {
                    2
                };
                known.len().abs_diff(word.len()) <= most
                    && strsim::osa_distance(word, known) <= most
            });
            let Some(known) = near else { continue };
            let known = format!("{family}{known}");
            let (drop, set) = (
                unset_variable(name),
                set_variable(&known, value.to_string_lossy()),
            );
            let fix = if host.var_os(&known).is_some() {
                drop
            } else {
                drop.and(set)
            };
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

const ALLOCATOR_CONF: (&str, &str) = (vars::PYTORCH_CUDA_ALLOC_CONF, vars::PYTORCH_ALLOC_CONF);
/// Since then torch reads the new name, if the old one is not set.
const NEW_ALLOCATOR_CONF: [u32; 3] = [2, 9, 0];

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

/// (switch, its value, the variable that has no effect then, reason)
const NCCL: &[(&str, &str, &str, &str)] = &[
    (
        "NCCL_IB_DISABLE",
        "1",
        "NCCL_IB_HCA",
        "InfiniBand is off, so the adapter is not used",
    ),
    (
        "NCCL_IB_DISABLE",
        "1",
        "NCCL_IB_GID_INDEX",
        "InfiniBand is off, so the index is not used",
    ),
    (
        "NCCL_P2P_DISABLE",
        "1",
        "NCCL_P2P_LEVEL",
        "peer-to-peer is off, so the level is not used",
    ),
    (
        "NCCL_NET_GDR_LEVEL",
        "0",
        "NCCL_NET_GDR_READ",
        "GPUDirect is off, so reading through it is off too",
    ),
    (
        "NCCL_IB_DISABLE",
        "1",
        "NCCL_NET_GDR_LEVEL",
        "InfiniBand is off, and GPUDirect RDMA needs it",
    ),
];

pub(super) const DEVICES: &[Check] = &[
    Check::code(
        Rule::VisibleDevices,
        Severity::Error,
        When::Start,
        |subject, found| {
            let Some(topology) = subject.topology else {
                return;
            };
            let (devices, nproc) = (&topology.devices, topology.nproc_per_node.as_ref());
            let Some(fault) = &devices.fault else { return };
            if matches!(fault, DeviceFault::MoreThanANumber(_)) || subject.trains_on_cpu() {
                return;
            }
            let seen = devices.names.as_ref().map_or(0, Vec::len);
            let needed = if topology.ranks_exist() {
                1
            } else {
                nproc.map_or(1, |nproc| nproc.value as usize)
            };
            // The faulty list may have given the number of ranks.
            let enough = seen >= needed && nproc.is_none_or(|nproc| !devices.counted(nproc));
            let place = Place::variable(
                devices.variable,
                subject.host.var(devices.variable).unwrap_or_default(),
            );
            let problem = found.at([place], fault.what(seen), fault.fix(devices.variable));
            if enough {
                problem.severity = Severity::Warning;
            }
        },
    ),
    Check::code(
        Rule::RanksShareGpus,
        Severity::Error,
        When::Start,
        |subject, found| {
            let Some(problem) = subject.topology.and_then(shared_gpus) else {
                return;
            };
            let names = ["ddp_backend", "backend", "dist_backend"];
            let mut backends = names
                .iter()
                .filter_map(|name| subject.job.args.list(name)?.1.first().copied());
            if subject.trains_on_cpu() || backends.any(|backend| backend == "gloo") {
                return;
            }
            // Without a count from the driver there may be no GPU at all, and a launcher's file or the script may choose the CPU.
            let counted = subject.host.nvidia_gpus.is_some_and(|count| count > 0);
            let perhaps_cpu = matches!(subject.launcher, Some(Launcher::Existing(_)))
                || subject.script_says("gloo");
            let are_hidden = matches!(problem.places[..], [Place::Variable { .. }]);
            found.problem(
                Severity::error_if(counted && !perhaps_cpu && !are_hidden),
                problem,
            );
        },
    ),
];

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
    Some(
        numbers
            .iter()
            .map(u16::to_string)
            .collect::<Vec<_>>()
            .join(","),
    )
    .filter(|list| !list.is_empty())
}

pub(crate) fn shared_gpus(topology: &Topology) -> Option<Problem> {
    let starts = matches!(topology.role, Role::Starter)
        && topology.pool.is_none()
        && topology.devices.fault.is_none();
    let gpus = if starts {
        topology.devices.names.as_ref()?.len()
    } else {
        return None;
    };
    // One process may well run without a GPU.
    let nproc = topology
        .nproc_per_node
        .as_ref()
        .filter(|nproc| nproc.value as usize > gpus.max(1))?;
    let warning = |what| Problem::found(Rule::RanksShareGpus, Severity::Warning, When::Start, what);
    if gpus == 0 {
        let variable = topology.devices.variable;
        let found = warning(format!(
            "`{variable}` hides every GPU from {} ranks",
            nproc.value
        ));
        return Some(
            found
                .at(Place::bare_variable(variable))
                .fix(unset_variable(variable)),
        );
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
