//! `python -P -m torch.distributed.run`, with the interpreter of the trainer: the `torchrun` on PATH may belong to another
//! environment.

use std::ffi::OsString;
use std::str::FromStr;

use super::context::{LaunchContext, OutputFlags};
use super::spec::{default, option_words, value_word};
use super::tables::launchers::TORCHRUN;
use crate::base::source::Sourced;
use crate::base::vars;
use crate::command::argv::Args;
use crate::host::Host;
use crate::ranks::topology::rendezvous::is_loopback;
use crate::ranks::topology::{Processes, RankFlags, text};

pub(super) fn prefix(context: &LaunchContext<'_>) -> Vec<OsString> {
    let topology = context.topology;
    let machines = topology.machines();
    let node_rank = (machines > 1).then_some(&topology.node_rank);
    let address = topology.rendezvous_address();
    let port = topology.master_port.as_ref();
    let mut words = TORCHRUN.words(context);
    // All are given: torchrun would take what is missing from PET_* variables.
    words.extend(option_words([
        ("nnodes", Some(machines.to_string().into())),
        (
            "nproc_per_node",
            value_word(topology.nproc_per_node.as_ref()),
        ),
        ("node_rank", value_word(node_rank)),
        ("master_addr", value_word(address)),
        ("master_port", value_word(port)),
    ]));
    // torchrun takes a free port then: two jobs on one machine must not both use 29500.
    if machines == 1 && address.is_none() && port.is_none() {
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

/// True if the machines are numbered when they meet.
pub(super) fn is_dynamic(args: &Args, host: &Host) -> bool {
    let backend = stated("rdzv_backend", "PET_RDZV_BACKEND", args, host);
    backend.is_some_and(|backend| backend.value != "static")
}

/// By default torchrun starts one process on one machine. A range of machines leaves their number open. Alone on this
/// machine it waits in vain for the others of PET_NNODES (seen, torch 2.15), so that does not say where they are.
pub(super) fn counts(flags: RankFlags, args: &Args, host: &Host) -> RankFlags {
    let stated = |name: &str, variable: &str| stated(name, variable, args, host);
    let nproc_per_node = match stated("nproc_per_node", vars::PET_NPROC_PER_NODE) {
        Some(text) => parsed(&text),
        None => Some(default(Processes::Count(1))),
    };
    let is_typed = args.is_given("nnodes");
    let is_standalone =
        args.is_given("standalone") || host.nonempty_var("PET_STANDALONE") == Some("1");
    let nnodes = match stated("nnodes", vars::PET_NNODES) {
        // The machines of a range that begins with 1 are this one, if they are to meet here.
        Some(text)
            if is_typed
                && text.value.trim().starts_with("1:")
                && (is_standalone || is_dynamic(args, host) && meets_here(args, host)) =>
        {
            Some(Sourced::new(1, text.from))
        }
        Some(text) if is_typed || !is_standalone => parsed(&text),
        _ => Some(default(1)),
    };
    let node_rank = stated("node_rank", vars::PET_NODE_RANK);
    RankFlags {
        nnodes,
        node_rank: node_rank.as_ref().and_then(parsed),
        nproc_per_node,
        ..flags
    }
}

fn meets_here(args: &Args, host: &Host) -> bool {
    let endpoint = stated("rdzv_endpoint", "PET_RDZV_ENDPOINT", args, host);
    let endpoint = endpoint.map_or(String::new(), |endpoint| endpoint.value);
    let meeting = endpoint
        .rsplit_once(':')
        .map_or(&*endpoint, |(host, _)| host);
    meeting.is_empty() || is_loopback(meeting)
}

fn parsed<T: FromStr>(text: &Sourced<String>) -> Option<Sourced<T>> {
    let value = text.value.trim().parse().ok()?;
    Some(Sourced::new(value, text.from.clone()))
}
