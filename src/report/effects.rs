//! Sentences about files that are written, programs that are started.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use nix::sys::signal::Signal;
use nix::unistd::Pid;

use super::fix::{drop_word, give_as, run};
use super::place::Place;
use super::problem::{NOT_EXECUTABLE, NOT_FOUND, Problem, REFUSED};
use super::rule::Rule;
use crate::base::shell;
use crate::base::source::Sourced;

pub(crate) fn would_overwrite_an_input(out: &Sourced<PathBuf>, file: &Path) -> Problem {
    let what = format!("the resolved config would overwrite `{}`, an input of this launch", file.display());
    Problem::error(Rule::ConfigOut, what)
        .at(&out.clone().map(|path| path.display().to_string()))
        .fix(give_as(&out.from, "resolved.json"))
}

pub(crate) fn no_such_folder(path: &Path) -> Problem {
    Problem::error(Rule::ConfigOut, "the folder for the resolved config does not exist")
        .at(Place::option("--config-out", path.display().to_string()))
        .fix(run(shell::text(&["mkdir".into(), "-p".into(), path.parent().unwrap_or(path).into()])))
}

/// A kind of file, and how to have it written elsewhere.
#[derive(Clone, Copy)]
pub(crate) struct OutputFile(&'static str, &'static str);

impl OutputFile {
    pub(crate) const CONFIG: Self = OutputFile("the resolved config", "choose another place: --config-out PATH");
    pub(crate) const RUN_FILE: Self =
        OutputFile("the run file that names the config", "set XDG_CACHE_HOME to another folder");
    pub(crate) const VARIABLES: Self = OutputFile("the file of variables for the other machines", Self::RUN_FILE.1);
    pub(crate) const GENERATED: Self = OutputFile("the generated config", "choose another place: -o FILE");
    pub(crate) const FIXED: Self = OutputFile("the config", "check its permissions, or drop --fix");
    pub(crate) const RECORD: Self = OutputFile("the launch record", "choose another folder: --record DIR");
    pub(crate) const REHEARSAL: Self = OutputFile("the files of the rehearsal", "set TMPDIR to another folder");
    pub(crate) const PROGRAM: Self = OutputFile("the shim", "choose another folder, or change its permissions");
}

pub(crate) fn cannot_write(OutputFile(what, help): OutputFile, path: &Path, why: &io::Error) -> Problem {
    Problem::error(Rule::Write, format!("{what} cannot be written: {why}")).at(path).fix(help)
}

pub(crate) fn folder_not_ours(folder: &Path) -> Problem {
    Problem::error(Rule::Write, "the folder for resolved configs does not belong to you alone")
        .at(folder)
        .fix("set HOME or XDG_CACHE_HOME to a folder you own, or use --config-out PATH")
}

/// `folder` is used instead of the cache, because others can change `part` of it.
pub(crate) fn cache_not_ours(part: &Path, folder: &Path) -> Problem {
    let what = format!("other users can change `{}`, so resolved configs are kept elsewhere", part.display());
    let chmod = run(shell::text(&["chmod".into(), "go-w".into(), part.into()]));
    Problem::warning(Rule::CacheNotOurs, what).at(folder).fix(chmod.or("set XDG_CACHE_HOME to a folder you own"))
}

pub(crate) fn port_in_use(port: &Sourced<u16>) -> Problem {
    let other = give_as(&port.from, "PORT").remark("the same on every machine");
    Problem::error(Rule::Port, format!("port {} on this machine is already in use", port.value))
        .at(port)
        .fix(drop_word(&port.from).remark("a single machine picks a free port").or(other))
}

pub(crate) fn cannot_execute(program: &OsStr, why: &io::Error) -> Problem {
    let name = program.to_string_lossy();
    let what = match why.kind() {
        io::ErrorKind::NotFound => "was not found",
        io::ErrorKind::PermissionDenied => "is not executable",
        io::ErrorKind::ArgumentListTooLong => "got more arguments than the system allows",
        _ => &format!("cannot be executed: {why}"),
    };
    Problem::error(Rule::Exec, format!("`{name}` {what}"))
        .at(name.as_ref())
        .fix("check the command, and that its environment is active")
        .status(if why.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE })
}

const OTHER_LAUNCHER: &str = "`ulimit -a` shows the limits of this session; --launcher torchrun does not need this";

pub(crate) fn cannot_start_ranks(rank: u32, count: u32, why: &io::Error) -> Problem {
    let help = match why.kind() {
        io::ErrorKind::WouldBlock => "`ulimit -u` limits a user's processes, pids.max a container's",
        io::ErrorKind::OutOfMemory => "this machine is out of memory",
        _ => OTHER_LAUNCHER,
    };
    Problem::error(Rule::Ranks, format!("rank {rank} of {count} cannot be started: {why}"))
        .at(format!("rank {rank}"))
        .fix(help)
}

pub(crate) fn cannot_watch_ranks(why: &io::Error) -> Problem {
    Problem::error(Rule::Ranks, format!("the ranks cannot be supervised: {why}"))
        .at(Place::option("--launcher", "local"))
        .fix(OTHER_LAUNCHER)
}

pub(crate) fn endings_are_hidden() -> Problem {
    Problem::error(Rule::Ranks, "SIGCHLD is ignored, so zlaunch cannot tell how a rank ended")
        .at("SIGCHLD, inherited from the program that starts zlaunch")
        .fix(run("env --default-signal=CHLD zlaunch …"))
}

/// The exit status is that of the rank, as a shell reports it.
pub(crate) fn rank_failed(rank: usize, ending: ExitStatus, several: bool) -> Problem {
    let (how, status) = match (ending.code(), ending.signal()) {
        (Some(code), _) => (format!("exited with status {code}"), code),
        (None, signal) => {
            let number = signal.unwrap_or_default();
            let name = Signal::try_from(number).map_or("", Signal::as_str);
            (format!("was killed by signal {number} {name}").trim_end().to_string(), 128 + number)
        }
    };
    let others = if several { "; the others were stopped" } else { "" };
    Problem::error(Rule::Rank, format!("rank {rank} {how}{others}"))
        .at(format!("rank {rank}"))
        .fix(match ending.signal() {
            Some(9) => "`dmesg` shows whether the system ran out of memory",
            _ => "see its output above; --launcher torchrun --log-dir DIR writes each rank's output to its own files",
        })
        .status(u8::try_from(status).unwrap_or(REFUSED))
}

pub(crate) fn processes_are_left(processes: &[Pid]) -> Problem {
    let numbers = processes.iter().map(Pid::to_string).collect::<Vec<_>>().join(", ");
    Problem::error(Rule::Rank, "processes that the ranks started are still there, and SIGKILL does not end them")
        .at(numbers)
        .fix("they hang in the kernel, perhaps in a driver or a file system: see `dmesg`")
}

pub(crate) fn cannot_print(why: &io::Error) -> Problem {
    Problem::error(Rule::Print, format!("standard output cannot be written: {why}"))
        .at("stdout")
        .fix("is the disk full?")
}
