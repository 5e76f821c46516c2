//! What a problem is, and every sentence of failure, by subject. A problem has three parts: what, where, and a help that
//! can be pasted. One function a sentence; the functions decide nothing but the words.

mod auto;
mod effects;
mod files;
mod generated;
mod layers;
mod machine;
mod memory;
mod ranks;
pub(crate) mod reading;
mod record;
pub(crate) mod secrets;
mod shims;
mod templates;
mod trainers;
mod usage;

use std::fmt;
use std::io;

use anstyle::{AnsiColor, Style};
use serde_json::Value;

use crate::base::layout::visible;
use crate::report::secrets::Secrets;

pub(crate) use auto::*;
pub(crate) use effects::*;
pub(crate) use files::*;
pub(crate) use generated::*;
pub(crate) use layers::*;
pub(crate) use machine::*;
pub(crate) use memory::*;
pub(crate) use ranks::*;
pub(crate) use record::*;
pub(crate) use shims::*;
pub(crate) use templates::*;
pub(crate) use trainers::*;
pub(crate) use usage::*;

/// zlaunch refused.
pub(crate) const REFUSED: u8 = 125;
/// The rules that only warn and are not about a config: `--allow` silences them.
pub(crate) fn warnings() -> impl Iterator<Item = &'static str> {
    ABOUT_THE_LAUNCH.iter().chain(ABOUT_THE_MACHINE).copied()
}

const ABOUT_THE_LAUNCH: &[&str] = &[
    "old-spelling",
    "two-configs",
    "unknown-variable",
    "ranks-without-effect",
    "output-without-effect",
    "machines-differ",
    "stray-variable",
    "contradicts-scheduler",
];

/// What `machine` finds.
pub(crate) const ABOUT_THE_MACHINE: &[&str] = &[
    "package-missing",
    "stale-lock",
    "nvme-folder",
    "cache-on-nfs",
    "no-compiler",
    "small-memlock",
    "small-shm",
    "few-files",
    "ranks-share-gpus",
    "not-enough-host-memory",
];

/// Found, but it cannot be executed.
pub(crate) const NOT_EXECUTABLE: u8 = 126;
/// Not found.
pub(crate) const NOT_FOUND: u8 = 127;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    Error,
    Warning,
    /// Worth knowing; said only where everything is.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Short words that name the kind of problem: `--allow` takes them.
    pub(crate) rule: &'static str,
    pub(crate) severity: Severity,
    pub(crate) what: String,
    pub(crate) places: Vec<String>,
    pub(crate) help: String,
    pub(crate) status: u8,
    /// When the trainer would come upon it, in one word, where that is known.
    pub(crate) when: Option<&'static str>,
    /// `--allow` silences it.
    pub(crate) allowable: bool,
}

/// One is all there is, where others are gathered: for `?`.
impl From<Problem> for Vec<Problem> {
    fn from(problem: Problem) -> Self {
        vec![problem]
    }
}

impl Problem {
    /// What a rule of `check` found.
    pub(crate) fn found(rule: &'static str, severity: Severity, when: &'static str, what: String) -> Self {
        Problem { severity, when: Some(when), allowable: true, ..Self::error(rule, what) }
    }

    fn error(rule: &'static str, what: String) -> Self {
        Problem {
            rule,
            severity: Severity::Error,
            what,
            places: Vec::new(),
            help: String::new(),
            status: REFUSED,
            when: None,
            allowable: false,
        }
    }

    fn warning(rule: &'static str, what: String) -> Self {
        debug_assert!(warnings().any(|it| it == rule), "{rule}");
        Problem { severity: Severity::Warning, allowable: true, ..Self::error(rule, what) }
    }

    /// `--strict`.
    pub(crate) fn make_error(&mut self) {
        self.severity = Severity::Error;
    }

    pub(crate) fn into_warning(self) -> Self {
        let allowable = self.allowable || warnings().any(|it| it == self.rule);
        Problem { severity: Severity::Warning, allowable, ..self }
    }

    pub(crate) fn at(mut self, place: impl fmt::Display) -> Self {
        self.places.push(place.to_string());
        self
    }

    pub(crate) fn help(mut self, help: impl fmt::Display) -> Self {
        self.help = help.to_string();
        self
    }

    pub(crate) fn when(mut self, when: Option<&'static str>) -> Self {
        self.when = when;
        self
    }

    fn status(mut self, status: u8) -> Self {
        self.status = status;
        self
    }
}

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
        // Nobody to tell if standard error itself is gone.
        let what = visible(&secrets.hide_in_text(&problem.what));
        let _ = writeln!(stderr, "{word}{}{name}{word:#}: {what}", problem.severity);
        for it in &problem.places {
            let _ = writeln!(stderr, "  {place}-->{place:#} {}", visible(&secrets.hide_in_place(it)));
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

/// The known word that was probably meant: at most three slips, and no more than half of the word.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let near = known.into_iter().filter_map(|candidate| Some((slips(&lower, candidate)?, candidate)));
    near.min_by_key(|(slips, _)| *slips).map(|(_, candidate)| candidate)
}

/// How far a known word is from one in lower case, if that is near. Apart from `nearest`, of which there is one for
/// each kind of list, so that this is there once.
fn slips(word: &str, candidate: &str) -> Option<usize> {
    let length = word.chars().count();
    let most = 3.min(length / 2);
    let candidate = candidate.to_lowercase();
    // Each slip makes it longer or shorter by one at most, and comparing takes the time of both lengths multiplied.
    let near = candidate.chars().count().abs_diff(length) <= most;
    near.then(|| strsim::damerau_levenshtein(word, &candidate)).filter(|slips| *slips <= most)
}

pub(crate) fn did_you_mean(nearest: Option<&str>, otherwise: &str) -> String {
    nearest.map_or_else(|| otherwise.to_string(), |word| format!("did you mean `{word}`? {otherwise}"))
}

/// A JSON value with its Python type, since `"8"` and `8` print alike.
pub(crate) fn typed(value: &Value) -> String {
    let kind = match value {
        Value::Null => "None",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "int",
        Value::String(_) => "str",
        Value::Array(_) => "list",
        Value::Object(_) => "dict",
    };
    format!("{value} ({kind})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (64 << 20, "64 MiB"),
            (3 << 29, "1.5 GiB"),
            (144_000_000_000, "134 GiB"),
            (3 << 40, "3 TiB"),
            (u64::MAX, "16777215 TiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn the_nearest_word_is_near() {
        let known = ["zero2", "zero3", "zero3_offload", "hf_zero3"];
        assert_eq!(nearest("zero3_ofload", known), Some("zero3_offload"));
        assert_eq!(nearest("ZERO_3", known), Some("zero3"));
        assert_eq!(nearest("fsdp", known), None);
        assert_eq!(nearest("", known), None);
    }

    /// Found by fuzzing: a long word was compared with every name there is. This would take minutes.
    #[test]
    fn a_long_word_is_near_to_none() {
        let known = ["zero2"; 1000];
        assert_eq!(nearest(&"zero".repeat(50_000), known), None);
    }
}
