//! The patches of RFC 6902 and RFC 7386.

use serde_json::{Value, json};

use zlaunch::testing::json;
use zlaunch::testing::patch::*;

/// The examples of RFC 7386, appendix A.
#[test]
fn merge_patches_are_those_of_the_rfc() {
    for (before, patch, after) in [
        (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"a":null}"#, "{}"),
        (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
        (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
        (
            r#"{"a":{"b":"c"}}"#,
            r#"{"a":{"b":"d","c":null}}"#,
            r#"{"a":{"b":"d"}}"#,
        ),
        (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
        (r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#),
        (r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#),
        (r#"{"a":"foo"}"#, "null", "null"),
        (r#"{"a":"foo"}"#, r#""bar""#, r#""bar""#),
        (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
        ("[1,2]", r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
        ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
        (
            r#"{"a":1,"b":2,"c":3}"#,
            r#"{"a":null,"d":4}"#,
            r#"{"b":2,"c":3,"d":4}"#,
        ),
    ] {
        let mut config = json::parse(before).unwrap();
        json::merge(&mut config, &json::parse(patch).unwrap());
        assert_eq!(config, json::parse(after).unwrap(), "{before} + {patch}");
    }
}

#[test]
fn operations_are_read_or_told() {
    let apply = |operations: &str| {
        let mut config = json::parse(r#"{"a": {"b": 1}, "c": [1, 2]}"#).unwrap();
        operate(&mut config, json::parse(operations).unwrap(), "p.json")
            .map(|()| config.to_string())
    };
    for (operations, after) in [
        (
            r#"[{"op": "add", "path": "/a/n", "value": null, "x": 1}]"#,
            r#"{"a":{"b":1,"n":null},"c":[1,2]}"#,
        ),
        (r#"[{"op": "remove", "path": "/a"}]"#, r#"{"c":[1,2]}"#),
        (
            r#"[{"op": "replace", "path": "/c/0", "value": 3}]"#,
            r#"{"a":{"b":1},"c":[3,2]}"#,
        ),
        (
            r#"[{"op": "move", "from": "/a/b", "path": "/c/-"}]"#,
            r#"{"a":{},"c":[1,2,1]}"#,
        ),
        (
            r#"[{"op": "copy", "from": "/a/b", "path": "/a/d"}]"#,
            r#"{"a":{"b":1,"d":1},"c":[1,2]}"#,
        ),
        (
            r#"[{"op": "test", "path": "/a/b", "value": 1}]"#,
            r#"{"a":{"b":1},"c":[1,2]}"#,
        ),
    ] {
        assert_eq!(apply(operations).unwrap(), after);
    }
    for (operations, what) in [
        ("{}", "it is not a list"),
        ("[3]", "operation 1: invalid type: integer `3`"),
        (
            r#"[{"op": "remove", "path": "/a"}, {"op": "frobnicate", "path": ""}]"#,
            "operation 2: unknown variant `frobnicate`, expected one of `add`, `remove`,",
        ),
        (
            r#"[{"op": "add", "path": "/a"}]"#,
            "operation 1: missing field `value`",
        ),
        (r#"[{"op": "remove"}]"#, "operation 1: missing field `path`"),
        (r#"[{"path": "/a"}]"#, "operation 1: missing field `op`"),
        (
            r#"[{"op": "remove", "path": "a"}]"#,
            "operation 1: json pointer failed to parse",
        ),
        (
            r#"[{"op": "test", "path": "/a/b", "value": 2}]"#,
            "value did not match",
        ),
        (
            r#"[{"op": "replace", "path": "/x", "value": 2}]"#,
            "path is invalid",
        ),
        (
            r#"[{"op": "copy", "from": "/x", "path": "/y"}]"#,
            "\"from\" path is invalid",
        ),
        (
            r#"[{"op": "move", "from": "/a", "path": "/a/b"}]"#,
            "cannot move the value inside itself",
        ),
        (
            r#"[{"op": "move", "path": "/a", "from": 1}]"#,
            "operation 1: invalid type: integer `1`, expected a string",
        ),
    ] {
        let told = apply(operations).unwrap_err().what;
        assert!(told.contains(what), "{operations}: {told}");
    }
}

/// Whichever operations make it: one value in another, a nested one, one that is moved into another and would be gone again.
#[test]
fn a_config_that_is_nested_too_deeply_is_refused() {
    let nested = |depth: usize| (0..depth).fold("1".into(), |inner, _| json!({"a": inner}));
    let add = |path: String, value: Value| json!({"op": "add", "path": path, "value": value});
    let step = |at: usize| add("/a".repeat(at + 1), json!({}));
    let bottom = format!("/b{}", "/a".repeat(99));
    for operations in [
        (0..1000).map(step).collect::<Vec<_>>(),
        vec![add("/a".to_string(), nested(200))],
        vec![
            add("/a".to_string(), nested(100)),
            add("/b".to_string(), nested(100)),
            json!({"op": "move", "from": "/a", "path": bottom}),
            json!({"op": "remove", "path": "/b"}),
        ],
    ] {
        let mut config = json!({"key": 1});
        let refused = operate(&mut config, Value::from(operations.clone()), "p.json").unwrap_err();
        assert!(
            refused.what.contains("too large or too deeply nested"),
            "{operations:?}: {refused:?}"
        );
    }
    let many = (0..1000).map(|at| add(format!("/key{at}"), at.into()));
    let mut config = json!({"key": 1});
    operate(&mut config, many.collect(), "p.json").unwrap();
    assert_eq!(config.as_object().unwrap().len(), 1001);
}
