//! DeepSpeed's own launchers, on request or with a hostfile. Its runner ignores MASTER_ADDR and MASTER_PORT, sorts
//! CUDA_VISIBLE_DEVICES and reads its entries as numbers. Nothing in ZeRO needs it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use serde_json::{Map, Value};

use super::context::LaunchContext;
use super::kind::Launcher;
use super::remote_runner::RemoteRunner;
use super::spec::{CountMeaning, LauncherSpec, count, default};
use crate::base::bytes::base64;
use crate::base::source::Sourced;
use crate::base::vars;
use crate::command::argv::Args;
use crate::command::argv::Nargs::{Nothing, One};
use crate::host::Host;
use crate::ranks::topology::{Processes, RankFlags, Topology};
use crate::report::fix::give;
use crate::report::{Problem, Rule};

pub(super) const SPEC: LauncherSpec = LauncherSpec {
    launcher: Launcher::Deepspeed,
    programs: &[("deepspeed", None), ("ds", None)],
    modules: &[("deepspeed.launcher.runner", None)],
    options: include_str!("../../recorded/deepspeed.txt"),
    short_options: &[("-H", "hostfile"), ("-i", "include"), ("-e", "exclude"), ("-q", "quiet"), ("-h", "help")],
    rank_options: ["num_gpus", "num_nodes", "node_rank", "master_addr", "master_port"],
    fields: &[
        ("num_accelerators", One),
        ("include", One),
        ("exclude", One),
        ("hostfile", One),
        ("launcher", One),
        ("launcher_args", One),
        ("venv_script", One),
        ("enable_each_rank_log", One),
        ("force_multi", Nothing),
        ("no_ssh", Nothing),
    ],
    count_options: &["num_gpus", "num_accelerators", "include", "exclude"],
    count_meaning: CountMeaning::PerNode,
    on_several: &["--hostfile", "HOSTFILE", "--no_ssh"],
    counts,
};

/// What the runner starts on each node.
pub(super) const LAUNCH_MODULE: &str = "deepspeed.launcher.launch";

/// The runner reads this file if it exists, even if no option names it.
const DEFAULT_HOSTFILE: &str = "/job/hostfile";

/// There must not be more processes than GPUs, and all nodes must be known to have the same number.
pub(super) fn check(asked: &Sourced<Launcher>, topology: &Topology) -> Result<(), Problem> {
    if topology.pool.is_none() && topology.world_size.is_none() {
        return Err(Problem::error(Rule::Launcher, "deepspeed must know how many GPUs every machine has")
            .at(asked)
            .fix(
                give("--nproc-per-node", "N")
                    .remark("if every machine has N")
                    .or(give("--hostfile", "FILE"))
                    .or(give("--launcher", "torchrun")),
            ));
    }
    let Some(devices) = &topology.devices.names else { return Ok(()) };
    match topology.nproc_per_node.as_ref().filter(|nproc| nproc.value as usize > devices.len()) {
        Some(nproc) if topology.pool.is_none() => {
            let (gpus, ranks) = (devices.len(), nproc.value);
            let what = format!("the deepspeed launcher starts one rank per GPU: {gpus}, not {ranks}");
            let torchrun = give("--launcher", "torchrun");
            let fixes = if gpus == 0 { torchrun.into() } else { give("--nproc-per-node", gpus).or(torchrun) };
            Err(Problem::error(Rule::Launcher, what).at(asked).at(&nproc.from).fix(fixes))
        }
        _ => Ok(()),
    }
}

pub(super) fn prefix(context: &LaunchContext<'_>) -> Vec<OsString> {
    let mut words = match &context.topology.pool {
        Some(_) => runner_words(context),
        None => launch_words(context),
    };
    // HF's parsers read LOCAL_RANK, and the `--local_rank` that DeepSpeed would add as the first argument breaks those
    // that expect a run file there.
    if context.job.trainer.is_hf() {
        words.push("--no_local_rank".into());
    }
    words.extend(context.extra.iter().cloned());
    words.extend(context.rank_words("--module"));
    words
}

/// What the runner cannot bring to the other machines, with these arguments of the script.
pub(super) fn check_words(context: &LaunchContext<'_>, arguments: &[OsString]) -> Vec<Problem> {
    let mut words = context.rank_words("--module");
    words.retain(|word| word != "--module" && word != "--no_python");
    remote_runner(context).check(context, &SPEC.parse(context.extra), &[&words, arguments].concat())
}

pub(crate) fn remote_runner(context: &LaunchContext<'_>) -> RemoteRunner {
    match &context.topology.pool {
        Some(pool) => RemoteRunner::of(pool.0.len(), &SPEC.parse(context.extra)),
        None => RemoteRunner::Nothing,
    }
}

