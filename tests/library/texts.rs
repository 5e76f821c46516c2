//! Sizes, shell words and base64, as they are read and written; and the files of texts, which have one format.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use zlaunch::testing::bytes::base64;
use zlaunch::testing::shell::{line, plain_words, quoted};
use zlaunch::testing::size::{Size, number_meant, parse_bytes, parse_count, size};

#[test]
fn sizes_are_short_or_in_columns() {
    for (bytes, short, column) in [
        (0, "0 bytes", "0.0 GiB"),
        (1023, "1023 bytes", "0.0 GiB"),
        (64 << 20, "64 MiB", "0.1 GiB"),
        (3 << 29, "1.5 GiB", "1.5 GiB"),
        (144_000_000_000, "134 GiB", "134.1 GiB"),
        (3 << 40, "3 TiB", "3.0 TiB"),
        (u64::MAX, "16777215 TiB", "16777216.0 TiB"),
    ] {
        assert_eq!(
            (size(bytes).as_str(), Size(bytes).to_string().as_str()),
            (short, column)
        );
    }
}

#[test]
fn sizes_are_read_as_people_write_them() {
    for (text, size) in [
        ("8B", 8_000_000_000),
        ("1.7b", 1_700_000_000),
        ("350M", 350_000_000),
        ("8e9", 8_000_000_000),
        ("5", 5),
    ] {
        assert_eq!(parse_count(text), Some(size), "{text}");
    }
    for (text, size) in [
        ("80GiB", 80 << 30),
        ("80G", 80 << 30),
        ("44GB", 44_000_000_000),
        ("1.5 TiB", 3 << 39),
        ("81559MiB", 81559 << 20),
        ("85899345920", 80 << 30),
    ] {
        assert_eq!(parse_bytes(text), Some(size), "{text}");
    }
    for text in ["", "B", "GiB", "x8B", "-1B", "0", "nan", "inf", "1e30"] {
        assert_eq!(
            (parse_count(text), parse_bytes(text)),
            (None, None),
            "{text}"
        );
    }
}

/// What a unit means depends on the number: blocks and lengths are powers of two.
#[test]
fn a_number_with_a_unit_is_read_as_its_option_means_it() {
    for (name, text, number) in [
        ("block_size", "2k", 2 << 10),
        ("block_size", "3M", 3 << 20),
        ("block_size", "1GB", 1_000_000_000),
        ("max_length", "4k", 4 << 10),
        ("max_length", "1m", 1_000_000),
        ("timeout", "2h", 7200),
        ("timeout", "1 day", 0),
        ("timeout", "1d", 86400),
        ("timeout", "5min", 300),
        ("timeout", "30 sec", 30),
        ("reduce_bucket_size", "200M", 200_000_000),
        ("reduce_bucket_size", "2k", 2000),
        ("save_steps", "500 steps", 500),
        ("num_train_epochs", "2.5epochs", 0),
        ("num_gpus", "two", 2),
        ("num_gpus", "5,000", 5000),
        ("num_gpus", "0,5", 0),
    ] {
        let meant = (number > 0).then_some(number);
        assert_eq!(number_meant(text, name), meant, "{name} {text}");
    }
}

#[test]
fn plain_texts_are_split_and_others_are_not() {
    for (text, words) in [
        ("swift sft --x 1", &["swift", "sft", "--x", "1"][..]),
        (
            " a  'b c' \"d 'e'\" f\\ g ''",
            &["a", "b c", "d 'e'", "f g", ""],
        ),
        (r#"a --set "{\"b\": 1}""#, &["a", "--set", "{\"b\": 1}"]),
    ] {
        assert_eq!(plain_words(text).unwrap(), words, "{text}");
        let line = line(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(
            plain_words(line.to_str().unwrap()).unwrap(),
            words,
            "{text}"
        );
    }
    for text in [
        "", "a; b", "a $b", "a \"$b\"", "a 'b", "a # b", "~/a", "a > b", "a && b", "a\nb", "a *",
    ] {
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
        (
            "a\x1b[\u{202e}\tb",
            r#""$(printf 'a\033\133\342\200\256\011b')""#,
        ),
    ] {
        assert_eq!(
            String::from_utf8(quoted(OsStr::new(word))).unwrap(),
            text,
            "{word}"
        );
    }
    assert_eq!(quoted(OsStr::from_bytes(b"\xff")), br#""$(printf '\377')""#);
}

#[test]
fn base64_of_every_length() {
    // The vectors of RFC 4648, and the two digits that differ for URLs.
    for (bytes, text) in [
        ("", ""),
        ("f", "Zg=="),
        ("fo", "Zm8="),
        ("foo", "Zm9v"),
        ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="),
    ] {
        assert_eq!(base64(bytes.as_bytes()), text);
    }
    assert_eq!(base64(&[0xfb, 0xff, 0xff]), "-___");
}

/// Each file with the fields that it may have. `x.zh` is `x` in Chinese, and `zh` is `en`.
const TEXTS: &[(&str, &str, &[&str])] = &[
    (
        "pages.txt",
        include_str!("../../src/cli/pages.txt"),
        &["usage", "en", "more", "example"],
    ),
    (
        "options.txt",
        include_str!("../../src/cli/options.txt"),
        &["value", "en"],
    ),
    (
        "entries.txt",
        include_str!("../../src/tools/explain/entries.txt"),
        &[
            "type", "default", "since", "stages", "en", "auto", "zlaunch", "advice", "careful",
            "example",
        ],
    ),
    (
        "rules.txt",
        include_str!("../../src/tools/explain/rules.txt"),
        &["en", "why", "wrong", "right", "error"],
    ),
];

/// Fields that an entry may have several times.
const REPEATED: &[&str] = &["more", "more.zh", "example"];

/// What is wrong with the first line that is not written as `base/texts.rs` says.
fn malformed(file: &str, fields: &[&str]) -> Option<String> {
    let mut names = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for line in file.lines().filter(|line| !line.is_empty()) {
        if let Some(head) = line.strip_prefix("# ") {
            seen.clear();
            for name in head.split(" | ") {
                if name.trim() != name || name.is_empty() || !names.insert(name) {
                    return Some(format!("{line}: this name is taken, or no name"));
                }
            }
            continue;
        }
        let field = line.split_once(": ").map_or("", |(field, _)| field);
        let english = match field {
            "zh" => "en",
            field => field.trim_end_matches(".zh"),
        };
        let is_repeated = !seen.insert(field.to_string()) && !REPEATED.contains(&field);
        let is_empty = line.trim_end().len() == field.len() + 1;
        if names.is_empty() || is_repeated || is_empty || !fields.contains(&english) {
            return Some(line.to_string());
        }
    }
    None
}

#[test]
fn every_file_of_texts_has_the_one_format() {
    for (name, file, fields) in TEXTS {
        assert_eq!(malformed(file, fields), None, "{name}");
        assert!(file.starts_with("# ") && file.ends_with('\n'), "{name}");
    }
    for (wrong, line) in [
        ("# a\nen: x\nen: y\n", "en: y"),
        ("# a\nother: x\n", "other: x"),
        ("# a\nno field\n", "no field"),
        ("# a\nen:\n", "en:"),
        ("en: x\n", "en: x"),
        ("# a\n# b | a\n", "# b | a: this name is taken, or no name"),
    ] {
        assert_eq!(malformed(wrong, &["en"]).as_deref(), Some(line), "{wrong}");
    }
}
