//! The ranks of this machine: started, watched, stopped together. One thread, which waits in one place for signals, for
//! what the ranks print and for the end of their time to stop.

use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{SigSet, Signal, killpg, raise};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;

use super::helper::{Refusal, Starter, Watcher, group_of};
use super::output::{Console, Log, PORTION, Stream};
use super::signals::{STOPS, signals};
use super::{change_environment, make_private_folder};
use crate::base::vars;
use crate::plan::environment::{Environment, Setting};
use crate::ranks::launcher::local::{Local, PER_RANK};
use crate::report::{self, Problem};

/// What the system lets a pipe grow to.
const LARGEST_PIPE: usize = 1 << 20;
/// What is still there so long after it was killed is out of everybody's reach.
const AFTER_KILL: Duration = Duration::from_secs(1);

/// Starts the ranks and sees them through; the exit status is theirs.
pub(super) fn run(local: &Local, argv: &[OsString], environment: &Environment) -> Result<u8, Problem> {
    let mut crew = Crew::new(local.grace)?;
    let started = crew.start(local, argv, environment);
    if started.is_err() {
        crew.stop(Signal::SIGTERM);
    }
    // Left without a word, the watcher ends what is there.
    crew.see_through().map_err(|why| report::cannot_watch_ranks(&why.into()))?;
    crew.watcher.dismiss();
    started?;
    match (crew.failed, crew.told) {
        (Some((rank, ending)), _) => {
            let log = local.log_dir.as_deref().map(|folder| Log::path(folder, rank));
            Err(report::rank_failed(rank, ending, crew.ranks.len() > 1, log.as_deref()))
        }
        // Ranks that took their leave with success were not ended by it.
        (None, Some(signal)) if !crew.ranks.iter().all(Rank::succeeded) => Ok(128 + signal as u8),
        (None, _) => Ok(0),
    }
}

struct Rank {
    child: Child,
    group: Pid,
    ending: Option<ExitStatus>,
    /// Nobody of its group is left, and the number may be another's.
    gone: bool,
}

impl Rank {
    fn succeeded(&self) -> bool {
        self.ending.is_some_and(|ending| ending.success())
    }
}

/// All ranks, and what is between them and the world.
struct Crew {
    ranks: Vec<Rank>,
    streams: Vec<Stream>,
    consoles: Vec<Console>,
    signals: SignalFd,
    watcher: Watcher,
    grace: Duration,
    /// The first rank that failed of itself.
    failed: Option<(usize, ExitStatus)>,
    /// The first signal that asked all to stop.
    told: Option<Signal>,
    stopping: Option<Stopping>,
    /// No rank runs any more, though there may be some they left behind.
    ended: bool,
}

/// The ranks were asked to end.
struct Stopping {
    /// When patience ends; `None` is never.
    deadline: Option<Instant>,
    patience: Patience,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
    Asked,
    Killed,
    Over,
}

/// Who has something for us.
#[derive(Clone, Copy)]
enum Source {
    Signals,
    Stream(usize),
    Console(usize),
}

impl Crew {
    fn new(grace: Duration) -> Result<Self, Problem> {
        let failed = |why: io::Error| report::cannot_watch_ranks(&why);
        let ignored = ignored_signals();
        if ignored.contains(&Signal::SIGCHLD) {
            return Err(report::endings_are_hidden());
        }
        // What the caller made us ignore (nohup), the ranks ignore as well.
        let waited_for = signals().filter(|signal| !ignored.contains(signal)).collect::<SigSet>();
        waited_for.thread_block().map_err(|why| failed(why.into()))?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let signals = SignalFd::with_flags(&waited_for, flags).map_err(|why| failed(why.into()))?;
        // Processes that ranks leave behind become our children: their end is told, too.
        set_child_subreaper(true).map_err(|why| failed(why.into()))?;
        Ok(Crew {
            ranks: Vec::new(),
            streams: Vec::new(),
            consoles: Vec::new(),
            signals,
            watcher: Watcher::start().map_err(failed)?,
            grace,
            failed: None,
            told: None,
            stopping: None,
            ended: false,
        })
    }

    // Starting

