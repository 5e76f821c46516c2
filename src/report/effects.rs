//! Sentences about files that are written, programs that are started.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use nix::sys::signal::Signal;

use super::fix::{drop_word, give, give_as};
use super::place::Place;
use super::problem::{NOT_EXECUTABLE, NOT_FOUND, Problem, REFUSED};
use super::tables::outputs::OutputFile;
use super::tables::rules::Rule;
use crate::base::source::Sourced;

pub(crate) fn cannot_write(output: OutputFile, path: &Path, why: &io::Error) -> Problem {
    let what = format!("{} cannot be written: {why}", output.what);
    Problem::error(Rule::Write, what).at(path).fix(output.help)
}

/// `kind` is the file system of the folder.
pub(crate) fn config_may_be_local(path: &Path, machines: usize, kind: &str) -> Problem {
    let what = format!(
        "{machines} machines must read the config at this path, and it is on {kind}: do they all see it?"
    );
    let elsewhere = give("--config-out", "PATH").remark("in a folder that all machines share");
    Problem::warning(Rule::ConfigNotShared, what)
        .at(path)
        .fix(elsewhere.or(give("--allow", "config-not-shared")))
}

pub(crate) fn port_in_use(port: &Sourced<u16>) -> Problem {
    let other = give_as(&port.from, "PORT").remark("the same on every machine");
    Problem::error(
        Rule::Port,
        format!("port {} on this machine is already in use", port.value),
    )
    .at(port)
    .fix(
        drop_word(&port.from)
            .remark("a single machine picks a free port")
            .or(other),
    )
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
        .status(if why.kind() == io::ErrorKind::NotFound {
            NOT_FOUND
        } else {
            NOT_EXECUTABLE
        })
}

const OTHER_LAUNCHER: &str =
    "`ulimit -a` shows the limits of this session; --launcher torchrun does not need this";

pub(crate) fn cannot_start_ranks(rank: u32, count: u32, why: &io::Error) -> Problem {
    let help = match why.kind() {
        io::ErrorKind::WouldBlock => {
            "`ulimit -u` limits a user's processes, pids.max a container's"
        }
        io::ErrorKind::OutOfMemory => "this machine is out of memory",
        _ => OTHER_LAUNCHER,
    };
    Problem::error(
        Rule::Ranks,
        format!("rank {rank} of {count} cannot be started: {why}"),
    )
    .at(format!("rank {rank}"))
    .fix(help)
}

pub(crate) fn cannot_watch_ranks(why: &io::Error) -> Problem {
    Problem::error(
        Rule::Ranks,
        format!("the ranks cannot be supervised: {why}"),
    )
    .at(Place::option("--launcher", "local"))
    .fix(OTHER_LAUNCHER)
}

/// The exit status is that of the rank, as a shell reports it.
pub(crate) fn rank_failed(rank: usize, ending: ExitStatus, several: bool) -> Problem {
    let (how, status) = match (ending.code(), ending.signal()) {
        (Some(code), _) => (format!("exited with status {code}"), code),
        (None, signal) => {
            let number = signal.unwrap_or_default();
            let name = Signal::try_from(number).map_or("", Signal::as_str);
            (
                format!("was killed by signal {number} {name}")
                    .trim_end()
                    .to_string(),
                128 + number,
            )
        }
    };
    let others = if several {
        "; the others were stopped"
    } else {
        ""
    };
    Problem::error(Rule::Rank, format!("rank {rank} {how}{others}"))
        .at(format!("rank {rank}"))
        .fix(match ending.signal() {
            Some(9) => "`dmesg` shows whether the system ran out of memory",
            _ => "see its output above; --launcher torchrun --log-dir DIR writes each rank's output to its own files",
        })
        .status(u8::try_from(status).unwrap_or(REFUSED))
}
