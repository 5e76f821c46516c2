//! Text laid out for a terminal: tables and wrapped lines. Chinese has no spaces and each character takes two columns, so
//! a line may break between any two of them.

use std::fmt;
use std::ops::Range;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// `1 process`, `2 processes`.
pub(crate) fn plural(count: u64, noun: &str, ending: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { ending })
}

/// Columns a text takes in a terminal.
pub fn columns(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}

/// A column with less than this is hard to read.
const NARROW: usize = 32;

/// Cells in aligned columns, two spaces apart. Each column is as wide as its widest cell.
pub struct TextTable {
    pub indent: usize,
    /// A cell wider than this moves the rest of its row to the right instead of widening its column.
    pub widest: usize,
    /// Columns that are aligned to the right.
    pub numbers: Range<usize>,
    pub lines: Vec<Line>,
}

pub enum Line {
    Heading(String),
    Row(Vec<String>),
    /// A row whose last cell is wrapped at this many columns.
    Wrapped(Vec<String>, usize),
}

impl TextTable {
    pub fn new(indent: usize) -> Self {
        TextTable { indent, widest: 60, numbers: 0..0, lines: Vec::new() }
    }

    pub fn of_pairs<L: Into<String>>(indent: usize, pairs: impl IntoIterator<Item = (L, String)>) -> Self {
        let lines = pairs.into_iter().map(|(label, text)| Line::Row(vec![label.into(), text])).collect();
        TextTable { lines, ..TextTable::new(indent) }
    }

    /// With the last cell of every row wrapped, where there is a limit.
    pub fn fitted(mut self, limit: Option<usize>) -> Self {
        let Some(limit) = limit else { return self };
        let wrapped = |line| match line {
            Line::Row(cells) => Line::Wrapped(cells, limit),
            line => line,
        };
        self.lines = self.lines.into_iter().map(wrapped).collect();
        self
    }

    fn widths(&self, rows: &[Vec<String>]) -> Vec<usize> {
        let limits =
            self.lines.iter().filter_map(|line| if let Line::Wrapped(_, limit) = line { Some(*limit) } else { None });
        // What is left for the last column.
        let most = limits.min().map_or(usize::MAX, |limit| limit.saturating_sub(self.indent + 2 + NARROW).max(NARROW));
        let most = most.min(self.widest);
        let mut widths = Vec::new();
        for cells in rows {
            widths.resize(widths.len().max(cells.len()), 0);
            for (width, cell) in widths.iter_mut().zip(cells) {
                let columns = columns(cell);
                *width = if columns <= most { columns.max(*width) } else { *width };
            }
        }
        widths
    }

    /// The cells as a line, or as several where the last one is wrapped.
    fn row(&self, widths: &[usize], cells: &[String], limit: Option<usize>) -> String {
        let mut text = " ".repeat(self.indent);
        for (column, cell) in cells.iter().enumerate() {
            let padding = " ".repeat(widths[column].saturating_sub(columns(cell)));
            match limit.filter(|_| column + 1 == cells.len()) {
                Some(limit) => {
                    let at = columns(&text);
                    let longest = || pieces(cell).map(|(piece, _)| columns(piece)).max().unwrap_or_default();
                    // Rather on the next line than in a narrow column, or where a word does not fit.
                    let cramped = || at + NARROW > limit && limit > 2 * NARROW || at + longest() > limit;
                    if at + columns(cell) > limit && cramped() {
                        text.truncate(text.trim_end().len());
                        text += if text.is_empty() { "" } else { "\n" };
                        text += &wrapped(cell, self.indent + 4, limit);
                    } else {
                        text += wrapped(cell, at, limit).trim_start();
                    }
                }
                None if self.numbers.contains(&column) => text.extend([&padding, cell, "  "]),
                None => text.extend([cell, padding.as_str(), "  "]),
            }
        }
        text.truncate(text.trim_end().len());
        text + "\n"
    }
}

impl fmt::Display for TextTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |line: &Line| match line {
            Line::Heading(_) => Vec::new(),
            Line::Row(cells) | Line::Wrapped(cells, _) => cells.iter().map(|cell| one_line(cell)).collect(),
        };
        let rows: Vec<Vec<String>> = self.lines.iter().map(shown).collect();
        let widths = self.widths(&rows);
        for (line, cells) in self.lines.iter().zip(&rows) {
            match line {
                Line::Heading(heading) => writeln!(f, "{heading}")?,
                Line::Row(_) => f.write_str(&self.row(&widths, cells, None))?,
                Line::Wrapped(_, limit) => f.write_str(&self.row(&widths, cells, Some(*limit)))?,
            }
        }
        Ok(())
    }
}

