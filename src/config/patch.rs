//! JSON Patch and JSON Merge Patch, for templates and `--patch`. Both keep the order of the keys.

use std::collections::BTreeSet;

use json_patch::jsonptr::{Pointer, PointerBuf};
use json_patch::{
    AddOperation, CopyOperation, MoveOperation, PatchErrorKind, PatchOperation, RemoveOperation, ReplaceOperation,
    TestOperation,
};
use serde_json::{Map, Value};

use crate::base::json;
use crate::report::{self, Problem};

/// RFC 7386. Not the crate's, which moves the last key into the place of a removed one.
pub fn merge(config: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else { return *config = patch };
    if !config.is_object() {
        *config = Value::Object(Map::new());
    }
    let Some(object) = config.as_object_mut() else { return };
    let mut removed = BTreeSet::new();
    for (key, value) in patch {
        if value.is_null() {
            removed.insert(key);
        } else {
            merge(object.entry(key).or_insert(Value::Null), value);
        }
    }
    // At once: whoever removes one of many keys and keeps their order moves all that follow.
    if !removed.is_empty() {
        object.retain(|key, _| !removed.contains(key));
    }
}

/// How many values operations may put in place in all: repeated copies can make a small file explode.
const MOST_PLACED: usize = 1_000_000;

/// RFC 6902. One operation at a time, so that it can be said which one fails.
pub fn operate(config: &mut Value, operations: Value, place: &str) -> Result<(), Problem> {
    let Value::Array(operations) = operations else { return Err(report::not_a_patch(place, "it is not a list")) };
    let read = |(at, operation): (usize, Value)| {
        read(operation).map_err(|why| report::not_a_patch(place, &format!("operation {}: {why}", at + 1)))
    };
    let operations = operations.into_iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
    let before = config.clone();
    let too_large = |at| report::patch_failed(place, at, "", "the config becomes too large or too deep");
    let (last, mut room) = (operations.len().saturating_sub(1), MOST_PLACED);
    for (at, operation) in operations.into_iter().enumerate() {
        if !placed(&operation, config).is_none_or(|(path, value)| json::fits(value, path.count(), &mut room)) {
            return Err(too_large(at));
        }
        json_patch::patch(config, &[operation]).map_err(|why| {
            let what = match why.kind {
                PatchErrorKind::TestFailed => "its `test` does not hold",
                PatchErrorKind::InvalidFromPointer => "there is nothing at its `from`",
                PatchErrorKind::InvalidPointer => "there is nothing at its `path`",
                PatchErrorKind::CannotMoveInsideItself => "it moves a value into itself",
                _ => "it cannot be applied",
            };
            report::patch_failed(place, at, &why.path.to_string(), what)
        })?;
    }
    if !json::is_sensible(config) {
        return Err(too_large(last));
    }
    json::restore_order(&before, config);
    Ok(())
}

/// An operation, or what is wrong about it. By hand: what serde derives is longer, and says it less plainly.
fn read(operation: Value) -> Result<PatchOperation, String> {
    let Value::Object(mut fields) = operation else { return Err("it is not an object".to_string()) };
    let mut field = |name: &str| fields.remove(name).ok_or_else(|| format!("`{name}` is missing"));
    let text = |name: &str, value: Value| match value {
        Value::String(text) => Ok(text),
        _ => Err(format!("`{name}` is not a text")),
    };
    let pointer = |name: &str, value: Value| {
        PointerBuf::parse(text(name, value)?).map_err(|_| format!("`{name}` is no JSON pointer, such as `/a/b`"))
    };
    let op = text("op", field("op")?)?;
    let path = pointer("path", field("path")?)?;
    Ok(match op.as_str() {
        "add" => PatchOperation::Add(AddOperation { path, value: field("value")? }),
        "remove" => PatchOperation::Remove(RemoveOperation { path }),
        "replace" => PatchOperation::Replace(ReplaceOperation { path, value: field("value")? }),
        "move" => PatchOperation::Move(MoveOperation { path, from: pointer("from", field("from")?)? }),
        "copy" => PatchOperation::Copy(CopyOperation { path, from: pointer("from", field("from")?)? }),
        "test" => PatchOperation::Test(TestOperation { path, value: field("value")? }),
        _ => return Err(format!("`{op}` is none of add, remove, replace, move, copy, test")),
    })
}

