//! Prints problems, without their secrets.

use std::io;

use anstyle::{AnsiColor, Style};

use super::problem::{Problem, Severity};
use super::secrets::Secrets;
use crate::base::layout::{wrapped, wrapped_help};

/// Nobody reads more of them at once.
const MOST: usize = 50;

/// Prints problems to standard error; colour only adds.
pub(crate) fn report(problems: &[Problem], secrets: &Secrets) {
    if !problems.is_empty() {
        write(problems, secrets, width_of_stderr(), &mut anstream::stderr().lock());
    }
}

/// The columns of the terminal, if standard error is one.
pub(crate) fn width_of_stderr() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Writes problems where somebody reads them; `width`: the columns of a terminal.
pub(crate) fn write(problems: &[Problem], secrets: &Secrets, width: Option<usize>, stderr: &mut impl io::Write) {
    let width = width.unwrap_or(usize::MAX);
    let place = Style::new().fg_color(Some(AnsiColor::Blue.into()));
    let bold = Style::new().bold();
    for problem in &problems[..problems.len().min(MOST)] {
        let colour = match problem.severity {
            Severity::Error => AnsiColor::Red,
            Severity::Warning => AnsiColor::Yellow,
            Severity::Note => AnsiColor::Cyan,
        };
        let word = bold.fg_color(Some(colour.into()));
        // The name of what `--allow` silences.
        let name = if problem.allowable { format!("[{}]", problem.rule) } else { String::new() };
        // If standard error itself is gone, nobody can be told.
        let head = format!("{}{name}", problem.severity);
        let what = format!("{head}: {}", secrets.hide_in_text(&problem.what));
        let what = wrapped(&what, 2, width);
        let _ = write!(stderr, "{word}{head}{word:#}{}", &what.trim_start()[head.len()..]);
        for it in &problem.places {
            let it = wrapped(&secrets.hide_in_text(it), 6, width);
            let _ = write!(stderr, "  {place}-->{place:#} {}", it.trim_start());
        }
        if !problem.help.is_empty() {
            let help = wrapped_help(&secrets.hide_in_text(&problem.help), 8, width);
            let _ = write!(stderr, "  {bold}help{bold:#}: {}", help.trim_start());
        }
    }
    if problems.len() > MOST {
        let _ = writeln!(stderr, "and {} more problems, all of which `--format json` prints", problems.len() - MOST);
    }
}

/// `2 errors, 1 warning, 0 notes`.
pub(crate) fn counted(errors: usize, warnings: usize, notes: usize) -> String {
    let word = |count: usize, name: &str| format!("{count} {name}{}", if count == 1 { "" } else { "s" });
    format!("{}, {}, {}", word(errors, "error"), word(warnings, "warning"), word(notes, "note"))
}
