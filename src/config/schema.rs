//! DeepSpeed's config keys by version. `tools/record schema` records them from the real packages. A value is
//! judged as DeepSpeed judges it: by pydantic's coercions, or by the code that reads it.

pub mod value_type;

use std::str::Lines;

use serde_json::{Value, json};

pub use crate::config::tables::{
    UnknownKeys,
    schema_keys::{SEQUENCE_DIVIDES, SEQUENCE_JUDGED, TEXT},
};
use crate::{
    base::recorded::{Table, Version, VersionMatch},
    command::python::Python,
    config::tables::{
        Form, TYPES, ValueType,
        schema_keys::{BATCH_SIZES, MONITORS, VERSIONS},
    },
    report::nearest,
};

use value_type::{PYDANTIC_2, ValueRange};
pub use value_type::{ValueFault, definitions};
pub use value_type::{is_true, real, truth, whole};

/// Used if no DeepSpeed is found.
pub fn newest() -> Version {
    VERSIONS
        .lines()
        .next_back()
        .map(Version::parse)
        .unwrap_or_default()
}

pub fn version_match(version: Version) -> VersionMatch {
    VersionMatch::find(VERSIONS.lines().map(Version::parse), version)
}

pub fn in_environment(python: Option<&Python>) -> VersionMatch {
    python
        .and_then(|python| python.version("deepspeed"))
        .map_or_else(|| VersionMatch::Exact(newest()), version_match)
}

/// One key as one version of DeepSpeed knows it.
#[derive(Clone, Copy, PartialEq)]
pub struct KeySpec {
    pub key: &'static str,
    pub version: Version,
    kind: &'static ValueType,
    nullable: bool,
    /// DeepSpeed looks at the value when it reads the config.
    pub checked: bool,
    /// As the file writes it; parsed when a value is checked.
    range: &'static str,
    /// As JSON, `-` where there is none, `required` for a parameter without one.
    pub default: &'static str,
    pub since: Option<Version>,
    pub removed: Option<Removed>,
    pub alias_of: Option<&'static str>,
    pub replaced_by: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq)]
pub struct Removed {
    pub version: Version,
    pub refused: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Known {
    Yes,
    /// Read by this version and later ones only.
    Later(Version),
    /// Since this version an unknown key like any other.
    Dropped(Version),
    /// Since this version refused by name.
    Refused(Version),
    /// Read by earlier and later versions only.
    Paused,
}

pub fn find(key: &str, version: Version) -> Option<KeySpec> {
    Some(KeySpec::read(
        lines_from(key).next().filter(|line| key_of(line) == key)?,
        version,
    ))
}

pub fn named(name: &str, version: Version) -> impl Iterator<Item = KeySpec> {
    TEXT.lines()
        .filter(move |line| {
            let key = key_of(line);
            name_of(key) == name && !key.contains('@')
        })
        .map(move |line| KeySpec::read(line, version))
}

/// The parameters an optimizer or a scheduler takes; those of all where none is named, and none for one that is not recorded.
pub fn parameters(
    section: &str,
    name: Option<&str>,
    version: Version,
) -> impl Iterator<Item = KeySpec> + use<> {
    let name = name.map(|name| format!("{name}.")).unwrap_or_default();
    let prefix = format!("{section}.params@{name}");
    lines_from(&prefix)
        .take_while(move |line| line.starts_with(&prefix))
        .map(move |line| KeySpec::read(line, version))
        .filter(|entry| entry.known() == Known::Yes)
}

impl KeySpec {
    fn read(line: &'static str, version: Version) -> Self {
        let [key, kind, range, default, since, removed, now] = columns(line);
        let kind = at(kind, version);
        let checked = !kind.starts_with('~');
        let kind = kind.strip_prefix('~').unwrap_or(kind);
        let nullable = kind.ends_with('?');
        KeySpec {
            key,
            version,
            // A test parses every line, so this never happens.
            kind: ValueType::find(kind.trim_end_matches('?')).unwrap_or(&TYPES[0]),
            nullable,
            checked,
            range: at(range, version),
            default: at(default, version),
            since: (since != "-").then(|| Version::parse(since)),
            removed: (removed != "-").then(|| Removed {
                version: Version::parse(removed),
                refused: removed.ends_with('!'),
            }),
            alias_of: now.strip_prefix('='),
            replaced_by: now.strip_prefix('>'),
        }
    }

    pub fn name(&self) -> &'static str {
        name_of(self.key)
    }

    pub fn known(&self) -> Known {
        match (self.since, self.removed) {
            (Some(since), _) if self.version < since => Known::Later(since),
            (_, Some(removed)) if self.version >= removed.version && removed.refused => {
                Known::Refused(removed.version)
            }
            (_, Some(removed)) if self.version >= removed.version => {
                Known::Dropped(removed.version)
            }
            _ if self.kind.forms == [Form::Unread] => Known::Paused,
            _ => Known::Yes,
        }
    }

    /// `None` if it is no section, or one that the version does not read.
    pub fn policy(&self) -> Option<UnknownKeys> {
        if self.known() == Known::Yes {
            self.kind.unknown_keys
        } else {
            None
        }
    }

    fn bounds(&self) -> ValueRange {
        // The recorded file has no range of validators.
        let is_scale = self.range == "-" && self.kind.forms == [Form::Scale];
        ValueRange::find(if is_scale { ">=0" } else { self.range }).unwrap_or(ValueRange::ALL)
    }

