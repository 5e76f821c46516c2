//! Unit tests of `src/check/keys.rs`.

use super::*;

#[test]
fn comments_are_no_keys() {
    for name in ["_comment", "//", "zero_optimization.#note", "comment"] {
        assert!(is_comment(name), "{name}");
    }
    assert!(!is_comment("use_dynamic_tiling") && !is_comment("zero_optimization.comment_x"));
}
