//! The errors in a log or in a pasted message: the line that matters among those of many ranks.

use std::{
    collections::BTreeSet,
    io::{self, BufRead, Read},
    ptr,
};

use memchr::memmem;
use serde_json::Value;

use super::tables::{
    failures::{Advice, FAILURES, Failure, Role, When},
    log::{CHUNK, KEPT, PLACE, SENTENCES, SHOWN, TRACEBACK, TRIPLES, WIDTHS},
};
use crate::{base::json, report::Rule};

#[derive(Default)]
pub struct Log {
    /// In the order of the log, but what follows from something else comes last.
    pub found: Vec<Found>,
    /// For a log without an error that is known by its form: the last lines.
    pub sentences: Option<Found>,
    /// One more than the highest rank.
    pub ranks: u32,
    /// Is told the bytes of a file that were read so far.
    pub progress: Option<fn(&str, u64)>,
}

/// A failure, and where it is first found.
pub struct Found {
    pub failure: &'static Failure,
    pub role: Role,
    pub place: String,
    pub lines: Vec<String>,
    pub ranks: BTreeSet<u32>,
    /// Of its traceback, the innermost first.
    pub frames: Vec<Frame>,
    /// False for the last sentences of a text without an exception: any of them may be the message.
    pub is_exception: bool,
}

pub struct Frame {
    pub file: String,
    pub line: usize,
    pub function: String,
    pub code: String,
}

impl Found {
    /// The last sentences of a text without an exception: the packages may know one of them.
    fn of_sentences(name: &str, text: &[u8]) -> Option<Self> {
        let failure = Failure::unknown();
        let sentences = lines(text).rev().map(said);
        let is_place = |line: &String| line.contains(TRACEBACK) || line.contains(PLACE);
        let sentences: Vec<String> = sentences
            .filter(|line| line.split_whitespace().count() > 3 && !is_place(line))
            .take(SENTENCES)
            .collect();
        (!sentences.is_empty()).then(|| Found {
            failure,
            role: failure.role,
            place: name.to_string(),
            lines: sentences,
            ranks: BTreeSet::new(),
            frames: vec![],
            is_exception: false,
        })
    }
}

impl Failure {
    /// The last row.
    pub fn unknown() -> &'static Self {
        &FAILURES[FAILURES.len() - 1]
    }

    pub fn name(&self) -> &'static str {
        self.rule.map_or_else(|| self.names[0], Rule::name)
    }

    pub fn is_unknown(&self) -> bool {
        self.role == Role::Unknown
    }

    /// `lines` begin with the error itself, which may be indented.
    fn has_traceback<'a>(&self, lines: impl Iterator<Item = &'a [u8]>) -> bool {
        let mut is_alone = self.alone;
        for (above, line) in lines.enumerate() {
            if (above == 0 || !is_source(line)) && contains_any(line, self.traceback) {
                return true;
            }
            is_alone &= !contains_any(line, &[PLACE]);
        }
        is_alone || self.traceback.is_empty()
    }
}

impl Advice {
    pub fn for_plan(&self, plan: &Value) -> Option<String> {
        let value = json::get(plan, self.key)
            .filter(|value| !value.is_null())?
            .to_string();
        let is = |known| value.trim_matches('"') == known;
        let holds = match self.when {
            When::Given => true,
            When::Is(known) => is(known),
            When::IsNot(known) => !is(known),
        };
        holds.then(|| self.text.replace("{}", &value))
    }
}

impl Log {
    pub fn read(&mut self, name: &str, mut log: impl BufRead) -> io::Result<()> {
        let mut text = vec![];
        let (mut number, mut bytes) = (1, 0);
        loop {
            let start = text.len();
            log.by_ref().take(CHUNK).read_to_end(&mut text)?;
            log.by_ref().take(CHUNK).read_until(b'\n', &mut text)?;
            if text.len() == start {
                self.sentences = Found::of_sentences(name, &text);
                self.found.sort_by_key(|found| found.role);
                return Ok(());
            }
            bytes += (text.len() - start) as u64;
            if let Some(progress) = self.progress {
                progress(name, bytes);
            }
            let joined = unwrap(&mut text, start);
            self.search(&text, start, &joined, name, &mut number);
            text.drain(..text.len().saturating_sub(KEPT));
        }
    }

