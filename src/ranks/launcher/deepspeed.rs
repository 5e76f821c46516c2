//! DeepSpeed's own launchers, on request or with a hostfile. Its runner ignores MASTER_ADDR and MASTER_PORT, sorts
//! CUDA_VISIBLE_DEVICES and reads its entries as numbers. Nothing in ZeRO needs it.
//!
//! The runner reaches the machines of a hostfile through pdsh. pdsh joins its words by blanks and gives the line to ssh, so
//! that the login shell of every machine reads it. DeepSpeed (`PDSHRunner.parse_user_args`, alike in 0.14 to 0.19) puts an
//! argument with a blank into double quotes and escapes only the quotes in it; all else, the script included, it leaves as it
//! is. pdsh itself replaces `%h`, `%n` and `%u`. zlaunch refuses a word that would not arrive as it is, and the runner's other
//! ways: under `mpirun` and `srun` it numbers no ranks.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use serde_json::Value;

use super::{
    LaunchContext, count, option_words, refused,
    tables::launchers::{BACKENDS, DEEPSPEED, DEFAULT_HOSTFILE, LAUNCH_MODULE, Launcher},
    value_word,
};
use crate::{
    base::{
        bytes::base64,
        python_value::int,
        source::{Given, Sourced, default},
        vars,
    },
    command::{argv::Args, job::Job},
    host::Host,
    ranks::topology::{
        HostFlags, PoolMachine, Processes, RankFlags, Stated, Topology, devices::parse_hostfile,
        numbers_below, slurm::resolve, text,
    },
    report::{Wanted, prelude::*, refused_value},
};

/// Refuses more processes than GPUs, and machines that are not known to have the same number of them.
pub fn check(asked: &Sourced<Launcher>, topology: &Topology) -> Result<(), Problem> {
    if topology.pool.is_some() {
        return Ok(());
    }
    let torchrun = give("--launcher", "torchrun");
    if topology.world_size.is_none() {
        let fixes = give("--nproc-per-node", "N")
            .remark("if every machine has N")
            .or(give("--hostfile", "FILE"))
            .or(torchrun);
        return Err(
            refused("deepspeed must know how many GPUs every machine has")
                .at(asked)
                .fix(fixes),
        );
    }
    if let (Some(devices), Some(nproc)) = (&topology.devices.names, &topology.nproc_per_node)
        && nproc.value as usize > devices.len()
    {
        let gpus = devices.len();
        let fixes = if gpus == 0 {
            torchrun.into()
        } else {
            give("--nproc-per-node", gpus).or(torchrun)
        };
        return Err(refused(format!(
            "the deepspeed launcher starts one rank per GPU: {gpus}, not {nproc}"
        ))
        .at(asked)
        .at(&nproc.from)
        .fix(fixes));
    }
    Ok(())
}

pub fn prefix(context: &LaunchContext) -> Vec<OsString> {
    let mut words = match &context.topology.pool {
        Some(_) => runner_words(context),
        None => launch_words(context),
    };
    // HF's parsers read LOCAL_RANK, and the `--local_rank` that DeepSpeed would add as the first argument breaks those
    // that expect a run file there, or refuse it.
    if context.job.trainer.is_hf() || context.job.script_refuses("local_rank").is_some() {
        words.push("--no_local_rank".into());
    }
    words.extend(context.extra.iter().cloned());
    words.extend(context.rank_words("--module"));
    words
}

/// True if the runner reaches the machines of a hostfile through pdsh.
pub fn uses_pdsh(context: &LaunchContext) -> bool {
    let Some(pool) = &context.topology.pool else {
        return false;
    };
    reaches_others(pool.len(), &DEEPSPEED.parse(context.extra))
}

fn reaches_others(machines: usize, options: &Args) -> bool {
    (machines > 1 || options.is_given("force_multi")) && !options.is_given("no_ssh")
}

