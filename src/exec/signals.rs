//! The signals that the ranks are told of.

use nix::sys::signal::Signal;

/// Ask the ranks to end, and so start the time after which they are killed.
pub(super) const STOPS: [Signal; 4] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT];
/// Are for the ranks to understand.
const OTHERS: [Signal; 4] = [Signal::SIGUSR1, Signal::SIGUSR2, Signal::SIGTSTP, Signal::SIGCONT];
/// Every signal that is waited for.
pub(super) fn signals() -> impl Iterator<Item = Signal> {
    STOPS.into_iter().chain(OTHERS).chain([Signal::SIGCHLD])
}
