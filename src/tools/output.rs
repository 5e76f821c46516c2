//! What is printed: data to standard output, the rest to standard error.

use std::io::Write;

use anstream::AutoStream;
use anstyle::Style;

use crate::base::layout::escape_controls;
use crate::report::{self, Problem};

/// Text with colours, unless standard output is not a terminal.
pub(crate) fn styled(write: impl FnOnce(&mut AutoStream<Vec<u8>>) -> std::io::Result<()>) -> Vec<u8> {
    let mut stream = AutoStream::new(Vec::new(), AutoStream::choice(&std::io::stdout()));
    // Writing to a Vec cannot fail.
    let _ = write(&mut stream);
    stream.into_inner()
}

/// Writes a text that is harmless but for its colours, which only a terminal gets.
pub(crate) fn show(text: &str) -> Result<(), Vec<Problem>> {
    out_bytes(&styled(|stream| stream.write_all(text.as_bytes())))
}

/// Writes a plan with its titles in bold and its sources dimmed, where colours are shown.
pub(crate) fn show_plan(text: &str) -> Result<(), Vec<Problem>> {
    let (bold, dim) = (Style::new().bold(), Style::new().dimmed());
    let line = |stream: &mut AutoStream<Vec<u8>>, line: &str| match line.rfind("  ") {
        _ if line.is_empty() => writeln!(stream),
        Some(at) if line.starts_with("  ") && !line.starts_with("   ") && at > 1 => {
            writeln!(stream, "{}{dim}{}{dim:#}", &line[..at], &line[at..])
        }
        _ if line.starts_with(' ') => writeln!(stream, "{line}"),
        at => {
            let title = line.find("  ").filter(|_| at.is_some()).unwrap_or(line.len());
            writeln!(stream, "{bold}{}{bold:#}{}", &line[..title], &line[title..])
        }
    };
    out_bytes(&styled(|stream| text.lines().try_for_each(|text| line(stream, text))))
}

/// Writes a text to standard output. What is in it came from files, variables and arguments, so nothing of it may deceive
/// a terminal.
pub(crate) fn out(text: &str) -> Result<(), Vec<Problem>> {
    out_bytes(escape_controls(text).as_bytes())
}

/// Writes what has been made harmless. That the reader is gone (`| head`) is not an error.
pub(crate) fn out_bytes(bytes: &[u8]) -> Result<(), Vec<Problem>> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(why) if why.kind() != std::io::ErrorKind::BrokenPipe => Err(vec![report::cannot_print(&why)]),
        _ => Ok(()),
    }
}

pub(crate) fn err(text: &str) {
    // If standard error is closed, the message cannot be shown anywhere.
    let _ = std::io::stderr().write_all(escape_controls(text).as_bytes());
}