    fn start(&mut self, local: &Local, argv: &[OsString], environment: &Environment) -> Result<(), Problem> {
        let port = free_port(environment).map_err(|why| report::cannot_watch_ranks(&why))?;
        if let Some(folder) = &local.log_dir {
            make_private_folder(folder).map_err(|why| report::cannot_write(report::OutputFile::LOG, folder, &why))?;
        }
        if local.prefix {
            let consoles = Console::new(io::stdout()).and_then(|out| Ok(vec![out, Console::new(io::stderr())?]));
            self.consoles = consoles.map_err(|why| report::cannot_watch_ranks(&why))?;
        }
        for rank in 0..local.count {
            let failed = |why: &io::Error| report::cannot_start_ranks(rank, local.count, why);
            let log = local.log_dir.as_deref().map(|folder| Log::open(folder, rank)).transpose()?;
            let mut starter = Starter::new(argv).map_err(|why| failed(&why))?;
            let command = &mut starter.command;
            change_environment(command, environment);
            command.envs(PER_RANK.iter().map(|name| (name, rank.to_string())));
            command.envs(port.map(|port| (vars::MASTER_PORT, port.to_string())));
            command.stdin(if rank == 0 { stdin_of_the_first() } else { Stdio::null() });
            connect(command, local.prefix, log.as_ref()).map_err(|why| failed(&why))?;
            let child = starter.start(|group| self.watcher.keep(group)).map_err(|why| match why {
                Refusal::Process(why) => failed(&why),
                Refusal::Program(why) => report::cannot_execute(&argv[0], &why),
            })?;
            self.take_on(child, rank, log.as_ref()).map_err(|why| failed(&why))?;
        }
        Ok(())
    }

