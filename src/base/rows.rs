//! Tables that are written as text, with examples in every row:
//!
//! ```text
//! = NAME, NAME: KEY VALUE, KEY VALUE
//! KEY VALUE, KEY
//! INPUT -> ANSWER
//! ```
//!
//! A key without a value is true. Lines that begin with `#` are comments. One test for each table runs its examples, so
//! that no cell can change unnoticed.

use memchr::memmem;
use serde_json::{Map, Value};

/// The cells of each line of a plain table: `A | B | C`. Lines that begin with `#` are comments.
pub fn plain<const N: usize>(
    table: &'static str,
) -> impl DoubleEndedIterator<Item = [&'static str; N]> {
    let rows = table.lines().filter(|row| !row.starts_with('#'));
    rows.filter_map(|row| {
        row.split('|')
            .map(str::trim)
            .collect::<Vec<_>>()
            .try_into()
            .ok()
    })
}

#[derive(Clone, Copy)]
pub struct Row {
    /// With commas between them.
    pub names: &'static str,
    /// Everything behind the colon of the first line.
    body: &'static str,
}

const EXAMPLE: &str = "-> ";

pub fn rows(table: &'static str) -> impl Iterator<Item = Row> {
    blocks(table).map(|text| {
        let (names, body) = text.split_once(':').unwrap_or((text, ""));
        Row { names, body }
    })
}

/// The blocks of a text: a line that begins with `= `, and those below it.
pub fn blocks(text: &'static str) -> impl Iterator<Item = &'static str> {
    let mut starts = memmem::find_iter(text.as_bytes(), "\n= ")
        .map(|at| at + "\n= ".len())
        .peekable();
    std::iter::from_fn(move || {
        let start = starts.next()?;
        Some(&text[start..starts.peek().map_or(text.len(), |next| next - "\n= ".len())])
    })
}

/// `KEY VALUE, KEY` as an object. A value that is not JSON is a text.
pub fn cells(line: &str) -> Map<String, Value> {
    let mut cells = Map::new();
    for cell in line
        .split(", ")
        .map(str::trim)
        .filter(|cell| !cell.is_empty())
    {
        let (key, value) = cell.split_once(' ').unwrap_or((cell, "true"));
        cells.insert(
            key.to_string(),
            serde_json::from_str(value).unwrap_or_else(|_| value.into()),
        );
    }
    cells
}

impl Row {
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.names.split(", ")
    }

    fn lines(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.body.lines().filter(|line| !line.starts_with('#'))
    }

    pub fn cells(&self) -> Map<String, Value> {
        self.lines()
            .filter(|line| !line.contains(EXAMPLE))
            .flat_map(cells)
            .collect()
    }

    #[cfg(feature = "testing")]
    pub fn examples(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
        self.lines()
            .filter_map(|line| line.split_once(EXAMPLE))
            .map(|(input, answer)| (input.trim(), answer.trim()))
    }
}