/// The user's options for the runner, and those that name these variables where it must be told of them.
pub(crate) fn options(context: &LaunchContext<'_>, variables: &[String]) -> Vec<OsString> {
    remote_runner(context).options(&SPEC.parse(context.extra), variables)
}

/// With a hostfile: the runner reaches the hosts through a `RemoteRunner`.
fn runner_words(context: &LaunchContext<'_>) -> Vec<OsString> {
    let LaunchContext { topology, hosts, host, .. } = context;
    let mut words = SPEC.words(context);
    let mut option = |name: &str, value: OsString| words.extend([OsString::from(name), value]);
    if let Some(file) = &hosts.hostfile {
        option("--hostfile", host.absolute(&file.value).into_os_string());
    }
    for (name, filter) in [("--include", &hosts.include), ("--exclude", &hosts.exclude)] {
        if let Some(filter) = filter {
            option(name, filter.value.clone().into());
        }
    }
    if let Some(address) = &topology.master_addr {
        option("--master_addr", address.value.clone().into());
    }
    if let Some(port) = &topology.master_port {
        option("--master_port", port.value.to_string().into());
    }
    words
}

/// Without one: what the runner would start on each node. Unlike the runner, it takes GPUs by any name and in any order,
/// and stops its ranks when it gets a signal.
fn launch_words(context: &LaunchContext<'_>) -> Vec<OsString> {
    let topology = context.topology;
    let nproc = topology.nproc_per_node.as_ref().map_or(1, |nproc| nproc.value) as usize;
    let nnodes = topology.nnodes.as_ref().map_or(1, |nnodes| nnodes.value);
    let here: Vec<Value> = match &topology.devices.names {
        Some(names) => {
            names.iter().take(nproc).map(|name| name.parse::<u32>().map_or(name.as_str().into(), Value::from)).collect()
        }
        None => (0..nproc).map(Value::from).collect(),
    };
    // Of the other nodes, only the number of GPUs matters.
    let node = |number: u32| {
        let elsewhere = || (0..nproc).map(Value::from).collect::<Vec<_>>();
        let gpus = if number == topology.node_rank.value { here.clone() } else { elsewhere() };
        (format!("machine{number}"), Value::from(gpus))
    };
    let world_info: Map<String, Value> = (0..nnodes).map(node).collect();
    let mut words = context.launcher_words(None, LAUNCH_MODULE);
    words.insert(1, "-u".into());
    let mut option = |name: &str, value: String| words.push(format!("{name}={value}").into());
    option("--world_info", base64(Value::Object(world_info).to_string().as_bytes()));
    if nnodes > 1 {
        option("--node_rank", topology.node_rank.value.to_string());
    }
    option("--master_addr", topology.rendezvous_address().map_or("127.0.0.1", |address| &address.value).to_string());
    if let Some(port) = &topology.master_port {
        option("--master_port", port.value.to_string());
    }
    words
}

/// `--num_gpus N`, `--include localhost:0,2`, `--exclude localhost:1`, else every visible GPU. A hostfile leaves it open; one
/// that is not there has no effect (`fetch_hostfile`, alike in 0.14 to 0.19).
fn counts(flags: RankFlags, args: &Args, host: &Host) -> RankFlags {
    let named = args.text("hostfile").map_or_else(|| DEFAULT_HOSTFILE.to_string(), |file| file.value);
    if host.absolute(Path::new(&named)).is_file() {
        return flags;
    }
    let number = count(args, "num_gpus").or_else(|| count(args, "num_accelerators")).filter(|number| number.value > 0);
    let nproc = if let Some(number) = number {
        Some(number.map(Processes::Count))
    } else if let Some(include) = args.text("include") {
        slots(&include).and_then(|slots| counted(slots.len(), &include))
    } else if let Some(exclude) = args.text("exclude") {
        let visible = host.nvidia_gpus.filter(|_| host.var_os(vars::CUDA_VISIBLE_DEVICES).is_none());
        let left = slots(&exclude).zip(visible).map(|(slots, visible)| visible.saturating_sub(slots.len()));
        left.and_then(|left| counted(left, &exclude))
    } else {
        Some(default(Processes::Gpus))
    };
    RankFlags { nproc_per_node: nproc, nnodes: Some(default(1)), ..flags }
}

fn counted(count: usize, filter: &Sourced<String>) -> Option<Sourced<Processes>> {
    let count = u32::try_from(count).ok().filter(|count| *count > 0)?;
    Some(Sourced::new(Processes::Count(count), filter.from.clone()))
}

/// The slots in `host:0,2`, each once. Several hosts leave it open.
fn slots(filter: &Sourced<String>) -> Option<BTreeSet<&str>> {
    let (_, slots) = filter.value.split_once(':').filter(|_| !filter.value.contains('@'))?;
    Some(slots.split(',').map(str::trim).collect())
}
