//! Starts the ranks of this machine, or what stands for them on each machine of a job, forwards signals and output, and stops
//! all when one fails. A single thread waits in one `poll` for signals, for output and for the end of the grace period.

mod start;

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{SigSet, Signal, killpg, raise};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;

use super::commands::{Commands, Scripts};
use super::helper::Watcher;
use super::output::{Console, READ_SIZE, RankLog, RankStream};
use super::signals;
use super::strays::Strays;
use crate::host::IgnoredSignals;
use crate::plan::environment::Environment;
use crate::ranks::launcher::local::LocalRanks;
use crate::report::{self, Problem};

/// The most that an unprivileged pipe can hold.
const LARGEST_PIPE: usize = 1 << 20;
/// A process that is still there so long after SIGKILL hangs in the kernel, and nobody can end it.
const KILL_TIMEOUT: Duration = Duration::from_secs(1);

/// Starts the ranks, or what stands for them on each machine, and waits for all. The exit status is theirs.
pub(super) fn run(local: &LocalRanks, commands: &Commands<'_>, environment: &Environment) -> Result<u8, Problem> {
    let mut supervisor = Supervisor::new(local.grace, commands.scripts())?;
    let started = supervisor.start_ranks(local, commands, environment);
    if started.is_err() {
        supervisor.stop(Signal::SIGTERM);
    }
    // On an error the watcher is dropped without being dismissed, and kills whatever is left.
    supervisor.run().map_err(|why| report::cannot_watch_ranks(&why.into()))?;
    supervisor.watcher.dismiss();
    started?;
    match (supervisor.first_failure, supervisor.stop_signal) {
        (Some((at, status)), _) => Err(match commands {
            Commands::Machines(each) => report::machine_failed(at, &each.machines[at].name, status),
            Commands::Ranks(_) => {
                let log = local.log_dir.as_deref().map(|folder| RankLog::path(folder, at));
                report::rank_failed(at, status, supervisor.ranks.len() > 1, log.as_deref())
            }
        }),
        // If all ranks handled the signal and exited with 0, the launch succeeded.
        (None, Some(signal)) if !supervisor.ranks.iter().all(RankProcess::succeeded) => Ok(128 + signal as u8),
        (None, _) => Ok(0),
    }
}

struct RankProcess {
    child: Child,
    group: Pid,
    /// It stands for a process on another machine, and would not hand a signal on.
    is_remote: bool,
    status: Option<ExitStatus>,
    /// No process of the group is left. The system may give its number to another group.
    group_is_empty: bool,
}

impl RankProcess {
    fn has_exited(&self) -> bool {
        self.status.is_some()
    }

    fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

struct Supervisor {
    ranks: Vec<RankProcess>,
    streams: Vec<RankStream>,
    /// Our stdout and stderr; empty if the ranks write there themselves.
    consoles: Vec<Console>,
    signals: SignalFd,
    watcher: Watcher,
    strays: Strays,
    scripts: Scripts,
    grace_period: Duration,
    /// The first rank that failed before any was asked to stop.
    first_failure: Option<(usize, ExitStatus)>,
    /// The first signal from outside that asked us to stop.
    stop_signal: Option<Signal>,
    /// Set once the ranks were asked to stop.
    shutdown: Option<Shutdown>,
    /// Every rank has exited, though processes they started may be left.
    all_exited: bool,
}

struct Shutdown {
    escalation: Escalation,
    /// When the next step is due. `None`: never.
    deadline: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Escalation {
    /// The ranks got a signal that they can handle.
    AskedToStop,
    /// The ranks got SIGKILL.
    Killed,
    /// Whatever is left is not waited for.
    GivenUp,
}

/// What `poll` found ready.
#[derive(Clone, Copy)]
enum Ready {
    Signals,
    Stream(usize),
    Console(usize),
}

impl Supervisor {
    fn new(grace_period: Duration, scripts: Scripts) -> Result<Self, Problem> {
        let failed = |why: io::Error| report::cannot_watch_ranks(&why);
        let ignored = IgnoredSignals::read();
        if ignored.contains(Signal::SIGCHLD) {
            return Err(report::endings_are_hidden());
        }
        // What the caller made us ignore (nohup), the ranks ignore as well.
        let handled = signals::handled().filter(|signal| !ignored.contains(*signal)).collect::<SigSet>();
        handled.thread_block().map_err(|why| failed(why.into()))?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let signals = SignalFd::with_flags(&handled, flags).map_err(|why| failed(why.into()))?;
        // Processes whose rank is gone become our children, so that we learn when they exit.
        set_child_subreaper(true).map_err(|why| failed(why.into()))?;
        let mut strays = Strays::new();
        let watcher = Watcher::start(&scripts).map_err(failed)?;
        strays.know(watcher.pid());
        Ok(Supervisor {
            ranks: Vec::new(),
            streams: Vec::new(),
            consoles: Vec::new(),
            signals,
            watcher,
            strays,
            scripts,
            grace_period,
            first_failure: None,
            stop_signal: None,
            shutdown: None,
            all_exited: false,
        })
    }

