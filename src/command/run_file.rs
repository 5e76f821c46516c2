//! Run files: YAML or JSON with a trainer's arguments, read as the trainer reads them and turned into words.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use serde_json::{Map, Value};

use crate::base::json;
use crate::base::yaml::{self, Dialect};
use crate::host::Host;
use crate::report::{Problem, Rule, reading};

/// HF's `parse_dict` converts nothing: `max_grad_norm: false` becomes a `gradient_clipping` of false.
const NUMBERS: &str = "per_device_train_batch_size gradient_accumulation_steps learning_rate weight_decay adam_beta1 \
    adam_beta2 adam_epsilon max_grad_norm max_steps warmup_steps";

const SWITCHES: &str = "fp16 bf16 fp16_full_eval bf16_full_eval auto_find_batch_size";

pub(crate) fn first(words: &[OsString]) -> Option<&OsString> {
    let word = words
        .first()
        .filter(|word| !word.as_encoded_bytes().starts_with(b"-"))?;
    is_one(Path::new(word)).then_some(word)
}

pub(crate) fn is_one(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ["json", "yaml", "yml"].iter().any(|known| ending == *known))
}

pub(crate) struct RunFile {
    text: String,
    is_json: bool,
    pub(crate) entries: Map<String, Value>,
}

impl RunFile {
    /// Nothing where it cannot be read, or is no mapping.
    pub(crate) fn read(word: &OsStr, host: &Host) -> Option<Self> {
        let path = host.absolute(Path::new(word));
        let text = reading::read_text(&path).ok()?;
        let entries = mapping(&text, &path, Dialect::PyYaml, host)
            .ok()
            .flatten()?;
        Some(RunFile {
            text,
            is_json: is_json(&path),
            entries,
        })
    }

    /// Its text with this entry. Everything else stays as it is written: the reader has its own idea of types.
    pub(crate) fn with(&self, key: &str, value: &str) -> String {
        let mut entries = self.entries.clone();
        entries.insert(key.to_string(), Value::from(value));
        if self.is_json {
            return json::write(&Value::Object(entries));
        }
        let wanted = Value::Object(entries);
        let line = format!("{key}: {}", Value::from(value));
        // In front of the first key.
        let lines = self.text.split_inclusive('\n');
        let before =
            lines.take_while(|line| line.starts_with(['#', '-', '%']) || line.trim().is_empty());
        let (head, rest) = self.text.split_at(before.map(str::len).sum());
        let inserted = (!rest.is_empty()).then(|| format!("{head}{line}\n{rest}"));
        let mut edited = [replaced(&self.text, key, &line), inserted]
            .into_iter()
            .flatten();
        let right = edited.find(|text| yaml::parse(text, Dialect::PyYaml).as_ref() == Ok(&wanted));
        right.unwrap_or_else(|| yaml::flow(&wanted) + "\n")
    }
}

/// The text with the entry of a key at the top level replaced by a line.
fn replaced(text: &str, key: &str, line: &str) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let at = lines.iter().position(|line| {
        line.strip_prefix(key)
            .is_some_and(|it| it.trim_start().starts_with(':'))
    })?;
    let more = lines[at + 1..]
        .iter()
        .take_while(|line| line.starts_with([' ', '\t', '-']) || line.trim().is_empty());
    Some(
        [&lines[..at], &[line, "\n"], &lines[at + 1 + more.count()..]]
            .concat()
            .concat(),
    )
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "json")
}

pub(crate) fn read(
    word: &OsStr,
    dialect: Dialect,
    host: &Host,
) -> Result<Option<Map<String, Value>>, Problem> {
    let path = host.absolute(Path::new(word));
    mapping(&reading::read_text(&path)?, &path, dialect, host)
}

fn mapping(
    text: &str,
    path: &Path,
    dialect: Dialect,
    host: &Host,
) -> Result<Option<Map<String, Value>>, Problem> {
    host.has_read(text);
    let (value, format) = if is_json(path) {
        (json::parse_exactly(text), "JSON")
    } else {
        (yaml::parse(text, dialect), "YAML")
    };
    match value.map_err(|fault| fault.problem_in_run_file(format, &path.display().to_string()))? {
        Value::Object(object) => Ok(Some(object)),
        Value::Null => Ok(None),
        _ => Err(
            Problem::error(Rule::RunFile, "a run file must hold `key: value` lines")
                .at(path)
                .fix("model: Qwen/Qwen3-8B"),
        ),
    }
}

/// `--key value` for every entry, as ms-swift writes them: lists as several words, mappings as JSON.
pub(crate) fn words(entries: &Map<String, Value>) -> Vec<OsString> {
    let mut words = Vec::new();
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

fn text_of(value: &Value) -> String {
    if value.is_object() {
        yaml::python_json(value)
    } else {
        yaml::python_str(value)
    }
}

/// `--key PATH…` for a list of datasets, each with its `path`. The trainer itself gets the list from the file.
pub(crate) fn paths_of(entries: &Map<String, Value>, key: &str) -> Vec<OsString> {
    let list = entries
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let paths = list
        .filter_map(|item| item.get("path")?.as_str())
        .map(OsString::from);
    std::iter::once(OsString::from(format!("--{key}")))
        .chain(paths)
        .collect()
}

/// `--key=value` for the entries that a typed reader takes unchanged: numbers, booleans and texts. A boolean for a number,
/// or the reverse, is left to the trainer; so is a text for either, unless the reader `converts` it.
pub(crate) fn typed_words(entries: &Map<String, Value>, converts: bool) -> Vec<OsString> {
    let usable = entries
        .iter()
        .filter(|(key, value)| is_usable(key, value, converts));
    usable
        .map(|(key, value)| OsString::from(format!("--{key}={}", text_of(value))))
        .collect()
}

pub(crate) fn unread(entries: &Map<String, Value>, converts: bool) -> Vec<String> {
    entries
        .iter()
        .filter(|(key, value)| !is_usable(key, value, converts))
        .map(|(key, _)| key.clone())
        .collect()
}

pub(crate) fn texts(entries: &Map<String, Value>) -> Vec<(String, String)> {
    let texts = entries
        .iter()
        .filter_map(|(key, value)| Some((key, value.as_str()?)));
    texts
        .filter(|(_, text)| !text.contains("${"))
        .map(|(key, text)| (key.clone(), text.to_string()))
        .collect()
}

fn is_usable(key: &str, value: &Value, converts: bool) -> bool {
    let is_in = |list: &str| list.split(' ').any(|name| name == key);
    match value {
        Value::Number(_) => !is_in(SWITCHES),
        Value::Bool(_) => !is_in(NUMBERS),
        // An interpolation is passed on, so that the plan can say that it is not resolved yet.
        Value::String(text) if text.contains("${") => key != "deepspeed",
        Value::String(_) => converts || !is_in(NUMBERS) && !is_in(SWITCHES),
        Value::Object(_) => key == "deepspeed",
        _ => false,
    }
}
