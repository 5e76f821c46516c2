//! Printing: data goes to standard output, everything else to standard error.

use std::io::Write;

use anstream::AutoStream;

use crate::{base::layout::escape_controls, cli::Outcome, report::Rule};

/// Text with colours, unless standard output is not a terminal.
pub fn styled(write: impl FnOnce(&mut AutoStream<Vec<u8>>) -> std::io::Result<()>) -> Vec<u8> {
    let mut stream = AutoStream::new(vec![], AutoStream::choice(&std::io::stdout()));
    // Writing to a Vec cannot fail.
    let _ = write(&mut stream);
    stream.into_inner()
}

/// Writes a text that is harmless but for its colours, which only a terminal gets.
pub fn show(text: &str) -> Outcome {
    out_bytes(&styled(|stream| stream.write_all(text.as_bytes())))
}

/// Writes a text from files, variables and arguments: nothing in it may deceive a terminal.
pub fn out(text: &str) -> Outcome {
    out_bytes(escape_controls(text).as_bytes())
}

/// Writes what has been made harmless, and gives the exit status of success. That the reader is gone (`| head`) is not an
/// error.
pub fn out_bytes(bytes: &[u8]) -> Outcome {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(why) if why.kind() != std::io::ErrorKind::BrokenPipe => {
            let what = format!("standard output cannot be written: {why}");
            Err(Rule::Print
                .error(what)
                .at("stdout")
                .fix("is the disk full?")
                .into())
        }
        _ => Ok(0),
    }
}

pub fn err(text: &str) {
    // If standard error is closed, the message cannot be shown anywhere.
    let _ = std::io::stderr().write_all(escape_controls(text).as_bytes());
}
