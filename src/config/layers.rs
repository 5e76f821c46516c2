//! The user's layers over a template: `--patch`, `--unset`, `--set`.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::base::json;
use crate::base::source::Sourced;
use crate::config::patch;
use crate::config::template::{Origin, Template};
use crate::host::Host;
use crate::report::reading;
use crate::report::{self, Problem};

/// Applied to the template in this order.
#[derive(Default)]
pub(crate) struct Layers {
    pub(crate) patch: Vec<Sourced<PathBuf>>,
    pub(crate) unset: Vec<Sourced<String>>,
    pub(crate) set: Vec<Sourced<(String, Value)>>,
}

/// Applies the layers and checks that the keys the template requires are there.
pub(crate) fn with_layers<'t>(
    template: &'t Template,
    layers: &Layers,
    host: &Host,
) -> Result<Cow<'t, Value>, Vec<Problem>> {
    let mut config = Cow::Borrowed(&template.config);
    let mut problems = Vec::new();
    for file in &layers.patch {
        let path = host.absolute(&file.value);
        let applied = reading::read(&path).and_then(|change| match change {
            operations @ Value::Array(_) => patch::operate(config.to_mut(), operations, &path.display().to_string()),
            object @ Value::Object(_) => {
                patch::merge(config.to_mut(), object);
                Ok(())
            }
            _ => Err(report::not_a_patch(&path.display().to_string(), "it is neither a list nor an object")),
        });
        problems.extend(applied.err());
    }
    for key in &layers.unset {
        if !unset(config.to_mut(), &key.value) {
            let known = json::leaves(&config, |_| true);
            problems.push(report::nothing_to_unset(key, report::nearest(&key.value, known.iter().map(String::as_str))));
        }
    }
    for assignment in &layers.set {
        let (key, value) = &assignment.value;
        if let Err(blocked) = set(config.to_mut(), key, value.clone()) {
            problems.push(report::set_below_a_value(key, &blocked, &assignment.from));
        }
    }
    match config.as_object() {
        Some(object) if object.contains_key("$zlaunch") => problems.push(report::header_in_config()),
        Some(_) => {}
        None => problems.push(report::no_longer_an_object()),
    }
    for need in &template.needs {
        let wanted = need.when.as_ref().is_none_or(|(key, value)| json::get(&config, key) == Some(value));
        if wanted && json::get(&config, &need.key).is_none_or(Value::is_null) {
            problems.push(report::template_needs(&template.name, &need.key, &need.why, &need.example));
        }
    }
    if problems.is_empty() { Ok(config) } else { Err(problems) }
}

/// Where a key of the config was written: the last `--set`, a `--patch` that changed it, or the template's file. Only
/// needed for messages, so the files are read again.
pub(crate) fn place_of(key: &str, config: &Value, template: &Template, layers: &Layers, host: &Host) -> String {
    // The key itself, or a section around it.
    let sets = |sourced: &&Sourced<(String, Value)>| {
        key.strip_prefix(&sourced.value.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    if let Some(sourced) = layers.set.iter().rev().find(sets) {
        return sourced.from.with(format!("{}={}", sourced.value.0, sourced.value.1));
    }
    let inside = |path: &Path| {
        let (line, column) = json::position(&reading::read_text(path).ok()?, key)?;
        Some(format!("{}:{line}:{column}", path.display()))
    };
    let patched = json::get(config, key) != json::get(&template.config, key);
    if let Some(patch) = layers.patch.last().filter(|_| patched) {
        let path = host.absolute(&patch.value);
        return inside(&path).unwrap_or_else(|| format!("{}, {key}", patch.value.display()));
    }
    // In a chain of templates, the first file that has the key.
    let files = template.origins.iter().filter_map(|origin| match origin {
        Origin::File(path) => Some(path),
        _ => None,
    });
    files.map(PathBuf::as_path).find_map(inside).unwrap_or_else(|| match &template.origin {
        Origin::BuiltIn => format!("template {}, {key}", template.name),
        origin => format!("{origin}, {key}"),
    })
}

fn unset(config: &mut Value, key: &str) -> bool {
    let (parent, last) = key.rsplit_once('.').map_or((None, key), |(parent, last)| (Some(parent), last));
    let node = match parent {
        Some(parent) => config.pointer_mut(&json::pointer(parent)),
        None => Some(config),
    };
    node.and_then(Value::as_object_mut).is_some_and(|object| object.shift_remove(last).is_some())
}

/// Sets a dotted key and creates the objects on the way. The error is the key whose value is not an object.
fn set(config: &mut Value, key: &str, value: Value) -> Result<(), String> {
    let mut node = config;
    let mut walked = Vec::new();
    for part in key.split('.') {
        if node.is_null() {
            *node = Value::Object(Map::new());
        }
        let Some(object) = node.as_object_mut() else { return Err(walked.join(".")) };
        node = object.entry(part).or_insert(Value::Null);
        walked.push(part);
    }
    *node = value;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn set_makes_the_way_and_stops_at_a_value() {
        let mut config = json!({"a": 1, "b": {"c": 2}, "n": null});
        set(&mut config, "b.d.e", json!(true)).unwrap();
        set(&mut config, "n.x", json!("s")).unwrap();
        assert_eq!(config, json!({"a": 1, "b": {"c": 2, "d": {"e": true}}, "n": {"x": "s"}}));
        assert_eq!(set(&mut config, "b.c.x.y", json!(1)), Err("b.c".to_string()));
    }

    #[test]
    fn unset_keeps_the_order_of_the_rest() {
        let mut config = json!({"a": {"x": 1, "y": 2, "z": 3}, "b": 1});
        assert!(unset(&mut config, "a.x"));
        assert!(!unset(&mut config, "a.w"));
        assert!(!unset(&mut config, "b.c"));
        assert_eq!(config.to_string(), r#"{"a":{"y":2,"z":3},"b":1}"#);
        assert!(unset(&mut config, "a"));
    }
}
