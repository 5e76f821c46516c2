//! One template file: the `$zlaunch` header and the body.

use serde_json::{Map, Value};

use super::{Origin, is_name};
use crate::error::{self, Problem};
use crate::vars;

/// What may stand in `$zlaunch`.
const HEADER: &[&str] = &["about", "extends", "patch", "env", "needs"];

/// A key that only the user can know.
#[derive(Debug)]
pub(crate) struct Need {
    pub(crate) key: String,
    pub(crate) why: String,
    pub(crate) example: String,
    /// Only needed while this key has this value.
    pub(crate) when: Option<(String, Value)>,
}

/// A template file taken apart.
pub(super) struct Document {
    pub(super) about: Option<String>,
    pub(super) extends: Option<String>,
    pub(super) patch: Option<Value>,
    pub(super) env: Vec<(String, String)>,
    pub(super) needs: Vec<Need>,
    pub(super) body: Value,
}

impl Document {
    /// Splits the header off the config.
    pub(super) fn new(value: Value, origin: &Origin) -> Result<Self, Problem> {
        let Value::Object(mut body) = value else { return Err(error::not_an_object(origin)) };
        let header = body.shift_remove("$zlaunch");
        let mut document = Document {
            about: None,
            extends: None,
            patch: None,
            env: Vec::new(),
            needs: Vec::new(),
            body: Value::Object(body),
        };
        match header {
            None => Ok(document),
            Some(Value::Object(header)) => {
                document.read_header(header, origin)?;
                Ok(document)
            }
            Some(_) => Err(error::bad_header(origin, "$zlaunch", "an object")),
        }
    }

    fn read_header(&mut self, header: Map<String, Value>, origin: &Origin) -> Result<(), Problem> {
        for (key, value) in header {
            match (key.as_str(), value) {
                ("about", Value::String(text)) => self.about = Some(text),
                ("extends", Value::String(name)) if is_name(&name) => self.extends = Some(name),
                ("patch", operations @ Value::Array(_)) => self.patch = Some(operations),
                ("env", Value::Object(variables)) => self.env = read_env(variables, origin)?,
                ("needs", Value::Object(needs)) => self.needs = read_needs(needs, origin)?,
                ("about", _) => return Err(error::bad_header(origin, "$zlaunch.about", "a string")),
                ("extends", _) => return Err(error::bad_header(origin, "$zlaunch.extends", "the name of a template")),
                ("patch", _) => return Err(error::bad_header(origin, "$zlaunch.patch", "a list of operations")),
                ("env", _) => return Err(error::bad_header(origin, "$zlaunch.env", "an object of strings")),
                ("needs", _) => return Err(error::bad_header(origin, "$zlaunch.needs", "an object")),
                (other, _) => return Err(error::unknown_header(origin, other, HEADER)),
            }
        }
        Ok(())
    }
}

fn read_needs(needs: Map<String, Value>, origin: &Origin) -> Result<Vec<Need>, Problem> {
    let read = |(key, value): (String, Value)| {
        let text = |name: &str| value.get(name)?.as_str().map(str::to_string);
        let when = value.get("when").and_then(Value::as_object).and_then(|when| when.iter().next());
        let when = when.map(|(key, value)| (key.clone(), value.clone()));
        match (text("why"), text("example")) {
            (Some(why), Some(example)) => Ok(Need { key, why, example, when }),
            _ => {
                let wanted = r#"an object such as {"why": "…", "example": "…"}"#;
                Err(error::bad_header(origin, &format!("$zlaunch.needs.{key}"), wanted))
            }
        }
    };
    needs.into_iter().map(read).collect()
}

fn read_env(variables: Map<String, Value>, origin: &Origin) -> Result<Vec<(String, String)>, Problem> {
    let mut env = Vec::new();
    for (name, value) in variables {
        let value = match value {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            _ => return Err(error::bad_header(origin, &format!("$zlaunch.env.{name}"), "a string")),
        };
        if !vars::is_name(&name) || value.contains('\0') {
            return Err(error::bad_header(origin, &format!("$zlaunch.env.{name}"), "a variable that can be exported"));
        }
        if vars::changes_what_is_executed(&name) {
            return Err(error::forbidden_variable(origin, &name, &value));
        }
        env.push((name, value));
    }
    Ok(env)
}
