//! `DeepSpeed`'s own launchers, on request or with a hostfile. The runner ignores MASTER_ADDR and MASTER_PORT, sorts
//! CUDA_VISIBLE_DEVICES and reads its entries as numbers; nothing in ZeRO needs it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use serde_json::{Map, Value};

use super::runner::{Counts, Runner, count, default, port};
use super::{Launcher, python, rank};
use crate::base::base64;
use crate::base::source::Sourced;
use crate::base::vars;
use crate::command::argv::{Args, Nargs::Nothing, Nargs::One};
use crate::command::trainer::Job;
use crate::host::Host;
use crate::ranks::topology::{HostFlags, Processes, RankFlags, Topology};
use crate::report::{self, Problem};

pub(super) const RUNNER: Runner = Runner {
    kind: Launcher::Deepspeed,
    title: None,
    programs: &[("deepspeed", None), ("ds", None)],
    modules: &["deepspeed.launcher.runner"],
    module: "deepspeed.launcher.runner",
    options: include_str!("../../recorded/deepspeed.txt"),
    short: &[("-H", "hostfile"), ("-i", "include"), ("-e", "exclude"), ("-q", "quiet"), ("-h", "help")],
    fields: &[
        ("num_gpus", One),
        ("num_accelerators", One),
        ("num_nodes", One),
        ("include", One),
        ("exclude", One),
        ("hostfile", One),
        ("master_addr", One),
        ("master_port", One),
        ("node_rank", One),
        ("module", Nothing),
        ("no_python", Nothing),
    ],
    same: &[
        ("nproc-per-node", "num_gpus"),
        ("nnodes", "num_nodes"),
        ("node-rank", "node_rank"),
        ("master-addr", "master_addr"),
        ("master-port", "master_port"),
    ],
    count: &["num_gpus", "num_accelerators", "include", "exclude"],
    counts: Counts::Each,
    config: None,
    stated,
};

/// What the runner starts on each machine.
const LAUNCH: &str = "deepspeed.launcher.launch";

/// Read by the runner if it is there, whether or not it is named.
const DEFAULT_HOSTFILE: &str = "/job/hostfile";

/// Not more processes than GPUs, and on several machines all must be known to have equally many.
pub(super) fn possible(asked: &Sourced<Launcher>, topology: &Topology) -> Result<(), Problem> {
    if topology.pool.is_none() && topology.world_size.is_none() {
        return Err(report::deepspeed_needs_a_hostfile(asked));
    }
    let Some(devices) = &topology.devices.names else { return Ok(()) };
    match topology.nproc_per_node.as_ref().filter(|nproc| nproc.value as usize > devices.len()) {
        Some(nproc) if topology.pool.is_none() => {
            Err(report::more_ranks_than_gpus(asked, &nproc.from, nproc.value, devices.len()))
        }
        _ => Ok(()),
    }
}

pub(super) fn head(
    job: &Job,
    topology: &Topology,
    extra: &[OsString],
    hosts: &HostFlags,
    host: &Host,
) -> Vec<OsString> {
    let mut words = match &topology.pool {
        Some(_) => runner(job, topology, hosts, host),
        None => launch(job, topology),
    };
    // HF's parsers read LOCAL_RANK; the `--local_rank` that is added in front breaks those with a run file first.
    if job.trainer.is_hf() {
        words.push("--no_local_rank".into());
    }
    words.extend(extra.iter().cloned());
    words.extend(rank(job, "--module", host));
    words
}

/// With a hostfile: the runner reaches the machines through ssh.
fn runner(job: &Job, topology: &Topology, hosts: &HostFlags, host: &Host) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![python(job), "-m".into(), RUNNER.module.into()];
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

/// Without one: what the runner starts on each machine. It takes GPUs by any name and in any order, where the runner
/// sorts numbers, and stops its ranks when it is told to.
fn launch(job: &Job, topology: &Topology) -> Vec<OsString> {
    let nproc = topology.nproc_per_node.as_ref().map_or(1, |sourced| sourced.value) as usize;
    let nnodes = topology.nnodes.as_ref().map_or(1, |sourced| sourced.value);
    let here: Vec<Value> = match &topology.devices.names {
        Some(names) => {
            names.iter().take(nproc).map(|name| name.parse::<u32>().map_or(name.as_str().into(), Value::from)).collect()
        }
        None => (0..nproc).map(Value::from).collect(),
    };
    // Of the other machines only the number counts.
    let machine = |number: u32| {
        let elsewhere = || (0..nproc).map(Value::from).collect::<Vec<_>>();
        let gpus = if number == topology.node_rank.value { here.clone() } else { elsewhere() };
        (format!("machine{number}"), Value::from(gpus))
    };
    let machines: Map<String, Value> = (0..nnodes).map(machine).collect();
    let mut words: Vec<OsString> = vec![python(job), "-u".into(), "-m".into(), LAUNCH.into()];
    let mut option = |name: &str, value: String| words.push(format!("{name}={value}").into());
    option("--world_info", base64::encode(Value::Object(machines).to_string().as_bytes()));
    if nnodes > 1 {
        option("--node_rank", topology.node_rank.value.to_string());
    }
    option("--master_addr", topology.rendezvous_address().map_or("127.0.0.1", |sourced| &sourced.value).to_string());
    if let Some(port) = &topology.master_port {
        option("--master_port", port.value.to_string());
    }
    words
}

/// `--num_gpus N`, `--include localhost:0,2`, `--exclude localhost:1`, else every visible GPU. With a hostfile only it
/// knows.
fn stated(read: &Args, host: &Host) -> RankFlags {
    let hostfile = read.is_given("hostfile") || Path::new(DEFAULT_HOSTFILE).is_file();
    let number =
        count(read, "num_gpus").or_else(|| count(read, "num_accelerators")).filter(|sourced| sourced.value > 0);
    let nproc = if let Some(sourced) = number {
        Some(sourced.map(Processes::Count))
    } else if let Some(include) = read.text("include") {
        slots(&include).and_then(|slots| counted(slots.len(), &include))
    } else if let Some(exclude) = read.text("exclude") {
        let visible = host.nvidia_gpus.filter(|_| host.raw(vars::CUDA_VISIBLE_DEVICES).is_none());
        let left = slots(&exclude).zip(visible).map(|(slots, visible)| visible.saturating_sub(slots.len()));
        left.and_then(|left| counted(left, &exclude))
    } else {
        Some(default(Processes::Gpus))
    };
    RankFlags {
        nproc_per_node: nproc.filter(|_| !hostfile),
        nnodes: (!hostfile).then(|| default(1)),
        node_rank: count(read, "node_rank"),
        master_addr: read.text("master_addr"),
        master_port: port(read, "master_port"),
    }
}

fn counted(count: usize, sourced: &Sourced<String>) -> Option<Sourced<Processes>> {
    let count = u32::try_from(count).ok().filter(|count| *count > 0)?;
    Some(Sourced::new(Processes::Count(count), sourced.from.clone()))
}

/// The slots of `host:0,2`, each once; several hosts leave it open.
fn slots(sourced: &Sourced<String>) -> Option<BTreeSet<&str>> {
    let (_, slots) = sourced.value.split_once(':').filter(|_| !sourced.value.contains('@'))?;
    Some(slots.split(',').map(str::trim).collect())
}
