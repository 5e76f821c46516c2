//! JSON Patch and JSON Merge Patch, for templates and `--patch`. Both keep the order of the keys.

use std::collections::BTreeSet;

use json_patch::jsonptr::Pointer;
use json_patch::{PatchErrorKind, PatchOperation};
use serde_json::{Map, Value};

use crate::report::{Place, Problem, Rule};

pub(super) fn not_a_patch(place: Place, why: &str) -> Problem {
    Problem::error(Rule::Patch, format!("not a patch: {why}"))
        .at(place)
        .fix(r#"a list such as [{"op": "replace", "path": "/steps_per_print", "value": 10}], or an object to merge"#)
}

/// RFC 7386. Not the crate's, which moves the last key into the place of a removed one.
pub fn merge(config: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        return *config = patch;
    };
    if !config.is_object() {
        *config = Value::Object(Map::new());
    }
    let Some(object) = config.as_object_mut() else {
        return;
    };
    let mut removed = BTreeSet::new();
    for (key, value) in patch {
        if value.is_null() {
            removed.insert(key);
        } else {
            merge(object.entry(key).or_insert(Value::Null), value);
        }
    }
    // All at once, because an ordered removal of one key moves all that follow.
    if !removed.is_empty() {
        object.retain(|key, _| !removed.contains(key));
    }
}

/// Operations may place this many values in all, because repeated copies can make a small file explode.
const MOST_PLACED: usize = 1_000_000;

/// As deep as serde_json reads.
const DEEPEST: usize = 128;

/// RFC 6902. One operation at a time, so that the error can name the one that fails.
pub fn operate(
    config: &mut Value,
    operations: Value,
    place: impl Into<Place>,
) -> Result<(), Problem> {
    let place = place.into();
    let Value::Array(values) = operations else {
        return Err(not_a_patch(place, "it is not a list"));
    };
    let mut operations = Vec::new();
    for (number, value) in (1..).zip(values) {
        operations
            .push(read(value).map_err(|why| {
                not_a_patch(place.clone(), &format!("operation {number}: {why}"))
            })?);
    }
    let failed = |number: usize, path: &str, what: &str| {
        Problem::error(
            Rule::Patch,
            format!("operation {number} of the patch fails at `{path}`: {what}"),
        )
        .at(place.clone())
        .fix("`zlaunch templates NAME` shows the config it is applied to; paths start with `/`")
    };
    let too_large = "the patched config is too large or too deeply nested";
    let before = config.clone();
    let (last, mut room) = (operations.len().max(1), MOST_PLACED);
    for (number, operation) in (1..).zip(operations) {
        if !placed(&operation, config)
            .is_none_or(|(path, value)| fits(value, path.count(), &mut room))
        {
            return Err(failed(number, "", too_large));
        }
        json_patch::patch(config, &[operation]).map_err(|why| {
            let what = match why.kind {
                PatchErrorKind::TestFailed => "its `test` fails",
                PatchErrorKind::InvalidFromPointer => "its `from` does not exist",
                PatchErrorKind::InvalidPointer => "its `path` does not exist",
                PatchErrorKind::CannotMoveInsideItself => "it moves a value into itself",
                _ => "it cannot be applied",
            };
            failed(number, &why.path.to_string(), what)
        })?;
    }
    if !is_sensible(config) {
        return Err(failed(last, "", too_large));
    }
    restore_order(&before, config);
    Ok(())
}

fn read(operation: Value) -> Result<PatchOperation, String> {
    if !operation.is_object() {
        return Err("it is not an object".to_string());
    }
    serde_json::from_value(operation).map_err(|why| {
        let why = why.to_string();
        let name = why.split('`').nth(1).unwrap_or_default();
        match why.split_once(' ').unwrap_or_default() {
            ("missing", _) => format!("`{name}` is missing"),
            ("unknown", _) => {
                format!("`{name}` is not one of add, remove, replace, move, copy, test")
            }
            ("json", _) => "its `path` or `from` is not a JSON pointer, such as `/a/b`".to_string(),
            _ => why,
        }
    })
}

/// The value that an operation places, and its path.
fn placed<'a>(
    operation: &'a PatchOperation,
    config: &'a Value,
) -> Option<(&'a Pointer, &'a Value)> {
    Some(match operation {
        PatchOperation::Add(add) => (&add.path, &add.value),
        PatchOperation::Replace(replace) => (&replace.path, &replace.value),
        PatchOperation::Copy(copy) => (&copy.path, copy.from.resolve(config).ok()?),
        PatchOperation::Move(moved) => (&moved.path, moved.from.resolve(config).ok()?),
        PatchOperation::Remove(_) | PatchOperation::Test(_) => return None,
    })
}

/// It is nested no deeper than a file may be, and has a size that a config can have.
pub fn is_sensible(value: &Value) -> bool {
    fits(value, 0, &mut 50_000)
}

/// As above, for a value at that depth. Takes the number of its values from `room`.
fn fits(value: &Value, depth: usize, room: &mut usize) -> bool {
    *room = room.saturating_sub(1);
    depth <= DEEPEST
        && *room > 0
        && match value {
            Value::Array(list) => list.iter().all(|item| fits(item, depth + 1, room)),
            Value::Object(object) => object.values().all(|item| fits(item, depth + 1, room)),
            _ => true,
        }
}

/// Puts the keys of every object back into the order they had `before`, since the crate removes a key by moving the last
/// one into its place. New keys follow in their own order.
pub fn restore_order(before: &Value, after: &mut Value) {
    let (Some(before), Some(after)) = (before.as_object(), after.as_object_mut()) else {
        return;
    };
    let mut ordered = Map::new();
    for (key, old) in before {
        if let Some(mut value) = after.get_mut(key).map(Value::take) {
            restore_order(old, &mut value);
            ordered.insert(key.clone(), value);
        }
    }
    for (key, value) in std::mem::take(after) {
        if !before.contains_key(&key) {
            ordered.insert(key, value);
        }
    }
    *after = ordered;
}
