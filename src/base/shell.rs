//! Words for a POSIX shell.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// One shell word: bare if every byte is harmless, else in single quotes.
pub(crate) fn quoted(word: &OsStr) -> Vec<u8> {
    let bytes = word.as_bytes();
    let harmless = |b: &u8| b.is_ascii_alphanumeric() || b"_-./=:,@%+".contains(b);
    if !bytes.is_empty() && bytes.iter().all(harmless) {
        return bytes.to_vec();
    }
    let parts: Vec<&[u8]> = bytes.split(|b| *b == b'\'').collect();
    [b"'", parts.join(&b"'\\''"[..]).as_slice(), b"'"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_words() {
        for (word, text) in [
            ("a/b-c.json", "a/b-c.json"),
            ("", "''"),
            ("it's", r"'it'\''s'"),
            ("$HOME", "'$HOME'"),
            ("a\nb", "'a\nb'"),
            ("~x", "'~x'"),
        ] {
            assert_eq!(quoted(OsStr::new(word)), text.as_bytes(), "{word}");
        }
        assert_eq!(quoted(OsStr::from_bytes(b"\xff")), b"'\xff'");
    }
}
