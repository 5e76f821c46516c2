//! One template file: the `$zlaunch` header and the body.

use serde_json::{Map, Value};

use super::search::{Origin, is_name};
use crate::base::{json, vars};
use crate::config::tables::{DECISIVE_WORDS, HARMLESS, TUNING, TUNING_STARTS};
use crate::report::fix::{say, set_variable};
use crate::report::{Place, Problem, Rule, did_you_mean, nearest, reading};

/// Names the schema of a file for editors. It never reaches DeepSpeed.
pub(crate) const SCHEMA_LINE: &str = "$schema";

const HEADER: &[&str] = &["about", "about.zh", "extends", "patch", "env", "needs"];

/// The header as JSON Schema, for `zlaunch schema --template`.
pub(crate) fn header_schema() -> Value {
    json::parse_built_in(include_str!("header.schema.json"))
}

/// A key that only the user can fill in.
#[derive(Debug)]
pub struct RequiredKey {
    pub(crate) key: String,
    pub(crate) why: String,
    pub(crate) example: String,
    /// Only needed while this key has this value.
    pub(crate) when: Option<(String, Value)>,
}

#[derive(Default)]
pub(super) struct Document {
    pub(super) about: Option<String>,
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
        let Value::Object(mut body) = value else {
            return Err(vec![reading::not_an_object(origin)]);
        };
        let header = body.shift_remove("$zlaunch");
        body.shift_remove(SCHEMA_LINE);
        let mut document = Document {
            body: Value::Object(body),
            ..Document::default()
        };
        let mut problems = Vec::new();
        let is_accelerates = document.body["deepspeed_config"].is_object()
            && document.body["train_batch_size"].is_null()
            && document.body["train_micro_batch_size_per_gpu"].is_null();
        match header {
            None if document.body.get("zlaunch").is_some() => {
                let what = "zlaunch's section is named `$zlaunch`";
                let problem = Problem::error(Rule::Template, what)
                    .at(Place::key(origin, "zlaunch"))
                    .fix(say("write \"$zlaunch\""));
                problems.push(problem);
            }
            None if is_accelerates => {
                let what = "this is accelerate's config, not DeepSpeed's";
                let help = "give it to accelerate launch --config_file, or name a template: --deepspeed zero2";
                let place = Place::key(origin, "deepspeed_config");
                problems.push(Problem::error(Rule::Template, what).at(place).fix(help));
            }
            None => {}
            Some(Value::Object(header)) => {
                for (key, value) in header {
                    document.read_entry(&key, value, origin, &mut problems);
                }
            }
            Some(_) => problems.push(bad_header(origin, "$zlaunch", "an object")),
        }
        if problems.is_empty() {
            Ok(document)
        } else {
            Err(problems)
        }
    }

    fn read_entry(
        &mut self,
        key: &str,
        value: Value,
        origin: &Origin,
        problems: &mut Vec<Problem>,
    ) {
        let wanted = match (key, value) {
            ("about", Value::String(text)) => return self.about = Some(text),
            ("about.zh", Value::String(text)) => return self.about_zh = Some(text),
            ("extends", Value::String(name)) if is_name(&name) => return self.extends = Some(name),
            ("patch", operations @ Value::Array(_)) => return self.patch = Some(operations),
            ("env", Value::Object(variables)) => return self.read_env(variables, origin, problems),
            ("needs", Value::Object(needs)) => return self.read_needs(needs, origin, problems),
            ("about" | "about.zh", _) => "a string",
            ("extends", _) => "the name of a template",
            ("patch", _) => "a list of operations",
            ("env", _) => "an object of strings",
            ("needs", _) => "an object",
            _ => {
                let known = format!("known entries: {}", HEADER.join(", "));
                let problem =
                    Problem::error(Rule::Template, format!("`$zlaunch` has no entry `{key}`"))
                        .at(Place::key(origin, &format!("$zlaunch.{key}")))
                        .fix(did_you_mean(nearest(key, HEADER.iter().copied()), &known));
                return problems.push(problem);
            }
        };
        problems.push(bad_header(origin, &format!("$zlaunch.{key}"), wanted));
    }

    fn read_needs(
        &mut self,
        needs: Map<String, Value>,
        origin: &Origin,
        problems: &mut Vec<Problem>,
    ) {
        for (key, value) in needs {
            let text = |name: &str| value.get(name)?.as_str().map(str::to_string);
            let when = value.get("when").and_then(Value::as_object);
            if let (Some(why), Some(example)) = (text("why"), text("example")) {
                self.needs.push(RequiredKey {
                    key,
                    why,
                    example,
                    when: when.and_then(|when| when.clone().into_iter().next()),
                });
            } else {
                let wanted = r#"an object such as {"why": "…", "example": "…"}"#;
                problems.push(bad_header(origin, &format!("$zlaunch.needs.{key}"), wanted));
            }
        }
    }

    fn read_env(
        &mut self,
        variables: Map<String, Value>,
        origin: &Origin,
        problems: &mut Vec<Problem>,
    ) {
        for (name, value) in variables {
            let key = format!("$zlaunch.env.{name}");
            let value = match value {
                Value::String(text) => text,
                Value::Number(number) => number.to_string(),
                _ => {
                    problems.push(bad_header(origin, &key, "a string"));
                    continue;
                }
            };
            if !vars::is_name(&name) || value.contains('\0') {
                problems.push(bad_header(origin, &key, "a variable that can be exported"));
            } else if !only_tunes(&name) {
                let what =
                    format!("a template may not set `{name}`: it is not a known tuning variable");
                let fix = set_variable(&name, &value)
                    .remark("for one launch; remove it from the template");
                problems.push(
                    Problem::error(Rule::Template, what)
                        .at(Place::key(origin, &key))
                        .fix(fix),
                );
            } else {
                self.env.push((name, value));
            }
        }
    }
}

fn bad_header(origin: &Origin, key: &str, wanted: &str) -> Problem {
    Problem::error(Rule::Template, format!("`{key}` must be {wanted}"))
        .at(Place::key(origin, key))
        .fix(r#""$zlaunch": {"about": "…", "extends": "zero3", "env": {"NCCL_DEBUG": "WARN"}}"#)
}

/// True if a template may set the variable: it decides neither which code runs nor which ranks take part.
pub fn only_tunes(name: &str) -> bool {
    let tunes = TUNING.contains(&name) || TUNING_STARTS.iter().any(|start| name.starts_with(start));
    let decides = name.split('_').any(|word| DECISIVE_WORDS.contains(&word));
    HARMLESS.contains(&name) || tunes && !decides
}
