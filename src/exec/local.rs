//! `--launcher local`: starts the ranks of this machine, passes signals on to them, and ends all when one fails.

use std::{
    ffi::{OsStr, OsString},
    fs::OpenOptions,
    io::{self, IsTerminal, Read, Write},
    net::{Ipv4Addr, TcpListener},
    os::{
        fd::{AsFd, AsRawFd, RawFd},
        unix::process::{CommandExt, ExitStatusExt},
    },
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    fcntl::{FcntlArg, FdFlag, fcntl},
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        prctl::{set_child_subreaper, set_pdeathsig},
        signal::{SigSet, Signal, kill, killpg, raise},
        signalfd::{SfdFlags, SignalFd},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::{Pid, close, getpid, getppid},
};

use super::tables::signals::{HANDLED, KILL_TIMEOUT, STOP};
use crate::{
    base::vars,
    host::{children, is_ignored},
    plan::Plan,
    ranks::{launcher::LocalRanks, topology::PER_RANK},
    report::{self, Problem, Rule, fix},
};

/// The `argv[0]` of a rank before its exec.
pub const RANK: &str = "zlaunch-rank";

/// Starts the ranks, waits for all of them, and returns their exit status.
pub fn run(local: &LocalRanks, plan: &Plan) -> Result<u8, Problem> {
    if is_ignored(Signal::SIGCHLD) {
        return Err(Rule::Ranks
            .error("SIGCHLD is ignored, so zlaunch cannot tell how a rank ended")
            .at("SIGCHLD, inherited from the program that starts zlaunch")
            .fix(fix::run("env --default-signal=CHLD zlaunch …")));
    }
    let failed =
        |why: io::Error| report::cannot_start_ranks("the ranks cannot be supervised", &why);
    // A port for the ranks to meet on, if the plan leaves it open with 0. Rank 0 will listen on all addresses.
    let open = (vars::MASTER_PORT, OsStr::new("0"));
    let port = if plan.environment.settings().any(|setting| setting == open) {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0));
        Some(
            listener
                .and_then(|listener| listener.local_addr())
                .map_err(failed)?
                .port(),
        )
    } else {
        None
    };
    let mut supervisor = Supervisor::new(local.grace).map_err(failed)?;
    // A rank writes the reason here if its program is not executed. It inherits this and opens it again, so that exec
    // closes it.
    let (mut exec_errors, exec_error) = io::pipe().map_err(failed)?;
    fcntl(&exec_error, FcntlArg::F_SETFD(FdFlag::empty())).map_err(|why| failed(why.into()))?;
    let started = (0..local.count).try_for_each(|rank| {
        let child = rank_command(rank, plan, port, &exec_error)
            .spawn()
            .map_err(|why| {
                report::cannot_start_ranks(
                    &format!("rank {rank} of {} cannot be started", local.count),
                    &why,
                )
            })?;
        supervisor.ranks.push(Rank {
            child,
            status: None,
            group_is_empty: false,
        });
        Ok(())
    });
    drop(exec_error);
    if started.is_err() {
        supervisor.stop(Signal::SIGTERM);
    }
    supervisor
        .wait_for_all()
        .map_err(|why| failed(why.into()))?;
    started?;
    let mut errno = [0; 4];
    if exec_errors.read_exact(&mut errno).is_ok() {
        return Err(report::cannot_execute(
            &plan.argv[0],
            &io::Error::from_raw_os_error(i32::from_ne_bytes(errno)),
        ));
    }
    let all_succeeded = supervisor
        .ranks
        .iter()
        .map(|rank| rank.status)
        .all(|status| status.is_some_and(|it| it.success()));
    match (supervisor.first_failure, supervisor.stop_signal) {
        (Some((rank, status)), _) => Err(report::rank_failed(rank, status, local.count > 1)),
        // If all ranks handled the signal and exited with 0, the launch succeeded.
        (None, Some(signal)) if !all_succeeded => Ok(128 + signal as u8),
        (None, _) => Ok(0),
    }
}

