//! One template file: the `$zlaunch` header and the body.

use serde_json::{Map, Value};

use super::search::{Origin, is_name};
use crate::base::vars;
use crate::report::{self, Problem};

/// What may stand in `$zlaunch`.
const HEADER: &[&str] = &["about", "about.zh", "extends", "patch", "env", "needs"];

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