    /// Looks at the lines from `start` on, of which the first has this number. Some were several ones, `joined` at these places.
    fn search(
        &mut self,
        text: &[u8],
        start: usize,
        joined: &[usize],
        name: &str,
        number: &mut u64,
    ) {
        // Most failures are not in a text, and that is quickly known.
        let mut seen = vec![false; TRIPLES];
        for triple in triples(&text[start..]) {
            seen[triple] = true;
        }
        let all = FAILURES
            .iter()
            .flat_map(|it| it.lines.iter().map(move |pieces| (it, *pieces)));
        let is_there = |it: &(_, &[&str])| {
            triples(it.1[0].as_bytes()).all(|triple| seen[triple])
                && contains_any(&text[start..], &it.1[..1])
        };
        let possible: Vec<_> = all.filter(is_there).collect();
        let mut joined = joined.iter().peekable();
        let mut at = start;
        for line in lines(&text[start..]) {
            let end = at + line.len();
            let rank = rank(line);
            let of_rank = |line: &&[u8]| self::rank(line) == rank;
            let before = &text[at.saturating_sub(KEPT)..at];
            let above = || lines(before).rev().skip(1).filter(of_rank);
            let below = lines(&text[end..]).skip(1).filter(of_rank);
            let traceback = || {
                [line]
                    .into_iter()
                    .chain(above().take_while(|line| !contains_any(line, &[TRACEBACK])))
            };
            let found = possible
                .iter()
                .find(|(failure, pieces)| {
                    contains_in_order(line, pieces)
                        && failure.has_traceback(traceback())
                        && !contains_any(line, failure.unlike)
                })
                .map(|it| it.0);
            let known = found.and_then(|failure| {
                self.found.iter_mut().find(|it| {
                    let is_same = !failure.is_unknown() || it.lines.contains(&said(line));
                    ptr::eq(it.failure, failure) && is_same && it.role == failure.role
                })
            });
            if let Some(known) = known {
                known.ranks.extend(rank);
            } else if let Some(failure) = found {
                let key = above().take(failure.lines_above);
                let below = below
                    .enumerate()
                    .take_while(|(at, line)| {
                        *at < failure.lines_below || said(line).starts_with("- ")
                    })
                    .map(|it| it.1)
                    .take(8);
                let shown = key.chain([line]).chain(below);
                let introduced = above()
                    .skip_while(|line| !contains_any(line, &[TRACEBACK]))
                    .skip(1)
                    .find(|line| !said(line).is_empty())
                    .unwrap_or_default();
                let is_ignored = contains_any(introduced, &["Exception ignored in"]);
                let new = Found {
                    failure,
                    role: if is_ignored {
                        Role::Consequence
                    } else {
                        failure.role
                    },
                    place: format!("{name}:{number}"),
                    lines: shown.map(said).collect(),
                    ranks: rank.into_iter().collect(),
                    frames: frames(traceback()),
                    is_exception: true,
                };
                let is_last = contains_any(introduced, &["During handling of the above exception"]);
                self.add(new, is_last);
            }
            self.ranks = self.ranks.max(rank.map_or(0, |rank| rank + 1));
            while joined.next_if(|joint| **joint < end).is_some() {
                *number += 1;
            }
            if text[end..].starts_with(b"\n") {
                *number += 1;
            }
            at = end + 1;
        }
    }

    /// `is_last`: it came while the one before was handled, and ended the rank.
    fn add(&mut self, new: Found, is_last: bool) {
        let known = self
            .found
            .iter_mut()
            .find(|found| ptr::eq(found.failure, new.failure));
        match known {
            // Of the exceptions of many ranks, the first one is the reason for the others.
            Some(found) if found.role > new.role || is_last && found.ranks == new.ranks => {
                *found = new;
            }
            Some(_) => {}
            None => self.found.push(new),
        }
    }
}

