//! Prints problems, without their secrets.

use std::io;

use anstyle::{AnsiColor, Style};

use super::problem::{Problem, Severity};
use super::secrets::Secrets;
use crate::base::layout::visible;

/// Prints problems to standard error; colour only adds.
pub(crate) fn report(problems: &[Problem], secrets: &Secrets) {
    if !problems.is_empty() {
        write(problems, secrets, &mut anstream::stderr().lock());
    }
}

/// Writes problems where somebody reads them.
pub(crate) fn write(problems: &[Problem], secrets: &Secrets, stderr: &mut impl io::Write) {
    let place = Style::new().fg_color(Some(AnsiColor::Blue.into()));
    let bold = Style::new().bold();
    for problem in problems {
        let colour = match problem.severity {
            Severity::Error => AnsiColor::Red,
            Severity::Warning => AnsiColor::Yellow,
            Severity::Note => AnsiColor::Cyan,
        };
        let word = bold.fg_color(Some(colour.into()));
        // The name of what `--allow` silences.
        let name = if problem.allowable { format!("[{}]", problem.rule) } else { String::new() };
        // If standard error itself is gone, nobody can be told.
        let what = visible(&secrets.hide_in_text(&problem.what));
        let _ = writeln!(stderr, "{word}{}{name}{word:#}: {what}", problem.severity);
        for it in &problem.places {
            let _ = writeln!(stderr, "  {place}-->{place:#} {}", visible(&secrets.hide_in_text(it)));
        }
        if !problem.help.is_empty() {
            let _ = writeln!(stderr, "  {bold}help{bold:#}: {}", visible(&secrets.hide_in_text(&problem.help)));
        }
    }
}

/// `2 errors, 1 warning, 0 notes`.
pub(crate) fn counted(errors: usize, warnings: usize, notes: usize) -> String {
    let word = |count: usize, name: &str| format!("{count} {name}{}", if count == 1 { "" } else { "s" });
    format!("{}, {}, {}", word(errors, "error"), word(warnings, "warning"), word(notes, "note"))
}
