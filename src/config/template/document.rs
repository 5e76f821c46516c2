//! One template file: the `$zlaunch` header and the body.

use serde_json::{Map, Value, json};

use super::search::{Origin, is_name};
use crate::base::vars;
use crate::report::{self, Problem};

/// Which schema a file follows: for editors, wherever a config is written. It never reaches DeepSpeed.
pub(crate) const SCHEMA_LINE: &str = "$schema";

/// What may stand in `$zlaunch`.
const HEADER: &[&str] = &["about", "about.zh", "extends", "patch", "env", "needs"];

/// The header as JSON Schema, for `zlaunch schema --template`.
pub(crate) fn header_schema() -> Value {
    let text = json!({"type": "string"});
    let needed = json!({
        "type": "object",
        "properties": {"why": text, "example": text, "when": {"type": "object"}},
        "required": ["why", "example"],
    });
    json!({
        "type": "object",
        "description": "zlaunch reads this header, and DeepSpeed never sees it.",
        "properties": {
            "about": {"type": "string", "description": "What the template is for."},
            "about.zh": {"type": "string", "description": "The same in Chinese."},
            "extends": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$", "description": "The template that the body changes: null removes a key."},
            "patch": {"type": "array", "items": {"type": "object", "required": ["op", "path"]}, "description": "Operations of JSON Patch, after the merge."},
            "env": {"type": "object", "additionalProperties": {"type": ["string", "number"]}, "description": "Variables to set where the user has none."},
            "needs": {"type": "object", "additionalProperties": needed, "description": "Keys that only the user can know."},
        },
        "additionalProperties": false,
    })
}

/// A key that only the user can know.
#[derive(Debug)]
pub(crate) struct RequiredKey {
    pub(crate) key: String,
    pub(crate) why: String,
    pub(crate) example: String,
    /// Only needed while this key has this value.
    pub(crate) when: Option<(String, Value)>,
}

/// A template file taken apart.
pub(super) struct Document {
    pub(super) about: Option<String>,
    /// The same in Chinese.
    pub(super) about_zh: Option<String>,
    pub(super) extends: Option<String>,
    pub(super) patch: Option<Value>,
    pub(super) env: Vec<(String, String)>,
    pub(super) needs: Vec<RequiredKey>,
    pub(super) body: Value,
}

impl Document {
    /// Splits the header off the config. All errors in it are reported at once.
    pub(super) fn new(value: Value, origin: &Origin) -> Result<Self, Vec<Problem>> {
        let Value::Object(mut body) = value else { return Err(vec![report::not_an_object(origin)]) };
        let header = body.shift_remove("$zlaunch");
        body.shift_remove(SCHEMA_LINE);
        let mut document = Document {
            about: None,
            about_zh: None,
            extends: None,
            patch: None,
            env: Vec::new(),
            needs: Vec::new(),
            body: Value::Object(body),
        };
        let problems = match header {
            None => Vec::new(),
            Some(Value::Object(header)) => document.read_header(header, origin),
            Some(_) => vec![report::bad_header(origin, "$zlaunch", "an object")],
        };
        if problems.is_empty() { Ok(document) } else { Err(problems) }
    }

    fn read_header(&mut self, header: Map<String, Value>, origin: &Origin) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (key, value) in header {
            let wanted = match (key.as_str(), value) {
                ("about", Value::String(text)) => {
                    self.about = Some(text);
                    continue;
                }
                ("about.zh", Value::String(text)) => {
                    self.about_zh = Some(text);
                    continue;
                }
                ("extends", Value::String(name)) if is_name(&name) => {
                    self.extends = Some(name);
                    continue;
                }
                ("patch", operations @ Value::Array(_)) => {
                    self.patch = Some(operations);
                    continue;
                }
                ("env", Value::Object(variables)) => {
                    problems.extend(self.read_env(variables, origin));
                    continue;
                }
                ("needs", Value::Object(needs)) => {
                    problems.extend(self.read_needs(needs, origin));
                    continue;
                }
                ("about" | "about.zh", _) => "a string",
                ("extends", _) => "the name of a template",
                ("patch", _) => "a list of operations",
                ("env", _) => "an object of strings",
                ("needs", _) => "an object",
                (other, _) => {
                    problems.push(report::unknown_header(origin, other, HEADER));
                    continue;
                }
            };
            problems.push(report::bad_header(origin, &format!("$zlaunch.{key}"), wanted));
        }
        problems
    }

    fn read_needs(&mut self, needs: Map<String, Value>, origin: &Origin) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (key, value) in needs {
            let text = |name: &str| value.get(name)?.as_str().map(str::to_string);
            let when = value.get("when").and_then(Value::as_object).and_then(|when| when.iter().next());
            let when = when.map(|(key, value)| (key.clone(), value.clone()));
            match (text("why"), text("example")) {
                (Some(why), Some(example)) => self.needs.push(RequiredKey { key, why, example, when }),
                _ => {
                    let wanted = r#"an object such as {"why": "…", "example": "…"}"#;
                    problems.push(report::bad_header(origin, &format!("$zlaunch.needs.{key}"), wanted));
                }
            }
        }
        problems
    }

    fn read_env(&mut self, variables: Map<String, Value>, origin: &Origin) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (name, value) in variables {
            let bad = |wanted| report::bad_header(origin, &format!("$zlaunch.env.{name}"), wanted);
            let value = match value {
                Value::String(text) => text,
                Value::Number(number) => number.to_string(),
                _ => {
                    problems.push(bad("a string"));
                    continue;
                }
            };
            if !vars::is_name(&name) || value.contains('\0') {
                problems.push(bad("a variable that can be exported"));
            } else if vars::changes_what_is_executed(&name) {
                problems.push(report::forbidden_variable(origin, &name, &value));
            } else {
                self.env.push((name, value));
            }
        }
        problems
    }
}
