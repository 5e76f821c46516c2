//! The user's layers over a template: `--patch`, `--unset`, `--set`.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::base::json;
use crate::base::source::Sourced;
use crate::config::patch;
use crate::config::template::{RequiredKey, SCHEMA_LINE, Template};
use crate::host::Host;
use crate::report::fix::{self, Fixes, give_as};
use crate::report::{Place, Problem, Rule, nearest, reading};

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

/// Only the first missing keys are compared with every key of the config, which takes time for both multiplied.
const COMPARED: usize = 20;

/// Applies the layers, and refuses a config without the keys that the template requires.
pub fn with_layers(
    template: &Template,
    layers: &Layers,
    host: &Host,
) -> Result<Value, Vec<Problem>> {
    let mut config = template.config.clone();
    let mut problems = Vec::new();
    for file in &layers.patch {
        let path = host.absolute(&file.value);
        let patched = reading::read(&path, host).and_then(|change| {
            let place = Place::from(&path);
            match change {
                Value::Array(_) => patch::operate(&mut config, change, place),
                Value::Object(_) => {
                    patch::merge(&mut config, &change);
                    Ok(())
                }
                _ => Err(patch::not_a_patch(
                    place,
                    "it is neither a list nor an object",
                )),
            }
        });
        problems.extend(patched.err().map(|problem| {
            let typed = file.value.to_string_lossy();
            match typed.split_once('=') {
                _ if typed.starts_with(['{', '[']) => {
                    problem.fix("--patch takes a file: write it to one, or use --set KEY=VALUE")
                }
                Some((key, value)) if !path.exists() => problem.fix(fix::set(key, value)),
                _ => problem,
            }
        }));
    }
    problems.extend(remove(&mut config, &layers.unset));
    for assignment in &layers.set {
        let (key, value) = &assignment.value;
        if let Err(blocked) = set(&mut config, key, value.clone()) {
            let what = format!("`{key}` cannot be set: `{blocked}` is a value, not a section");
            let given = Sourced::new(format!("{key}=…"), assignment.from.clone());
            let fixes = fix::set(&blocked, "VALUE").or("set another key");
            problems.push(Problem::error(Rule::Set, what).at(&given).fix(fixes));
        }
    }
    unset(&mut config, SCHEMA_LINE);
    if !config.is_object() {
        let what = "the patched config is not a JSON object";
        let help = "an operation with the path \"\" replaces the whole config; give it a path";
        problems.push(Problem::error(Rule::Patch, what).at("--patch").fix(help));
    }
    if config.get("$zlaunch").is_some() {
        let what = "`$zlaunch` cannot be set here: it belongs to a template file";
        let help = "set variables with --env, choose a template with --deepspeed";
        let problem = Problem::error(Rule::Set, what).at("--set, --patch");
        problems.push(problem.fix(help));
    }
    let missing = template
        .needs
        .iter()
        .filter(|need| need.is_missing(&config));
    problems.extend(missing.map(|need| {
        let name = &template.name;
        let what = format!("the template `{name}` needs `{}`: {}", need.key, need.why);
        Problem::error(Rule::Template, what)
            .at(format!("template {name}"))
            .fix(fix::set(&need.key, &need.example))
    }));
    if problems.is_empty() {
        Ok(config)
    } else {
        Err(problems)
    }
}

impl RequiredKey {
    fn is_missing(&self, config: &Value) -> bool {
        let is_needed = match &self.when {
            Some((key, value)) => json::get(config, key) == Some(value),
            None => true,
        };
        is_needed && json::get(config, &self.key).is_none_or(Value::is_null)
    }
}

pub fn remove(config: &mut Value, keys: &[Sourced<String>]) -> Vec<Problem> {
    // The line with the schema is gone already.
    let missing: Vec<_> = keys
        .iter()
        .filter(|key| !unset(config, &key.value) && key.value != SCHEMA_LINE)
        .collect();
    let known = if missing.is_empty() {
        Vec::new()
    } else {
        json::leaves(config, |_| true)
    };
    let problems = missing.into_iter().enumerate().map(|(at, key)| {
        let compared = if at < COMPARED { &known[..] } else { &[] };
        let fixes = match nearest(&key.value, compared.iter().map(String::as_str)) {
            Some(near) => give_as(&key.from, near).meaning(near).into(),
            None => Fixes::from("`zlaunch templates NAME` shows the keys"),
        };
        let what = format!("the config has no key `{}` to remove", key.value);
        Problem::error(Rule::Unset, what).at(key).fix(fixes)
    });
    problems.collect()
}

pub(super) fn unset(config: &mut Value, key: &str) -> bool {
    let (section, name) = match key.rsplit_once('.') {
        Some((section, name)) => (json::get_mut(config, section), name),
        None => (Some(config), key),
    };
    section
        .and_then(Value::as_object_mut)
        .is_some_and(|object| object.shift_remove(name).is_some())
}

/// Sets a dotted key and creates the objects on the way. The error is the key whose value is not an object.
pub fn set(config: &mut Value, key: &str, value: Value) -> Result<(), String> {
    let mut node = config;
    let mut walked = Vec::new();
    for part in key.split('.') {
        if node.is_null() {
            *node = Value::Object(Map::new());
        }
        let Some(object) = node.as_object_mut() else {
            return Err(walked.join("."));
        };
        node = object.entry(part).or_insert(Value::Null);
        walked.push(part);
    }
    *node = value;
    Ok(())
}
