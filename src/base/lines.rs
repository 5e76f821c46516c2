//! A sorted table of lines that is part of the executable.

/// Where its lines start is found by the compiler: at every launch every key and every option is looked up.
pub(crate) struct SortedLines<const LINES: usize> {
    text: &'static str,
    starts: [u32; LINES],
}

pub(crate) const fn count_lines(text: &str) -> usize {
    let (mut count, mut at) = (0, 0);
    while at < text.len() {
        count += (text.as_bytes()[at] == b'\n') as usize;
        at += 1;
    }
    count
}

impl<const LINES: usize> SortedLines<LINES> {
    #[expect(clippy::cast_possible_truncation, reason = "no table is that long")]
    pub(crate) const fn new(text: &'static str) -> Self {
        let (mut starts, mut line, mut at) = ([0; LINES], 1, 0);
        while line < LINES {
            at += 1;
            if text.as_bytes()[at - 1] == b'\n' {
                starts[line] = at as u32;
                line += 1;
            }
        }
        SortedLines { text, starts }
    }

    /// The lines from the first one on that is not smaller.
    pub(crate) fn from(&self, start: &str) -> &'static str {
        let at = self.starts.partition_point(|at| self.text.as_bytes()[*at as usize..] < *start.as_bytes());
        self.starts.get(at).map_or("", |at| &self.text[*at as usize..])
    }
}