/// What an operation puts where.
fn placed<'a>(operation: &'a PatchOperation, config: &'a Value) -> Option<(&'a Pointer, &'a Value)> {
    Some(match operation {
        PatchOperation::Add(it) => (&it.path, &it.value),
        PatchOperation::Replace(it) => (&it.path, &it.value),
        PatchOperation::Copy(it) => (&it.path, it.from.resolve(config).ok()?),
        PatchOperation::Move(it) => (&it.path, it.from.resolve(config).ok()?),
        PatchOperation::Remove(_) | PatchOperation::Test(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
            (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
            (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
            (r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#),
            (r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#),
            (r#"{"a":"foo"}"#, "null", "null"),
            (r#"{"a":"foo"}"#, r#""bar""#, r#""bar""#),
            (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
            ("[1,2]", r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
            ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
            (r#"{"a":1,"b":2,"c":3}"#, r#"{"a":null,"d":4}"#, r#"{"b":2,"c":3,"d":4}"#),
        ] {
            let mut config = json::parse(before).unwrap();
            merge(&mut config, json::parse(patch).unwrap());
            assert_eq!(config.to_string(), after, "{before} + {patch}");
        }
    }

    #[test]
    fn operations_are_read_or_told() {
        let apply = |operations: &str| {
            let mut config = json::parse(r#"{"a": {"b": 1}, "c": [1, 2]}"#).unwrap();
            operate(&mut config, json::parse(operations).unwrap(), "p.json").map(|()| config.to_string())
        };
        for (operations, after) in [
            (r#"[{"op": "add", "path": "/a/n", "value": null, "x": 1}]"#, r#"{"a":{"b":1,"n":null},"c":[1,2]}"#),
            (r#"[{"op": "remove", "path": "/a"}]"#, r#"{"c":[1,2]}"#),
            (r#"[{"op": "replace", "path": "/c/0", "value": 3}]"#, r#"{"a":{"b":1},"c":[3,2]}"#),
            (r#"[{"op": "move", "from": "/a/b", "path": "/c/-"}]"#, r#"{"a":{},"c":[1,2,1]}"#),
            (r#"[{"op": "copy", "from": "/a/b", "path": "/a/d"}]"#, r#"{"a":{"b":1,"d":1},"c":[1,2]}"#),
            (r#"[{"op": "test", "path": "/a/b", "value": 1}]"#, r#"{"a":{"b":1},"c":[1,2]}"#),
        ] {
            assert_eq!(apply(operations).unwrap(), after);
        }
        for (operations, what) in [
            ("{}", "it is not a list"),
            ("[3]", "operation 1: it is not an object"),
            (
                r#"[{"op": "test", "path": "", "value": 1}, {"op": "frobnicate", "path": ""}]"#,
                "operation 2: `frobnicate` is none of add, remove,",
            ),
            (r#"[{"op": "add", "path": "/a"}]"#, "operation 1: `value` is missing"),
            (r#"[{"op": "remove"}]"#, "operation 1: `path` is missing"),
            (r#"[{"path": "/a"}]"#, "operation 1: `op` is missing"),
            (r#"[{"op": "remove", "path": "a"}]"#, "operation 1: `path` is no JSON pointer"),
            (r#"[{"op": "move", "path": "/a", "from": 1}]"#, "operation 1: `from` is not a text"),
        ] {
            let told = apply(operations).unwrap_err().what;
            assert!(told.contains(what), "{operations}: {told}");
        }
    }
}
