//! Text laid out for a terminal: tables and wrapped lines. Chinese has no spaces and each character takes two columns, so
//! a line may break between any two of them.

use std::fmt;
use std::ops::Range;

/// Columns a text takes in a terminal.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(|c| if is_wide(c) { 2 } else { 1 }).sum()
}

/// Cells in aligned columns, two spaces apart. Each column is as wide as its widest cell.
pub(crate) struct Table {
    indent: usize,
    widest: usize,
    numbers: Range<usize>,
    lines: Vec<Line>,
}

enum Line {
    Heading(String),
    /// The last cell is wrapped at `limit` columns.
    Row {
        cells: Vec<String>,
        limit: Option<usize>,
    },
}

impl Table {
    pub(crate) fn new(indent: usize) -> Self {
        Table { indent, widest: 60, numbers: 0..0, lines: Vec::new() }
    }

    /// Labels and texts.
    pub(crate) fn of_pairs<L: Into<String>, T: Into<String>>(
        indent: usize,
        pairs: impl IntoIterator<Item = (L, T)>,
    ) -> Self {
        let mut table = Table::new(indent);
        for (label, text) in pairs {
            table.row([label.into(), text.into()]);
        }
        table
    }

    /// A cell wider than this moves the rest of its row to the right instead of widening its column.
    pub(crate) fn widest(mut self, widest: usize) -> Self {
        self.widest = widest;
        self
    }

    /// Columns that are aligned to the right.
    pub(crate) fn numbers(mut self, columns: Range<usize>) -> Self {
        self.numbers = columns;
        self
    }

    pub(crate) fn row(&mut self, cells: impl Into<Vec<String>>) {
        self.lines.push(Line::Row { cells: cells.into(), limit: None });
    }

    pub(crate) fn wrapped_row(&mut self, cells: impl Into<Vec<String>>, limit: usize) {
        self.lines.push(Line::Row { cells: cells.into(), limit: Some(limit) });
    }

    /// A line between the rows, outside of the columns.
    pub(crate) fn heading(&mut self, text: impl Into<String>) {
        self.lines.push(Line::Heading(text.into()));
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.lines.iter().filter_map(|line| match line {
            Line::Row { cells, .. } => cells.get(column),
            Line::Heading(_) => None,
        });
        cells.map(|cell| columns(cell)).filter(|width| *width <= self.widest).max().unwrap_or(0)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut widths: Vec<usize> = Vec::new();
        for line in &self.lines {
            let (cells, limit) = match line {
                Line::Heading(text) => {
                    writeln!(f, "{text}")?;
                    continue;
                }
                Line::Row { cells, limit } => (cells, limit),
            };
            widths.extend((widths.len()..cells.len()).map(|column| self.width(column)));
            let mut text = " ".repeat(self.indent);
            for (column, cell) in cells.iter().enumerate() {
                let padding = " ".repeat(widths[column].saturating_sub(columns(cell)));
                let is_last = column + 1 == cells.len();
                match limit {
                    _ if self.numbers.contains(&column) => text += &format!("{padding}{cell}"),
                    Some(limit) if is_last => text += wrapped(cell, columns(&text), *limit).trim(),
                    _ => text += &format!("{cell}{padding}"),
                }
                text += if is_last { "" } else { "  " };
            }
            writeln!(f, "{}", text.trim_end())?;
        }
        Ok(())
    }
}

/// A text from outside as one harmless line: control characters are replaced, and the middle of a very long one is left out.
pub(crate) fn visible(text: &str) -> String {
    /// Characters kept of the beginning and of the end.
    const LONGEST: usize = 2000;
    let escaped = |text: &str| text.replace(char::is_control, "\u{fffd}");
    match (text.char_indices().nth(LONGEST), text.char_indices().nth_back(LONGEST)) {
        (Some((start, _)), Some((end, _))) if start < end => {
            format!("{} … {}", escaped(&text[..start]), escaped(&text[end..]))
        }
        _ => escaped(text),
    }
}

/// Words filled into lines of at most `limit` columns, indented.
pub(crate) fn wrapped(text: &str, indent: usize, limit: usize) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    for (piece, spaced) in pieces(&visible(text)) {
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

/// East Asian characters and punctuation.
fn is_wide(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe4f}'
        | '\u{ff00}'..='\u{ff60}' | '\u{ffe0}'..='\u{ffe6}')
}

/// No line starts with one of these.
fn is_closing(c: char) -> bool {
    "，。；：、！？）》」』”’,.;:!?)]}\"".contains(c)
}

/// No line ends with one of these.
fn is_opening(c: char) -> bool {
    "（《「『“‘([{".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_between_chinese_characters() {
        assert_eq!(wrapped("one two three", 2, 10), "  one two\n  three\n");
        assert_eq!(wrapped("切分到每张 GPU，然后释放。", 0, 14), "切分到每张\nGPU，然后释\n放。\n");
        // A full stop never stands alone.
        assert_eq!(wrapped("参数。", 0, 4), "参\n数。\n");
        assert_eq!(wrapped("", 2, 10), "  \n");
    }

    #[test]
    fn cells_are_aligned_and_the_last_one_wraps() {
        let mut table = Table::new(2).widest(8);
        table.row(["a".to_string(), "first".to_string()]);
        table.heading("more");
        table.wrapped_row(["类型".to_string(), "one two three".to_string()], 15);
        table.row(["much too wide".to_string(), String::new()]);
        assert_eq!(table.to_string(), "  a     first\nmore\n  类型  one two\n        three\n  much too wide\n");
    }

    #[test]
    fn numbers_are_aligned_to_the_right() {
        let mut table = Table::new(0).numbers(1..3);
        table.row(["GiB", "all", "host"].map(String::from));
        table.row(["zero3", "12.5", "-", "fits"].map(String::from));
        assert_eq!(table.to_string(), "GiB     all  host\nzero3  12.5     -  fits\n");
    }
}