    fn take_on(&mut self, mut child: Child, rank: u32, log: Option<&Log>) -> io::Result<()> {
        let (stdout, stderr) = (child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from));
        self.ranks.push(Rank { group: group_of(&child), child, ending: None, gone: false });
        for (console, source) in [stdout, stderr].into_iter().enumerate() {
            let Some(source) = source else { continue };
            let log = log.map(Log::try_clone).transpose()?;
            self.streams.push(Stream::new(source, rank, console, log)?);
        }
        Ok(())
    }

    // Stopping

    fn signal(&self, signal: Signal) {
        for rank in self.ranks.iter().filter(|rank| !rank.gone) {
            // Whoever is gone needs no signal.
            let _ = killpg(rank.group, signal);
        }
    }

    /// Asks all that are left to end; from the first time on their time runs.
    fn stop(&mut self, signal: Signal) {
        self.signal(signal);
        // Whoever is stopped would not hear it.
        self.signal(Signal::SIGCONT);
        let deadline = Instant::now().checked_add(self.grace);
        self.stopping.get_or_insert(Stopping { deadline, patience: Patience::Asked });
    }

    fn lose_patience(&mut self) {
        let Some(stopping) = &mut self.stopping else { return };
        if stopping.deadline.is_none_or(|deadline| Instant::now() < deadline) {
            return;
        }
        if stopping.patience == Patience::Asked {
            *stopping = Stopping { deadline: Some(Instant::now() + AFTER_KILL), patience: Patience::Killed };
            self.signal(Signal::SIGKILL);
        } else {
            *stopping = Stopping { deadline: None, patience: Patience::Over };
        }
    }

    fn patience_is_over(&self) -> bool {
        self.stopping.as_ref().is_some_and(|stopping| stopping.patience == Patience::Over)
    }

    // Waiting

    /// Until all ranks have ended, nobody of theirs is left and all they printed is passed on.
    fn see_through(&mut self) -> nix::Result<()> {
        loop {
            if self.ranks.iter().all(|rank| rank.ending.is_some() && (rank.gone || self.patience_is_over())) {
                self.close_streams();
                // A slow reader is waited for, unless we are to stop.
                let give_up = self.told.is_some() && self.patience_is_over();
                if give_up || self.consoles.iter().all(Console::is_empty) {
                    return Ok(());
                }
            }
            for source in self.wait()? {
                match source {
                    Source::Signals => self.hear()?,
                    Source::Console(at) => self.consoles[at].write(),
                    Source::Stream(at) => {
                        self.streams[at].read(&mut self.consoles);
                    }
                }
            }
            self.streams.retain(|stream| stream.open);
            self.lose_patience();
        }
    }

    /// What a pipe can hold, not to its end: somebody who left the group may have the other side, and go on.
    fn close_streams(&mut self) {
        for mut stream in self.streams.drain(..) {
            let portions = LARGEST_PIPE / PORTION;
            let _ = (0..portions).all(|_| stream.read(&mut self.consoles));
            stream.end(&mut self.consoles);
        }
    }

    fn wait(&self) -> nix::Result<Vec<Source>> {
        let mut sources = vec![(Source::Signals, PollFd::new(self.signals.as_fd(), PollFlags::POLLIN))];
        for (at, stream) in self.streams.iter().enumerate().filter(|(_, it)| it.wants_to_be_read(&self.consoles)) {
            sources.push((Source::Stream(at), PollFd::new(stream.as_fd(), PollFlags::POLLIN)));
        }
        for (at, console) in self.consoles.iter().enumerate().filter(|(_, it)| !it.is_empty()) {
            sources.push((Source::Console(at), PollFd::new(console.as_fd(), PollFlags::POLLOUT)));
        }
        let (sources, mut asked): (Vec<Source>, Vec<PollFd>) = sources.into_iter().unzip();
        match poll(&mut asked, self.time_left()) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(Vec::new()),
            Err(why) => return Err(why),
        }
        Ok(sources
            .into_iter()
            .zip(&asked)
            .filter(|(_, it)| it.any() != Some(false))
            .map(|(source, _)| source)
            .collect())
    }

    fn time_left(&self) -> PollTimeout {
        let deadline = self.stopping.as_ref().and_then(|stopping| stopping.deadline);
        deadline.map_or(PollTimeout::NONE, |deadline| {
            // Rounded up: what is left below a millisecond would be waited for in circles.
            let left = deadline.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
            PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
        })
    }

    fn hear(&mut self) -> nix::Result<()> {
        while let Some(heard) = self.signals.read_signal()? {
            match Signal::try_from(heard.ssi_signo.cast_signed()) {
                Ok(Signal::SIGCHLD) => self.collect(Pid::from_raw(heard.ssi_pid.cast_signed())),
                Ok(signal) if STOPS.contains(&signal) => {
                    self.told.get_or_insert(signal);
                    self.stop(signal);
                }
                Ok(Signal::SIGTSTP) => {
                    self.signal(Signal::SIGTSTP);
                    raise(Signal::SIGSTOP)?;
                }
                Ok(signal) => self.signal(signal),
                Err(_) => {}
            }
        }
        Ok(())
    }

    // Endings

    /// Signals of one kind become one, which names the first child that ended.
    fn collect(&mut self, first: Pid) {
        self.note_endings(first);
        loop {
            // Only looked at: how a rank ended must not get lost here.
            match waitid(Id::All, WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT) {
                Ok(WaitStatus::StillAlive) => break,
                Ok(seen) => self.bury(seen.pid(), first),
                // Ended by a real-time signal, which nix cannot name.
                Err(Errno::EINVAL) => self.bury(None, first),
                Err(_) => break,
            }
        }
        for rank in self.ranks.iter_mut().filter(|rank| rank.ending.is_some() && !rank.gone) {
            if killpg(rank.group, None) == Err(Errno::ESRCH) {
                rank.gone = true;
                self.watcher.forget(rank.group);
            }
        }
        let ended = self.ranks.iter().all(|rank| rank.ending.is_some());
        if ended && !self.ended && self.ranks.iter().any(|rank| !rank.gone) {
            // Whatever they were told before: what ranks leave behind is not to stay.
            self.stop(Signal::SIGTERM);
        }
        self.ended = ended;
    }

    fn note_endings(&mut self, first: Pid) -> bool {
        let mut any = false;
        let first = self.ranks.iter().position(|rank| rank.group == first);
        for at in first.into_iter().chain(0..self.ranks.len()) {
            let rank = &mut self.ranks[at];
            if rank.ending.is_some() {
                continue;
            }
            let ending = match rank.child.try_wait() {
                Ok(None) => continue,
                Ok(Some(ending)) => ending,
                // The answer was given to somebody else: it counts as a failure.
                Err(_) => ExitStatus::from_raw(i32::from(report::REFUSED) << 8),
            };
            rank.ending = Some(ending);
            any = true;
            if !ending.success() && self.stopping.is_none() {
                self.failed = Some((at, ending));
                self.stop(Signal::SIGTERM);
            }
        }
        any
    }

    /// A child that ended: a rank, or somebody a rank left behind.
    fn bury(&mut self, pid: Option<Pid>, first: Pid) {
        let is_rank = self.ranks.iter().any(|rank| Some(rank.group) == pid);
        if !self.note_endings(pid.unwrap_or(first)) && !is_rank {
            // Nobody asks how it ended.
            let _ = waitpid(pid, Some(WaitPidFlag::WNOHANG));
        }
    }
}

/// Where no port was given, the plan says 0.
fn free_port(environment: &Environment) -> io::Result<Option<u16>> {
    let any = |setting: &Setting| setting.name == vars::MASTER_PORT && setting.value == "0";
    if !environment.set.iter().any(any) {
        return Ok(None);
    }
    // On all addresses, as the first rank will open it.
    Ok(Some(TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?.local_addr()?.port()))
}

/// A terminal stops whoever reads from it in the background; a file or a pipe can have one reader.
fn stdin_of_the_first() -> Stdio {
    if io::stdin().is_terminal() { Stdio::null() } else { Stdio::inherit() }
}

fn connect(command: &mut Command, prefix: bool, log: Option<&Log>) -> io::Result<()> {
    if prefix {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
    } else if let Some(log) = log {
        command.stdout(log.file.try_clone()?).stderr(log.file.try_clone()?);
    }
    Ok(())
}

/// Those the caller made us ignore, which only the kernel's own list tells without touching them.
fn ignored_signals() -> Vec<Signal> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    signals().filter(|signal| mask >> (*signal as i32 - 1) & 1 == 1).collect()
}
