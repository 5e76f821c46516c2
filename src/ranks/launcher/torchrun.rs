//! `python -P -m torch.distributed.run`, with the interpreter of the trainer: the `torchrun` on PATH may belong to another
//! environment.

use std::ffi::OsString;

use super::context::{LaunchContext, Launcher, OutputFlags};
use super::spec::{CountMeaning, LauncherSpec, default, option_words};
use crate::base::source::Sourced;
use crate::base::vars;
use crate::command::argv::Args;
use crate::host::Host;
use crate::ranks::topology::rendezvous::is_loopback;
use crate::ranks::topology::{Processes, RankFlags, text};

pub(super) const SPEC: LauncherSpec = LauncherSpec {
    launcher: Launcher::Torchrun,
    programs: &[("torchrun", None)],
    modules: &[
        ("torch.distributed.run", None),
        ("torch.distributed.launch", None),
    ],
    options: concat!(include_str!("../../recorded/torchrun.txt"), "use_env !\n"),
    short_options: &[
        ("-m", "module"),
        ("-h", "help"),
        ("-r", "redirects"),
        ("-t", "tee"),
    ],
    rank_options: [
        "nproc_per_node",
        "nnodes",
        "node_rank",
        "master_addr",
        "master_port",
    ],
    count_options: &["nproc_per_node"],
    count_meaning: CountMeaning::PerNodeOrWord,
    counts,
    numbers_machines: |args, host| {
        stated("rdzv_backend", "PET_RDZV_BACKEND", args, host)
            .is_some_and(|backend| backend.value != "static")
    },
};

pub(super) fn prefix(context: &LaunchContext<'_>) -> Vec<OsString> {
    let topology = context.topology;
    let nnodes = topology.nnodes.as_ref().map_or(1, |nnodes| nnodes.value);
    let (address, port) = (topology.rendezvous_address(), &topology.master_port);
    let mut words = SPEC.words(context);
    // All are given: torchrun would take what is missing from PET_* variables.
    words.extend(option_words([
        ("nnodes", Some(nnodes.to_string())),
        (
            "nproc_per_node",
            topology
                .nproc_per_node
                .as_ref()
                .map(|nproc| nproc.value.to_string()),
        ),
        (
            "node_rank",
            (nnodes > 1).then(|| topology.node_rank.value.to_string()),
        ),
        ("master_addr", address.map(|address| address.value.clone())),
        (
            "master_port",
            port.as_ref().map(|port| port.value.to_string()),
        ),
    ]));
    // torchrun takes a free port then: two jobs on one machine must not both use 29500.
    if nnodes == 1 && address.is_none() && port.is_none() {
        words.push("--standalone".into());
    }
    words.extend(output(context));
    words.extend(context.extra.iter().cloned());
    words.extend(context.rank_words("-m"));
    words
}

/// torchrun writes files only where the output is redirected to them, and puts the rank in front of a line only where it
/// copies it.
fn output(context: &LaunchContext<'_>) -> Vec<OsString> {
    let Some(OutputFlags { log_dir, prefix }) = context.output else {
        return Vec::new();
    };
    let folder = log_dir
        .as_ref()
        .map(|folder| context.host.absolute(&folder.value).into_os_string());
    let both = if prefix.is_some() { "tee" } else { "redirects" };
    let is_asked = prefix.is_some() || log_dir.is_some();
    option_words([("log_dir", folder), (both, is_asked.then(|| "3".into()))]).collect()
}

/// An option, or the variable that torchrun reads without it.
fn stated(name: &str, variable: &str, args: &Args, host: &Host) -> Option<Sourced<String>> {
    args.text(name).or_else(|| text(variable, host))
}

/// By default torchrun starts one process on one machine. A range of machines leaves their number open. Alone on this
/// machine it waits in vain for the others of PET_NNODES (seen, torch 2.15), so that does not say where they are.
fn counts(flags: RankFlags, args: &Args, host: &Host) -> RankFlags {
    let stated = |name: &str, variable: &str| stated(name, variable, args, host);
    let nproc_per_node = match stated("nproc_per_node", vars::PET_NPROC_PER_NODE) {
        Some(text) => text
            .value
            .parse()
            .ok()
            .map(|count| Sourced::new(count, text.from)),
        None => Some(default(Processes::Count(1))),
    };
    let is_standalone =
        args.is_given("standalone") || host.nonempty_var("PET_STANDALONE") == Some("1");
    // The machines of a range that begins with 1 are this one, if they are to meet here.
    let is_dynamic =
        stated("rdzv_backend", "PET_RDZV_BACKEND").is_some_and(|backend| backend.value != "static");
    let endpoint = stated("rdzv_endpoint", "PET_RDZV_ENDPOINT")
        .map(|endpoint| endpoint.value)
        .unwrap_or_default();
    let meeting = endpoint
        .rsplit_once(':')
        .map_or(&*endpoint, |(host, _)| host);
    let is_here = is_standalone || is_dynamic && (meeting.is_empty() || is_loopback(meeting));
    let nnodes = match stated("nnodes", vars::PET_NNODES) {
        Some(text) if is_here && args.is_given("nnodes") && text.value.trim().starts_with("1:") => {
            Some(Sourced::new(1, text.from))
        }
        Some(text) if !is_standalone || args.is_given("nnodes") => text
            .value
            .trim()
            .parse()
            .ok()
            .map(|count| Sourced::new(count, text.from)),
        _ => Some(default(1)),
    };
    let node_rank = stated("node_rank", vars::PET_NODE_RANK);
    let node_rank =
        node_rank.and_then(|text| Some(Sourced::new(text.value.trim().parse().ok()?, text.from)));
    RankFlags {
        nnodes,
        node_rank,
        nproc_per_node,
        ..flags
    }
}
