//! `DeepSpeed`'s own runner, on request. It ignores MASTER_ADDR and MASTER_PORT, sorts CUDA_VISIBLE_DEVICES and reads its
//! entries as numbers; nothing in ZeRO needs it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use super::runner::{Runner, count, default, port};
use super::{Kind, Rank, python, rank};
use crate::argv::{Args, Takes::Nothing, Takes::One};
use crate::error::{self, Problem};
use crate::host::Host;
use crate::said::Said;
use crate::topology::{Processes, SaidRanks, Topology};
use crate::trainer::{Family, Job};
use crate::vars;

pub(super) const RUNNER: Runner = Runner {
    kind: Kind::Deepspeed,
    programs: &[("deepspeed", None), ("ds", None)],
    modules: &["deepspeed.launcher.runner"],
    module: "deepspeed.launcher.runner",
    options: include_str!("../recorded/deepspeed.txt"),
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
    stated,
};

/// Read by the runner if it is there, whether or not it is named.
const DEFAULT_HOSTFILE: &str = "/job/hostfile";

/// On one machine, with GPUs that are numbers, and not more processes than those.
pub(super) fn possible(asked: &Said<Kind>, topology: &Topology) -> Result<(), Problem> {
    if topology.nnodes.as_ref().is_some_and(|nnodes| nnodes.value > 1) {
        return Err(error::deepspeed_needs_a_hostfile(asked));
    }
    let Some(devices) = &topology.devices.names else { return Ok(()) };
    if devices.iter().any(|it| it.parse::<u32>().is_err()) {
        return Err(error::deepspeed_cannot_read_devices(asked, &devices.join(",")));
    }
    match topology.nproc_per_node.as_ref().filter(|nproc| nproc.value as usize > devices.len()) {
        Some(nproc) => Err(error::more_ranks_than_gpus(asked, &nproc.from, nproc.value, devices.len())),
        None => Ok(()),
    }
}

pub(super) fn head(job: &Job, topology: &Topology, extra: &[OsString], host: &Host) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![python(job), "-m".into(), RUNNER.module.into()];
    let mut option = |name: &str, value: String| words.extend([OsString::from(name), value.into()]);
    let nproc = topology.nproc_per_node.as_ref().map_or(1, |said| said.value);
    match &topology.devices.names {
        // With --num_gpus the runner would take GPUs 0, 1, … whatever the variable says.
        Some(devices) if host.filled(vars::CUDA_VISIBLE_DEVICES).is_some() => {
            let chosen: Vec<_> = devices.iter().take(nproc as usize).cloned().collect();
            option("--include", format!("localhost:{}", chosen.join(",")));
        }
        _ => option("--num_gpus", nproc.to_string()),
    }
    if let Some(address) = &topology.master_addr {
        option("--master_addr", address.value.clone());
    }
    if let Some(port) = &topology.master_port {
        option("--master_port", port.value.to_string());
    }
    // HF's parsers read LOCAL_RANK; the `--local_rank` the runner adds in front breaks those with a run file first.
    if job.trainer.family == Family::Hf {
        words.push("--no_local_rank".into());
    }
    words.extend(extra.iter().cloned());
    match rank(job, host) {
        Rank::File(path) => words.push(path),
        Rank::Module(name) => words.extend(["--module".into(), name]),
        Rank::Words(command) => words.extend(std::iter::once("--no_python".into()).chain(command)),
    }
    words
}

/// `--num_gpus N`, `--include localhost:0,2`, `--exclude localhost:1`, else every visible GPU. With a hostfile only it
/// knows.
fn stated(read: &Args, host: &Host) -> SaidRanks {
    let hostfile = read.is_given("hostfile") || Path::new(DEFAULT_HOSTFILE).is_file();
    let number = count(read, "num_gpus").or_else(|| count(read, "num_accelerators")).filter(|said| said.value > 0);
    let nproc = if let Some(said) = number {
        Some(said.map(Processes::Count))
    } else if let Some(include) = read.text("include") {
        slots(&include).and_then(|slots| counted(slots.len(), &include))
    } else if let Some(exclude) = read.text("exclude") {
        let visible = host.nvidia_gpus.filter(|_| host.raw(vars::CUDA_VISIBLE_DEVICES).is_none());
        let left = slots(&exclude).zip(visible).map(|(slots, visible)| visible.saturating_sub(slots.len()));
        left.and_then(|left| counted(left, &exclude))
    } else {
        Some(default(Processes::Gpus))
    };
    SaidRanks {
        nproc_per_node: nproc.filter(|_| !hostfile),
        nnodes: (!hostfile).then(|| default(1)),
        node_rank: count(read, "node_rank"),
        master_addr: read.text("master_addr"),
        master_port: port(read, "master_port"),
    }
}

fn counted(count: usize, said: &Said<String>) -> Option<Said<Processes>> {
    let count = u32::try_from(count).ok().filter(|count| *count > 0)?;
    Some(Said::new(Processes::Count(count), said.from.clone()))
}

/// The slots of `host:0,2`, each once; several hosts leave it open.
fn slots(said: &Said<String>) -> Option<BTreeSet<&str>> {
    let (_, slots) = said.value.split_once(':').filter(|_| !said.value.contains('@'))?;
    Some(slots.split(',').map(str::trim).collect())
}