/// Refuses a word for none of the runner's ways to other machines, of which another release may have more.
fn unknown_launcher(args: &Args, job: &Job) -> Option<Problem> {
    let given = args.text("launcher")?;
    let file = job.installed_file("deepspeed/launcher/constants.py")?;
    let names = format!("'{}'", given.value.to_lowercase());
    if reading::text_if_any(&file)?.contains(&names) {
        return None;
    }
    Some(refused_value(
        Owner::Launcher,
        "DeepSpeed",
        "--launcher",
        &given.value,
        Wanted::OneOf(BACKENDS),
    ))
}

fn runner_words(context: &LaunchContext) -> Vec<OsString> {
    let hosts = context.hosts;
    let file = hosts.hostfile.as_ref();
    let file = file.map(|file| context.host.absolute(&file.value).into_os_string());
    let topology = context.topology;
    let mut words = DEEPSPEED.words(context);
    words.extend(option_words([
        ("hostfile", file),
        ("include", value_word(hosts.include.as_ref())),
        ("exclude", value_word(hosts.exclude.as_ref())),
        ("master_addr", value_word(topology.master_addr.as_ref())),
        ("master_port", value_word(topology.master_port.as_ref())),
    ]));
    words
}

/// Without a hostfile, the module that the runner would start. Unlike the runner, it takes GPUs by any name and in any order,
/// and stops its ranks when it gets a signal.
fn launch_words(context: &LaunchContext) -> Vec<OsString> {
    let topology = context.topology;
    let nproc = topology.nproc_per_node.as_ref();
    let nproc = nproc.map_or(1, |nproc| nproc.value) as usize;
    let machines = topology.machines();
    let world_info = (0..machines).map(|machine| {
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
    let world_info = base64(world_info.collect::<Value>().to_string().as_bytes());
    let mut words = context.launcher_words(None, LAUNCH_MODULE);
    words.insert(1, "-u".into());
    words.push(format!("--world_info={world_info}").into());
    if machines > 1 {
        words.push(format!("--node_rank={}", topology.node_rank).into());
    }
    let address = topology.rendezvous_address();
    let address = address.map_or("127.0.0.1", |address| &address.value);
    words.push(format!("--master_addr={address}").into());
    if let Some(port) = &topology.master_port {
        words.push(format!("--master_port={port}").into());
    }
    words
}

/// A hostfile that is not there has no effect (`fetch_hostfile`, alike in 0.14 to 0.19).
pub fn hostfile(args: &Args, host: &Host) -> Stated<String> {
    let file = args
        .text("hostfile")
        .unwrap_or_else(|| default(DEFAULT_HOSTFILE.to_string()));
    let is_there = host.absolute(Path::new(&file.value)).is_file();
    is_there.then_some(file)
}

/// The GPUs that the runner takes, as its `main` finds them (0.14 to 0.19).
pub struct Resources {
    pub machines: Vec<PoolMachine>,
    /// The option, variable or file that chooses them. `None`: all GPUs of this machine count.
    by: Stated<String>,
}

impl Resources {
    /// `None`: nobody knows how many GPUs this machine has.
    pub fn read(args: &Args, host: &Host) -> Result<Option<Self>, Problems> {
        let file = hostfile(args, host);
        let nodes = count::<usize>(args, "num_nodes");
        let gpus = count::<usize>(args, "num_gpus").or_else(|| count(args, "num_accelerators"));
        let given = |name| args.text(name).filter(|filter| !filter.value.is_empty());
        let mut filters = HostFlags {
            include: given("include"),
            exclude: given("exclude"),
            ..HostFlags::default()
        };
        let number = gpus.as_ref().or(nodes.as_ref());
        let is_alone = file.is_none() && nodes.value() <= Some(1);
        let is_chosen = filters.exclude.is_some() || gpus.value() > Some(0);
        if is_alone && !is_chosen && filters.include.is_none() {
            let visible = text(vars::CUDA_VISIBLE_DEVICES, host);
            filters.include = visible.map(|list| list.says(format!("localhost:{list}")));
        }
        let filter = filters.include.as_ref().or(filters.exclude.as_ref());
        if let (Some(number), Some(filter)) = (number, filter) {
            let fix = drop_word(number.spelling()).of(Owner::Launcher);
            return Err(
                refused("`deepspeed` takes a number or a list of GPUs, not both")
                    .at(number)
                    .at(filter)
                    .fix(fix)
                    .into(),
            );
        }
        let gpus = gpus.filter(|gpus| gpus.value > 0);
        let machines = match &file {
            Some(file) => {
                let path = host.absolute(Path::new(&file.value));
                parse_hostfile(&reading::read_text(&path)?, &file.value)?
            }
            None => {
                let all = host.nvidia_gpus.filter(|count| *count > 0);
                let slots = match (all, &gpus, &filters.include) {
                    (Some(count), ..) => numbers_below(count),
                    (None, Some(gpus), _) => numbers_below(gpus.value),
                    (None, None, Some(include)) => named_slots(include),
                    (None, None, None) => return Ok(None),
                };
                vec![PoolMachine {
                    name: "localhost".to_string(),
                    slots,
                }]
            }
        };
        let mut machines = filters.filtered(machines)?;
        if let Some(nodes) = nodes.filter(|nodes| nodes.value > 0) {
            let listed = machines.len();
            if let Some(file) = file.as_ref().filter(|_| nodes.value > listed) {
                let what = format!(
                    "the hostfile has {listed}, not {nodes} machines: `deepspeed` would start those"
                );
                let fix = give(&nodes.from, listed).of(Owner::Launcher);
                return Err(refused(what)
                    .at(&nodes)
                    .at(file)
                    .fix(fix.or("add the others to the hostfile"))
                    .into());
            }
            machines.truncate(nodes.value);
        }
        if let Some(gpus) = &gpus {
            for machine in &mut machines {
                machine.slots = numbers_below(gpus.value);
            }
        }
        let by = gpus
            .map(|gpus| gpus.text())
            .or(filters.include)
            .or(filters.exclude)
            .or(file);
        Ok(Some(Resources { machines, by }))
    }

    /// The GPUs of this machine, if it is the only one.
    pub fn here(args: &Args, host: &Host) -> Option<(Vec<String>, Stated<String>)> {
        let Resources { mut machines, by } = Self::read(args, host).ok()??;
        Some((machines.pop().filter(|_| machines.is_empty())?.slots, by))
    }
}

/// Warns of machines whose names lead nowhere from here, though ssh may know them by an alias.
pub fn unresolved<'n>(names: impl IntoIterator<Item = &'n str>) -> Option<Problem> {
    let name = names.into_iter().find(|name| resolve(name).is_empty())?;
    Some(
        Rule::Hosts
            .warning(format!(
                "`{name}` is in the hostfile, and no address is known for it here"
            ))
            .at(name)
            .fix(run(format!("ssh {name} true")).remark("must work without a password")),
    )
}

/// `0` and `2` of `localhost:0,2`.
fn named_slots(filter: &Sourced<String>) -> Vec<String> {
    let (_, slots) = filter.value.split_once(':').unwrap_or_default();
    let slots: BTreeSet<&str> = slots.split(',').map(str::trim).collect();
    slots
        .into_iter()
        .filter(|slot| int(slot).is_some())
        .map(str::to_string)
        .collect()
}

/// The ranks of one machine. Several in a hostfile leave it open.
pub fn counts(flags: RankFlags, args: &Args, host: &Host) -> RankFlags {
    let here = Resources::here(args, host);
    if here.is_none() && hostfile(args, host).is_some() {
        return flags;
    }
    let nproc = match here {
        Some((gpus, Some(by))) => {
            let count = u32::try_from(gpus.len()).unwrap_or(u32::MAX);
            Some(by.says(Processes::Count(count)))
        }
        Some((_, None)) => Some(default(Processes::Gpus)),
        None => None,
    };
    RankFlags {
        nproc_per_node: nproc,
        nnodes: Some(default(1)),
        master_port: flags.master_port.or(Some(default(29500))),
        ..flags
    }
}

/// What the runner refuses. Without a hostfile, it starts the ranks of this machine alone, however many machines it is told.
pub fn refusals(args: &Args, job: &Job, host: &Host) -> Problems {
    let read = Resources::read(args, host);
    if hostfile(args, host).is_some() {
        return match read {
            Ok(Some(found)) if reaches_others(found.machines.len(), args) => {
                unknown_launcher(args, job).into_iter().collect()
            }
            read => read.err().unwrap_or_default(),
        };
    }
    let nodes = count::<u32>(args, "num_nodes").filter(|nodes| nodes.value > 1);
    let file = args.text("hostfile").filter(|file| !file.value.is_empty());
    let given = file
        .map(|file| file.spelling())
        .or_else(|| Some(nodes.as_ref()?.spelling()));
    given
        .map(|given| {
            let what = "there is no hostfile, and `deepspeed` knows no other machine without one";
            refused(what)
                .at(given)
                .fix(give("--hostfile", "FILE"))
                .into_warning_unless(nodes.is_some())
        })
        .into_iter()
        .chain(read.err().unwrap_or_default())
        .collect()
}

/// Refuses what the runner cannot hand on of the line that it makes for the shells, with these arguments of the trainer:
/// `cd FOLDER; PYTHON -m … --master_addr=ADDRESS … SCRIPT ARGUMENTS`.
pub fn check_words(context: &LaunchContext, arguments: &[OsString]) -> Problems {
    if !uses_pdsh(context) {
        return vec![];
    }
    if let Some(launcher) = DEEPSPEED.parse(context.extra).text("launcher")
        && !launcher.value.eq_ignore_ascii_case("pdsh")
    {
        let fix = drop_word("--hostfile")
            .remark("with mpirun or srun in front, zlaunch gives each rank its place");
        return refused("zlaunch reaches the machines of a hostfile through pdsh only")
            .at(Place::option("--launcher-arg", launcher.spelling()))
            .fix(fix)
            .into();
    }
    let address = context.topology.master_addr.iter().cloned();
    let mut command = context.rank_words("--module");
    command.retain(|word| word != "--module" && word != "--no_python");
    let folder = context.host.cwd.clone().into_os_string();
    let mut unquoted = vec![
        (folder, Place::from("the current folder")),
        (context.python(), Place::from("the interpreter")),
    ];
    unquoted.extend(address.map(|stated| (stated.value.into(), Place::from(&stated.from))));
    unquoted.retain(|(word, _)| !is_shell_safe(word.as_bytes()));
    unquoted.extend(
        command
            .iter()
            .chain(arguments)
            .enumerate()
            .find(|(at, word)| is_changed(word, *at > 0))
            .map(|(_, word)| (word.clone(), "the command".into())),
    );
    let problems = unquoted.into_iter().map(|(word, place)| {
        let what = format!(
            "`{}` would be read by the shell on every machine: DeepSpeed's runner does not quote it",
            word.display()
        );
        let help = "use another name, put it in a file, or drop --hostfile and start zlaunch on every machine: torchrun passes on any argument";
        Rule::Hosts.error(what).at(place).fix(help)
    });
    problems.collect()
}

/// True if the shells or pdsh would change this word. `is_argument`: the runner quotes it if there is a blank in it.
fn is_changed(word: &OsStr, is_argument: bool) -> bool {
    let word = word.as_bytes();
    if is_argument && word.contains(&b' ') {
        word.iter().any(|byte| b"$`\\%".contains(byte))
    } else {
        !is_shell_safe(word)
    }
}

/// True if neither pdsh nor any shell would change these bytes.
pub fn is_shell_safe(bytes: &[u8]) -> bool {
    !matches!(bytes, [] | [b'=', ..])
        && bytes
            .iter()
            .all(|b| !b.is_ascii() || b.is_ascii_alphanumeric() || b"_-./=:,@+^[]!".contains(b))
}
