//! Unit tests of `src/report/suggestion.rs`.

use super::*;

#[test]
fn the_nearest_word_is_near() {
    let known = ["zero2", "zero3", "zero3_offload", "hf_zero3"];
    assert_eq!(nearest("zero3_ofload", known), Some("zero3_offload"));
    assert_eq!(nearest("ZERO_3", known), Some("zero3"));
    assert_eq!(nearest("fsdp", known), None);
    assert_eq!(nearest("", known), None);
}

/// Found by fuzzing: a long word was compared with every name there is. This would take minutes.
#[test]
fn a_long_word_is_near_to_none() {
    let known = ["zero2"; 1000];
    assert_eq!(nearest(&"zero".repeat(50_000), known), None);
}
