//! Words for a POSIX shell.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    str::Chars,
};

use super::layout::is_deceptive;

/// One shell word: bare if every byte is harmless, else in single quotes. With characters that a terminal would obey, or bytes
/// that are no text, the shell itself prints it: `"$(printf 'a\342\200\256')"`, since not every POSIX shell knows `$'…'`.
pub fn quoted(word: &OsStr) -> Vec<u8> {
    let bytes = word.as_bytes();
    let is_bare = |b: &u8| b.is_ascii_alphanumeric() || b"_-./=:,@%+".contains(b);
    if !bytes.is_empty() && bytes.iter().all(is_bare) {
        return bytes.to_vec();
    }
    let is_layout = |c: char| c == '\n' || c == '\t';
    if word
        .to_str()
        .is_some_and(|text| !text.contains(|c| is_deceptive(c) && !is_layout(c)))
    {
        let parts: Vec<&[u8]> = bytes.split(|b| *b == b'\'').collect();
        return [b"'", parts.join(&b"'\\''"[..]).as_slice(), b"'"].concat();
    }
    // `$(…)` takes line feeds away from the end.
    let end = bytes
        .iter()
        .rposition(|b| *b != b'\n')
        .map_or(0, |at| at + 1);
    let (printed, rest) = bytes.split_at(end);
    let codes = printed.iter().map(|b| match b {
        b if b.is_ascii_alphanumeric() => char::from(*b).to_string(),
        b => format!("\\{b:03o}"),
    });
    let mut quoted = format!("\"$(printf '{}')\"", codes.collect::<String>()).into_bytes();
    if !rest.is_empty() {
        quoted.extend([b"'", rest, b"'"].concat());
    }
    quoted
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
    let mut words = vec![];
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

fn quoted_part(quote: char, chars: &mut Chars, word: &mut String) -> Option<()> {
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
