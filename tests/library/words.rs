//! A word in a table that nobody else writes may be misspelt, and then its row is off in silence.

use std::{
    collections::{BTreeSet, HashSet},
    fs,
    path::Path,
};

/// The words that real programs have: `tests/real/words.py` looks for them.
const OF_PROGRAMS: &str = include_str!("../data/names-of-programs.txt");

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// `5`, or a part of a hexadecimal one.
fn is_number(word: &str) -> bool {
    word.contains(char::is_numeric) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Every file below a folder that is text.
fn texts(folder: &Path, each: &mut impl FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts(&path, each);
        } else if let Ok(text) = fs::read_to_string(&path) {
            each(&path, &text);
        }
    }
}

/// The words in the texts of a line of Rust that are no sentences: `"per-device"` has `per` and `device`.
fn words(line: &str) -> impl Iterator<Item = String> {
    let is_name = |text: &&str| !text.contains(|c: char| !is_of_word(c) && !"-./".contains(c));
    let texts = line.split('"').skip(1).step_by(2).filter(is_name);
    texts
        .flat_map(|text| text.split(|c| !is_of_word(c)))
        .filter(|word| word.len() > 2 && word.is_ascii() && !is_number(word))
        .map(str::to_lowercase)
}

#[test]
fn a_word_of_a_table_is_written_elsewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut elsewhere = HashSet::new();
    let mut in_tables = BTreeSet::new();
    for folder in ["tests", "docs", "templates", "src"] {
        texts(&root.join(folder), &mut |path, text| {
            if path.components().any(|it| it.as_os_str() == "tables") {
                // The rows of these have examples that are read.
                if !path.ends_with("cards.rs") && !path.ends_with("programs.rs") {
                    let lines = text.lines().map(str::trim_start);
                    in_tables.extend(lines.filter(|it| !it.starts_with("//")).flat_map(words));
                }
                return;
            }
            let mut add = |word: &str| {
                if !elsewhere.contains(word) {
                    elsewhere.insert(word.to_string());
                }
            };
            let text = text.to_lowercase();
            for option in text.split(|c| !is_of_word(c) && c != '-') {
                option.split('-').for_each(&mut add);
                // An option is written with dashes.
                if option.contains('-') {
                    add(&option.replace('-', "_"));
                }
            }
        });
    }
    let is_alone = |word: &&String| {
        let is_part = word.starts_with('_') || word.ends_with('_');
        let is_in = |other: &String| {
            if is_part {
                other.contains(*word)
            } else {
                // Options and variables are made of words.
                other.split('_').any(|part| part == *word)
                    || other
                        .strip_suffix(*word)
                        .is_some_and(|rest| rest.ends_with('_'))
            }
        };
        !elsewhere.contains(*word) && !elsewhere.iter().any(is_in)
    };
    let alone: Vec<_> = in_tables.iter().filter(is_alone).cloned().collect();
    assert!(
        alone.is_empty(),
        "only a table has these; test them, or ask which program has them: tests/real/words.py {}",
        alone.join(" ")
    );
}

#[test]
fn a_word_that_no_table_has_any_more_is_not_kept() {
    let mut in_tables = BTreeSet::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    texts(&source, &mut |_, text| {
        in_tables.extend(text.split(|c| !is_of_word(c)).map(str::to_string));
    });
    for line in OF_PROGRAMS.lines() {
        let (_, words) = line.split_once(": ").unwrap();
        for word in words.split(' ') {
            assert!(in_tables.contains(word), "{word}");
        }
    }
}
