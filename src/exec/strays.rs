//! Processes that a rank started and that left its process group, in a session of their own or not. As a subreaper zlaunch
//! becomes their parent when the rank is gone.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid};

pub(super) struct Strays {
    /// Children of this process that are not strays.
    known: Vec<Pid>,
    /// Who was before us in this process had children already. What they leave behind becomes ours as well, and is none of
    /// our business.
    foreign: bool,
    signalled: Vec<(Pid, Signal)>,
}

impl Strays {
    /// Before any process is started.
    pub(super) fn new() -> Self {
        Strays { known: Vec::new(), foreign: !children().is_empty(), signalled: Vec::new() }
    }

    /// A child that zlaunch itself started.
    pub(super) fn know(&mut self, child: Pid) {
        self.known.push(child);
    }

    /// Those that are there now.
    pub(super) fn list(&self) -> Vec<Pid> {
        if self.foreign {
            return Vec::new();
        }
        children().into_iter().filter(|child| !self.known.contains(child)).collect()
    }

    /// Sends a signal to each of them once.
    pub(super) fn signal(&mut self, signal: Signal) {
        for stray in self.list() {
            if !self.signalled.contains(&(stray, signal)) {
                self.signalled.push((stray, signal));
                // It fails only if the process has just exited: nobody but us collects it, so the number is still its own.
                let _ = kill(stray, signal);
            }
        }
    }
}

/// The children of this process, which has one thread that starts any. A kernel without this file lists none.
fn children() -> Vec<Pid> {
    let pid = getpid();
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|word| word.parse().ok()).map(Pid::from_raw).collect()
}
