//! The reader of recorded tables, and its policy for versions that were not recorded.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use zlaunch::testing::arguments::{ArgumentClass, TRAINING_ARGUMENTS, recorded_versions};
use zlaunch::testing::bytes::fnv1a;
use zlaunch::testing::recorded::*;

#[test]
fn versions_are_compared_by_their_numbers() {
    let before = |version: &str, other| Version::parse(version).is_before(other);
    assert!(
        before("4.44.2", [4, 45, 0]) && before("4.9", [4, 45, 0]) && before("0.9.0", [0, 9, 1])
    );
    assert!(
        !before("4.45.0.dev0", [4, 45, 0])
            && !before("5.0.0rc1", [5, 0, 0])
            && !before("10.1", [9, 9, 9])
    );
}

#[test]
fn a_version_is_judged_by_itself_or_by_its_neighbours() {
    let found = |text| VersionMatch::find(versions("0.9.0 0.16.9 0.17.0"), Version::parse(text));
    assert_eq!(found("0.16.9"), VersionMatch::Exact(Version([0, 16, 9])));
    assert_eq!(
        found("0.16.99"),
        VersionMatch::Between(Version([0, 16, 9]), Version([0, 17, 0]))
    );
    assert_eq!(found("0.99.0"), VersionMatch::Nearest(Version([0, 17, 0])));
    assert_eq!(found("0.1.0"), VersionMatch::Nearest(Version([0, 9, 0])));
    assert_eq!(found("0.1.0").version().to_string(), "0.9.0");
}

#[test]
fn lines_are_found_by_their_beginning() {
    let table = Table("# head\na b 1\na b2 2\na c =x\nb * 1.0.0 2.0.0\nb x 1.0.0=y 2.0.0=-\n");
    assert_eq!(table.lines().count(), 5);
    for (words, found) in [
        (&["a", "b"][..], Some("1")),
        (&["a", "b2"], Some("2")),
        (&["b", "x"], Some("1.0.0=y 2.0.0=-")),
        (&["a", "b1"], None),
        (&["", ""], None),
        (&["z"], None),
    ] {
        assert_eq!(table.find(words), found, "{words:?}");
    }
    assert_eq!(table.below(&["a"]).count(), 3);
    assert_eq!(
        (table.from("").count(), Table("").from("a").count()),
        (6, 0)
    );
    let at = |version| at("1.0.0=y 2.0.0=-", Version(version));
    assert_eq!(
        (at([0, 9, 0]), at([1, 5, 0]), at([2, 0, 0])),
        (None, Some("y"), Some("-"))
    );
    assert_eq!(
        zlaunch::testing::recorded::at("=x", Version([0; 3])),
        Some("x")
    );
}

#[test]
fn the_table_of_arguments_is_sorted_and_every_line_is_found() {
    const TABLE: Table = Table(include_str!("../../src/recorded/arguments.txt"));
    assert!(TABLE.lines().is_sorted() && TABLE.lines().count() > 1500);
    for line in TABLE.lines() {
        let words: Vec<&'static str> = line.splitn(4, ' ').collect();
        if let [distribution, name, argument, rest] = words[..]
            && name != "*"
        {
            assert_eq!(
                ArgumentClass { distribution, name }.row(argument),
                Some(rest),
                "{line}"
            );
        }
    }
    assert!(
        ["lr", "zzz", ""]
            .iter()
            .all(|name| TRAINING_ARGUMENTS.row(name).is_none())
    );
    assert!(TRAINING_ARGUMENTS.names().count() > 100 && recorded_versions("zzz").is_none());
}

/// A letter that is lost from a table changes answers of which no other test need know.
#[test]
fn tables_have_the_checksums_they_were_recorded_with() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/recorded");
    let known = fs::read_to_string(folder.join("checksums.txt")).unwrap();
    let files = fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let tables: BTreeSet<PathBuf> = files
        .filter(|path| !path.ends_with("checksums.txt"))
        .collect();
    let line = |path: &PathBuf| {
        format!(
            "{:016x}  {}\n",
            fnv1a(&fs::read(path).unwrap()),
            path.file_name().unwrap().to_string_lossy()
        )
    };
    let found: Vec<String> = tables.iter().map(line).collect();
    let changed: Vec<&String> = found
        .iter()
        .filter(|line| !known.contains(line.as_str()))
        .collect();
    assert!(
        changed.is_empty() && found.concat() == known,
        "tables in src/recorded have changed: {changed:?}\nif that is meant: python3 tools/record checksums"
    );
}
