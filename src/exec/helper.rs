//! zlaunch started again by itself under another name: as a rank before its exec, or as the watcher that outlives a
//! zlaunch that was killed. Both do what a parent cannot do for a child without unsafe code between fork and exec.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::unistd::{Pid, close, getpid, getppid};

use super::commands::Scripts;
use super::signals;
use crate::report::NOT_EXECUTABLE;

/// The `argv[0]` of the helpers.
const RANK: &str = "zlaunch-rank";
const STARTER: &str = "zlaunch-starter";
const WATCHER: &str = "zlaunch-watcher";

/// If this process was started as a helper, does its work and returns its exit status.
pub(crate) fn run_if_helper(mut argv: impl Iterator<Item = OsString>) -> Option<u8> {
    match argv.next()?.to_str()? {
        RANK => Some(become_rank(argv, true).unwrap_or(NOT_EXECUTABLE)),
        STARTER => Some(become_rank(argv, false).unwrap_or(NOT_EXECUTABLE)),
        WATCHER => Some(watch(io::stdin().lock(), Scripts(argv.map(PathBuf::from).collect()))),
        _ => None,
    }
}

/// This very program, even if its file was replaced in the meantime.
fn this_program(name: &str) -> Command {
    let mut command = Command::new("/proc/self/exe");
    // In its own process group: Ctrl-C reaches zlaunch alone, which forwards it.
    command.arg0(name).process_group(0);
    command
}

/// A rank that is about to be started.
pub(super) struct RankSpawner {
    pub(super) command: Command,
    /// The rank waits until we write to this pipe: it must not start processes before the watcher knows of its group.
    start: io::PipeWriter,
    /// Closed by a successful exec. Otherwise it brings the error.
    exec_error: io::PipeReader,
    /// The other ends of both pipes.
    child_ends: (io::PipeReader, io::PipeWriter),
}

impl RankSpawner {
    /// `is_remote`: it stands for a process on another machine, and outlives us until that has ended: an engine may kill
    /// what its program started when that program is gone, and leave the ranks.
    pub(super) fn new(argv: &[OsString], is_remote: bool) -> io::Result<Self> {
        let ((child_start, start), (exec_error, child_error)) = (io::pipe()?, io::pipe()?);
        let mut command = this_program(if is_remote { STARTER } else { RANK });
        command.arg(getpid().to_string());
        for end in [child_start.as_fd(), child_error.as_fd()] {
            fcntl(end, FcntlArg::F_SETFD(FdFlag::empty()))?;
            command.arg(end.as_raw_fd().to_string());
        }
        command.args(argv);
        Ok(RankSpawner { command, start, exec_error, child_ends: (child_start, child_error) })
    }

    /// Returns once the rank runs its program. `on_fork` gets its process group before that.
    pub(super) fn spawn(mut self, on_fork: impl FnOnce(Pid)) -> Result<Child, SpawnError> {
        let mut child = self.command.spawn().map_err(SpawnError::Process)?;
        drop(self.child_ends);
        on_fork(process_group(&child));
        // This fails if the child is gone already. The read below then fails as well, and its exit status tells.
        let _ = self.start.write_all(b"!");
        let mut errno = [0; 4];
        if self.exec_error.read_exact(&mut errno).is_err() {
            return Ok(child);
        }
        child.wait().map_err(SpawnError::Process)?;
        let why = io::Error::from_raw_os_error(i32::from_ne_bytes(errno));
        Err(match why.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => SpawnError::Process(why),
            _ => SpawnError::Program(why),
        })
    }
}

/// Why a rank was not started.
pub(super) enum SpawnError {
    /// No process could be made.
    Process(io::Error),
    /// The process could not execute the program.
    Program(io::Error),
}

/// A helper leads a process group of its own.
pub(super) fn process_group(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed())
}

/// The child's part of `RankSpawner`. Returns only if the program was not executed.
fn become_rank(mut argv: impl Iterator<Item = OsString>, dies_with_parent: bool) -> Option<u8> {
    let parent = Pid::from_raw(number(&argv.next()?)?);
    let mut start = inherited(number(&argv.next()?)?, OpenOptions::new().read(true))?;
    let mut exec_error = inherited(number(&argv.next()?)?, OpenOptions::new().write(true))?;
    let program = argv.next()?;
    set_pdeathsig(dies_with_parent.then_some(Signal::SIGKILL)).ok()?;
    // The parent may have died before the line above, or before it wrote to the pipe.
    if getppid() != parent || start.read_exact(&mut [0]).is_err() {
        return None;
    }
    signals::handled().collect::<SigSet>().thread_unblock().ok()?;
    // In a process group of its own a rank is in the background. Under `stty tostop` its first line would stop it.
    SigSet::from(Signal::SIGTTOU).thread_block().ok()?;
    let why = Command::new(program).args(argv).exec();
    let errno = why.raw_os_error().unwrap_or(Errno::EINVAL as i32);
    exec_error.write_all(&errno.to_ne_bytes()).ok()?;
    None
}

fn number(word: &OsStr) -> Option<i32> {
    word.to_str()?.parse().ok()
}

/// Opens an inherited descriptor again, so that exec closes it.
fn inherited(descriptor: i32, how: &OpenOptions) -> Option<File> {
    let file = how.open(format!("/proc/self/fd/{descriptor}")).ok()?;
    close(descriptor).ok()?;
    Some(file)
}

/// A process that kills the ranks' process groups and removes the scripts of other machines if zlaunch itself is killed.
/// Dropped without `dismiss`, it does the same.
pub(super) struct Watcher {
    child: Child,
    pipe: io::PipeWriter,
}

impl Watcher {
    pub(super) fn start(scripts: &Scripts) -> io::Result<Self> {
        let (reader, pipe) = io::pipe()?;
        // It inherits our blocked signals, so that only the end of its pipe ends it.
        let mut command = this_program(WATCHER);
        let child = command.args(&scripts.0).stdin(reader).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(Watcher { child, pipe })
    }

    pub(super) fn pid(&self) -> Pid {
        process_group(&self.child)
    }

    pub(super) fn add(&mut self, group: Pid) {
        self.send(&format!("add {group}"));
    }

    /// The group is empty, and the system may give its number to another one.
    pub(super) fn remove(&mut self, group: Pid) {
        self.send(&format!("remove {group}"));
    }

    pub(super) fn dismiss(mut self) {
        self.send("done");
        // Collected here: not every container has an init that does.
        let _ = self.child.wait();
    }

    fn send(&mut self, line: &str) {
        // Without a watcher the ranks still die with their parent; only their children would stay.
        let _ = self.pipe.write_all(format!("{line}\n").as_bytes());
    }
}

/// The watcher's own part. If the lines end before it was dismissed, zlaunch is dead. However it ends, no script stays.
fn watch(lines: impl BufRead, _scripts: Scripts) -> u8 {
    let mut groups: Vec<Pid> = Vec::new();
    for line in lines.lines().map_while(Result::ok) {
        let (action, group) = line.split_once(' ').unwrap_or((&line, ""));
        match (action, group.parse().map(Pid::from_raw)) {
            ("add", Ok(group)) => groups.push(group),
            ("remove", Ok(group)) => groups.retain(|known| *known != group),
            _ => return 0,
        }
    }
    for group in groups {
        // It fails only if the group is gone already.
        let _ = killpg(group, Signal::SIGKILL);
    }
    0
}
