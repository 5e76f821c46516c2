//! What may come into the binary. THIRD-PARTY.md lists it; `BLESS=1 cargo test licences` writes it anew.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use crate::sandbox::output;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/THIRD-PARTY.md");
const HEAD: &str = "# Third-party code in zlaunch

The crates that are compiled into the binary, or that write parts of its code while it is compiled, and their licences. Where there is
a choice, zlaunch takes MIT.

| crate | licence |
| --- | --- |
";

/// Licences that ask for no more than to be named.
const ALLOWED: &[&str] = &["MIT", "Apache-2.0", "Unicode-3.0", "Zlib"];
/// What a launch of milliseconds and a binary of one file cannot have.
const BANNED: &[&str] = &["openssl-sys", "regex", "tokio", "tracing-subscriber"];
/// Crates that are built in two versions, each with its reason.
const TWICE: &[&str] = &[
    // The derive macro of `enumflags2`, which `landlock` uses, has not moved to syn 3.
    "syn",
];

/// Every crate of the binary, with its version and its licence.
fn crates() -> Vec<(String, String, String)> {
    let output = output(
        Command::new(env!("CARGO"))
            .args([
                "tree",
                "--locked",
                "--offline",
                "--edges",
                "normal",
                "--target",
                "x86_64-unknown-linux-gnu",
            ])
            .args(["--prefix", "none", "--no-dedupe", "--format", "{p}|{l}"])
            .current_dir(env!("CARGO_MANIFEST_DIR")),
    );
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let mut crates = Vec::new();
    for line in text.lines() {
        let (package, licence) = line.split_once('|').unwrap();
        let mut words = package.split(' ').map(str::to_string);
        let (name, version) = (words.next().unwrap(), words.next().unwrap());
        if name != "zlaunch" {
            crates.push((name, version, licence.to_string()));
        }
    }
    crates.sort();
    crates.dedup();
    crates
}

#[test]
fn no_crate_is_banned_unlicensed_or_built_twice() {
    let crates = crates();
    for (name, _, licence) in &crates {
        // Of a choice one is enough; a list with AND needs them all.
        let parts = licence.split(" AND ");
        let is_allowed = |part: &str| {
            let part = part.trim_matches(['(', ')']);
            let mut choice = part.split(" OR ").flat_map(|it| it.split('/'));
            choice.any(|licence| ALLOWED.contains(&licence))
        };
        assert!(parts.into_iter().all(is_allowed), "{name}: {licence}");
        assert!(!BANNED.contains(&name.as_str()), "{name}");
    }
    let twice = crates.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    let twice: Vec<&str> = twice.map(|pair| pair[0].0.as_str()).collect();
    assert_eq!(twice, TWICE);
}

#[test]
fn the_crates_of_the_binary_are_named() {
    let crates = crates();
    let names: BTreeMap<_, _> = crates
        .iter()
        .map(|(name, _, licence)| (name, licence))
        .collect();
    assert!(names.len() < 60, "{} crates", names.len());
    let rows: String = names
        .iter()
        .map(|(name, licence)| format!("| {name} | {licence} |\n"))
        .collect();
    let list = format!("{HEAD}{rows}");
    if std::env::var_os("BLESS").is_some() {
        fs::write(FILE, &list).unwrap();
    }
    assert_eq!(
        fs::read_to_string(FILE).unwrap_or_default(),
        list,
        "BLESS=1 cargo test licences"
    );
}
