//! The signals that a supervisor of ranks handles.

use nix::sys::signal::Signal;

/// Signals that ask the ranks to stop. The first one starts the grace period.
pub(super) const STOP: [Signal; 4] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT];
/// Signals that are passed on to the ranks.
const FORWARDED: [Signal; 4] = [Signal::SIGUSR1, Signal::SIGUSR2, Signal::SIGTSTP, Signal::SIGCONT];

/// Every signal that the supervisor waits for.
pub(super) fn handled() -> impl Iterator<Item = Signal> {
    STOP.into_iter().chain(FORWARDED).chain([Signal::SIGCHLD])
}
