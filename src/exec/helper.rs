//! zlaunch executed by itself, under a name of its own: as the first steps of a rank, or as the watcher that outlives a
//! zlaunch that is killed. What they do cannot be done from outside the process, or not safely before `exec`.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::unistd::{Pid, close, getpid, getppid};

use super::signals::signals;
use crate::report::NOT_EXECUTABLE;

const RANK: &str = "zlaunch-rank";
const WATCHER: &str = "zlaunch-watcher";

/// Takes the process over if it was started as a helper, known by the whole of its `argv[0]`.
pub(crate) fn helper(mut argv: impl Iterator<Item = OsString>) -> Option<u8> {
    match argv.next()?.to_str()? {
        RANK => Some(become_rank(argv).unwrap_or(NOT_EXECUTABLE)),
        WATCHER => Some(watch(io::stdin().lock())),
        _ => None,
    }
}

/// This very program, even if its file was replaced meanwhile.
fn this_program(name: &str) -> Command {
    let mut command = Command::new("/proc/self/exe");
    // Groups of their own: what is typed at the terminal reaches zlaunch alone, which passes it on.
    command.arg0(name).process_group(0);
    command
}

/// A rank about to be started.
pub(super) struct Starter {
    pub(super) command: Command,
    /// Closed by a successful exec, else it brings the reason.
    report: io::PipeReader,
    /// The rank waits for a word here: what it starts before the watcher knows of it would outlive us.
    go: io::PipeWriter,
    /// The rank's own ends.
    theirs: (io::PipeReader, io::PipeWriter),
}

impl Starter {
    pub(super) fn new(argv: &[OsString]) -> io::Result<Self> {
        let ((wait, go), (report, reason)) = (io::pipe()?, io::pipe()?);
        let mut command = this_program(RANK);
        command.arg(getpid().to_string());
        for end in [wait.as_fd(), reason.as_fd()] {
            fcntl(end, FcntlArg::F_SETFD(FdFlag::empty()))?;
            command.arg(end.as_raw_fd().to_string());
        }
        command.args(argv);
        Ok(Starter { command, report, go, theirs: (wait, reason) })
    }

    /// Comes back once the rank runs. `on_fork` is told its group before that.
    pub(super) fn start(mut self, on_fork: impl FnOnce(Pid)) -> Result<Child, Refusal> {
        let mut child = self.command.spawn().map_err(Refusal::Process)?;
        drop(self.theirs);
        on_fork(group_of(&child));
        // If it is gone already, that is told below.
        let _ = self.go.write_all(b"!");
        let mut reason = [0; 4];
        if self.report.read_exact(&mut reason).is_err() {
            return Ok(child);
        }
        child.wait().map_err(Refusal::Process)?;
        let why = io::Error::from_raw_os_error(i32::from_ne_bytes(reason));
        Err(match why.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => Refusal::Process(why),
            _ => Refusal::Program(why),
        })
    }
}

/// Why a rank was not started.
pub(super) enum Refusal {
    /// There can be no process.
    Process(io::Error),
    /// The process cannot become the program.
    Program(io::Error),
}

/// A helper leads a group of its own number.
pub(super) fn group_of(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed())
}

/// The first steps of a rank. Comes back only if there is no rank.
fn become_rank(mut argv: impl Iterator<Item = OsString>) -> Option<u8> {
    let parent = Pid::from_raw(number(&argv.next()?)?);
    let mut go = inherited(number(&argv.next()?)?, OpenOptions::new().read(true))?;
    let mut report = inherited(number(&argv.next()?)?, OpenOptions::new().write(true))?;
    let program = argv.next()?;
    set_pdeathsig(Signal::SIGKILL).ok()?;
    // It may have died before the line above, or before it said the word.
    if getppid() != parent || go.read_exact(&mut [0]).is_err() {
        return None;
    }
    signals().collect::<SigSet>().thread_unblock().ok()?;
    let why = Command::new(program).args(argv).exec();
    let reason = why.raw_os_error().unwrap_or(nix::errno::Errno::EINVAL as i32);
    report.write_all(&reason.to_ne_bytes()).ok()?;
    None
}

fn number(word: &OsStr) -> Option<i32> {
    word.to_str()?.parse().ok()
}

/// A descriptor that came by its number, as one that goes with exec.
fn inherited(number: i32, how: &OpenOptions) -> Option<File> {
    let file = how.open(format!("/proc/self/fd/{number}")).ok()?;
    close(number).ok()?;
    Some(file)
}

/// The watcher as zlaunch sees it. Dropped without `dismiss` it ends every group it was told of.
pub(super) struct Watcher {
    child: Child,
    words: io::PipeWriter,
}

impl Watcher {
    pub(super) fn start() -> io::Result<Self> {
        let (theirs, ours) = io::pipe()?;
        // It inherits the blocked signals: nothing but the end of its pipe moves it.
        let mut command = this_program(WATCHER);
        let child = command.stdin(theirs).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(Watcher { child, words: ours })
    }

    pub(super) fn keep(&mut self, group: Pid) {
        self.tell(&format!("keep {group}"));
    }

    /// The group is empty, and its number may soon be another's.
    pub(super) fn forget(&mut self, group: Pid) {
        self.tell(&format!("forget {group}"));
    }

    pub(super) fn dismiss(mut self) {
        self.tell("done");
        // An init that buries nobody would keep it for ever.
        let _ = self.child.wait();
    }

    fn tell(&mut self, words: &str) {
        // Without a watcher the ranks still die with their parent; only their children would stay.
        let _ = self.words.write_all(format!("{words}\n").as_bytes());
    }
}

/// The watcher's own part: at the end of the words, unless dismissed, ends every group that is left.
fn watch(words: impl BufRead) -> u8 {
    let mut groups: Vec<Pid> = Vec::new();
    for line in words.lines().map_while(Result::ok) {
        let (word, group) = line.split_once(' ').unwrap_or((&line, ""));
        let group = group.parse().map(Pid::from_raw);
        match (word, group) {
            ("keep", Ok(group)) => groups.push(group),
            ("forget", Ok(group)) => groups.retain(|kept| *kept != group),
            _ => return 0,
        }
    }
    for group in groups {
        // Gone already is what is wanted.
        let _ = killpg(group, Signal::SIGKILL);
    }
    0
}