    /// Until all ranks and their children are gone and everything they printed is written.
    fn run(&mut self) -> nix::Result<()> {
        loop {
            let given_up = self.has_given_up();
            let exited = self.ranks.iter().all(RankProcess::has_exited);
            if exited && (given_up || !self.has_leftovers()) {
                self.drain_streams();
                // A slow reader of our output is waited for, unless we were asked to stop.
                if given_up && self.stop_signal.is_some() || self.consoles.iter().all(Console::is_empty) {
                    return Ok(());
                }
            }
            for ready in self.wait()? {
                match ready {
                    Ready::Signals => self.handle_signals()?,
                    Ready::Console(at) => self.consoles[at].write(),
                    Ready::Stream(at) => {
                        self.streams[at].read(&mut self.consoles);
                    }
                }
            }
            self.streams.retain(|stream| stream.open);
            self.escalate();
        }
    }

    fn wait(&self) -> nix::Result<Vec<Ready>> {
        let mut sources = vec![(Ready::Signals, PollFd::new(self.signals.as_fd(), PollFlags::POLLIN))];
        for (at, stream) in self.streams.iter().enumerate().filter(|(_, it)| it.wants_to_be_read(&self.consoles)) {
            sources.push((Ready::Stream(at), PollFd::new(stream.as_fd(), PollFlags::POLLIN)));
        }
        for (at, console) in self.consoles.iter().enumerate().filter(|(_, it)| !it.is_empty()) {
            sources.push((Ready::Console(at), PollFd::new(console.as_fd(), PollFlags::POLLOUT)));
        }
        let (sources, mut descriptors): (Vec<Ready>, Vec<PollFd>) = sources.into_iter().unzip();
        match poll(&mut descriptors, self.time_left()) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(Vec::new()),
            Err(why) => return Err(why),
        }
        let polled = sources.into_iter().zip(&descriptors);
        Ok(polled.filter(|(_, descriptor)| descriptor.any() != Some(false)).map(|(source, _)| source).collect())
    }

    fn time_left(&self) -> PollTimeout {
        let deadline = self.shutdown.as_ref().and_then(|shutdown| shutdown.deadline);
        deadline.map_or(PollTimeout::NONE, |deadline| {
            // Rounded up: with less than a millisecond left, `poll` would return at once, again and again.
            let left = deadline.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
            PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
        })
    }

