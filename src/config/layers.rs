//! The user's layers over a template: `--patch`, `--unset`, `--set`.

use std::borrow::Cow;
use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::base::json;
use crate::base::source::Sourced;
use crate::config::patch;
use crate::config::template::{RequiredKey, SCHEMA_LINE, Template};
use crate::host::Host;
use crate::report::fix::{Fixes, give_as};
use crate::report::{Place, Problem, Rule, nearest};
use crate::report::{fix, reading};

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
            operations @ Value::Array(_) => patch::operate(config.to_mut(), operations, &path),
            object @ Value::Object(_) => {
                patch::merge(config.to_mut(), object);
                Ok(())
            }
            _ => Err(patch::not_a_patch(Place::from(&path), "it is neither a list nor an object")),
        });
        let typed = file.value.to_string_lossy();
        problems.extend(applied.err().map(|problem| match typed.split_once('=') {
            _ if typed.trim_start().starts_with(['{', '[']) => {
                problem.fix("--patch takes a file: write it to one, or use --set KEY=VALUE")
            }
            Some((key, value)) if !path.exists() => problem.fix(fix::set(key, value)),
            _ => problem,
        }));
    }
    if !layers.unset.is_empty() {
        problems.extend(remove(config.to_mut(), &layers.unset));
    }
    for assignment in &layers.set {
        let (key, value) = &assignment.value;
        if let Err(blocked) = set(config.to_mut(), key, value.clone()) {
            let what = format!("`{key}` cannot be set: `{blocked}` is a value, not a section");
            let given = Sourced::new(format!("{key}=…"), assignment.from.clone());
            let fixes = fix::set(&blocked, "VALUE").or("set another key");
            problems.push(Problem::error(Rule::Set, what).at(&given).fix(fixes));
        }
    }
    if config.get(SCHEMA_LINE).is_some()
        && let Some(object) = config.to_mut().as_object_mut()
    {
        object.shift_remove(SCHEMA_LINE);
    }
    if !config.is_object() {
        problems.push(
            Problem::error(Rule::Patch, "after the patch the config is not a JSON object")
                .at("--patch")
                .fix("an operation with the path \"\" replaces the whole config: give it a path"),
        );
    }
    if config.get("$zlaunch").is_some() {
        problems.push(
            Problem::error(Rule::Set, "`$zlaunch` cannot be set here: it belongs to a template file")
                .at("--set, --patch")
                .fix("set variables with --env, choose a template with --deepspeed"),
        );
    }
    for need in &template.needs {
        let wanted = need.when.as_ref().is_none_or(|(key, value)| json::get(&config, key) == Some(value));
        if wanted && json::get(&config, &need.key).is_none_or(Value::is_null) {
            let (Template { name, .. }, RequiredKey { key, why, example, .. }) = (template, need);
            let what = format!("the template `{name}` needs `{key}`: {why}");
            problems
                .push(Problem::error(Rule::Template, what).at(format!("template {name}")).fix(fix::set(key, example)));
        }
    }
    if problems.is_empty() { Ok(config) } else { Err(problems) }
}

/// Removes keys. What is left keeps its order.
pub fn remove(config: &mut Value, keys: &[Sourced<String>]) -> Vec<Problem> {
    // That line is gone already.
    let missing: Vec<_> = keys.iter().filter(|key| !unset(config, &key.value) && key.value != SCHEMA_LINE).collect();
    let known = if missing.is_empty() { Vec::new() } else { json::leaves(config, |_| true) };
    let told = missing.into_iter().enumerate().map(|(at, key)| {
        // Each is compared with every key of the config, so the time is that of both multiplied.
        let known = known.iter().map(String::as_str).filter(|_| at < COMPARED);
        Problem::error(Rule::Unset, format!("the config has no key `{}` to remove", key.value)).at(key).fix(
            match nearest(&key.value, known) {
                Some(near) => give_as(&key.from, near).meaning(near).into(),
                None => Fixes::from("`zlaunch templates NAME` shows the keys"),
            },
        )
    });
    told.collect()
}

fn unset(config: &mut Value, key: &str) -> bool {
    let (section, name) = match key.rsplit_once('.') {
        Some((section, name)) => (json::get_mut(config, section), name),
        None => (Some(config), key),
    };
    section.and_then(Value::as_object_mut).is_some_and(|object| object.shift_remove(name).is_some())
}

/// Sets a dotted key and creates the objects on the way. The error is the key whose value is not an object.
pub fn set(config: &mut Value, key: &str, value: Value) -> Result<(), String> {
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