    /// The forms that DeepSpeed accepts when it reads the value.
    fn accepted(&self) -> &'static [Form] {
        let is_in_model = || {
            let section = self.key.rsplit_once('.').map(|(section, _)| section);
            let section = section.and_then(|section| find(section, self.version));
            let policy = section.and_then(|section| section.kind.unknown_keys);
            MONITORS.contains(&self.key) || policy.is_some_and(|keys| keys != UnknownKeys::Ignored)
        };
        if self.version < PYDANTIC_2 && is_in_model() {
            self.kind.of_pydantic1
        } else {
            self.kind.forms
        }
    }

    /// `None` if DeepSpeed accepts the value.
    pub fn fault(&self, value: &Value) -> Option<ValueFault> {
        self.fault_as(self.accepted(), value)
    }

    /// True if an unchecked key has a value of another type than it should. Such values are not coerced.
    pub fn is_odd(&self, value: &Value) -> bool {
        self.fault_as(self.kind.unchecked, value).is_some()
    }

    fn fault_as(&self, forms: &[Form], value: &Value) -> Option<ValueFault> {
        if value.is_null() && self.nullable {
            return None;
        }
        value_type::fault(forms, value, self.bounds())
    }

    /// JSON Schemas of which one must hold. Of a section, the object itself is left out.
    pub fn forms(&self) -> Vec<Value> {
        if self.key == "sequence_parallel_size" && !self.version.is_before(SEQUENCE_JUDGED) {
            return vec![json!({"type": "integer", "not": {"const": 0}})];
        }
        let forms = if self.checked {
            self.accepted()
        } else {
            self.kind.unchecked
        };
        let schemas = forms.iter().flat_map(|form| form.schemas(self.bounds()));
        let mut schemas: Vec<Value> = if BATCH_SIZES.contains(&self.key) {
            // Any number above 0, and true is 1.
            vec![
                json!({"type": ["number", "boolean"], "exclusiveMinimum": 0, "not": {"const": false}}),
            ]
        } else {
            schemas.collect()
        };
        if self.nullable {
            schemas.push(json!({"type": "null"}));
        }
        schemas
    }

    pub fn choices(&self) -> Vec<&'static str> {
        self.bounds().choices().unwrap_or_default()
    }

    pub fn is_section(&self) -> bool {
        let forms = self.kind.forms;
        self.kind.unknown_keys.is_some() || matches!(forms, [Form::Object | Form::Switched])
    }

    /// `a whole number or null`, `a number from 0 to 1`
    pub fn wanted(&self) -> String {
        let wanted = match self.bounds() {
            ValueRange::Numbers(range) => format!("{}{}", self.kind.name, range.name),
            ValueRange::OneOf(list) => {
                let are_several = self.kind.forms == [Form::Texts];
                let form = if are_several { "a list of" } else { "one of" };
                format!("{form} {}", list.replace('|', ", "))
            }
        };
        wanted + if self.nullable { " or null" } else { "" }
    }
}

pub fn key_of(line: &'static str) -> &'static str {
    line.split('\t').next().unwrap_or(line)
}

pub fn name_of(key: &str) -> &str {
    key.rsplit_once('.').map_or(key, |(_, name)| name)
}

/// The lines from `key` on. Lines are sorted like their keys, because the tab behind a key is smaller than any letter.
pub fn lines_from(key: &str) -> Lines<'static> {
    Table(TEXT).from(key)
}

/// The keys right below a section; `""` is the top.
pub fn names_below(section: &str) -> impl Iterator<Item = &'static str> + Clone {
    let prefix = if section.is_empty() {
        String::new()
    } else {
        format!("{section}.")
    };
    lines_from(&prefix)
        .map_while(move |line| Some(key_of(line.strip_prefix(&prefix)?)))
        .filter(|name| !name.contains(['.', '@']))
}

/// A column's text for a version. `new@0.17.1;old` is `new` since 0.17.1 and `old` before.
pub fn at(column: &'static str, version: Version) -> &'static str {
    // Most never changed.
    if !column.contains('@') {
        return column;
    }
    column
        .split(';')
        .map(|part| part.rsplit_once('@').unwrap_or((part, "")))
        .find(|(_, since)| Version::parse(since) <= version)
        .map_or("-", |(text, _)| text)
}

pub fn columns(line: &'static str) -> [&'static str; 7] {
    let mut columns = line.split('\t');
    std::array::from_fn(|_| columns.next().unwrap_or_default())
}

/// The known key that is spelled nearly so, or the only one that has these words and others: `reduce_bucket`, `stage3_max_live_params`. ZeRO's keys that
/// begin with `stage3_` have a second name without it.
pub fn nearest_name<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    let part = name.trim_start_matches("stage3_");
    let mut longer = known.clone().filter(|known| {
        let mut words = known.split('_');
        let mut starts = part.split('_').map(|word| word.get(..4).unwrap_or(word));
        !known.starts_with("stage3_") && starts.all(|start| words.any(|it| it.starts_with(start)))
    });
    let longer = longer
        .next()
        .filter(|_| part.contains('_') && longer.next().is_none());
    let same = longer.filter(|_| part != name).and_then(|longer| {
        let mut known = known.clone();
        known.find(|known| known.strip_prefix("stage3_") == Some(longer))
    });
    nearest(name, known).or(same).or(longer)
}
