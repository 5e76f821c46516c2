//! Tables that are written as text. Lines that begin with `#` are comments.

use memchr::memmem;

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
