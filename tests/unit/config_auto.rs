//! Unit tests of `src/config/auto.rs`.

use serde_json::json;

use super::*;

#[test]
fn equality_is_pythons() {
    for (one, two) in [
        (json!(1), json!(1.0)),
        (json!(true), json!(1)),
        (json!([0.9, 1]), json!([0.9, 1.0])),
        (json!("a"), json!("a")),
    ] {
        assert!(python_equal(&one, &two), "{one} {two}");
    }
    for (one, two) in [
        (json!("8"), json!(8)),
        (json!("true"), json!(true)),
        (json!([0.9]), json!([0.9, 0.9])),
        (json!(1e-5), json!(1.1e-5)),
    ] {
        assert!(!python_equal(&one, &two), "{one} {two}");
    }
}

#[test]
fn a_fill_changes_only_an_auto() {
    let config = json!({"a": "auto", "b": {"c": "auto", "d": 1}});
    let fill = |key, value| Fill { key, value, from: String::new() };
    assert_eq!(apply(&config, &[fill("b.c", json!(2))]), json!({"a": "auto", "b": {"c": 2, "d": 1}}));
    // A fill for a key that is not "auto" changes nothing.
    assert_eq!(apply(&config, &[fill("b.d", json!(2)), fill("e", json!(2))]), config);
}
