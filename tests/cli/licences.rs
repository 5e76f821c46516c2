//! THIRD-PARTY.md lists what the binary is made of; `BLESS=1 cargo test licences` writes it anew. `cargo deny check`
//! judges it.

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

#[test]
fn the_crates_of_the_binary_are_named() {
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
            .args(["--prefix", "none", "--format", "{p}|{l}"])
            .current_dir(env!("CARGO_MANIFEST_DIR")),
    );
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let crates: BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.split_once('|'))
        .map(|(package, licence)| {
            (
                package.split(' ').next().unwrap_or(package),
                licence.trim_end_matches(" (*)"),
            )
        })
        .filter(|(name, _)| *name != "zlaunch")
        .collect();
    assert!(crates.len() < 60, "{} crates", crates.len());
    let rows: String = crates
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
