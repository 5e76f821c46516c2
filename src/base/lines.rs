//! Lines of a table that is part of the executable, counted by the compiler.

pub(crate) const fn count_lines(text: &str) -> usize {
    let (mut count, mut at) = (0, 0);
    while at < text.len() {
        count += (text.as_bytes()[at] == b'\n') as usize;
        at += 1;
    }
    count
}
