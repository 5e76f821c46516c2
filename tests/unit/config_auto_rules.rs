//! Unit tests of `src/config/auto/rules.rs`.

use super::*;

#[test]
fn nine_tenths_is_pythons_int() {
    // python3 -c 'print([int(0.9*h*h) for h in (3584, 4096, 5120, 8192, 64, 7)])'
    for (h, size) in
        [(3584, 11_560_550), (4096, 15_099_494), (5120, 23_592_960), (8192, 60_397_977), (64, 3686), (7, 44)]
    {
        assert_eq!(nine_tenths_squared(h), size, "{h}");
    }
    assert_eq!((unrounded(5120), unrounded(64)), (json!(23_592_960), json!(3686.4)));
}

#[test]
fn the_table_has_the_26_keys_and_no_key_twice() {
    assert_eq!(RULES.len(), 26);
    for (at, rule) in RULES.iter().enumerate() {
        assert!(RULES[at + 1..].iter().all(|other| other.key != rule.key), "{}", rule.key);
    }
}
