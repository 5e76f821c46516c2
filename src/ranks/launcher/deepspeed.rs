//! DeepSpeed's own launchers, on request or with a hostfile. Its runner ignores MASTER_ADDR and MASTER_PORT, sorts
//! CUDA_VISIBLE_DEVICES and reads its entries as numbers. Nothing in ZeRO needs it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use serde_json::Value;

use super::context::{LaunchContext, Launcher};
use super::spec::{CountMeaning, LauncherSpec, count, default, option_words};
use crate::base::bytes::base64;
use crate::base::source::Sourced;
use crate::base::vars;
use crate::command::argv::Args;
use crate::host::Host;
use crate::ranks::topology::hostfile::ResourcePool;
use crate::ranks::topology::{Processes, RankFlags, Topology};
use crate::report::fix::{Owner, drop_word, give};
use crate::report::{Problem, Rule};

pub(super) const SPEC: LauncherSpec = LauncherSpec {
    launcher: Launcher::Deepspeed,
    programs: &[("deepspeed", None), ("ds", None)],
    modules: &[("deepspeed.launcher.runner", None)],
    options: include_str!("../../recorded/deepspeed.txt"),
    short_options: &[
        ("-H", "hostfile"),
        ("-i", "include"),
        ("-e", "exclude"),
        ("-q", "quiet"),
        ("-h", "help"),
    ],
    rank_options: [
        "num_gpus",
        "num_nodes",
        "node_rank",
        "master_addr",
        "master_port",
    ],
    count_options: &["num_gpus", "num_accelerators", "include", "exclude"],
    count_meaning: CountMeaning::PerNode,
    counts,
    // Without a hostfile it starts the ranks of one machine, whatever it is told.
    numbers_machines: |_, _| true,
};

/// The runner starts it on each machine.
pub(super) const LAUNCH_MODULE: &str = "deepspeed.launcher.launch";

/// The runner reads this file if it exists, even if no option names it.
const DEFAULT_HOSTFILE: &str = "/job/hostfile";

