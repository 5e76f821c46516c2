//! `DeepSpeed`'s own runner, on request. It ignores MASTER_ADDR and MASTER_PORT, sorts CUDA_VISIBLE_DEVICES and reads its
//! entries as numbers; nothing in ZeRO needs it.

use std::ffi::OsString;

use super::{FLAG, Fields, Kind, Rank, VALUE, count, default, python, rank};
use crate::cli::Processes;
use crate::error::{self, Problem};
use crate::host::Host;
use crate::said::Said;
use crate::topology::Topology;
use crate::trainer::argv::Args;
use crate::trainer::{Family, Job};
use crate::vars;

pub(super) const MODULE: &str = "deepspeed.launcher.runner";
pub(super) const OPTIONS: &str = include_str!("../options/deepspeed.txt");
pub(super) const SHORT_WITHOUT_VALUE: &[&str] = &["-q", "-h"];
pub(super) const FIELDS: Fields = &[
    ("num_gpus", VALUE),
    ("num_accelerators", VALUE),
    ("num_nodes", VALUE),
    ("include", VALUE),
    ("hostfile", VALUE),
    ("master_addr", VALUE),
    ("master_port", VALUE),
    ("node_rank", VALUE),
    ("module", FLAG),
    ("no_python", FLAG),
];
pub(super) const SAME: &[(&str, &str)] = &[
    ("nproc-per-node", "num_gpus"),
    ("nnodes", "num_nodes"),
    ("node-rank", "node_rank"),
    ("master-addr", "master_addr"),
    ("master-port", "master_port"),
];

pub(super) fn refuse(asked: &Said<Kind>, topology: &Topology) -> Result<(), Problem> {
    if topology.nnodes.as_ref().is_some_and(|nnodes| nnodes.value > 1) {
        return Err(error::deepspeed_needs_a_hostfile(asked));
    }
    match topology.devices.as_deref().filter(|devices| devices.iter().any(|it| it.parse::<u32>().is_err())) {
        Some(devices) => Err(error::deepspeed_cannot_read_devices(asked, &devices.join(","))),
        None => Ok(()),
    }
}

pub(super) fn argv(job: &Job, topology: &Topology, extra: &[OsString], host: &Host) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![python(job), "-m".into(), MODULE.into()];
    let mut option = |name: &str, value: String| words.extend([OsString::from(name), value.into()]);
    let nproc = topology.nproc_per_node.as_ref().map_or(1, |said| said.value);
    match &topology.devices {
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

/// `--num_gpus N`, `--include localhost:0,2`, else every visible GPU.
pub(super) fn processes(read: &Args) -> Option<Said<Processes>> {
    let stated = read.text("num_gpus").or_else(|| read.text("num_accelerators"));
    if let Some(said) = stated.filter(|said| said.value != "-1") {
        return count(&said).map(|said| said.map(Processes::Count));
    }
    let Some(include) = read.text("include").filter(|said| !said.value.is_empty()) else {
        return Some(default(Processes::Gpus));
    };
    let (_, slots) = include.value.split_once(':').filter(|_| !include.value.contains('@'))?;
    let slots = u32::try_from(slots.split(',').count()).ok()?;
    Some(Said::new(Processes::Count(slots), include.from.clone()))
}

/// One machine unless a hostfile says otherwise, and then only it knows.
pub(super) fn nnodes(read: &Args) -> Option<Said<u32>> {
    (!read.is_given("hostfile")).then(|| default(1))
}
