//! Unit tests of `src/config/template/search.rs`.

use super::*;

#[test]
fn the_embedded_list_is_the_folder() {
    let mut files: Vec<String> = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/templates"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let mut embedded: Vec<_> = BUILT_IN.iter().map(|(name, _)| format!("{name}.json")).collect();
    embedded.sort();
    assert_eq!(files, embedded);
}
