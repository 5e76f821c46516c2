//! The terminals that standard output and standard error are.

use std::{io, os::fd::AsFd};

/// `None` if standard output is not a terminal.
pub fn width() -> Option<usize> {
    width_of(io::stdout())
}

pub fn width_of_stderr() -> Option<usize> {
    width_of(io::stderr())
}

/// A terminal that does not know its width says 0. rustix has this call; nix has it only for unsafe code.
fn width_of(output: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(output).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}
