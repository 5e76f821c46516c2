//! Run files: YAML or JSON with a trainer's arguments, read as the trainer reads them and turned into words.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

use serde_json::{Map, Value};

use crate::{
    base::{
        json, vars,
        yaml::{self, Dialect},
    },
    command::{
        front_end::Variable,
        tables::{NUMBERS, SWITCHES},
    },
    host::Host,
    report::{Problem, Rule, reading},
};

pub fn first(words: &[OsString]) -> Option<&OsString> {
    let word = words
        .first()
        .filter(|word| !word.as_encoded_bytes().starts_with(b"-"))?;
    is_one(Path::new(word)).then_some(word)
}

pub fn is_one(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ["json", "yaml", "yml"].iter().any(|known| ending == *known))
}

#[derive(Default)]
pub struct RunFile {
    pub entries: Map<String, Value>,
}

impl RunFile {
    /// `None`: there is nothing in it.
    pub fn read(word: &OsStr, dialect: Dialect, host: &Host) -> Result<Option<Self>, Problem> {
        let path = host.absolute(Path::new(word));
        let text = reading::read_text(&path)?;
        host.has_read(&text);
        let is_json = path.extension().is_some_and(|ending| ending == "json");
        let (value, format) = if is_json {
            (json::parse_exactly(&text), "JSON")
        } else {
            (yaml::parse(&text, dialect), "YAML")
        };
        let shown = path.display().to_string();
        match value.map_err(|fault| fault.problem_in_run_file(format, &shown))? {
            Value::Object(entries) => Ok(Some(RunFile { entries })),
            Value::Null => Ok(None),
            _ => Err(Rule::RunFile
                .error("a run file must hold `key: value` lines")
                .at(&path)
                .fix("model: Qwen/Qwen3-8B")),
        }
    }

    /// A copy with this entry, in which every value has the type that the reader gave it. It is YAML and JSON.
    pub fn with(&self, key: &str, value: &str) -> String {
        let mut entries = self.entries.clone();
        entries.insert(key.to_string(), Value::from(value));
        yaml::flow(&Value::Object(entries)) + "\n"
    }
}

/// `--key value` for every entry, as ms-swift writes them: lists as several words, mappings as JSON.
pub fn words(entries: &Map<String, Value>) -> Vec<OsString> {
    let mut words = vec![];
    for (key, value) in entries {
        words.push(OsString::from(format!("--{key}")));
        match value {
            Value::Array(list) => words.extend(
                list.iter()
                    .map(|item| OsString::from(yaml::python_str(item))),
            ),
            _ => words.push(text_of(value).into()),
        }
    }
    words
}

pub fn text_of(value: &Value) -> String {
    if value.is_object() {
        yaml::python_json(value)
    } else {
        yaml::python_str(value)
    }
}

/// `--key PATH…` for a list of datasets, each with its `path`. The trainer itself gets the list from the file.
pub fn paths_of(entries: &Map<String, Value>, key: &str) -> Vec<OsString> {
    let paths = entries
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|item| item.get("path")?.as_str())
        .map(OsString::from);
    std::iter::once(OsString::from(format!("--{key}")))
        .chain(paths)
        .collect()
}

/// The variables in a block of a run file.
pub fn variables(block: Option<&Value>, why: &str) -> Vec<Variable> {
    block
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter(|(name, _)| vars::is_name(name))
        .map(|(name, value)| Variable::new(name, yaml::python_str(value), why))
        .collect()
}

/// True for an entry that a typed reader takes unchanged: a number, a boolean or a text. A boolean for a number, or the
/// reverse, is left to the trainer; so is a text for either, unless the reader `converts` it.
pub fn is_usable(key: &str, value: &Value, converts: bool) -> bool {
    let is_switch = SWITCHES.contains(&key);
    let is_number = NUMBERS.contains(&key);
    match value {
        Value::Number(_) => !is_switch,
        Value::Bool(_) => !is_number,
        // An interpolation is passed on, so that the plan can say that it is not resolved yet.
        Value::String(text) if text.contains("${") => key != "deepspeed",
        Value::String(_) => converts || !is_number && !is_switch,
        Value::Object(_) => key == "deepspeed",
        _ => false,
    }
}
