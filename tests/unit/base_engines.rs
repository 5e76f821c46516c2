//! Unit tests of `src/base/engines.rs`.

use super::*;

#[test]
fn every_line_is_understood() {
    const ROLES: &str = "count index instance hosts first main first_prefix domain port gpus job worker mark rank size local_rank \
         local_size nodes file list pairs";
    assert_eq!(TABLE.lines().filter(|line| line.starts_with('=')).count(), all().count());
    for block in all() {
        assert!(block.head.contains(": ") && block.body.starts_with("prefixes "), "{}", block.head);
        for line in block.body.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_lowercase())) {
            let word = line.split(' ').next().unwrap();
            let is_role = word.split(',').all(|word| ROLES.split(' ').any(|role| role == word));
            assert!(is_role || FIELDS.contains(&word), "{}: {line}", block.name());
        }
        for variable in block.variables() {
            let is_name = crate::base::vars::is_name(variable.name().trim_end_matches('*'));
            assert!(is_name, "{}: {}", block.name(), variable.setting);
            let count = block.variables().filter(|other| other.name() == variable.name()).count();
            assert_eq!(count, 1, "{}: {} stands there twice", block.name(), variable.name());
        }
    }
}

#[test]
fn no_prefix_begins_with_another() {
    let of_block = |block: Block| block.env_prefixes().map(move |prefix| (block.name(), prefix));
    let prefixes: Vec<_> = all().flat_map(of_block).collect();
    for (at, (name, prefix)) in prefixes.iter().enumerate() {
        let mut others = prefixes.iter().enumerate().filter(|(other, _)| *other != at);
        let other = others.find(|(_, (_, other))| prefix.starts_with(other));
        assert!(other.is_none(), "{prefix} of {name} begins with {other:?}");
    }
    assert!(all().all(|block| block.env_prefixes().next().is_some()), "an engine without one is never asked");
}
