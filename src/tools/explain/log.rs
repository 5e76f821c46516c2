//! The errors in a log or in a pasted message: the line that matters among those of many ranks.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Read};
use std::ptr;

use memchr::memmem;
use serde_json::Value;

use super::tables::failures::{Advice, Context, FAILURES, Failure, Known, Meaning, Role, When};
use crate::base::json;

/// Read at a time, because a log may have hundreds of megabytes.
const CHUNK: u64 = 1 << 20;
/// Kept of what was read before: the traceback says where an error came from.
const KEPT: usize = 1 << 15;
/// Bytes of a line that are shown, and that may name its rank.
const SHOWN: usize = 400;

#[derive(Default)]
pub struct Log {
    /// In the order of the log, but causes before what follows from them, and both before what is unknown.
    pub found: Vec<Found>,
    /// One more than the highest rank.
    pub ranks: u32,
}

/// A failure, and where it is first found.
pub struct Found {
    pub failure: &'static Failure,
    pub place: String,
    pub lines: Vec<String>,
    pub ranks: BTreeSet<u32>,
}

impl Failure {
    pub fn name(&self) -> &'static str {
        match self.meaning {
            Meaning::Rule(rule) => rule.name(),
            Meaning::Explained { names, .. } => names[0],
        }
    }

    /// The names of one that is no rule.
    pub(super) fn names(&self) -> &'static [&'static str] {
        match self.meaning {
            Meaning::Rule(_) => &[],
            Meaning::Explained { names, .. } => names,
        }
    }

    pub(crate) fn advice(&self) -> Option<&'static str> {
        match self.meaning {
            Meaning::Rule(_) => None,
            Meaning::Explained { advice, .. } => Some(advice),
        }
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.role == Role::Unknown
    }

    fn has_traceback<'a>(&self, mut lines: impl Iterator<Item = &'a [u8]>) -> bool {
        self.traceback.is_empty() || lines.any(|line| contains_any(line, self.traceback))
    }
}

impl Advice {
    pub(super) fn for_plan(&self, plan: &Value) -> Option<String> {
        let value = json::get(plan, self.key).filter(|value| !value.is_null())?;
        let holds = match &self.when {
            When::Given => true,
            When::Is(known) => known.is(value),
            When::IsNot(known) => !known.is(value),
        };
        holds.then(|| self.text.replace("{}", &value.to_string()))
    }
}

impl Known {
    fn is(&self, value: &Value) -> bool {
        match self {
            Known::Number(number) => value == number,
            Known::Text(text) => value == text,
            Known::True => *value == true,
        }
    }
}

impl Log {
    pub fn read(&mut self, name: &str, mut log: impl BufRead) -> io::Result<()> {
        let mut text = Vec::new();
        let mut number = 1;
        loop {
            let start = text.len();
            log.by_ref().take(CHUNK).read_to_end(&mut text)?;
            log.by_ref().take(CHUNK).read_until(b'\n', &mut text)?;
            if text.len() == start {
                self.found.sort_by_key(|found| found.failure.role);
                return Ok(());
            }
            self.search(&text, start, name, &mut number);
            text.drain(..text.len().saturating_sub(KEPT));
        }
    }

    /// Looks at the lines from `start` on, of which the first has this number.
    fn search(&mut self, text: &[u8], start: usize, name: &str, number: &mut u64) {
        let all = FAILURES
            .iter()
            .flat_map(|failure| failure.lines.iter().map(move |pieces| (failure, *pieces)));
        // Most failures are not in a text, and that is quickly known.
        let possible: Vec<_> = all
            .filter(|(_, pieces)| contains_any(&text[start..], &pieces[..1]))
            .collect();
        let mut at = start;
        for line in lines(&text[start..]) {
            let end = at + line.len();
            let rank = rank(line);
            let of_rank = |line: &&[u8]| self::rank(line) == rank;
            let before = &text[at.saturating_sub(KEPT)..at];
            let above = || lines(before).rev().skip(1).filter(of_rank);
            let below = lines(&text[end..]).skip(1).filter(of_rank);
            let place = || format!("{name}:{number}");
            let traceback = || {
                above()
                    .take_while(|line| !contains_any(line, &["Traceback (most recent"]))
                    .chain([line])
            };
            let found = possible.iter().find(|(failure, pieces)| {
                contains_in_order(line, pieces)
                    && failure.has_traceback(traceback())
                    && !contains_any(line, failure.unlike)
            });
            if let Some((failure, _)) = found {
                let key = (failure.context == Context::KeyAbove).then(|| above().next());
                let below: Vec<&[u8]> = match failure.context {
                    Context::TwoBelow => below.take(2).collect(),
                    _ => below
                        .take_while(|line| said(line).starts_with("- "))
                        .take(8)
                        .collect(),
                };
                let shown = key.flatten().into_iter().chain([line]).chain(below);
                let new = Found {
                    failure,
                    place: place(),
                    lines: shown.map(said).collect(),
                    ranks: rank.into_iter().collect(),
                };
                self.add(new);
            }
            self.ranks = self.ranks.max(rank.map_or(0, |rank| rank + 1));
            if text[end..].starts_with(b"\n") {
                *number += 1;
            }
            at = end + 1;
        }
    }

    fn add(&mut self, new: Found) {
        let known = self
            .found
            .iter_mut()
            .find(|found| ptr::eq(found.failure, new.failure));
        match known {
            // Of several exceptions, the last one ended the run.
            Some(found) if new.failure.is_unknown() && found.lines != new.lines => *found = new,
            Some(found) => found.ranks.extend(new.ranks),
            None => self.found.push(new),
        }
    }
}

fn contains_any(text: &[u8], parts: &[&str]) -> bool {
    parts
        .iter()
        .any(|part| memmem::find(text, part.as_bytes()).is_some())
}

fn contains_in_order(line: &[u8], pieces: &[&str]) -> bool {
    let mut rest = line;
    for piece in pieces {
        let Some(at) = memmem::find(rest, piece.as_bytes()) else {
            return false;
        };
        rest = &rest[at + piece.len()..];
    }
    true
}

/// Progress bars end with a carriage return.
fn lines(text: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    text.split(|byte| matches!(byte, b'\n' | b'\r'))
}

/// `[rank3]:` of torch, `[Rank 3]` of its watchdog, `[default3]:` of torchrun, `3: ` of `srun --label`.
fn rank(line: &[u8]) -> Option<u32> {
    let line = line[..line.len().min(SHOWN)].trim_ascii_start();
    let marks = ["[rank", "[Rank ", "[default"].iter();
    let start = marks
        .filter_map(|mark| Some(memmem::find(line, mark.as_bytes())? + mark.len()))
        .min();
    let end = if start.is_some() { b']' } else { b':' };
    let digits = line[start.unwrap_or(0)..]
        .split(|byte| *byte == end)
        .next()?;
    let number: u32 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (number < 1 << 16).then_some(number)
}

/// A line without the label of its rank, of a bearable length.
fn said(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]);
    let text = anstream::adapter::strip_str(&text).to_string();
    let said = text
        .split_once("]: ")
        .filter(|(label, _)| label.starts_with("[rank"))
        .map_or(&*text, |(_, said)| said);
    said.trim().to_string() + if line.len() > SHOWN { "…" } else { "" }
}
