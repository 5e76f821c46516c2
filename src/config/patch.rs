//! JSON Patch, for templates and `--patch`.

use std::slice;

use json_patch::PatchOperation;
use serde_json::Value;

use crate::{
    base::json::parse_exactly,
    report::{Place, Problem, Rule},
};

pub fn not_a_patch(place: Place, why: &str) -> Problem {
    Rule::Patch.error(format!("not a patch: {why}"))
        .at(place)
        .fix(r#"a list such as [{"op": "replace", "path": "/steps_per_print", "value": 10}], or an object to merge"#)
}

/// A patched config may have this many bytes.
pub const LARGEST: usize = 4 << 20;

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
    for (number, value) in (1..).zip(values) {
        let operation: PatchOperation = serde_json::from_value(value)
            .map_err(|why| not_a_patch(place.clone(), &format!("operation {number}: {why}")))?;
        let path = operation.path().to_string();
        let failed = |why: String| {
            let what = format!("operation {number} of the patch fails at `{path}`: {why}");
            Rule::Patch.error(what).at(place.clone()).fix(
                "`zlaunch templates NAME` shows the config it is applied to; paths start with `/`",
            )
        };
        json_patch::patch(config, slice::from_ref(&operation))
            .map_err(|why| failed(why.kind.to_string()))?;
        // Repeated copies can make a small file explode.
        let text = config.to_string();
        if text.len() > LARGEST || parse_exactly(&text).is_err() {
            let why = "the patched config is too large or too deeply nested";
            return Err(failed(why.to_string()));
        }
    }
    Ok(())
}
