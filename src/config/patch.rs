//! JSON Patch and JSON Merge Patch, for templates and `--patch`. Both keep the order of the keys.

use json_patch::{PatchErrorKind, PatchOperation};
use serde_json::{Map, Value};

use crate::report::{Place, Problem, Rule};

pub(super) fn not_a_patch(place: Place, why: &str) -> Problem {
    Problem::error(Rule::Patch, format!("not a patch: {why}"))
        .at(place)
        .fix(r#"a list such as [{"op": "replace", "path": "/steps_per_print", "value": 10}], or an object to merge"#)
}

/// RFC 7386.
pub fn merge(config: &mut Value, patch: &Value) {
    let before = config.clone();
    json_patch::merge(config, patch);
    restore_order(&before, config);
}

/// So many values may be looked at in all, because repeated copies can make a small file explode.
const MOST_VALUES: usize = 1_000_000;

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
        let operation = read(value)
            .map_err(|why| not_a_patch(place.clone(), &format!("operation {number}: {why}")))?;
        operations.push(operation);
    }
    let before = config.clone();
    let mut room = MOST_VALUES;
    for (number, operation) in (1..).zip(operations) {
        let failed = |path: &str, what: &str| {
            let what = format!("operation {number} of the patch fails at `{path}`: {what}");
            Problem::error(Rule::Patch, what).at(place.clone()).fix(
                "`zlaunch templates NAME` shows the config it is applied to; paths start with `/`",
            )
        };
        json_patch::patch(config, &[operation]).map_err(|why| {
            let what = match why.kind {
                PatchErrorKind::TestFailed => "its `test` fails",
                PatchErrorKind::InvalidFromPointer => "its `from` does not exist",
                PatchErrorKind::InvalidPointer => "its `path` does not exist",
                PatchErrorKind::CannotMoveInsideItself => "it moves a value into itself",
                _ => "it cannot be applied",
            };
            failed(&why.path.to_string(), what)
        })?;
        // One operation makes it twice as large at most.
        if !fits(config, DEEPEST, &mut room) {
            return Err(failed(
                "",
                "the patched config is too large or too deeply nested",
            ));
        }
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

/// True if the value is nested no deeper than that. Takes the number of its values from `room`.
pub fn fits(value: &Value, depth: usize, room: &mut usize) -> bool {
    *room = room.saturating_sub(1);
    let mut fits_inside = |inner: &Value| depth > 0 && fits(inner, depth - 1, room);
    let fits = match value {
        Value::Array(list) => list.iter().all(&mut fits_inside),
        Value::Object(object) => object.values().all(&mut fits_inside),
        _ => true,
    };
    fits && *room > 0
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
