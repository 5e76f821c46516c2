//! `zlaunch schema`: a JSON Schema of DeepSpeed's config for editors, made from the keys that `check` knows, with the texts of
//! `explain`. A validator with it agrees with `check` about keys, types and ranges.

use serde_json::{Map, Value, json};

use super::{explain, prelude::*};
use crate::{
    base::recorded::Version,
    command::python::Python,
    config::{
        auto,
        schema::{self, KeySpec, Known, UnknownKeys, newest},
    },
    report::Language,
};

#[derive(Args)]
#[command(next_help_heading = "Schema")]
pub struct SchemaArgs {
    deepspeed_version: Option<Given>,
}

impl Tool for SchemaArgs {
    fn read(self, mut reader: Reader) -> Requested {
        let version = reader
            .one(self.deepspeed_version, values::release)
            .map(|version| version.value);
        reader.answer(move |host: &Host| {
            let wanted = version.or_else(|| Python::on_path(host)?.version("deepspeed"));
            let version =
                wanted.map_or_else(newest, |wanted| schema::version_match(wanted).version());
            if let Some(wanted) = wanted.filter(|wanted| *wanted != version) {
                err(&format!(
                    "note: DeepSpeed {wanted} was not recorded: this is the schema of {version}\n"
                ));
            }
            let writer = Writer {
                version,
                language: Language::of(host),
            };
            out(&format!("{:#}\n", writer.document()))
        })
    }
}

#[derive(Clone, Copy)]
struct Writer {
    version: Version,
    language: Language,
}

/// Names of comments in the sections that ignore unknown keys, as `check` takes them for such.
const COMMENT: &str = r"^([^A-Za-z$]|\$(?!schema$|zlaunch$)|$|(comments?|description)$)";

impl Writer {
    fn document(self) -> Value {
        let mut document = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": format!("config of DeepSpeed {}", self.version),
        });
        merge(&mut document, self.section("", "", UnknownKeys::Ignored));
        let properties = &mut document["properties"];
        properties["$schema"] = json!({"type": "string"});
        document["$defs"] = Value::Object(schema::definitions());
        document["$defs"]["concrete"] = free_object(Map::new());
        document
    }

    /// The object of a section. `told` is the section whose explanations it has, where it is another name of that one.
    fn section(self, section: &str, told: &str, policy: UnknownKeys) -> Value {
        let keys: Vec<KeySpec> = schema::names_below(section)
            .filter_map(|name| schema::find(&below(section, name), self.version))
            .collect();
        let mut properties = Map::new();
        let mut patterns = Map::new();
        for key in &keys {
            let Some(property) = self.property(key, &below(told, key.name())) else {
                continue;
            };
            // An editor offers no pattern.
            match key.known() {
                Known::Yes => properties.insert(key.name().to_string(), property),
                _ => patterns.insert(format!("^{}$", key.name()), property),
            };
        }
        match policy {
            UnknownKeys::Ignored => {
                patterns.insert(COMMENT.to_string(), json!({"$ref": "#/$defs/concrete"}))
            }
            UnknownKeys::Refused => patterns.insert("^strict$".to_string(), json!(true)),
            UnknownKeys::RefusedPlainly => None,
        };
        let mut object = json!({"type": "object"});
        if !patterns.is_empty() {
            object["patternProperties"] = Value::Object(patterns);
        }
        object["properties"] = Value::Object(properties);
        object["additionalProperties"] = json!(false);
        object
    }

    /// `None` for a key that came later.
    fn property(self, key: &KeySpec, told: &str) -> Option<Value> {
        let mut property = match key.known() {
            Known::Yes => self.value(key, told),
            Known::Later(_) => return None,
            Known::Dropped(_) | Known::Refused(_) | Known::Paused => json!({"not": {}}),
        };
        let gone = explain::fate(key, self.language);
        let about =
            explain::about(key.key, self.language).or_else(|| explain::about(told, self.language));
        let about: Vec<String> = gone.iter().cloned().chain(about).collect();
        if !about.is_empty() {
            property["description"] = json!(about.join("\n\n"));
        }
        if let (Known::Yes, Ok(default)) = (key.known(), serde_json::from_str(key.default)) {
            property["default"] = default;
        }
        if gone.is_some() {
            property["deprecated"] = json!(true);
        }
        Some(property)
    }

    fn value(self, key: &KeySpec, told: &str) -> Value {
        let mut forms = key.forms();
        if let Some(policy) = key.policy() {
            forms.insert(
                0,
                self.section(
                    key.key,
                    key.alias_of.or(key.replaced_by).unwrap_or(told),
                    policy,
                ),
            );
        }
        for form in &mut forms {
            if is_free(form) {
                merge(form, self.parameters(key.key));
            } else if has_type(form, "string") && form.get("pattern").is_none() {
                form["not"] = json!({"const": "auto"});
            }
        }
        if auto::may_be_filled(key.key) {
            forms.push(json!({"const": "auto"}));
        }
        match &mut forms[..] {
            [] => json!({"not": {}}),
            [only] => only.take(),
            // So a validator reports a mistake in a section at its key.
            [section, others @ ..] if section.get("properties").is_some() => {
                json!({"if": {"type": "object"}, "then": section, "else": {"anyOf": others}})
            }
            _ => json!({"anyOf": forms}),
        }
    }

    /// An object without a schema may only have "auto" where a trainer fills it in. For an optimizer and a scheduler the
    /// recorded parameters are offered.
    fn parameters(self, key: &str) -> Value {
        let mut properties = Map::new();
        for name in key
            .strip_suffix(".params")
            .into_iter()
            .flat_map(|owner| schema::parameters(owner, None, self.version))
            .map(|key| key.name())
        {
            let full = below(key, name);
            let is_filled = auto::may_be_filled(&full);
            let mut property = if is_filled {
                json!({})
            } else {
                json!({"$ref": "#/$defs/concrete"})
            };
            if let Some(about) = explain::about(&full, self.language) {
                property["description"] = about.into();
            }
            properties.entry(name).or_insert(property);
        }
        free_object(properties)
    }
}

fn merge(one: &mut Value, two: Value) {
    if let (Value::Object(one), Value::Object(two)) = (one, two) {
        one.extend(two);
    }
}

fn has_type(form: &Value, name: &str) -> bool {
    form["type"] == name
        || form["type"]
            .as_array()
            .is_some_and(|kinds| kinds.iter().any(|kind| kind == name))
}

/// An object or anything, of unknown content.
fn is_free(form: &Value) -> bool {
    form.get("properties").is_none() && (has_type(form, "object") || *form == json!({}))
}

fn free_object(properties: Map<String, Value>) -> Value {
    let mut object =
        json!({"not": {"const": "auto"}, "additionalProperties": {"$ref": "#/$defs/concrete"}});
    if !properties.is_empty() {
        object["properties"] = Value::Object(properties);
    }
    object
}

fn below(section: &str, name: &str) -> String {
    if section.is_empty() {
        name.to_string()
    } else {
        format!("{section}.{name}")
    }
}
