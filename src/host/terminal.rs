//! The terminal that standard output is.

/// The columns of the terminal, or `None` if standard output is not one. A terminal that does not know its width says 0.
pub(crate) fn width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}