/// There must not be more processes than GPUs, and all machines must be known to have the same number.
pub(super) fn check(asked: &Sourced<Launcher>, topology: &Topology) -> Result<(), Problem> {
    if topology.pool.is_none() && topology.world_size.is_none() {
        let what = "deepspeed must know how many GPUs every machine has";
        let count = give("--nproc-per-node", "N").remark("if every machine has N");
        let fixes = count
            .or(give("--hostfile", "FILE"))
            .or(give("--launcher", "torchrun"));
        return Err(Problem::error(Rule::Launcher, what).at(asked).fix(fixes));
    }
    if let (Some(devices), Some(nproc), None) = (
        &topology.devices.names,
        &topology.nproc_per_node,
        &topology.pool,
    ) && nproc.value as usize > devices.len()
    {
        let (gpus, ranks) = (devices.len(), nproc.value);
        let what = format!("the deepspeed launcher starts one rank per GPU: {gpus}, not {ranks}");
        let torchrun = give("--launcher", "torchrun");
        let fixes = if gpus == 0 {
            torchrun.into()
        } else {
            give("--nproc-per-node", gpus).or(torchrun)
        };
        return Err(Problem::error(Rule::Launcher, what)
            .at(asked)
            .at(&nproc.from)
            .fix(fixes));
    }
    Ok(())
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

/// The runner reaches the machines of a hostfile through pdsh.
pub(crate) fn uses_pdsh(context: &LaunchContext<'_>) -> bool {
    let Some(pool) = &context.topology.pool else {
        return false;
    };
    let options = SPEC.parse(context.extra);
    (pool.0.len() > 1 || options.is_given("force_multi")) && !options.is_given("no_ssh")
}

fn runner_words(context: &LaunchContext<'_>) -> Vec<OsString> {
    let LaunchContext {
        topology,
        hosts,
        host,
        ..
    } = context;
    let mut words = SPEC.words(context);
    words.extend(option_words([
        (
            "hostfile",
            hosts
                .hostfile
                .as_ref()
                .map(|file| host.absolute(&file.value).into_os_string()),
        ),
        (
            "include",
            hosts
                .include
                .as_ref()
                .map(|filter| filter.value.clone().into()),
        ),
        (
            "exclude",
            hosts
                .exclude
                .as_ref()
                .map(|filter| filter.value.clone().into()),
        ),
        (
            "master_addr",
            topology
                .master_addr
                .as_ref()
                .map(|address| address.value.clone().into()),
        ),
        (
            "master_port",
            topology
                .master_port
                .as_ref()
                .map(|port| port.value.to_string().into()),
        ),
    ]));
    words
}

/// Without a hostfile, the module that the runner would start. Unlike the runner, it takes GPUs by any name and in any order,
/// and stops its ranks when it gets a signal.
fn launch_words(context: &LaunchContext<'_>) -> Vec<OsString> {
    let topology = context.topology;
    let nproc = topology
        .nproc_per_node
        .as_ref()
        .map_or(1, |nproc| nproc.value) as usize;
    let nnodes = topology.nnodes.as_ref().map_or(1, |nnodes| nnodes.value);
    let world_info = (0..nnodes).map(|machine| {
        let gpus: Value = match &topology.devices.names {
            Some(names) if machine == topology.node_rank.value => names
                .iter()
                .take(nproc)
                .map(|it| it.parse::<u32>().map_or(it.as_str().into(), Value::from))
                .collect(),
            _ => (0..nproc).collect(),
        };
        (format!("machine{machine}"), gpus)
    });
    let mut words = context.launcher_words(None, LAUNCH_MODULE);
    words.insert(1, "-u".into());
    let world_info = base64(world_info.collect::<Value>().to_string().as_bytes());
    words.push(format!("--world_info={world_info}").into());
    if nnodes > 1 {
        words.push(format!("--node_rank={}", topology.node_rank.value).into());
    }
    let address = topology
        .rendezvous_address()
        .map_or("127.0.0.1", |address| &address.value);
    words.push(format!("--master_addr={address}").into());
    if let Some(port) = &topology.master_port {
        words.push(format!("--master_port={}", port.value).into());
    }
    words
}

/// `--num_gpus N`, `--include localhost:0,2`, `--exclude localhost:1`, else every visible GPU. A hostfile leaves it open; one
/// that is not there has no effect (`fetch_hostfile`, alike in 0.14 to 0.19).
fn counts(flags: RankFlags, args: &Args, host: &Host) -> RankFlags {
    let named = args
        .text("hostfile")
        .map_or_else(|| DEFAULT_HOSTFILE.to_string(), |file| file.value);
    if host.absolute(Path::new(&named)).is_file() {
        return flags;
    }
    let number = count(args, "num_gpus")
        .or_else(|| count(args, "num_accelerators"))
        .filter(|number| number.value > 0);
    let nproc = if let Some(number) = number {
        Some(number.map(Processes::Count))
    } else if let Some(include) = args.text("include") {
        slot_count(&include, Some)
    } else if let Some(exclude) = args.text("exclude") {
        let is_limited = host.var_os(vars::CUDA_VISIBLE_DEVICES).is_some();
        slot_count(&exclude, |named| {
            if is_limited {
                None
            } else {
                host.nvidia_gpus?.checked_sub(named)
            }
        })
    } else {
        Some(default(Processes::Gpus))
    };
    RankFlags {
        nproc_per_node: nproc,
        nnodes: Some(default(1)),
        ..flags
    }
}

/// A hostfile that is not there, and GPUs in `--include` that this machine does not have: the runner refuses them. It
/// ignores CUDA_VISIBLE_DEVICES beside it, so a list there leaves a doubt.
pub(super) fn slots_problems(spec: &LauncherSpec, args: &Args, host: &Host) -> Vec<Problem> {
    let number = ["num_gpus", "num_accelerators", "num_nodes"]
        .iter()
        .find_map(|name| count::<u32>(args, name));
    let given = |name| {
        args.text(name)
            .filter(|filter| spec.launcher == SPEC.launcher && !filter.value.is_empty())
    };
    let filter = given("include").or_else(|| given("exclude"));
    if let (Some(number), Some(filter)) = (number, filter) {
        let what = format!(
            "`deepspeed` takes either `{}` or `{}`",
            filter.spelling(),
            number.spelling()
        );
        return Problem::error(Rule::Launcher, what)
            .at(&number)
            .fix(drop_word(&number.from).of(Owner::Launcher))
            .into();
    }
    let open = RankFlags::default();
    let here = if spec.launcher == SPEC.launcher {
        counts(open, args, host)
    } else {
        open
    };
    let nodes = count::<u32>(args, "num_nodes")
        .filter(|nodes| nodes.value > 1)
        .map(|nodes| nodes.spelling());
    let file = args
        .text("hostfile")
        .filter(|file| !file.value.is_empty())
        .map(|file| file.spelling());
    if let (Some(_), Some(given)) = (here.nnodes, file.or(nodes.clone())) {
        let what = "there is no hostfile, and `deepspeed` knows no other machine without one";
        let problem = Problem::error(Rule::Launcher, what)
            .at(given)
            .fix(give("--hostfile", "FILE"));
        return if nodes.is_some() {
            problem
        } else {
            problem.into_warning()
        }
        .into();
    }
    let gpus = host
        .nvidia_gpus
        .or_else(|| Some(host.var(vars::CUDA_VISIBLE_DEVICES)?.split(',').count()));
    let filter = if here.nproc_per_node.is_some() {
        args.text("include")
    } else {
        None
    };
    let (Some(gpus), Some(filter)) = (gpus, filter) else {
        return Vec::new();
    };
    let pool = ResourcePool(vec![(
        "localhost".into(),
        (0..gpus).map(|slot| slot.to_string()).collect(),
    )]);
    let problems = pool.filtered(&filter, true).err().into_iter().flatten();
    problems
        .map(|it| {
            if host.nvidia_gpus.is_some() {
                it
            } else {
                it.into_warning()
            }
        })
        .collect()
}

/// The count that is left by the slots in `host:0,2`, each taken once. Several hosts leave it open.
fn slot_count(
    filter: &Sourced<String>,
    left: impl Fn(usize) -> Option<usize>,
) -> Option<Sourced<Processes>> {
    if filter.value.contains('@') {
        return None;
    }
    let (_, slots) = filter.value.split_once(':')?;
    let slots: BTreeSet<&str> = slots.split(',').map(str::trim).collect();
    let count = u32::try_from(left(slots.len())?)
        .ok()
        .filter(|count| *count > 0)?;
    Some(Sourced::new(Processes::Count(count), filter.from.clone()))
}
