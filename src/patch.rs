//! The two standards of changing JSON, as templates and `--patch` use them: both keep the order of the keys.

use json_patch::{Patch, PatchErrorKind};
use serde_json::{Map, Value};

use crate::error::{self, Problem};
use crate::json;

/// RFC 7386. Written out, because the crate's removes a key by moving the last one into its place.
pub(crate) fn merge(config: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else { return *config = patch };
    if !config.is_object() {
        *config = Value::Object(Map::new());
    }
    let Some(object) = config.as_object_mut() else { return };
    for (key, value) in patch {
        if value.is_null() {
            object.shift_remove(&key);
        } else {
            merge(object.entry(key).or_insert(Value::Null), value);
        }
    }
}

/// RFC 6902, keeping the order of the keys. One operation at a time: copies must not blow a small file up.
pub(crate) fn operate(config: &mut Value, operations: Value, place: &str) -> Result<(), Problem> {
    let Patch(operations) =
        serde_json::from_value(operations).map_err(|why| error::not_a_patch(place, &why.to_string()))?;
    let before = config.clone();
    for (at, operation) in operations.into_iter().enumerate() {
        json_patch::patch(config, &[operation]).map_err(|why| {
            let what = match why.kind {
                PatchErrorKind::TestFailed => "its `test` does not hold",
                PatchErrorKind::InvalidFromPointer => "there is nothing at its `from`",
                PatchErrorKind::InvalidPointer => "there is nothing at its `path`",
                PatchErrorKind::CannotMoveInsideItself => "it moves a value into itself",
                _ => "it cannot be applied",
            };
            error::patch_failed(place, at, &why.path.to_string(), what)
        })?;
        if !json::is_sensible(config) {
            return Err(error::patch_failed(place, at, "", "the config becomes too large or too deep"));
        }
    }
    json::restore_order(&before, config);
    Ok(())
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
}
