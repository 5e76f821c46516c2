//! Unit tests of `src/base/shell.rs`.

use super::*;

#[test]
fn plain_texts_are_split_and_others_are_not() {
    for (text, words) in [
        ("swift sft --x 1", &["swift", "sft", "--x", "1"][..]),
        (" a  'b c' \"d 'e'\" f\\ g ''", &["a", "b c", "d 'e'", "f g", ""]),
        (r#"a --set "{\"b\": 1}""#, &["a", "--set", "{\"b\": 1}"]),
    ] {
        assert_eq!(plain_words(text).unwrap(), words, "{text}");
        let line = line(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(plain_words(line.to_str().unwrap()).unwrap(), words, "{text}");
    }
    for text in ["", "a; b", "a $b", "a \"$b\"", "a 'b", "a # b", "~/a", "a > b", "a && b", "a\nb", "a *"] {
        assert_eq!(plain_words(text), None, "{text}");
    }
}

#[test]
fn shell_words() {
    for (word, text) in [
        ("a/b-c.json", "a/b-c.json"),
        ("", "''"),
        ("it's", r"'it'\''s'"),
        ("$HOME", "'$HOME'"),
        ("a\nb", "'a\nb'"),
        ("~x", "'~x'"),
        ("数据", "'数据'"),
        ("a\x1b[\u{202e}\tb", r#"'a'"$(printf '\033')"'['"$(printf '\342\200\256\011')"'b'"#),
    ] {
        assert_eq!(String::from_utf8(quoted(OsStr::new(word))).unwrap(), text, "{word}");
    }
    assert_eq!(quoted(OsStr::from_bytes(b"\xff")), br#""$(printf '\377')""#);
}
