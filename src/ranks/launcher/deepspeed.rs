//! DeepSpeed's own launchers, on request or with a hostfile. Its runner ignores MASTER_ADDR and MASTER_PORT, sorts
//! CUDA_VISIBLE_DEVICES and reads its entries as numbers. Nothing in ZeRO needs it.
//!
//! The runner reaches the machines of a hostfile through pdsh. pdsh joins its words by blanks and gives the line to ssh, so
//! that the login shell of every machine reads it. DeepSpeed (`PDSHRunner.parse_user_args`, alike in 0.14 to 0.19) puts an
//! argument with a blank into double quotes and escapes only the quotes in it; all else, the script included, it leaves as it
//! is. pdsh itself replaces `%h`, `%n` and `%u`. zlaunch refuses a word that would not arrive as it is, and the runner's other
//! ways: under `mpirun` and `srun` it numbers no ranks.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde_json::Value;

use super::context::{LaunchContext, refused};
use super::spec::{ExistingLauncher, count, default, option_words, value_word};
use super::tables::launchers::{DEEPSPEED, DEFAULT_HOSTFILE, LAUNCH_MODULE, Launcher};
use crate::base::bytes::base64;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::command::argv::Args;
use crate::command::job::Job;
use crate::host::Host;
use crate::ranks::topology::{Processes, RankFlags, Topology};
use crate::report::fix::{drop_word, give};
use crate::report::{Place, Problem, Rule, reading};

