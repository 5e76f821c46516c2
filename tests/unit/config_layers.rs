//! Unit tests of `src/config/layers.rs`.

use serde_json::json;

use super::*;
use crate::base::source::Source;

#[test]
fn set_makes_the_way_and_stops_at_a_value() {
    let mut config = json!({"a": 1, "b": {"c": 2}, "n": null});
    set(&mut config, "b.d.e", json!(true)).unwrap();
    set(&mut config, "n.x", json!("s")).unwrap();
    assert_eq!(config, json!({"a": 1, "b": {"c": 2, "d": {"e": true}}, "n": {"x": "s"}}));
    assert_eq!(set(&mut config, "b.c.x.y", json!(1)), Err("b.c".to_string()));
}

#[test]
fn what_is_not_removed_keeps_its_order() {
    let removed = |keys: &[&str]| {
        let mut config = json!({"a": {"x": 1, "y": 2, "z": 3}, "b": 1, "c": 2});
        let keys: Vec<_> = keys.iter().map(|key| Sourced::new((*key).to_string(), Source::Default)).collect();
        let problems = remove(&mut config, &keys);
        (config.to_string(), problems.into_iter().map(|problem| problem.help).collect::<Vec<_>>())
    };
    assert_eq!(removed(&["a.x"]).0, r#"{"a":{"y":2,"z":3},"b":1,"c":2}"#);
    assert_eq!(removed(&["a", "a.y"]).0, r#"{"b":1,"c":2}"#);
    let (same, told) = removed(&["a.w", "b.c"]);
    assert_eq!(same, r#"{"a":{"x":1,"y":2,"z":3},"b":1,"c":2}"#);
    assert!(told.len() == 2 && told[0].contains("`a.x`"), "{told:?}");
}
