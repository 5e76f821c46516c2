//! Text in columns. Chinese has no spaces and its letters take two columns, so lines may break between any two of them.

/// Columns a text takes in a terminal.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(|c| if is_wide(c) { 2 } else { 1 }).sum()
}

/// A text with spaces up to a column.
pub(crate) fn padded(text: &str, width: usize) -> String {
    format!("{text}{:1$}", "", width.saturating_sub(columns(text)))
}

/// Makes text from a file or an argument safe to print: no control characters, and not too long.
pub(crate) fn visible(text: &str) -> String {
    /// Characters kept at the beginning and at the end.
    const LONGEST: usize = 2000;
    let escaped = |text: &str| text.replace(char::is_control, "\u{fffd}");
    match (text.char_indices().nth(LONGEST), text.char_indices().nth_back(LONGEST)) {
        (Some((start, _)), Some((end, _))) if start < end => {
            format!("{} … {}", escaped(&text[..start]), escaped(&text[end..]))
        }
        _ => escaped(text),
    }
}

/// Words filled into lines of at most `most` columns, indented.
pub(crate) fn wrapped(text: &str, indent: usize, most: usize) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    for (piece, spaced) in pieces(&visible(text)) {
        let space = usize::from(spaced && !line.is_empty());
        if !line.is_empty() && indent + columns(&line) + space + columns(piece) > most {
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

/// The pieces between which a line may break, and whether a space precedes each.
fn pieces(text: &str) -> impl Iterator<Item = (&str, bool)> {
    text.split_whitespace().flat_map(|word| {
        let mut cuts: Vec<usize> = vec![0];
        let mut before = None;
        for (at, c) in word.char_indices() {
            let apart = before.is_some_and(|before| is_wide(before) || is_wide(c));
            if apart && !is_closing(c) && !before.is_some_and(is_opening) {
                cuts.push(at);
            }
            before = Some(c);
        }
        cuts.push(word.len());
        let pairs: Vec<_> = cuts.windows(2).map(|cut| (&word[cut[0]..cut[1]], cut[0] == 0)).collect();
        pairs
    })
}

/// East Asian letters and punctuation.
fn is_wide(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe4f}'
        | '\u{ff00}'..='\u{ff60}' | '\u{ffe0}'..='\u{ffe6}')
}

/// May not start a line.
fn is_closing(c: char) -> bool {
    "，。；：、！？）》」』”’,.;:!?)]}\"".contains(c)
}

/// May not end a line.
fn is_opening(c: char) -> bool {
    "（《「『“‘([{".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_between_chinese_letters() {
        assert_eq!(wrapped("one two three", 2, 10), "  one two\n  three\n");
        assert_eq!(wrapped("切分到每张 GPU，然后释放。", 0, 14), "切分到每张\nGPU，然后释\n放。\n");
        // A full stop is never alone on a line.
        assert_eq!(wrapped("参数。", 0, 4), "参\n数。\n");
        assert_eq!(wrapped("", 2, 10), "  \n");
    }

    #[test]
    fn chinese_takes_two_columns() {
        assert_eq!((columns("类型"), padded("类型", 6).as_str()), (4, "类型  "));
    }
}