fn rank_command(rank: u32, plan: &Plan, port: Option<u16>, exec_error: &io::PipeWriter) -> Command {
    // This very program, even if its file was replaced in the meantime.
    let mut command = Command::new("/proc/self/exe");
    // In a process group of its own: Ctrl-C reaches zlaunch alone, which passes it on.
    command.arg0(RANK).process_group(0);
    command
        .args([getpid().to_string(), exec_error.as_raw_fd().to_string()])
        .args(&plan.argv);
    plan.environment.apply(&mut command);
    command.envs(PER_RANK.iter().map(|name| (name, rank.to_string())));
    command.envs(port.map(|port| (vars::MASTER_PORT, port.to_string())));
    // The first rank may read a file or a pipe. In the background, a terminal would stop it.
    if rank > 0 || io::stdin().is_terminal() {
        command.stdin(Stdio::null());
    }
    command
}

struct Rank {
    child: Child,
    status: Option<ExitStatus>,
    /// No process is left in its group, so the system may give its number to another one.
    group_is_empty: bool,
}

impl Rank {
    fn group(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Running,
    /// The ranks got a signal that they can handle, and have time until then. `None`: for ever.
    Stopping(Option<Instant>),
    Killing(Instant),
    GivenUp,
}

struct Supervisor {
    ranks: Vec<Rank>,
    signals: SignalFd,
    /// The program that became zlaunch had children. Their orphans become ours as well, but are not our business.
    has_foreign_children: bool,
    grace: Duration,
    phase: Phase,
    /// The first rank that failed before any was asked to stop.
    first_failure: Option<(usize, ExitStatus)>,
    stop_signal: Option<Signal>,
}

impl Supervisor {
    fn new(grace: Duration) -> io::Result<Self> {
        // The ranks ignore the signals that the caller made us ignore (nohup).
        let handled: SigSet = HANDLED
            .into_iter()
            .filter(|signal| !is_ignored(*signal))
            .collect();
        handled.thread_block()?;
        // Processes whose rank is gone become our children, so that we learn when they exit.
        set_child_subreaper(true)?;
        Ok(Supervisor {
            ranks: vec![],
            signals: SignalFd::with_flags(
                &handled,
                SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK,
            )?,
            has_foreign_children: !children().is_empty(),
            grace,
            phase: Phase::Running,
            first_failure: None,
            stop_signal: None,
        })
    }

