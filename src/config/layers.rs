//! The user's layers over a template: `--patch`, `--unset`, `--set`; and the place where a key was written.

use std::{
    cell::OnceCell,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

use crate::{
    base::{
        json::{self, Positions},
        source::Sourced,
    },
    config::{
        patch,
        template::{HEADER_KEY, Origin, RequiredKey, SCHEMA_LINE, Template},
    },
    host::Host,
    report::{
        fix::{self},
        prelude::*,
    },
};

/// Applied to the template in this order.
#[derive(Clone, Default)]
pub struct Layers {
    pub patch: Vec<Sourced<PathBuf>>,
    pub unset: Vec<Sourced<String>>,
    pub set: Vec<Sourced<Assignment>>,
}

/// `--set KEY=VALUE`.
#[derive(Clone)]
pub struct Assignment {
    pub key: String,
    pub value: Value,
    /// The value as it was typed.
    pub typed: String,
}

impl Layers {
    pub fn is_empty(&self) -> bool {
        self.patch.is_empty() && self.unset.is_empty() && self.set.is_empty()
    }
}

/// Applies the layers, and refuses a config without the keys that the template requires.
pub fn with_layers(template: &Template, layers: &Layers, host: &Host) -> Result<Value, Problems> {
    let mut config = template.config.clone();
    let mut problems = vec![];
    for file in &layers.patch {
        problems.extend(apply_patch(&mut config, &host.absolute(&file.value), host).err());
    }
    problems.extend(remove(&mut config, &layers.unset));
    for assignment in &layers.set {
        let Assignment { key, value, .. } = &assignment.value;
        if let Err(blocked) = set(&mut config, key, value.clone()) {
            let given = assignment.says(format!("{key}=…"));
            let fixes = fix::set(&blocked, "VALUE").or("set another key");
            problems.push(
                Rule::Set
                    .error(format!(
                        "`{key}` cannot be set: `{blocked}` is a value, not a section"
                    ))
                    .at(&given)
                    .fix(fixes),
            );
        }
    }
    unset(&mut config, SCHEMA_LINE);
    if !config.is_object() {
        let help = "an operation with the path \"\" replaces the whole config; give it a path";
        problems.push(
            Rule::Patch
                .error("the patched config is not a JSON object")
                .at("--patch")
                .fix(help),
        );
    }
    if config.get(HEADER_KEY).is_some() {
        let help = "set variables with --env, choose a template with --deepspeed";
        problems.push(
            Rule::Set
                .error("`$zlaunch` cannot be set here: it belongs to a template file")
                .at("--set, --patch")
                .fix(help),
        );
    }
    for (key, need) in &template.needs {
        if need.is_missing(key, &config) {
            let name = &template.name;
            problems.push(
                Rule::Template
                    .error(format!("the template `{name}` needs `{key}`: {}", need.why))
                    .at(format!("template {name}"))
                    .fix(fix::set(key, &need.example)),
            );
        }
    }
    if problems.is_empty() {
        Ok(config)
    } else {
        Err(problems)
    }
}

fn apply_patch(config: &mut Value, path: &Path, host: &Host) -> Result<(), Problem> {
    let change = reading::read(path, host)?;
    match change {
        Value::Array(_) => patch::operate(config, change, path),
        Value::Object(one) if one.contains_key("op") => {
            let why = "a single operation stands in a list, too: put it in [ ]";
            Err(patch::not_a_patch(path.into(), why))
        }
        Value::Object(_) => {
            json::merge(config, &change);
            Ok(())
        }
        _ => Err(patch::not_a_patch(
            path.into(),
            "it is neither a list nor an object",
        )),
    }
}

impl RequiredKey {
    fn is_missing(&self, key: &str, config: &Value) -> bool {
        self.when
            .iter()
            .all(|(key, value)| json::get(config, key) == Some(value))
            && json::get(config, key).is_none_or(Value::is_null)
    }
}

pub fn remove(config: &mut Value, keys: &[Sourced<String>]) -> Problems {
    let mut problems = vec![];
    for key in keys {
        // The line with the schema is gone already.
        if unset(config, &key.value) || key.value == SCHEMA_LINE {
            continue;
        }
        let known = json::leaves(config, |_| true);
        let name = key.value.split('=').next().unwrap_or_default();
        let near = nearest(name, known.iter().map(String::as_str));
        let lists = "`zlaunch templates NAME` shows the keys";
        let fixes = near.map_or(lists.into(), |near| {
            Fixes::from(give_as(&key.from, near).meaning(near))
        });
        let what = format!("the config has no key `{}` to remove", key.value);
        problems.push(Rule::Unset.error(what).at(key).fix(fixes));
    }
    problems
}

pub fn unset(config: &mut Value, key: &str) -> bool {
    let Some(object) = config.as_object_mut() else {
        return false;
    };
    // DeepSpeed does not split a name that has dots itself.
    let mut dots = key.match_indices('.');
    object.shift_remove(key).is_some()
        || dots.any(|(at, _)| {
            let section = object.get_mut(&key[..at]);
            section.is_some_and(|section| unset(section, &key[at + 1..]))
        })
}

/// Sets a dotted key and creates the objects on the way. The error is the key whose value is not an object.
pub fn set(config: &mut Value, key: &str, value: Value) -> Result<(), String> {
    let mut node = config;
    let mut walked = vec![];
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

/// The place where a key of a config was written: the last `--set`, a `--patch` that changed it, or the template's file.
/// Only messages need it, so the files are read again for the first message.
pub struct Places<'a> {
    config: &'a Value,
    template: &'a Template,
    layers: &'a Layers,
    host: &'a Host,
    /// The files of the template, and the last patch.
    files: OnceCell<Vec<(PathBuf, Positions)>>,
}

impl<'a> Places<'a> {
    /// `config`: with the layers, before "auto" was filled.
    pub fn new(
        config: &'a Value,
        template: &'a Template,
        layers: &'a Layers,
        host: &'a Host,
    ) -> Self {
        Places {
            config,
            template,
            layers,
            host,
            files: OnceCell::new(),
        }
    }

    pub fn of(&self, key: &str) -> Place {
        if let Some(set) = self.set_at(key) {
            let Assignment { key, typed, .. } = &set.value;
            return Place::from(&set.says(format!("{key}={typed}")));
        }
        let patch = self.layers.patch.last();
        let patch = patch.map(|patch| self.host.absolute(&patch.value));
        let files = self.files.get_or_init(|| {
            self.template
                .files()
                .chain(patch.as_deref())
                .filter_map(|path| {
                    let text = reading::read_text(path).ok()?;
                    Some((path.to_path_buf(), json::positions(&text)?))
                })
                .collect()
        });
        let is_patched = json::get(self.config, key) != json::get(&self.template.config, key);
        let patch = patch.filter(|_| is_patched);
        files
            .iter()
            .filter(|(path, _)| patch.as_ref().is_none_or(|patch| path == patch))
            .find_map(|(path, positions)| {
                let position = positions.get(key)?;
                Some(Place::line(path, *position))
            })
            .unwrap_or_else(|| match (patch, &self.template.origin) {
                (Some(patch), _) => Place::key(patch.display(), key),
                (None, Origin::BuiltIn) => {
                    Place::key(format_args!("template {}", self.template.name), key)
                }
                (None, origin) => Place::key(origin, key),
            })
    }

    /// The last `--set` of the key itself or of a section around it, or of a key in a section that only `--set` made.
    fn set_at(&self, key: &str) -> Option<&Sourced<Assignment>> {
        let is_made = json::get(&self.template.config, key).is_none();
        let is_in = |inner: &str, outer: &str| {
            let rest = inner.strip_prefix(outer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.layers.set.iter().rfind(|set| {
            let assigned = &set.value.key;
            is_in(key, assigned) || is_made && is_in(assigned, key)
        })
    }
}
