//! `python -P -m torch.distributed.run`, with the interpreter of the trainer: the `torchrun` on PATH may belong to another
//! environment.

use std::{ffi::OsString, str::FromStr};

use super::{LaunchContext, option_words, refused, tables::launchers::TORCHRUN, value_word};
use crate::{
    base::source::{Given, default},
    command::argv::Args,
    host::Host,
    ranks::topology::{Processes, RankFlags, Stated, is_loopback, text},
    report::prelude::*,
};

pub fn prefix(context: &LaunchContext) -> Vec<OsString> {
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
    words.extend(context.extra.iter().cloned());
    words.extend(context.rank_words("-m"));
    words
}

/// An option, or the variable that torchrun reads without it.
fn stated(name: &str, args: &Args, host: &Host) -> Stated<String> {
    let variable = format!("PET_{}", name.to_uppercase());
    args.text(name).or_else(|| text(&variable, host))
}

/// True if the machines are numbered when they meet.
pub fn is_dynamic(args: &Args, host: &Host) -> bool {
    let backend = stated("rdzv_backend", args, host);
    backend.is_some_and(|backend| backend.value != "static")
}

/// By default torchrun starts one process on one machine. A range of machines leaves their number open. Alone on this
/// machine it waits in vain for the others of PET_NNODES (seen, torch 2.15), so that does not say where they are.
pub fn counts(flags: RankFlags, args: &Args, host: &Host) -> RankFlags {
    let nproc = stated("nproc_per_node", args, host);
    let is_typed = args.is_given("nnodes");
    let is_standalone = standalone(args, host).is_some();
    let nnodes = match stated("nnodes", args, host) {
        // The machines of a range that begins with 1 are this one, if they are to meet here.
        Some(text)
            if text.value.trim().starts_with("1:")
                && (is_standalone
                    || is_dynamic(args, host) && is_here(stated("rdzv_endpoint", args, host))) =>
        {
            Some(text.says(1))
        }
        stated @ Some(_) if is_typed || !is_standalone => parsed(stated),
        _ => Some(default(1)),
    };
    RankFlags {
        nnodes,
        node_rank: parsed(stated("node_rank", args, host)),
        nproc_per_node: if nproc.is_some() {
            parsed(nproc)
        } else {
            Some(default(Processes::Count(1)))
        },
        ..flags
    }
}

/// What tells torchrun that its ranks meet on this machine.
fn standalone(args: &Args, host: &Host) -> Option<Place> {
    if args.is_given("standalone") {
        return Some(Place::option("--standalone", ""));
    }
    text("PET_STANDALONE", host)
        .filter(|text| text.value == "1")
        .map(|text| Place::from(&text))
}

/// Refuses several machines that would each wait for the others on themselves. Where nothing but a missing address says so,
/// they may all be tried on this machine.
pub fn meets_alone(args: &Args, host: &Host) -> Option<Problem> {
    let nnodes = args.text("nnodes")?;
    let (least, _) = nnodes.value.split_once(':').unwrap_or((&nnodes.value, ""));
    if least.trim().parse::<u32>().ok()? < 2 {
        return None;
    }
    let what = format!("{nnodes} machines cannot meet: each would wait for the others on itself");
    if let Some(place) = standalone(args, host) {
        return Some(
            refused(what)
                .at(place)
                .at(&nnodes)
                .fix("drop the standalone mode, or start one machine"),
        );
    }
    let endpoint = stated("rdzv_endpoint", args, host);
    let (is_alone, fix) = if is_dynamic(args, host) {
        (endpoint.is_none(), give("--rdzv_endpoint", "HOST:29400"))
    } else {
        let number: Stated<u32> = parsed(stated("node_rank", args, host));
        let first = endpoint.or_else(|| stated("master_addr", args, host));
        let is_alone = number.value() > Some(0) && is_here(first);
        (is_alone, give("--master_addr", "HOST"))
    };
    let problem = refused(what).at(&nnodes).fix(fix.of(Owner::Launcher));
    is_alone.then(|| problem.into_warning())
}

/// Without an address, it is this machine.
fn is_here(endpoint: Stated<String>) -> bool {
    endpoint.is_none_or(|endpoint| {
        let meeting = endpoint
            .value
            .rsplit_once(':')
            .map_or(&*endpoint.value, |(host, _)| host);
        meeting.is_empty() || is_loopback(meeting)
    })
}

fn parsed<T: FromStr>(text: Stated<String>) -> Stated<T> {
    let text = text?;
    Some(text.says(text.value.trim().parse().ok()?))
}
