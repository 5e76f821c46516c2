//! One template file: the `$zlaunch` header and the body.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::search::{Origin, is_name};
use crate::{
    base::{json, vars},
    config::{
        schema,
        tables::{DECISIVE_WORDS, HARMLESS, OTHER_CONFIGS, OtherConfig, TUNING, TUNING_STARTS},
    },
    report::{Place, Problem, Rule, did_you_mean, fix::Fixes, nearest, reading},
};

/// Names the schema of a file for editors. It never reaches DeepSpeed.
pub const SCHEMA_LINE: &str = "$schema";

pub const HEADER_KEY: &str = "$zlaunch";

const HEADER: &[&str] = &["about", "about.zh", "extends", "patch", "env", "needs"];

/// The header as JSON Schema, for `zlaunch schema --template`.
pub fn header_schema() -> Value {
    json::parse_built_in(include_str!("header.schema.json"))
}

/// A key that only the user can fill in.
#[derive(Debug, Deserialize)]
pub struct RequiredKey {
    #[serde(skip)]
    pub key: String,
    pub why: String,
    pub example: String,
    /// Only needed while these keys have these values.
    #[serde(default)]
    pub when: Map<String, Value>,
}

#[derive(Default)]
pub struct Document {
    pub about: Option<String>,
    pub about_zh: Option<String>,
    pub extends: Option<String>,
    pub patch: Option<Value>,
    pub env: Vec<(String, String)>,
    pub needs: Vec<RequiredKey>,
    pub body: Value,
}

impl Document {
    /// Splits the header off the config. All errors in it are reported at once.
    pub fn new(value: Value, origin: &Origin) -> Result<Self, Vec<Problem>> {
        let Value::Object(mut body) = value else {
            return Err(vec![reading::not_an_object(origin)]);
        };
        let header = body.shift_remove(HEADER_KEY);
        body.shift_remove(SCHEMA_LINE);
        let mut reader = HeaderReader {
            origin,
            document: Document::default(),
            problems: Vec::new(),
        };
        match header {
            None => reader.refuse_other(&body),
            Some(Value::Object(header)) => {
                for (key, value) in header {
                    reader.read_entry(&key, value);
                }
            }
            Some(_) => {
                reader.wanted::<()>(HEADER_KEY, "an object", None);
            }
        }
        if !reader.problems.is_empty() {
            return Err(reader.problems);
        }
        Ok(Document {
            body: Value::Object(body),
            ..reader.document
        })
    }
}

struct HeaderReader<'a> {
    origin: &'a Origin,
    document: Document,
    problems: Vec<Problem>,
}

impl HeaderReader<'_> {
    fn refuse(&mut self, key: &str, what: impl Into<String>, help: impl Into<Fixes>) {
        let place = Place::key(self.origin, key);
        let problem = Problem::error(Rule::Template, what).at(place);
        self.problems.push(problem.fix(help));
    }

    /// `None` is refused: the value is not what is wanted there.
    fn wanted<T>(&mut self, key: &str, wanted: &str, read: Option<T>) -> Option<T> {
        let example =
            r#""$zlaunch": {"about": "…", "extends": "zero3", "env": {"NCCL_DEBUG": "WARN"}}"#;
        if read.is_none() {
            self.refuse(key, format!("`{key}` must be {wanted}"), example);
        }
        read
    }

    /// A misspelt header, or the config of another program.
    fn refuse_other(&mut self, body: &Map<String, Value>) {
        let mut keys = body.keys();
        let is_header = |key: &str| {
            key == "zlaunch" || key.starts_with('$') && nearest(key, [HEADER_KEY]).is_some()
        };
        if let Some(key) = keys.clone().find(|key| is_header(key)) {
            let what = format!("zlaunch's section is named `{HEADER_KEY}`");
            return self.refuse(key, what, format!("write \"{HEADER_KEY}\""));
        }
        let count = |other: &&OtherConfig| {
            let of_other = keys
                .clone()
                .filter(|key| other.keys.contains(&key.as_str()));
            of_other.count()
        };
        let is_ours = |key: &&String| schema::find(key, schema::newest()).is_some();
        if let Some(other) = OTHER_CONFIGS.iter().max_by_key(count)
            && count(&other) > keys.clone().filter(is_ours).count()
            && let Some(key) = keys.find(|key| other.keys.contains(&key.as_str()))
        {
            let what = format!("this is {}, not a config of DeepSpeed", other.name);
            self.refuse(key, what, other.help);
        }
    }

    fn read_entry(&mut self, key: &str, value: Value) {
        let place = format!("$zlaunch.{key}");
        let text = value.as_str().map(str::to_string);
        match key {
            "about" => self.document.about = self.wanted(&place, "a string", text),
            "about.zh" => self.document.about_zh = self.wanted(&place, "a string", text),
            "extends" => {
                let name = text.filter(|name| is_name(name));
                self.document.extends = self.wanted(&place, "the name of a template", name);
            }
            "patch" => {
                let operations = Some(value).filter(Value::is_array);
                self.document.patch = self.wanted(&place, "a list of operations", operations);
            }
            "env" => {
                let variables = self.wanted(&place, "an object of strings", value.as_object());
                for (name, value) in variables.into_iter().flatten() {
                    self.read_variable(name, value);
                }
            }
            "needs" => {
                let needs = self.wanted(&place, "an object", value.as_object());
                for (key, value) in needs.into_iter().flatten() {
                    let wanted = r#"an object such as {"why": "…", "example": "…"}"#;
                    let need = RequiredKey::deserialize(value).ok();
                    let need = self.wanted(&format!("{place}.{key}"), wanted, need);
                    let key = key.clone();
                    let need = need.map(|need| RequiredKey { key, ..need });
                    self.document.needs.extend(need);
                }
            }
            _ => {
                let known = format!("known entries: {}", HEADER.join(", "));
                let help = did_you_mean(nearest(key, HEADER.iter().copied()), &known);
                self.refuse(&place, format!("`$zlaunch` has no entry `{key}`"), help);
            }
        }
    }

    fn read_variable(&mut self, name: &str, value: &Value) {
        let key = format!("$zlaunch.env.{name}");
        let text = match value {
            Value::Number(number) => Some(number.to_string()),
            _ => value.as_str().map(str::to_string),
        };
        let Some(text) = self.wanted(&key, "a string", text) else {
            return;
        };
        let exported = Some(text).filter(|text| vars::is_name(name) && !text.contains('\0'));
        let wanted = "a variable that can be exported";
        let Some(text) = self.wanted(&key, wanted, exported) else {
            return;
        };
        if only_tunes(name) {
            self.document.env.push((name.to_string(), text));
        } else {
            let what =
                format!("a template may not set `{name}`: it is not a known tuning variable");
            let help = format!("remove it from the template; --env {name}=… sets it for a launch");
            self.refuse(&key, what, help);
        }
    }
}

/// True if a template may set the variable: it decides neither which code runs nor which ranks take part.
pub fn only_tunes(name: &str) -> bool {
    let tunes = TUNING.contains(&name) || TUNING_STARTS.iter().any(|start| name.starts_with(start));
    let decides = name.split('_').any(|word| DECISIVE_WORDS.contains(&word));
    HARMLESS.contains(&name) || tunes && !decides
}
