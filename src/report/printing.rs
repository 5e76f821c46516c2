//! Prints problems, without their secrets, and chooses colours and language.

use std::{collections::HashMap, io, path::Path};

use anstyle::{AnsiColor, Style};

use super::{
    problem::{Place, Problem, Severity},
    reading,
    secrets::Secrets,
};
pub use crate::base::texts::Language;
use crate::{
    base::{
        layout::{columns, escape_controls, plural, wrapped, wrapped_command},
        vars,
    },
    host::{Host, terminal},
};

/// Nobody reads more problems at once.
pub const MOST: usize = 50;

pub fn report(problems: &[Problem], secrets: &Secrets) {
    if !problems.is_empty() {
        write(
            problems,
            secrets,
            terminal::width_of_stderr(),
            &mut anstream::stderr().lock(),
        );
    }
}

/// `width`: the columns of the terminal, if it is one.
pub fn write(
    problems: &[Problem],
    secrets: &Secrets,
    width: Option<usize>,
    stderr: &mut impl io::Write,
) {
    let width = width.unwrap_or(usize::MAX);
    let place = Style::new().fg_color(Some(AnsiColor::Blue.into()));
    let bold = Style::new().bold();
    // Many problems may be about one file.
    let mut files = HashMap::new();
    for (at, problem) in problems[..problems.len().min(MOST)].iter().enumerate() {
        // If standard error itself is gone, nobody can be told.
        let _ = stderr.write_all(if at > 0 { b"\n" } else { b"" });
        let colour = match problem.severity {
            Severity::Error => AnsiColor::Red,
            Severity::Warning => AnsiColor::Yellow,
            Severity::Note => AnsiColor::Cyan,
        };
        let word = bold.fg_color(Some(colour.into()));
        let head = format!("{}[{}]", problem.severity, problem.rule);
        let what = wrapped(
            &format!("{head}: {}", secrets.hide_in_text(&problem.what)),
            2,
            width,
        );
        let _ = write!(
            stderr,
            "{word}{head}{word:#}{}",
            &what.trim_start()[head.len()..]
        );
        for it in &problem.places {
            let it = wrapped(&secrets.hide_in_text(&it.to_string()), 6, width);
            let _ = write!(stderr, "  {place}-->{place:#} {}", it.trim_start());
        }
        let excerpt = problem
            .places
            .first()
            .and_then(|it| excerpt(it, &mut files, width, secrets));
        if let Some([number, line, mark]) = excerpt {
            let margin = " ".repeat(number.len());
            let _ = writeln!(
                stderr,
                " {margin} {place}|{place:#}\n {place}{number} |{place:#} {line}"
            );
            let _ = writeln!(stderr, " {margin} {place}|{place:#} {word}{mark}{word:#}");
        }
        if !problem.fixes.is_empty() {
            let wrap = if problem.fixes.is_command() {
                wrapped_command
            } else {
                wrapped
            };
            let help = wrap(&secrets.hide_in_text(&problem.help()), 8, width);
            let _ = write!(stderr, "  {bold}help{bold:#}: {}", help.trim_start());
        }
    }
    let more = problems.len().saturating_sub(MOST);
    if more > 0 {
        let _ = writeln!(
            stderr,
            "\nand {more} more problems, all of which `--format json` prints"
        );
    }
}

/// The number of the line that a place is about, its text, and a mark under the word at the column.
fn excerpt<'a>(
    place: &'a Place,
    files: &mut HashMap<&'a Path, Option<String>>,
    width: usize,
    secrets: &Secrets,
) -> Option<[String; 3]> {
    let most = width.saturating_sub(10).clamp(20, 100);
    let Place::Line {
        file: path,
        line: number,
        column,
    } = place
    else {
        return None;
    };
    let line = files
        .entry(path)
        .or_insert_with(|| reading::text_if_any(path))
        .as_ref()?
        .lines()
        .nth(number.checked_sub(1)?)?
        .replace('\t', " ");
    let (before, rest) = line.split_at_checked(column.checked_sub(1)?)?;
    let is_of_word = |c: &char| c.is_alphanumeric() || "_-.+\"".contains(*c);
    let length = rest.chars().take_while(is_of_word).count();
    let indent = columns(before);
    if indent > most {
        return None;
    }
    let shown: String = line.chars().take(most).collect();
    let mark = " ".repeat(indent) + &"^".repeat(length.clamp(1, most));
    let is_open = secrets.hide_in_text(&line) == line;
    is_open.then(|| [number.to_string(), escape_controls(shown.trim_end()), mark])
}

/// `2 errors, 1 warning, 0 notes`.
pub fn counted(problems: &[Problem]) -> String {
    [Severity::Error, Severity::Warning, Severity::Note]
        .map(|severity| {
            let count = problems.iter().filter(|it| it.severity == severity).count();
            plural(count as u64, &severity.to_string(), "s")
        })
        .join(", ")
}

impl Language {
    /// ZLAUNCH_LANG, else the locale: the variables the C library reads, in its order.
    pub fn of(host: &Host) -> Self {
        [
            vars::ZLAUNCH_LANG,
            vars::LC_ALL,
            vars::LC_MESSAGES,
            vars::LANG,
        ]
        .iter()
        .find_map(|name| host.nonempty_var(name))
        .map_or(Language::English, Self::named)
    }

    /// `zh`, `zh_CN.UTF-8`, `ZH-Hans`, `cn`, `Chinese`.
    fn named(value: &str) -> Self {
        match value
            .split(['_', '-', '.', '@'])
            .next()
            .unwrap_or_default()
            .to_lowercase()
            .as_str()
        {
            "zh" | "cn" | "chinese" | "中文" => Language::Chinese,
            _ => Language::English,
        }
    }
}