/// Whether a terminal obeys a character or shows nothing for it: controls, marks that turn the direction of a text
/// (https://trojansource.codes), characters without width, tags.
#[rustfmt::skip]
pub fn is_deceptive(c: char) -> bool {
    matches!(c, '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}'
        | '\u{17b4}' | '\u{17b5}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A text for a terminal: what would deceive is written as in JSON, which stays the same JSON. Lines and tabs stay.
pub fn escape_controls(text: &str) -> String {
    escaped(text, &['\n', '\t'])
}

/// A text for a terminal in one line, whatever is in it.
fn one_line(text: &str) -> String {
    escaped(text, &[])
}

fn escaped(text: &str, kept: &[char]) -> String {
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    loop {
        // Nearly all that is shown is plain ASCII.
        let (plain, other) = rest.split_at(rest.bytes().take_while(|byte| (b' '..=b'~').contains(byte)).count());
        shown += plain;
        let Some(c) = other.chars().next() else { return shown };
        match c {
            _ if !is_deceptive(c) || kept.contains(&c) => shown.push(c),
            '\n' => shown += "\\n",
            '\t' => shown += "\\t",
            _ => shown.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}"))),
        }
        rest = &other[c.len_utf8()..];
    }
}

/// A text from outside as one line. The middle of a very long one is left out.
pub fn visible(text: &str) -> String {
    /// Characters kept of the beginning and of the end.
    const LONGEST: usize = 2000;
    if text.len() <= 2 * LONGEST {
        return one_line(text);
    }
    match (text.char_indices().nth(LONGEST), text.char_indices().nth_back(LONGEST)) {
        (Some((start, _)), Some((end, _))) if start < end => {
            format!("{} … {}", one_line(&text[..start]), one_line(&text[end..]))
        }
        _ => one_line(text),
    }
}

/// A text that may be pasted, as `wrapped`. A command of ours that is too long goes on behind a backslash.
pub fn wrapped_help(text: &str, indent: usize, limit: usize) -> String {
    if !text.starts_with("zlaunch ") || indent + columns(text) <= limit {
        return wrapped(text, indent, limit);
    }
    let text = wrapped(text, indent, limit.saturating_sub(2));
    let lines: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
    lines.join(" \\\n") + "\n"
}

/// Words filled into lines of at most `limit` columns, indented. The middle of a very long text is left out.
pub fn wrapped(text: &str, indent: usize, limit: usize) -> String {
    filled(&visible(text), indent, limit)
}

/// As `wrapped`, for a text of our own, however long.
pub fn filled(text: &str, indent: usize, limit: usize) -> String {
    if columns(text) <= limit.saturating_sub(indent) {
        return format!("{:indent$}{text}\n", "");
    }
    let mut lines = String::new();
    let mut line = String::new();
    for (piece, spaced) in pieces(text) {
        let space = usize::from(spaced && !line.is_empty());
        if !line.is_empty() && indent + columns(&line) + space + columns(piece) > limit {
            lines += &format!("{:indent$}{line}\n", "");
            line.clear();
        }
        if space == 1 && !line.is_empty() {
            line.push(' ');
        }
        line += piece;
    }
    lines + &format!("{:indent$}{line}\n", "")
}

/// The pieces between which a line may break, each with whether a space precedes it.
fn pieces(text: &str) -> impl Iterator<Item = (&str, bool)> {
    text.split_whitespace().flat_map(|word| {
        let mut cuts: Vec<usize> = vec![0];
        let mut before = None;
        for (at, c) in word.char_indices() {
            let can_break = before.is_some_and(|before| is_wide(before) || is_wide(c));
            if can_break && !is_closing(c) && !before.is_some_and(is_opening) {
                cuts.push(at);
            }
            before = Some(c);
        }
        cuts.push(word.len());
        let pairs: Vec<_> = cuts.windows(2).map(|cut| (&word[cut[0]..cut[1]], cut[0] == 0)).collect();
        pairs
    })
}

/// East Asian characters and punctuation, and most emoji.
fn is_wide(c: char) -> bool {
    c.width() == Some(2)
}

/// No line starts with one of these.
fn is_closing(c: char) -> bool {
    "，。；：、！？）》」』”’,.;:!?)]}\"".contains(c)
}

/// No line ends with one of these.
fn is_opening(c: char) -> bool {
    "（《「『“‘([{".contains(c)
}
