//! `python -m torch.distributed.run`, through the interpreter that owns the trainer: a `torchrun` found on PATH may
//! belong to another environment.

use std::ffi::OsString;

use super::{FLAG, Fields, Rank, VALUE, count, default, processes as read_processes, python, rank};
use crate::cli::Processes;
use crate::host::Host;
use crate::said::{Said, Source};
use crate::topology::Topology;
use crate::trainer::Job;
use crate::trainer::argv::Args;
use crate::vars;

pub(super) const MODULE: &str = "torch.distributed.run";
pub(super) const OPTIONS: &str = include_str!("../options/torchrun.txt");
pub(super) const SHORT_WITHOUT_VALUE: &[&str] = &["-m", "-h"];
pub(super) const FIELDS: Fields = &[
    ("nproc_per_node", VALUE),
    ("nnodes", VALUE),
    ("node_rank", VALUE),
    ("master_addr", VALUE),
    ("master_port", VALUE),
    ("module", FLAG),
    ("no_python", FLAG),
];
/// Our options and their names there.
pub(super) const SAME: &[(&str, &str)] = &[
    ("nproc-per-node", "nproc_per_node"),
    ("nnodes", "nnodes"),
    ("node-rank", "node_rank"),
    ("master-addr", "master_addr"),
    ("master-port", "master_port"),
];

pub(super) fn argv(job: &Job, topology: &Topology, extra: &[OsString], host: &Host) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![python(job), "-m".into(), MODULE.into()];
    let mut option = |name: &str, value: String| words.extend([OsString::from(name), value.into()]);
    if let Some(nproc) = &topology.nproc_per_node {
        option("--nproc_per_node", nproc.value.to_string());
    }
    let nnodes = topology.nnodes.as_ref().map_or(1, |said| said.value);
    if nnodes > 1 {
        option("--nnodes", nnodes.to_string());
        option("--node_rank", topology.node_rank.value.to_string());
    }
    if let Some(address) = &topology.master_addr {
        option("--master_addr", address.value.clone());
    }
    match &topology.master_port {
        Some(port) => option("--master_port", port.value.to_string()),
        // A free port: two jobs on one machine must not meet on 29500.
        None if nnodes == 1 && topology.master_addr.is_none() => words.push("--standalone".into()),
        None => {}
    }
    words.extend(extra.iter().cloned());
    match rank(job, host) {
        Rank::File(path) => words.push(path),
        Rank::Module(name) => words.extend(["-m".into(), name]),
        Rank::Words(command) => words.extend(std::iter::once("--no_python".into()).chain(command)),
    }
    words
}

/// torchrun starts one process unless it is told otherwise.
pub(super) fn processes(read: &Args) -> Option<Said<Processes>> {
    match read.text("nproc_per_node") {
        Some(said) => read_processes(said),
        None => Some(default(Processes::Count(1))),
    }
}

/// `--nnodes 2`; a range such as `1:4` leaves it open.
pub(super) fn nnodes(read: &Args, host: &Host) -> Option<Said<u32>> {
    let variable =
        || host.filled(vars::PET_NNODES).map(|it| Said::new(it.to_string(), Source::Variable(vars::PET_NNODES.into())));
    match read.text("nnodes").or_else(variable) {
        Some(said) => count(&said),
        None => Some(default(1)),
    }
}
