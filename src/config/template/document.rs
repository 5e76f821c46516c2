//! One template file: the `$zlaunch` header and the body.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::search::{Origin, is_name};
use crate::{
    base::vars,
    config::{
        schema,
        tables::{DECISIVE_WORDS, HARMLESS, OTHER_CONFIGS, OtherConfig, TUNING, TUNING_STARTS},
    },
    report::prelude::*,
};

/// Names the schema of a file for editors. It never reaches DeepSpeed.
pub const SCHEMA_LINE: &str = "$schema";

pub const HEADER_KEY: &str = "$zlaunch";

/// A key that only the user can fill in.
#[derive(Deserialize)]
pub struct RequiredKey {
    pub why: String,
    pub example: String,
    /// Only needed while these keys have these values.
    #[serde(default)]
    pub when: Map<String, Value>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "an object")]
pub struct Document {
    pub about: Option<String>,
    #[serde(rename = "about.zh")]
    pub about_zh: Option<String>,
    pub extends: Option<String>,
    pub patch: Option<Value>,
    /// Strings and numbers.
    pub env: Map<String, Value>,
    pub needs: BTreeMap<String, RequiredKey>,
    #[serde(skip)]
    pub body: Value,
}

impl Document {
    /// Splits the header off the config.
    pub fn new(value: Value, origin: &Origin) -> Result<Self, Problems> {
        let Value::Object(mut body) = value else {
            return Err(vec![reading::not_an_object(origin)]);
        };
        let header = body.shift_remove(HEADER_KEY);
        body.shift_remove(SCHEMA_LINE);
        let refused = |key: &str, what: String, help: String| {
            Rule::Template
                .error(what)
                .at(Place::key(origin, key))
                .fix(help)
        };
        let document = if let Some(header) = header {
            Document::deserialize(header).map_err(|why| {
                let what = format!("`{HEADER_KEY}` cannot be read: {why}");
                vec![refused(HEADER_KEY, what, EXAMPLE.to_string())]
            })?
        } else if let Some((key, what, help)) = of_other_program(&body) {
            return Err(vec![refused(key, what, help)]);
        } else {
            Document::default()
        };
        let mut problems = vec![];
        if document.extends.as_ref().is_some_and(|name| !is_name(name)) {
            let what = "`$zlaunch.extends` must be the name of a template".to_string();
            problems.push(refused("$zlaunch.extends", what, EXAMPLE.to_string()));
        }
        for (name, value) in &document.env {
            if let Some((what, help)) = refused_variable(name, value) {
                problems.push(refused(&format!("$zlaunch.env.{name}"), what, help));
            }
        }
        if problems.is_empty() {
            Ok(Document {
                body: Value::Object(body),
                ..document
            })
        } else {
            Err(problems)
        }
    }
}

const EXAMPLE: &str =
    r#""$zlaunch": {"about": "…", "extends": "zero3", "env": {"NCCL_DEBUG": "WARN"}}"#;

/// The key that shows a misspelt header or the config of another program, what is wrong, and what helps.
fn of_other_program(body: &Map<String, Value>) -> Option<(&str, String, String)> {
    let mut keys = body.keys().map(String::as_str);
    let is_header = |key: &&str| {
        ["zlaunch", "extends"].contains(key)
            || key.starts_with('$') && nearest(key, [HEADER_KEY]).is_some()
    };
    if let Some(key) = keys.clone().find(is_header) {
        let what = format!("zlaunch's section is named `{HEADER_KEY}`");
        return Some((key, what, EXAMPLE.to_string()));
    }
    let is_outer = |key: &&str| body[*key].get("zero_optimization").is_some();
    if let Some(key) = keys.clone().find(is_outer) {
        let what = format!("the config stands in a section `{key}`");
        return Some((key, what, format!("take the contents out of `{key}`")));
    }
    let of_other = |other: &OtherConfig| keys.clone().filter(|key| other.keys.contains(key));
    let other = OTHER_CONFIGS.iter().max_by_key(|it| of_other(it).count())?;
    let is_ours = |key: &&str| schema::find(key, schema::newest()).is_some();
    if of_other(other).count() <= keys.clone().filter(is_ours).count() {
        return None;
    }
    let key = keys.find(|key| other.keys.contains(key))?;
    let what = format!("this is {}, not a config of DeepSpeed", other.name);
    Some((key, what, other.help.to_string()))
}

/// What is wrong with a variable of the header, and what helps.
fn refused_variable(name: &str, value: &Value) -> Option<(String, String)> {
    let is_text = value.is_number() || value.as_str().is_some_and(|text| !text.contains('\0'));
    if !vars::is_name(name) || !is_text {
        let what = format!("`$zlaunch.env.{name}` must be a string that can be exported");
        return Some((what, EXAMPLE.to_string()));
    }
    let what = format!("a template may not set `{name}`: it is not a known tuning variable");
    let help = format!("remove it from the template; --env {name}=… sets it for a launch");
    (!only_tunes(name)).then_some((what, help))
}

/// True if a template may set the variable: it decides neither which code runs nor which ranks take part.
pub fn only_tunes(name: &str) -> bool {
    let tunes = TUNING.contains(&name) || TUNING_STARTS.iter().any(|start| name.starts_with(start));
    let decides = name.split('_').any(|word| DECISIVE_WORDS.contains(&word));
    HARMLESS.contains(&name) || tunes && !decides
}
