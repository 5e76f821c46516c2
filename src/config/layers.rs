//! The user's layers over a template: `--patch`, `--unset`, `--set`.

use std::borrow::Cow;
use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::base::json;
use crate::base::source::Sourced;
use crate::config::patch;
use crate::config::template::{SCHEMA_LINE, Template};
use crate::host::Host;
use crate::report::reading;
use crate::report::{self, Problem};

/// Applied to the template in this order.
#[derive(Default)]
pub struct Layers {
    pub patch: Vec<Sourced<PathBuf>>,
    pub unset: Vec<Sourced<String>>,
    pub set: Vec<Sourced<(String, Value)>>,
}

impl Layers {
    pub(crate) fn is_empty(&self) -> bool {
        self.patch.is_empty() && self.unset.is_empty() && self.set.is_empty()
    }
}

/// Of how many keys that are not there it is said which one was probably meant.
const COMPARED: usize = 20;

/// Applies the layers and checks that the keys the template requires are there.
pub fn with_layers<'t>(template: &'t Template, layers: &Layers, host: &Host) -> Result<Cow<'t, Value>, Vec<Problem>> {
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
    if !layers.unset.is_empty() {
        problems.extend(remove(config.to_mut(), &layers.unset));
    }
    for assignment in &layers.set {
        let (key, value) = &assignment.value;
        if let Err(blocked) = set(config.to_mut(), key, value.clone()) {
            problems.push(report::set_below_a_value(key, &blocked, &assignment.from));
        }
    }
    if config.get(SCHEMA_LINE).is_some()
        && let Some(object) = config.to_mut().as_object_mut()
    {
        object.shift_remove(SCHEMA_LINE);
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

/// Removes keys. What is left keeps its order.
fn remove(config: &mut Value, keys: &[Sourced<String>]) -> Vec<Problem> {
    let before = config.clone();
    // That line is gone already.
    let missing: Vec<_> = keys.iter().filter(|key| !unset(config, &key.value) && key.value != SCHEMA_LINE).collect();
    json::restore_order(&before, config);
    let known = if missing.is_empty() { Vec::new() } else { json::leaves(config, |_| true) };
    let told = missing.into_iter().enumerate().map(|(at, key)| {
        // Each is compared with every key of the config, so the time is that of both multiplied.
        let known = known.iter().map(String::as_str).filter(|_| at < COMPARED);
        report::nothing_to_unset(key, report::nearest(&key.value, known))
    });
    told.collect()
}

/// Removes one key, and may move the last one of its section into its place.
fn unset(config: &mut Value, key: &str) -> bool {
    let (parent, last) = key.rsplit_once('.').map_or((None, key), |(parent, last)| (Some(parent), last));
    let node = match parent {
        Some(parent) => config.pointer_mut(&json::pointer(parent)),
        None => Some(config),
    };
    node.and_then(Value::as_object_mut).is_some_and(|object| object.swap_remove(last).is_some())
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
}
