//! JSON Patch and JSON Merge Patch, for templates and `--patch`. Both keep the order of the keys.

use std::collections::BTreeSet;

use json_patch::jsonptr::Pointer;
use json_patch::{PatchErrorKind, PatchOperation};
use serde_json::{Map, Value};

use crate::base::json;
use crate::report::{Problem, Rule};

pub(super) fn not_a_patch(place: &str, why: &str) -> Problem {
    Problem::error(Rule::Patch, format!("not a patch: {why}"))
        .at(place)
        .help(r#"a list such as [{"op": "replace", "path": "/steps_per_print", "value": 10}], or an object to merge"#)
}

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
    let Value::Array(operations) = operations else { return Err(not_a_patch(place, "it is not a list")) };
    let read = |(number, operation): (usize, Value)| {
        read(operation).map_err(|why| not_a_patch(place, &format!("operation {number}: {why}")))
    };
    let operations = (1..).zip(operations).map(read).collect::<Result<Vec<_>, _>>()?;
    let failed = |number: usize, path: &str, what: &str| {
        Problem::error(Rule::Patch, format!("operation {number} of the patch fails at `{path}`: {what}"))
            .at(place)
            .help("`zlaunch templates NAME` shows the config it is applied to; paths start with `/`")
    };
    let too_large = "the config becomes too large or too deep";
    let before = config.clone();
    let (last, mut room) = (operations.len().max(1), MOST_PLACED);
    for (number, operation) in (1..).zip(operations) {
        if !placed(&operation, config).is_none_or(|(path, value)| json::fits(value, path.count(), &mut room)) {
            return Err(failed(number, "", too_large));
        }
        json_patch::patch(config, &[operation]).map_err(|why| {
            let what = match why.kind {
                PatchErrorKind::TestFailed => "its `test` does not hold",
                PatchErrorKind::InvalidFromPointer => "there is nothing at its `from`",
                PatchErrorKind::InvalidPointer => "there is nothing at its `path`",
                PatchErrorKind::CannotMoveInsideItself => "it moves a value into itself",
                _ => "it cannot be applied",
            };
            failed(number, &why.path.to_string(), what)
        })?;
    }
    if !json::is_sensible(config) {
        return Err(failed(last, "", too_large));
    }
    json::restore_order(&before, config);
    Ok(())
}

/// An operation, or what is wrong about it.
fn read(operation: Value) -> Result<PatchOperation, String> {
    if !operation.is_object() {
        return Err("it is not an object".to_string());
    }
    serde_json::from_value(operation).map_err(|why| {
        let why = why.to_string();
        let name = why.split('`').nth(1).unwrap_or_default();
        match why.split_once(' ').unwrap_or_default() {
            ("missing", _) => format!("`{name}` is missing"),
            ("unknown", _) => format!("`{name}` is none of add, remove, replace, move, copy, test"),
            ("json", _) => "its `path` or `from` is no JSON pointer, such as `/a/b`".to_string(),
            _ => why,
        }
    })
}

/// What an operation puts where.
fn placed<'a>(operation: &'a PatchOperation, config: &'a Value) -> Option<(&'a Pointer, &'a Value)> {
    Some(match operation {
        PatchOperation::Add(add) => (&add.path, &add.value),
        PatchOperation::Replace(replace) => (&replace.path, &replace.value),
        PatchOperation::Copy(copy) => (&copy.path, copy.from.resolve(config).ok()?),
        PatchOperation::Move(moved) => (&moved.path, moved.from.resolve(config).ok()?),
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
            (r#"[{"op": "remove", "path": "a"}]"#, "operation 1: its `path` or `from` is no JSON pointer"),
            (
                r#"[{"op": "move", "path": "/a", "from": 1}]"#,
                "operation 1: invalid type: integer `1`, expected a string",
            ),
        ] {
            let told = apply(operations).unwrap_err().what;
            assert!(told.contains(what), "{operations}: {told}");
        }
    }
}
