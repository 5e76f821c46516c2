//! Words for a POSIX shell.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    str::Chars,
};

use super::layout::is_deceptive;

/// One shell word: bare if every byte is harmless, else in single quotes. The shell itself prints characters that a
/// terminal would obey.
pub fn quoted(word: &OsStr) -> Vec<u8> {
    let bytes = word.as_bytes();
    if bytes.is_empty() {
        return b"''".to_vec();
    }
    if bytes
        .iter()
        .all(|b| b.is_ascii_alphanumeric() || b"_-./=:,@%+".contains(b))
    {
        return bytes.to_vec();
    }
    let words = runs(bytes).into_iter().map(|run| match run {
        Run::Plain(bytes) => {
            let parts: Vec<&[u8]> = bytes.split(|b| *b == b'\'').collect();
            [b"'", parts.join(&b"'\\''"[..]).as_slice(), b"'"].concat()
        }
        Run::Deceptive(bytes) => format!("\"{}\"", printed(bytes)).into_bytes(),
    });
    words.collect::<Vec<_>>().concat()
}

pub enum Run<'a> {
    Plain(&'a [u8]),
    /// Characters that a terminal would obey, or bytes that are no text.
    Deceptive(&'a [u8]),
}

/// A line feed is plain: `printed` could not end in one.
pub fn runs(text: &[u8]) -> Vec<Run<'_>> {
    // For each byte, whether it is part of a deceptive character.
    let mut marks = Vec::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            let is_deceptive = is_deceptive(c) && c != '\n';
            marks.resize(marks.len() + c.len_utf8(), is_deceptive);
        }
        marks.resize(marks.len() + chunk.invalid().len(), true);
    }
    let mut rest = text;
    let mut runs = Vec::new();
    for same in marks.chunk_by(|one, two| one == two) {
        let bytes = rest.split_off(..same.len()).unwrap_or_default();
        runs.push(if same[0] {
            Run::Deceptive(bytes)
        } else {
            Run::Plain(bytes)
        });
    }
    runs
}

/// `$(printf '\342\200\256')`, which every POSIX shell prints as these bytes. Not all of them know `$'…'`.
pub fn printed(bytes: &[u8]) -> String {
    let codes: String = bytes.iter().map(|byte| format!("\\{byte:03o}")).collect();
    format!("$(printf '{codes}')")
}

pub fn line(words: &[OsString]) -> OsString {
    let quoted: Vec<Vec<u8>> = words.iter().map(|word| quoted(word)).collect();
    OsString::from_vec(quoted.join(&b' '))
}

/// As `line`, to be shown.
pub fn text(words: &[OsString]) -> String {
    line(words).to_string_lossy().into_owned()
}

/// The words of a plain command. `None` if a shell would do more than split and unquote it.
pub fn plain_words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.trim().chars();
    while let Some(c) = chars.next() {
        if matches!(c, ' ' | '\t') {
            words.extend(word.take());
            continue;
        }
        let word = word.get_or_insert_default();
        match c {
            '\'' | '"' => quoted_part(c, &mut chars, word)?,
            '\\' => word.push(chars.next().filter(|next| *next != '\n')?),
            '#' | '~' if word.is_empty() => return None,
            _ if ";&|<>()$`*?[]{}!\n\r".contains(c) => return None,
            _ => word.push(c),
        }
    }
    words.extend(word);
    Some(words).filter(|words| !words.is_empty())
}

fn quoted_part(quote: char, chars: &mut Chars<'_>, word: &mut String) -> Option<()> {
    loop {
        match chars.next()? {
            c if c == quote => return Some(()),
            '\\' if quote == '"' => match chars.next()? {
                next @ ('"' | '\\' | '$' | '`') => word.push(next),
                next => word.extend(['\\', next]),
            },
            '$' | '`' | '!' if quote == '"' => return None,
            c => word.push(c),
        }
    }
}