    fn handle_signals(&mut self) -> nix::Result<()> {
        while let Some(info) = self.signals.read_signal()? {
            match Signal::try_from(info.ssi_signo.cast_signed()) {
                Ok(Signal::SIGCHLD) => self.reap(Pid::from_raw(info.ssi_pid.cast_signed())),
                Ok(signal) if signals::STOP.contains(&signal) => {
                    self.stop_signal.get_or_insert(signal);
                    self.stop(signal);
                }
                Ok(Signal::SIGTSTP) => {
                    self.signal_ranks(Signal::SIGTSTP);
                    raise(Signal::SIGSTOP)?;
                }
                Ok(signal) => self.signal_ranks(signal),
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn signal_ranks(&self, signal: Signal) {
        let takes_it = |rank: &&RankProcess| !rank.group_is_empty && (!rank.is_remote || signal == Signal::SIGKILL);
        for rank in self.ranks.iter().filter(takes_it) {
            // It fails only if the group has just exited.
            let _ = killpg(rank.group, signal);
        }
    }

    /// Whether processes are left that the ranks started.
    fn has_leftovers(&self) -> bool {
        self.ranks.iter().any(|rank| !rank.group_is_empty) || !self.strays.list().is_empty()
    }

    /// Asks all ranks to stop. The first time starts the grace period.
    fn stop(&mut self, signal: Signal) {
        self.signal_ranks(signal);
        // A stopped process would not see the signal.
        self.signal_ranks(Signal::SIGCONT);
        self.scripts = Scripts::default();
        let deadline = Instant::now().checked_add(self.grace_period);
        self.shutdown.get_or_insert(Shutdown { escalation: Escalation::AskedToStop, deadline });
    }

    fn escalate(&mut self) {
        let Some(shutdown) = &mut self.shutdown else { return };
        if shutdown.deadline.is_none_or(|deadline| Instant::now() < deadline) {
            return;
        }
        if shutdown.escalation == Escalation::AskedToStop {
            *shutdown = Shutdown { escalation: Escalation::Killed, deadline: Some(Instant::now() + KILL_TIMEOUT) };
            self.signal_ranks(Signal::SIGKILL);
            self.strays.signal(Signal::SIGKILL);
        } else {
            *shutdown = Shutdown { escalation: Escalation::GivenUp, deadline: None };
        }
    }

    fn has_given_up(&self) -> bool {
        self.shutdown.as_ref().is_some_and(|shutdown| shutdown.escalation == Escalation::GivenUp)
    }

    /// Reads as much as a pipe can hold, and not to its end: a process that left its group may hold the other end open,
    /// and write for ever.
    fn drain_streams(&mut self) {
        for mut stream in self.streams.drain(..) {
            let reads = LARGEST_PIPE / READ_SIZE;
            let _ = (0..reads).all(|_| stream.read(&mut self.consoles));
            stream.close(&mut self.consoles);
        }
    }

    /// Collects every child that has exited. Several SIGCHLD may arrive as one, which names only the `first`.
    fn reap(&mut self, first: Pid) {
        self.record_exits(first);
        loop {
            // WNOWAIT: the exit status of a rank is for its `Child`.
            match waitid(Id::All, WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT) {
                Ok(WaitStatus::StillAlive) => break,
                Ok(exited) => self.reap_child(exited.pid(), first),
                // Ended by a real-time signal, for which nix has no name.
                Err(Errno::EINVAL) => self.reap_child(None, first),
                Err(_) => break,
            }
        }
        for rank in self.ranks.iter_mut().filter(|rank| rank.has_exited() && !rank.group_is_empty) {
            if killpg(rank.group, None) == Err(Errno::ESRCH) {
                rank.group_is_empty = true;
                self.watcher.remove(rank.group);
            }
        }
        let all_exited = self.ranks.iter().all(RankProcess::has_exited);
        if all_exited && !self.all_exited && self.has_leftovers() {
            // Processes that the ranks left behind must not stay.
            self.stop(Signal::SIGTERM);
        }
        self.all_exited = all_exited;
        if all_exited && self.shutdown.is_some() {
            self.signal_strays();
        }
    }

    /// Only when the ranks are gone: until then, a rank may count on what it started. Each that ends may leave others.
    fn signal_strays(&mut self) {
        let killed = self.shutdown.as_ref().is_some_and(|shutdown| shutdown.escalation != Escalation::AskedToStop);
        self.strays.signal(if killed { Signal::SIGKILL } else { Signal::SIGTERM });
        self.strays.signal(Signal::SIGCONT);
    }

    /// Notes which ranks have exited, `first` of all this one; whether there was any.
    fn record_exits(&mut self, first: Pid) -> bool {
        let mut any = false;
        let first = self.ranks.iter().position(|rank| rank.group == first);
        for at in first.into_iter().chain(0..self.ranks.len()) {
            let rank = &mut self.ranks[at];
            if rank.has_exited() {
                continue;
            }
            let status = match rank.child.try_wait() {
                Ok(None) => continue,
                Ok(Some(status)) => status,
                // The status is lost, which counts as a failure.
                Err(_) => ExitStatus::from_raw(i32::from(report::REFUSED) << 8),
            };
            rank.status = Some(status);
            any = true;
            if !status.success() && self.shutdown.is_none() {
                self.first_failure = Some((at, status));
                self.stop(Signal::SIGTERM);
            }
        }
        any
    }

    /// Collects one child: a rank, or a process that a rank left behind.
    fn reap_child(&mut self, pid: Option<Pid>, first: Pid) {
        let is_rank = self.ranks.iter().any(|rank| Some(rank.group) == pid);
        if !self.record_exits(pid.unwrap_or(first)) && !is_rank {
            // How it exited does not matter.
            let _ = waitpid(pid, Some(WaitPidFlag::WNOHANG));
        }
    }
}
