//! Text laid out for a terminal: tables and wrapped lines. Chinese has no spaces and each of its characters takes two
//! columns, so a line may break between any two of them.

use std::{fmt, ops::Range};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::tables::characters::{DECEPTIVE, NEVER_FIRST, NEVER_LAST};

/// `1 process`, `2 processes`.
pub fn plural(count: u64, noun: &str, ending: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { ending })
}

pub fn columns(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.width()
    }
}

/// A narrower column is hard to read.
const NARROW: usize = 32;

/// Cells in aligned columns, two spaces apart. Each column is as wide as its widest cell.
pub struct TextTable {
    pub indent: usize,
    /// A cell wider than this moves the rest of its row to the right instead of widening its column.
    pub widest: usize,
    /// These columns are aligned to the right.
    pub numbers: Range<usize>,
    /// The last cell of each row is wrapped at this many columns.
    pub limit: usize,
    pub lines: Vec<Line>,
}

pub enum Line {
    Heading(String),
    Row(Vec<String>),
}

impl TextTable {
    pub fn new(indent: usize) -> Self {
        TextTable {
            indent,
            widest: 60,
            numbers: 0..0,
            limit: usize::MAX,
            lines: vec![],
        }
    }

    pub fn of_pairs<L: Into<String>>(
        indent: usize,
        pairs: impl IntoIterator<Item = (L, String)>,
    ) -> Self {
        let lines = pairs
            .into_iter()
            .map(|(label, text)| Line::Row(vec![label.into(), text]))
            .collect();
        TextTable {
            lines,
            ..TextTable::new(indent)
        }
    }

    /// Wraps the last cell of every row, if there is a limit.
    pub fn fitted(self, limit: Option<usize>) -> Self {
        TextTable {
            limit: limit.unwrap_or(usize::MAX),
            ..self
        }
    }

    fn widths(&self, rows: &[Vec<String>]) -> Vec<usize> {
        // The last column keeps some room.
        let room = self.limit.saturating_sub(self.indent + 2 + NARROW);
        let most = self.widest.min(room.max(NARROW));
        let mut widths = vec![];
        for cells in rows {
            widths.resize(widths.len().max(cells.len()), 0);
            for (width, cell) in widths.iter_mut().zip(cells) {
                if columns(cell) <= most {
                    *width = columns(cell).max(*width);
                }
            }
        }
        widths
    }

    fn row(&self, widths: &[usize], cells: &[String]) -> String {
        let limit = self.limit;
        let mut text = " ".repeat(self.indent);
        for (column, cell) in cells.iter().enumerate() {
            let padding = " ".repeat(widths[column].saturating_sub(columns(cell)));
            match column {
                _ if column + 1 == cells.len() && limit < usize::MAX => {
                    let at = columns(&text);
                    let is_too_long = |text: &str| at + columns(text) > limit;
                    let is_narrow = at + NARROW > limit && limit > 2 * NARROW;
                    if is_too_long(cell)
                        && (is_narrow || pieces(cell).any(|(piece, _)| is_too_long(piece)))
                    {
                        text.truncate(text.trim_end().len());
                        text += if text.is_empty() { "" } else { "\n" };
                        text += &wrapped(cell, self.indent + 4, limit);
                    } else {
                        text += wrapped(cell, at, limit).trim_start();
                    }
                }
                _ if self.numbers.contains(&column) => text.extend([&padding, cell, "  "]),
                _ => text.extend([cell, padding.as_str(), "  "]),
            }
        }
        text.truncate(text.trim_end().len());
        text + "\n"
    }
}

impl fmt::Display for TextTable {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let rows: Vec<Vec<String>> = self
            .lines
            .iter()
            .map(|line| match line {
                Line::Heading(_) => vec![],
                Line::Row(cells) => cells.iter().map(|cell| escaped(cell, &[])).collect(),
            })
            .collect();
        let widths = self.widths(&rows);
        for (line, cells) in self.lines.iter().zip(&rows) {
            match line {
                Line::Heading(heading) => writeln!(f, "{heading}")?,
                Line::Row(_) => f.write_str(&self.row(&widths, cells))?,
            }
        }
        Ok(())
    }
}

/// A terminal obeys this character or shows nothing for it.
pub fn is_deceptive(c: char) -> bool {
    DECEPTIVE.iter().any(|range| range.contains(&c))
}

/// Writes deceptive characters as JSON does, so that JSON stays the same JSON. Lines and tabs stay.
pub fn escape_controls(text: &str) -> String {
    escaped(text, &['\n', '\t'])
}

fn escaped(text: &str, kept: &[char]) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // Nearly all that is shown.
            ' '..='~' => shown.push(c),
            _ if !is_deceptive(c) || kept.contains(&c) => shown.push(c),
            '\n' => shown += "\\n",
            '\t' => shown += "\\t",
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    shown += &format!("\\u{unit:04x}");
                }
            }
        }
    }
    shown
}

/// A text as one line, without the middle if it is very long.
pub fn visible(text: &str) -> String {
    /// Characters kept of the beginning and of the end.
    const LONGEST: usize = 2000;
    let more = text.chars().count().saturating_sub(2 * LONGEST);
    if more == 0 {
        return escaped(text, &[]);
    }
    let start: String = text.chars().take(LONGEST).collect();
    let end: String = text.chars().skip(LONGEST + more).collect();
    escaped(&format!("{start} … {end}"), &[])
}

/// As `wrapped`, for a command: its lines end with a backslash, so that it can be pasted.
pub fn wrapped_command(text: &str, indent: usize, limit: usize) -> String {
    if indent + columns(text) <= limit {
        return wrapped(text, indent, limit);
    }
    wrapped(text, indent, limit.saturating_sub(2))
        .trim_end_matches('\n')
        .replace('\n', " \\\n")
        + "\n"
}

/// `visible` text in lines of at most `limit` columns.
pub fn wrapped(text: &str, indent: usize, limit: usize) -> String {
    filled(&visible(text), indent, limit)
}

/// As `wrapped`, for a text of our own: nothing is escaped or left out.
pub fn filled(text: &str, indent: usize, limit: usize) -> String {
    let indented = |line: &str| format!("{:indent$}{line}\n", "");
    if columns(text) <= limit.saturating_sub(indent) {
        return indented(text);
    }
    let mut lines = String::new();
    let mut line = String::new();
    for (piece, is_spaced) in pieces(text) {
        let gap = if is_spaced { " " } else { "" };
        if !line.is_empty() && indent + columns(&line) + gap.len() + columns(piece) > limit {
            lines += &indented(&line);
            line.clear();
        }
        if !line.is_empty() {
            line += gap;
        }
        line += piece;
    }
    lines + &indented(&line)
}

/// The pieces between which a line may break. `true`: a space precedes it.
fn pieces(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let is_wide = |c: char| c.width() == Some(2);
    text.split_whitespace().flat_map(move |word| {
        let mut cuts = vec![0];
        for ((_, before), (at, c)) in word.char_indices().zip(word.char_indices().skip(1)) {
            if (is_wide(before) || is_wide(c))
                && !NEVER_FIRST.contains(c)
                && !NEVER_LAST.contains(before)
            {
                cuts.push(at);
            }
        }
        cuts.push(word.len());
        cuts.windows(2)
            .map(|cut| (&word[cut[0]..cut[1]], cut[0] == 0))
            .collect::<Vec<_>>()
    })
}
