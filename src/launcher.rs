//! Who starts the ranks. One file each in `launcher/` turns a job and a topology into the argv that is executed; here is
//! the choice between them. A command that already starts with a launcher is `wrapped`.

mod accelerate;
mod deepspeed;
mod direct;
pub(crate) mod local;
mod runner;
pub(crate) mod srun;
mod torchrun;
pub(crate) mod wrapped;

use std::ffi::OsString;
use std::fmt;

use crate::environment::Setting;
use crate::error::{self, Problem};
use crate::host::Host;
use crate::said::{Said, Source};
use crate::target::Target;
use crate::topology::{SaidHosts, Standing, Topology};
use crate::trainer::{Family, Job};

pub(crate) use wrapped::Wrapped;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Torchrun,
    Deepspeed,
    Direct,
    Srun,
    /// zlaunch itself.
    Local,
    /// Only where the command itself starts with it.
    Accelerate,
}

impl Kind {
    /// The words of `--launcher`.
    pub(crate) const NAMES: &'static [(&'static str, Option<Kind>)] = &[
        ("auto", None),
        ("torchrun", Some(Kind::Torchrun)),
        ("deepspeed", Some(Kind::Deepspeed)),
        ("srun", Some(Kind::Srun)),
        ("direct", Some(Kind::Direct)),
        ("local", Some(Kind::Local)),
    ];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Torchrun => "torchrun",
            Kind::Deepspeed => "deepspeed",
            Kind::Direct => "direct",
            Kind::Srun => "srun",
            Kind::Local => "local",
            Kind::Accelerate => "accelerate",
        })
    }
}

/// Whoever was asked for, if that is possible; else torchrun, or nobody where one process is all, or zlaunch itself
/// where there is no torchrun.
pub(crate) fn choose(asked: Option<&Said<Kind>>, job: &Job, topology: &Topology) -> Result<Kind, Problem> {
    // A variable serves a whole site; it does not launch ranks a second time.
    let asked = asked.filter(|asked| !topology.already() || matches!(asked.from, Source::Flag(_)));
    let direct = asked.is_none_or(|asked| asked.value == Kind::Direct);
    if job.starts_ranks() && (job.trainer.family != Family::Opaque || !direct) {
        return Err(error::starts_ranks_itself(job.target.name()));
    }
    if topology.pool.is_some() {
        return match asked.filter(|asked| asked.value != Kind::Deepspeed) {
            Some(asked) => Err(error::hostfile_is_deepspeeds(asked)),
            None => Ok(Kind::Deepspeed),
        };
    }
    if let Standing::Shell { .. } = topology.standing
        && asked.is_none_or(|asked| matches!(asked.value, Kind::Torchrun | Kind::Srun))
    {
        return Ok(Kind::Srun);
    }
    let Some(asked) = asked else {
        // What zlaunch does not know may be a launcher itself: it is never launched twice.
        let one = topology.already() || topology.is_one_process() || job.trainer.family == Family::Opaque;
        return Ok(match one {
            true => Kind::Direct,
            false if local::is_needed(job, topology) => Kind::Local,
            false => Kind::Torchrun,
        });
    };
    match asked.value {
        Kind::Direct if !topology.already() && job.trainer.family != Family::Opaque => {
            direct::possible(asked, topology)?;
        }
        Kind::Deepspeed => deepspeed::possible(asked, topology)?,
        Kind::Srun => srun::possible(asked, topology)?,
        Kind::Local if !topology.already() => local::possible(asked, topology)?,
        _ if topology.already() => return Err(error::ranks_exist(asked)),
        _ => {}
    }
    Ok(asked.value)
}

/// The words that start the ranks; the trainer's arguments follow them.
pub(crate) fn head(
    kind: Kind,
    job: &Job,
    topology: &Topology,
    extra: &[OsString],
    hosts: &SaidHosts,
    host: &Host,
) -> Vec<OsString> {
    match kind {
        Kind::Torchrun => torchrun::head(job, topology, extra, host),
        Kind::Deepspeed => deepspeed::head(job, topology, extra, hosts, host),
        Kind::Local => local::head(job, host),
        Kind::Direct | Kind::Srun | Kind::Accelerate => direct::head(job, host),
    }
}

/// The whole command of a launch that goes through `srun`.
pub(crate) fn through_srun(
    through: Option<&srun::Through<'_>>,
    topology: &Topology,
    command: &[OsString],
    host: &Host,
) -> Result<Vec<OsString>, Problem> {
    srun::argv(through, topology, command, host)
}

/// The file with the variables that must reach every machine of a hostfile.
pub(crate) fn environment_file(
    topology: &Topology,
    settings: &[Setting],
    host: &Host,
) -> Result<Option<String>, Vec<Problem>> {
    let several = topology.pool.as_ref().is_some_and(|pool| pool.0.len() > 1);
    several.then(|| deepspeed::environment_file(settings, host)).transpose()
}

/// Options passed through to a launcher must not contradict what zlaunch decides.
pub(crate) fn check_extra(kind: Kind, extra: &[OsString]) -> Vec<Problem> {
    let runner = match kind {
        Kind::Torchrun => &torchrun::RUNNER,
        Kind::Deepspeed => &deepspeed::RUNNER,
        Kind::Direct | Kind::Local | Kind::Srun | Kind::Accelerate => return Vec::new(),
    };
    runner.topology_options(extra).into_iter().map(|(ours, said)| error::say_it_to_us(&said, ours)).collect()
}

/// The interpreter, or the word to blame if there is none.
fn python(job: &Job) -> OsString {
    job.python.as_ref().map_or_else(|| "python3".into(), |python| python.program.clone().into_os_string())
}

/// What a launcher runs as `python -u FILE`, as a module, or without Python.
enum Rank {
    File(OsString),
    Module(OsString),
    Words(Vec<OsString>),
}

fn rank(job: &Job, host: &Host) -> Rank {
    // Launchers start each rank with `python -u` and know no other option of the interpreter.
    let plain = |options: &[OsString]| options.iter().all(|option| option == "-u");
    match &job.target {
        Target::Script { options, path } if plain(options) => Rank::File(path.clone()),
        Target::Module { options, name } if plain(options) => Rank::Module(name.clone()),
        _ => Rank::Words(direct::head(job, host)),
    }
}
