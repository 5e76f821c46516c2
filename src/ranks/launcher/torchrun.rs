//! `python -P -m torch.distributed.run`, with the interpreter of the trainer: the `torchrun` on PATH may belong to another
//! environment.

use std::ffi::OsString;

use super::context::LaunchContext;
use super::kind::Launcher;
use super::output::OutputFlags;
use super::spec::{CountMeaning, LauncherSpec, default};
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::command::argv::{Args, Nargs::Nothing};
use crate::host::Host;
use crate::ranks::topology::{Processes, RankFlags};

pub(super) const SPEC: LauncherSpec = LauncherSpec {
    launcher: Launcher::Torchrun,
    programs: &[("torchrun", None)],
    modules: &[("torch.distributed.run", None), ("torch.distributed.launch", None)],
    options: concat!(include_str!("../../recorded/torchrun.txt"), "use_env !\n"),
    short_options: &[("-m", "module"), ("-h", "help"), ("-r", "redirects"), ("-t", "tee")],
    rank_options: ["nproc_per_node", "nnodes", "node_rank", "master_addr", "master_port"],
    fields: &[("standalone", Nothing)],
    count_options: &["nproc_per_node"],
    count_meaning: CountMeaning::PerNodeOrWord,
    on_several: &[],
    counts,
};

pub(super) fn prefix(context: &LaunchContext<'_>) -> Vec<OsString> {
    let topology = context.topology;
    let mut words = SPEC.words(context);
    let mut option = |name: &str, value: String| words.extend([OsString::from(name), value.into()]);
    // All are given: torchrun would take what is missing from PET_* variables.
    let nnodes = topology.nnodes.as_ref().map_or(1, |nnodes| nnodes.value);
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
        // torchrun takes a free port then: two jobs on one machine must not both use 29500.
        None if nnodes == 1 && topology.rendezvous_address().is_none() => words.push("--standalone".into()),
        None => {}
    }
    words.extend(output(context));
    words.extend(context.extra.iter().cloned());
    words.extend(context.rank_words("-m"));
    words
}

/// torchrun's own options for the output of the ranks. It writes files only where the output is redirected to them, and
/// puts the rank in front of a line only where it copies it.
fn output(context: &LaunchContext<'_>) -> Vec<OsString> {
    let Some(OutputFlags { log_dir, prefix }) = context.output else { return Vec::new() };
    let folder = log_dir.as_ref().map(|folder| context.host.absolute(&folder.value).into_os_string());
    let both = match (prefix, &folder) {
        (Some(_), _) => "--tee",
        (None, Some(_)) => "--redirects",
        (None, None) => return Vec::new(),
    };
    let folder = folder.into_iter().flat_map(|folder| ["--log_dir".into(), folder]);
    folder.chain([both.into(), "3".into()]).collect()
}

/// By default torchrun starts one process on one node. A range of nodes leaves their number open. Alone on this machine it
/// waits in vain for the others of PET_NNODES (seen, torch 2.15), so that does not say where they are.
fn counts(flags: RankFlags, args: &Args, host: &Host) -> RankFlags {
    let stated = |name: &str, variable: &str| {
        let from = || Source::Variable(variable.to_string());
        args.text(name).or_else(|| host.nonempty_var(variable).map(|value| Sourced::new(value.to_string(), from())))
    };
    let nproc = stated("nproc_per_node", vars::PET_NPROC_PER_NODE);
    let nnodes = stated("nnodes", vars::PET_NNODES);
    let is_standalone = args.is_given("standalone") || host.nonempty_var("PET_STANDALONE") == Some("1");
    let nnodes = nnodes.filter(|_| !is_standalone || args.is_given("nnodes"));
    let parsed = |text: Sourced<String>| Some(Sourced::new(text.value.parse().ok()?, text.from));
    let number = |text: Sourced<String>| Some(Sourced::new(text.value.trim().parse().ok()?, text.from));
    let nproc_per_node = nproc.map_or(Some(default(Processes::Count(1))), parsed);
    RankFlags { nproc_per_node, nnodes: nnodes.map_or(Some(default(1)), number), ..flags }
}
