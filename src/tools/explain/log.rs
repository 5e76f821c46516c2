//! The errors in a log or in a pasted message: the line that matters among those of many ranks.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Read};

use memchr::memmem;

use super::glossary::{GlossaryEntry, of_failures};

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

/// A row of `failures.txt`, and where it is first found.
pub struct Found {
    pub entry: GlossaryEntry,
    pub place: String,
    pub lines: Vec<String>,
    pub ranks: BTreeSet<u32>,
}

impl Log {
    pub fn read(&mut self, name: &str, mut log: impl BufRead) -> io::Result<()> {
        let (mut text, mut number) = (Vec::new(), 1);
        loop {
            let start = text.len();
            log.by_ref().take(CHUNK).read_to_end(&mut text)?;
            log.by_ref().take(CHUNK).read_until(b'\n', &mut text)?;
            if text.len() == start {
                self.found.sort_by_key(|found| {
                    ["unlike", "follows"].map(|field| found.entry.field(field).is_some())
                });
                return Ok(());
            }
            self.search(&text, start, name, &mut number);
            text.drain(..text.len().saturating_sub(KEPT));
        }
    }

    fn search(&mut self, text: &[u8], start: usize, name: &str, number: &mut u64) {
        let rows = of_failures().flat_map(|row| row.fields("find").map(move |find| (row, find)));
        // Most rows are not in a text, and that is quickly known.
        let rows: Vec<_> = rows
            .filter(|(_, it)| contains(&text[start..], it.split(" … ").next().unwrap_or(it)))
            .collect();
        let mut at = start;
        for line in lines(&text[start..]) {
            let (above, below, rank) = (
                &text[at.saturating_sub(KEPT)..at],
                &text[at + line.len()..],
                rank(line),
            );
            (at, *number) = (
                at + line.len() + 1,
                *number + u64::from(below.starts_with(b"\n")),
            );
            self.ranks = self.ranks.max(rank.map_or(0, |rank| rank + 1));
            let of_rank = |line: &&[u8]| self::rank(line) == rank;
            let above = || lines(above).rev().skip(1).filter(of_rank);
            // `find: A … B`: these parts of the line, in this order. `traceback: A | B`: the same rank's has one of these.
            // `unlike: A | B`: the line has none of these.
            let traceback = || {
                above()
                    .take_while(|line| !contains(line, "Traceback (most recent"))
                    .chain([line])
            };
            let row = rows.iter().find(|(row, find)| {
                let mut parts = find.split(" … ");
                let end = parts.try_fold(line, |rest, it| {
                    rest.get(memmem::find(rest, it.as_bytes())? + it.len()..)
                });
                end.is_some()
                    && row
                        .field("traceback")
                        .is_none_or(|places| traceback().any(|line| contains(line, places)))
                    && !row
                        .field("unlike")
                        .is_some_and(|parts| contains(line, parts))
            });
            let Some((entry, _)) = row.copied() else {
                continue;
            };
            let key = entry.field("above").and_then(|_| above().next());
            let (start, most) = entry.field("below").map_or(("- ", 8), |_| ("", 2));
            let list = lines(below)
                .skip(1)
                .filter(of_rank)
                .take_while(|line| said(line).starts_with(start));
            let lines: Vec<_> = key
                .into_iter()
                .chain([line])
                .chain(list.take(most))
                .map(said)
                .collect();
            let place = format!("{name}:{}", *number - u64::from(below.starts_with(b"\n")));
            let new = Found {
                entry,
                place,
                lines,
                ranks: rank.into_iter().collect(),
            };
            match self
                .found
                .iter_mut()
                .find(|found| found.entry.names == entry.names)
            {
                // Of several exceptions, the last one ended the run.
                Some(found) if entry.field("unlike").is_some() && found.lines != new.lines => {
                    *found = new;
                }
                Some(found) => found.ranks.extend(rank),
                None => self.found.push(new),
            }
        }
    }
}

/// One of `A | B`.
fn contains(text: &[u8], parts: &str) -> bool {
    parts
        .split(" | ")
        .any(|part| memmem::find(text, part.as_bytes()).is_some())
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
    let digits = line[start.unwrap_or(0)..]
        .split(|byte| *byte == if start.is_some() { b']' } else { b':' })
        .next()?;
    std::str::from_utf8(digits)
        .ok()?
        .parse()
        .ok()
        .filter(|rank| *rank < 1 << 16)
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