/// Refuses more processes than GPUs, and machines that are not known to have the same number of them.
pub(super) fn check(asked: &Sourced<Launcher>, topology: &Topology) -> Result<(), Problem> {
    if topology.pool.is_some() {
        return Ok(());
    }
    let torchrun = give("--launcher", "torchrun");
    if topology.world_size.is_none() {
        let what = "deepspeed must know how many GPUs every machine has";
        let count = give("--nproc-per-node", "N").remark("if every machine has N");
        let fixes = count.or(give("--hostfile", "FILE")).or(torchrun);
        return Err(refused(what).at(asked).fix(fixes));
    }
    if let (Some(devices), Some(nproc)) = (&topology.devices.names, &topology.nproc_per_node)
        && nproc.value as usize > devices.len()
    {
        let gpus = devices.len();
        let what = format!("the deepspeed launcher starts one rank per GPU: {gpus}, not {nproc}");
        let fixes = if gpus == 0 {
            torchrun.into()
        } else {
            give("--nproc-per-node", gpus).or(torchrun)
        };
        let problem = refused(what).at(asked);
        return Err(problem.at(&nproc.from).fix(fixes));
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

/// True if the runner reaches the machines of a hostfile through pdsh.
pub(crate) fn uses_pdsh(context: &LaunchContext<'_>) -> bool {
    let Some(pool) = &context.topology.pool else {
        return false;
    };
    let options = DEEPSPEED.parse(context.extra);
    (pool.0.len() > 1 || options.is_given("force_multi")) && !options.is_given("no_ssh")
}

fn runner_words(context: &LaunchContext<'_>) -> Vec<OsString> {
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
fn launch_words(context: &LaunchContext<'_>) -> Vec<OsString> {
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
fn has_hostfile(args: &Args, host: &Host) -> bool {
    let named = args.text("hostfile").map(|file| file.value);
    let file = named.as_deref().unwrap_or(DEFAULT_HOSTFILE);
    host.absolute(Path::new(file)).is_file()
}

/// `--num_gpus N`, `--include localhost:0,2`, `--exclude localhost:1`, else every visible GPU. A hostfile leaves it open.
pub(super) fn counts(flags: RankFlags, args: &Args, host: &Host) -> RankFlags {
    if has_hostfile(args, host) {
        return flags;
    }
    let number = count(args, "num_gpus").or_else(|| count(args, "num_accelerators"));
    let nproc = if let Some(number) = number.filter(|number| number.value > 0) {
        Some(number.map(Processes::Count))
    } else if let Some(include) = args.text("include") {
        slot_count(&include, Some)
    } else if let Some(exclude) = args.text("exclude") {
        let is_limited = host.var_os(vars::CUDA_VISIBLE_DEVICES).is_some();
        let all = host.nvidia_gpus.filter(|_| !is_limited);
        slot_count(&exclude, |named| all?.checked_sub(named))
    } else {
        Some(default(Processes::Gpus))
    };
    RankFlags {
        nproc_per_node: nproc,
        nnodes: Some(default(1)),
        ..flags
    }
}

/// Without a hostfile, the runner starts the ranks of this machine alone, however many machines it is told.
pub(super) fn hostfile_problem(args: &Args, host: &Host) -> Option<Problem> {
    if has_hostfile(args, host) {
        return None;
    }
    let nodes = count::<u32>(args, "num_nodes").filter(|nodes| nodes.value > 1);
    let file = args.text("hostfile").filter(|file| !file.value.is_empty());
    let file = file.map(|file| file.spelling());
    let given = file.or_else(|| Some(nodes.as_ref()?.spelling()))?;
    let what = "there is no hostfile, and `deepspeed` knows no other machine without one";
    let problem = refused(what).at(given).fix(give("--hostfile", "FILE"));
    Some(if nodes.is_some() {
        problem
    } else {
        problem.into_warning()
    })
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
    let count = u32::try_from(left(slots.len())?).ok()?;
    (count > 0).then(|| Sourced::new(Processes::Count(count), filter.from.clone()))
}

/// Refuses what the runner cannot hand on of the line that it makes for the shells, with these arguments of the trainer:
/// `cd FOLDER; PYTHON -m … --master_addr=ADDRESS … SCRIPT ARGUMENTS`.
pub(crate) fn check_words(context: &LaunchContext<'_>, arguments: &[OsString]) -> Vec<Problem> {
    if !uses_pdsh(context) {
        return Vec::new();
    }
    let options = DEEPSPEED.parse(context.extra);
    if let Some(launcher) = options
        .text("launcher")
        .filter(|launcher| !launcher.value.eq_ignore_ascii_case("pdsh"))
    {
        let what = "zlaunch reaches the machines of a hostfile through pdsh only";
        let place = Place::option("--launcher-arg", launcher.spelling());
        let fix = drop_word("--hostfile")
            .remark("with mpirun or srun in front, zlaunch gives each rank its place");
        return refused(what).at(place).fix(fix).into();
    }
    let folder = Sourced::new(
        context.host.cwd.clone().into_os_string(),
        Source::Machine("the current folder"),
    );
    let python = Sourced::new(context.python(), Source::Machine("the interpreter"));
    let stated = [
        context.topology.master_addr.clone(),
        options.text("venv_script"),
        options.text("enable_each_rank_log"),
    ];
    let stated = stated
        .into_iter()
        .flatten()
        .map(|sourced| sourced.map(OsString::from));
    let problem = |word: &OsStr, place: Place, help: &str| {
        let word = word.display();
        let what = format!(
            "`{word}` would be read by the shell on every machine: DeepSpeed's runner does not quote it"
        );
        Problem::error(Rule::Hosts, what).at(place).fix(help)
    };
    let mut problems = Vec::new();
    for part in [folder, python]
        .into_iter()
        .chain(stated)
        .filter(|part| !is_shell_safe(part.value.as_bytes()))
    {
        let help = "use only letters, digits and `_-./=:,@+` there, or a link with such a name";
        problems.push(problem(&part.value, Place::from(&part.from), help));
    }
    let mut words = context.rank_words("--module");
    words.retain(|word| word != "--module" && word != "--no_python");
    words.extend_from_slice(arguments);
    if let Some(word) = changed_words(&words).next() {
        let help = "put it in a file, or drop --hostfile and start zlaunch on every machine: torchrun passes on any argument";
        problems.push(problem(word, Place::from("the command"), help));
    }
    problems
}

impl ExistingLauncher {
    /// Warns of words that a runner in the command passes through the shells of a hostfile's machines.
    pub(crate) fn changed_by_shells(&self, job: &Job, host: &Host) -> Option<Problem> {
        let is_pdsh = self
            .args
            .text("launcher")
            .is_none_or(|name| name.value.eq_ignore_ascii_case("pdsh"));
        let file = self
            .args
            .text("hostfile")
            .filter(|_| is_pdsh && !self.args.is_given("no_ssh"))?;
        let text = reading::text_if_any(&host.absolute(Path::new(&file.value))).unwrap_or_default();
        if self.spec.launcher != Launcher::Deepspeed || text.matches("slots=").count() < 2 {
            return None;
        }
        let words = [
            &[job.target.word().to_os_string()],
            &job.rank_args(None)[..],
        ]
        .concat();
        // A word that is quoted for the shells already is meant so.
        let is_quoted = |word: &str| {
            word.len() > 1
                && ['\'', '"']
                    .iter()
                    .any(|it| word.starts_with(*it) && word.ends_with(*it))
        };
        let mut changed = changed_words(&words).map(|word| word.to_string_lossy());
        let (program, word) = (&self.name, changed.find(|word| !is_quoted(word))?);
        let what = format!(
            "`{program}` passes `{word}` through a shell on every machine, which may change it"
        );
        Some(Problem::warning(Rule::ChangedByShells, what).at(format!("{program} --hostfile")).fix(
            "put it in a file, or start zlaunch on every machine without the launcher: torchrun passes on any argument",
        ))
    }
}

/// The words of a script and its arguments that the shells or pdsh would change.
fn changed_words(words: &[OsString]) -> impl Iterator<Item = &OsString> {
    let changed = words.iter().enumerate().filter(|(at, word)| {
        let word = word.as_bytes();
        // The runner itself quotes an argument with a blank.
        let is_quoted = *at > 0 && word.contains(&b' ');
        let special: &[u8] = if is_quoted {
            b"$`\\%"
        } else {
            b" \t\n\"'\\$`;&|<>()*?{~#%"
        };
        word.is_empty()
            || !is_quoted && word[0] == b'='
            || word.iter().any(|byte| special.contains(byte))
    });
    changed.map(|(_, word)| word)
}

/// True if neither pdsh nor any shell would change these bytes.
pub(crate) fn is_shell_safe(bytes: &[u8]) -> bool {
    !matches!(bytes, [] | [b'=', ..])
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || b"_-./=:,@+".contains(b))
}
