//! Unit tests of `src/ranks/topology/engines.rs`.

use super::*;

#[test]
fn every_block_says_all_or_has_code() {
    for (name, _) in WITH_CODE {
        assert_eq!(engines::all().filter(|block| block.name() == *name).count(), 1, "{name}");
    }
    for block in engines::all().filter(|block| !WITH_CODE.iter().any(|(name, _)| *name == block.name())) {
        let has = |roles: &[&str]| roles.iter().all(|role| !block.name_of(role).is_empty());
        let is_mpi = has(&["rank", "size", "local_rank"]) && (has(&["local_size"]) || has(&["nodes"]));
        let is_shell = block.field("manual").is_some() && (has(&["file"]) || has(&["list"]));
        let is_node = has(&["count"]) && (has(&["index"]) || has(&["instance"]));
        assert!(is_mpi || is_shell || is_node, "{}", block.name());
    }
}
