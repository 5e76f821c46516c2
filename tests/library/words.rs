//! A name in a table that nobody else writes may be misspelt, and then its row is off in silence.

use std::{
    collections::{BTreeSet, HashSet},
    fs,
    path::Path,
};

/// The names that real programs have: `tests/real/words.py` looks for them.
const OF_PROGRAMS: &str = include_str!("../data/names-of-programs.txt");

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
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

/// The names in the texts of a line of Rust that are no sentences: `per_device_batch`, `ZeRoConfig`. A plain word is not sought:
/// every program has it somewhere.
fn names(line: &str) -> impl Iterator<Item = &str> {
    let is_name = |text: &&str| !text.contains(|c: char| !is_of_word(c) && !"-./".contains(c));
    let is_joined = |word: &&str| {
        let mut pairs = word.bytes().zip(word.bytes().skip(1));
        word.contains('_') || pairs.any(|(a, b)| a.is_ascii_lowercase() && b.is_ascii_uppercase())
    };
    let texts = line.split('"').skip(1).step_by(2).filter(is_name);
    texts
        .flat_map(|text| text.split(|c| !is_of_word(c)))
        .filter(is_joined)
}

#[test]
fn a_name_in_a_table_is_written_elsewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut elsewhere = HashSet::new();
    let mut in_tables = BTreeSet::new();
    for folder in ["tests", "docs", "templates", "src"] {
        texts(&root.join(folder), &mut |path, text| {
            if path.components().any(|it| it.as_os_str() == "tables") {
                let lines = text.lines().map(str::trim_start);
                let names = lines.filter(|line| !line.starts_with("//")).flat_map(names);
                in_tables.extend(names.map(str::to_string));
            } else {
                let mut add = |word: &str| {
                    if !elsewhere.contains(word) {
                        elsewhere.insert(word.to_string());
                    }
                };
                for option in text.split(|c| !is_of_word(c) && c != '-') {
                    option.split('-').for_each(&mut add);
                    if option.contains('-') {
                        add(&option.replace('-', "_"));
                    }
                }
            }
        });
    }
    let is_alone = |name: &&String| {
        let is_part = name.starts_with('_') || name.ends_with('_');
        let is_in = |word: &String| {
            if is_part {
                word.contains(*name)
            } else {
                word.strip_suffix(*name)
                    .is_some_and(|rest| rest.ends_with('_'))
            }
        };
        !elsewhere.contains(*name) && !elsewhere.iter().any(is_in)
    };
    let alone: Vec<_> = in_tables.iter().filter(is_alone).cloned().collect();
    assert!(
        alone.is_empty(),
        "only a table has these; test them, or ask which program has them: tests/real/words.py {}",
        alone.join(" ")
    );
}

#[test]
fn a_name_that_no_table_has_any_more_is_not_kept() {
    let mut in_tables = BTreeSet::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    texts(&source, &mut |_, text| {
        in_tables.extend(text.split(|c| !is_of_word(c)).map(str::to_string));
    });
    for line in OF_PROGRAMS.lines() {
        let (_, names) = line.split_once(": ").unwrap();
        for name in names.split(' ') {
            assert!(in_tables.contains(name), "{name}");
        }
    }
}