/// Joins lines that a terminal or an editor wrapped, from `start` on. Returns the places where lines ended.
fn unwrap(text: &mut Vec<u8>, start: usize) -> Vec<usize> {
    let wrapped = text.split_off(start);
    let width = lines(&wrapped)
        .filter(|line| line.trim_ascii().contains(&b' '))
        .map(columns)
        .max()
        .filter(|width| WIDTHS.contains(width));
    let mut joined = vec![];
    let mut rest = wrapped.split(|byte| *byte == b'\n').peekable();
    while let Some(line) = rest.next() {
        match rest.peek() {
            Some(next) if goes_on(line, next, width) => {
                text.extend(line.trim_ascii_end());
                text.push(b' ');
                joined.push(text.len());
            }
            Some(_) => text.extend([line, b"\n"].concat()),
            None => text.extend(line),
        }
    }
    joined
}

/// True if the first word of the next line had no room at this width, or if the next line is the text of the exception that is
/// named alone on this one.
fn goes_on(line: &[u8], next: &[u8], width: Option<usize>) -> bool {
    let word = next.split(|byte| *byte == b' ').next().unwrap_or_default();
    // `[2026-11-15`, `[INFO`.
    let is_header = word.len() > 1 && word[0] == b'[' && !word[1].is_ascii_lowercase();
    let is_new = word.is_empty()
        || is_header
        || [&b"-"[..], b"Traceback", b"Last"].contains(&word)
        || word.ends_with(b"Error:")
        || rank(next).is_some();
    let has_no_room = width.is_some_and(|width| columns(line) + columns(word) >= width);
    let is_name = line.trim_ascii_end().ends_with(b"Error:") && !said(line).contains(' ');
    !is_new && has_no_room || is_name && !next.trim_ascii().is_empty()
}

/// Without the bytes that continue a character: the frame of a box has three.
fn columns(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte >> 6 != 0b10).count()
}

/// A line of source that Python shows below its place.
fn is_source(line: &[u8]) -> bool {
    // Behind the label of a rank or of a machine.
    let label = memmem::find(line, b": ").filter(|at| !line[..*at].contains(&b' '));
    line[label.map_or(0, |at| at + 2)..].starts_with(b"    ") && !contains_any(line, &[PLACE])
}

/// From the lines of a traceback, the last one first, which is the exception itself.
fn frames<'a>(traceback: impl Iterator<Item = &'a [u8]>) -> Vec<Frame> {
    let mut below = String::new();
    let mut frames = vec![];
    for line in traceback.map(said).skip(1) {
        // Behind the name of a machine, too.
        let place = line
            .split_once(PLACE)
            .and_then(|it| it.1.split_once("\", line "));
        if let Some((file, place)) = place {
            let (number, function) = place.split_once(", in ").unwrap_or((place, ""));
            frames.push(Frame {
                file: file.to_string(),
                line: number.trim().parse().unwrap_or(0),
                function: function.trim().to_string(),
                code: std::mem::take(&mut below),
            });
        } else if !line.trim_matches(['^', '~', ' ']).is_empty() {
            below = line;
        }
    }
    frames
}

/// A number below `TRIPLES` for each three bytes in a row.
fn triples(text: &[u8]) -> impl Iterator<Item = usize> {
    let number = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(0, |sum, it| (sum << 5) ^ usize::from(*it))
    };
    text.windows(3).map(number)
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
    let start = ["[rank", "[Rank ", "[default"]
        .iter()
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
    // `[rank3]: `, `(Worker pid=7, ip=10.0.0.1) `, `ERROR 09-09 02:24:28 [core.py:522] `.
    let said = [("[rank", "]: "), (" pid=", ") "), ("ERROR ", "] ")]
        .iter()
        .fold(&*text, |said, (label, end)| match said.split_once(end) {
            Some((before, rest)) if before.contains(label) => rest,
            _ => said,
        });
    // Quoted in a mail or a report.
    said.trim_matches(|c: char| c.is_whitespace() || "`>".contains(c))
        .to_string()
        + if line.len() > SHOWN { "…" } else { "" }
}