    fn wait_for_all(&mut self) -> nix::Result<()> {
        loop {
            if self.ranks.iter().all(|rank| rank.status.is_some()) {
                let orphans = self.orphans();
                let groups_are_empty = self.ranks.iter().all(|rank| rank.group_is_empty);
                if groups_are_empty && orphans.is_empty() || self.phase == Phase::GivenUp {
                    return Ok(());
                }
                // Processes that the ranks left behind must not stay.
                let signal = if matches!(self.phase, Phase::Killing(_)) {
                    Signal::SIGKILL
                } else {
                    Signal::SIGTERM
                };
                self.stop(signal);
                for orphan in orphans {
                    // These fail only if it has just exited. Only we collect it, so the number is still its own.
                    let _ = (kill(orphan, signal), kill(orphan, Signal::SIGCONT));
                }
            }
            let left = match self.phase {
                Phase::Stopping(Some(deadline)) | Phase::Killing(deadline) => {
                    // Rounded up: with less than a millisecond left, `poll` would return at once, again and again.
                    let left = deadline.saturating_duration_since(Instant::now())
                        + Duration::from_millis(1);
                    PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
                }
                _ => PollTimeout::NONE,
            };
            match poll(
                &mut [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)],
                left,
            ) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(why) => return Err(why),
            }
            self.handle_signals()?;
            let now = Instant::now();
            match self.phase {
                Phase::Stopping(Some(deadline)) if now >= deadline => {
                    self.phase = Phase::Killing(now + KILL_TIMEOUT);
                    self.signal_ranks(Signal::SIGKILL);
                }
                Phase::Killing(deadline) if now >= deadline => self.phase = Phase::GivenUp,
                _ => {}
            }
        }
    }

    fn handle_signals(&mut self) -> nix::Result<()> {
        while let Some(info) = self.signals.read_signal()? {
            match Signal::try_from(info.ssi_signo.cast_signed()) {
                Ok(Signal::SIGCHLD) => self.reap(Pid::from_raw(info.ssi_pid.cast_signed())),
                Ok(signal) if STOP.contains(&signal) => {
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
        for rank in self.ranks.iter().filter(|rank| !rank.group_is_empty) {
            // It fails only if the group has just exited.
            let _ = killpg(rank.group(), signal);
        }
    }

    /// Asks all ranks to stop. The first time starts the grace period.
    fn stop(&mut self, signal: Signal) {
        self.signal_ranks(signal);
        // A stopped process would not see the signal.
        self.signal_ranks(Signal::SIGCONT);
        if self.phase == Phase::Running {
            self.phase = Phase::Stopping(Instant::now().checked_add(self.grace));
        }
    }

    /// Processes that a rank started and that left its process group. As a subreaper zlaunch becomes their parent when the
    /// rank is gone; until then, a rank may count on what it started.
    fn orphans(&self) -> Vec<Pid> {
        let mut orphans = if self.has_foreign_children {
            vec![]
        } else {
            children()
        };
        orphans.retain(|child| self.ranks.iter().all(|rank| rank.group() != *child));
        orphans
    }

    /// Collects every child that has exited. Several SIGCHLD may arrive as one, which names only the `first`.
    fn reap(&mut self, first: Pid) {
        for at in self
            .ranks
            .iter()
            .position(|rank| rank.group() == first)
            .into_iter()
            .chain(0..self.ranks.len())
        {
            let rank = &mut self.ranks[at];
            if rank.status.is_some() {
                continue;
            }
            // An error means that the status is lost, which counts as a failure.
            let lost = ExitStatus::from_raw(i32::from(report::REFUSED) << 8);
            rank.status = rank.child.try_wait().unwrap_or(Some(lost));
            if let Some(status) = rank.status.filter(|status| !status.success())
                && self.phase == Phase::Running
            {
                self.first_failure = Some((at, status));
                self.stop(Signal::SIGTERM);
            }
        }
        for orphan in self.orphans() {
            let _ = waitpid(orphan, Some(WaitPidFlag::WNOHANG));
        }
        for rank in self
            .ranks
            .iter_mut()
            .filter(|rank| rank.status.is_some() && !rank.group_is_empty)
        {
            let group = Pid::from_raw(-rank.group().as_raw());
            while !matches!(
                waitpid(group, Some(WaitPidFlag::WNOHANG)),
                Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD)
            ) {}
            rank.group_is_empty = killpg(rank.group(), None) == Err(Errno::ESRCH);
        }
    }
}

/// Becomes the program of a rank, after steps that a parent could only take with unsafe code between fork and exec. Returns
/// the exit status if the program was not executed. `words`: as `rank_command` has them.
pub fn become_rank(words: &[OsString]) -> Option<u8> {
    let [parent, exec_error, program, arguments @ ..] = words else {
        return None;
    };
    let prepared = set_pdeathsig(Signal::SIGKILL)
        .and_then(|()| SigSet::from_iter(HANDLED).thread_unblock())
        // In a process group of its own a rank is in the background. Under `stty tostop` its first line would stop it.
        .and_then(|()| SigSet::from(Signal::SIGTTOU).thread_block());
    // The parent may have died before the first of these.
    if prepared.is_err() || parent.to_str() != Some(&getppid().to_string()) {
        return Some(report::REFUSED);
    }
    let number = exec_error.to_str()?.parse().ok()?;
    let mut exec_error = OpenOptions::new()
        .write(true)
        .open(format!("/proc/self/fd/{number}"))
        .ok()?;
    close::<RawFd>(number).ok()?;
    let errno = Command::new(program)
        .args(arguments)
        .exec()
        .raw_os_error()
        .unwrap_or(Errno::EINVAL as i32);
    let _ = exec_error.write_all(&errno.to_ne_bytes());
    Some(report::NOT_EXECUTABLE)
}
