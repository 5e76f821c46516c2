//! `python -m torch.distributed.run`, through the interpreter that owns the trainer: a `torchrun` found on PATH may
//! belong to another environment.

use std::ffi::OsString;

use super::runner::{Counts, Runner, count, default, port, processes};
use super::{Launcher, python, rank};
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::command::argv::{Args, Nargs::Nothing, Nargs::One};
use crate::command::trainer::Job;
use crate::host::Host;
use crate::ranks::topology::{Processes, RankFlags, Topology};

pub(super) const RUNNER: Runner = Runner {
    kind: Launcher::Torchrun,
    title: None,
    programs: &[("torchrun", None)],
    modules: &["torch.distributed.run", "torch.distributed.launch"],
    module: "torch.distributed.run",
    options: concat!(include_str!("../../recorded/torchrun.txt"), "use_env!\n"),
    short: &[("-m", "module"), ("-h", "help"), ("-r", "redirects"), ("-t", "tee")],
    fields: &[
        ("nproc_per_node", One),
        ("nnodes", One),
        ("node_rank", One),
        ("master_addr", One),
        ("master_port", One),
        ("module", Nothing),
        ("no_python", Nothing),
    ],
    same: &[
        ("nproc-per-node", "nproc_per_node"),
        ("nnodes", "nnodes"),
        ("node-rank", "node_rank"),
        ("master-addr", "master_addr"),
        ("master-port", "master_port"),
    ],
    count: &["nproc_per_node"],
    counts: Counts::EachInWords,
    config: None,
    stated,
};

pub(super) fn head(job: &Job, topology: &Topology, extra: &[OsString], host: &Host) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![python(job), "-m".into(), RUNNER.module.into()];
    let mut option = |name: &str, value: String| words.extend([OsString::from(name), value.into()]);
    // All are said, since torchrun would read what is missing from PET_* variables.
    let nnodes = topology.nnodes.as_ref().map_or(1, |sourced| sourced.value);
    option("--nnodes", nnodes.to_string());
    if let Some(nproc) = &topology.nproc_per_node {
        option("--nproc_per_node", nproc.value.to_string());
    }
    if nnodes > 1 {
        option("--node_rank", topology.node_rank.value.to_string());
    }
    if let Some(address) = topology.rendezvous_address() {
        option("--master_addr", address.value.clone());
    }
    match &topology.master_port {
        Some(port) => option("--master_port", port.value.to_string()),
        // A free port: two jobs on one machine must not meet on 29500.
        None if nnodes == 1 && topology.rendezvous_address().is_none() => words.push("--standalone".into()),
        None => {}
    }
    words.extend(extra.iter().cloned());
    words.extend(rank(job, "-m", host));
    words
}

/// torchrun starts one process on one machine unless it is told otherwise; a range of machines leaves it open.
fn stated(read: &Args, host: &Host) -> RankFlags {
    let sourced = |name: &str, variable: &str| {
        let from = || Source::Variable(variable.to_string());
        read.text(name).or_else(|| host.filled(variable).map(|value| Sourced::new(value.to_string(), from())))
    };
    let nproc = sourced("nproc_per_node", vars::PET_NPROC_PER_NODE);
    let nnodes = sourced("nnodes", vars::PET_NNODES);
    RankFlags {
        nproc_per_node: nproc.map_or_else(|| Some(default(Processes::Count(1))), |sourced| processes(&sourced)),
        nnodes: nnodes.map_or_else(
            || Some(default(1)),
            |sourced| Some(Sourced::new(sourced.value.trim().parse().ok()?, sourced.from)),
        ),
        node_rank: count(read, "node_rank"),
        master_addr: read.text("master_addr"),
        master_port: port(read, "master_port"),
    }
}
