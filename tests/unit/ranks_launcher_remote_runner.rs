//! Unit tests of `src/ranks/launcher/remote_runner.rs`.

use super::*;

#[test]
fn words_for_pdsh() {
    let word = |word: &str, kind| RemoteRunner::Pdsh.word(OsStr::new(word), kind).into_string().unwrap();
    for (said, argument, script) in [
        ("train.py", "train.py", "train.py"),
        ("", r#""""#, r#""""#),
        (r#"{"a":1}"#, r#""{\"a\":1}""#, r#""{\"a\":1}""#),
        (r#"{"a": 1}"#, r#"{"a": 1}"#, r#""{\"a\": 1}""#),
        ("$(touch x)", r"\$(touch x)", r#""\$(touch x)""#),
        ("it's", r#""it's""#, r#""it's""#),
        ("100%n", r#""100%%n""#, r#""100%%n""#),
        (r"a\ `b`", r"a\\ \`b\`", r#""a\\ \`b\`""#),
    ] {
        assert_eq!((word(said, Word::Argument), word(said, Word::Script)), (argument.into(), script.into()), "{said}");
    }
    assert_eq!(RemoteRunner::Hydra.word(OsStr::new("$x"), Word::Script), "$x");
}
