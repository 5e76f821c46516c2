//! The signals that zlaunch passes on to the ranks that it started.

use std::time::Duration;

use nix::sys::signal::Signal;

/// They ask the ranks to stop. The first one starts the grace period.
pub const STOP: [Signal; 4] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGHUP,
    Signal::SIGQUIT,
];

/// All that zlaunch waits for: those above, those that are only passed on, and that of a rank that ends.
pub const HANDLED: [Signal; 9] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGTSTP,
    Signal::SIGCONT,
    Signal::SIGCHLD,
];

/// A process that is still there this long after SIGKILL hangs in the kernel, and nobody can end it.
pub const KILL_TIMEOUT: Duration = Duration::from_secs(1);
