//! DeepSpeed's config keys by version. `tools/record schema` records them from the real packages (`keys.rs`). A value is
//! judged as DeepSpeed judges it: by pydantic's coercions, or by the code that reads it.

mod coercion;
mod json_schema;
pub mod keys;
pub mod value_type;

use serde_json::{Value, json};

use crate::base::recorded::{Table, Version, VersionMatch};
use crate::command::python::Python;
pub use crate::config::tables::UnknownKeys;
use crate::config::tables::{Form, TYPES, ValueType};

pub(crate) use coercion::{is_true, real, truth, whole};
pub use json_schema::definitions;
use keys::{at, columns, lines_from};
pub(crate) use keys::{name_of, names_below};
pub use value_type::ValueFault;
use value_type::{PYDANTIC_2, ValueRange};

const VERSIONS: Table = Table(include_str!("../recorded/deepspeed-versions.txt"));

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

pub(crate) fn in_environment(python: Option<&Python>) -> VersionMatch {
    let installed = python.and_then(|python| python.version("deepspeed"));
    installed.map_or_else(|| VersionMatch::Exact(newest()), version_match)
}

/// One key as one version of DeepSpeed knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeySpec {
    pub key: &'static str,
    pub(crate) version: Version,
    kind: &'static ValueType,
    nullable: bool,
    /// DeepSpeed looks at the value when it reads the config.
    pub(crate) checked: bool,
    /// As the file writes it; parsed when a value is checked.
    range: &'static str,
    /// As JSON, `-` where there is none, `required` for a parameter without one.
    pub(crate) default: &'static str,
    pub(crate) since: Option<Version>,
    pub(crate) removed: Option<Removed>,
    pub(crate) alias_of: Option<&'static str>,
    pub(crate) replaced_by: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removed {
    pub(crate) version: Version,
    pub(crate) refused: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    let line = lines_from(key)
        .next()
        .filter(|line| keys::key_of(line) == key)?;
    Some(KeySpec::read(line, version))
}

pub fn named(name: &str, version: Version) -> impl Iterator<Item = KeySpec> {
    keys::lines_named(name).map(move |line| KeySpec::read(line, version))
}

/// The parameters an optimizer or a scheduler takes; those of all where none is named, and none for one that is not recorded.
pub fn parameters(
    section: &str,
    name: Option<&str>,
    version: Version,
) -> impl Iterator<Item = KeySpec> {
    let name = name.map(|name| format!("{name}.")).unwrap_or_default();
    let prefix = format!("{section}.params@{name}");
    let lines = lines_from(&prefix).take_while(move |line| line.starts_with(&prefix));
    lines
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
        match self.range {
            // The recorded file has no range of validators.
            "-" if self.kind.forms == [Form::Scale] => ValueRange::AtLeast(0.0),
            "-" => ValueRange::All,
            range => ValueRange::parse(range).unwrap_or(ValueRange::All),
        }
    }

    /// The forms that DeepSpeed accepts when it reads the value.
    fn accepted(&self) -> &'static [Form] {
        if self.version < PYDANTIC_2 && self.is_in_model() {
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

    /// The monitors are fields of a model that has no name in the config.
    fn is_in_model(&self) -> bool {
        let section = self
            .key
            .rsplit_once('.')
            .and_then(|(section, _)| find(section, self.version));
        section.is_some_and(|section| section.kind.is_model()) || is_monitor(self.key)
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

    pub(crate) fn choices(&self) -> Vec<&'static str> {
        self.bounds().choices().unwrap_or_default()
    }

    pub(crate) fn is_section(&self) -> bool {
        self.kind.is_section()
    }

    /// `a whole number or null`
    pub fn wanted(&self) -> String {
        self.kind.wanted(self.bounds()) + if self.nullable { " or null" } else { "" }
    }
}

const BATCH_SIZES: [&str; 3] = [
    "train_batch_size",
    "train_micro_batch_size_per_gpu",
    "gradient_accumulation_steps",
];

fn is_monitor(key: &str) -> bool {
    ["tensorboard", "wandb", "csv_monitor", "comet"].contains(&key)
}

/// True if DeepSpeed refuses a config with "auto" in this place when it reads it. From pydantic models it drops an "auto".
pub fn refuses_auto(key: &str, version: Version) -> bool {
    let Some(entry) = find(key, version).filter(|entry| entry.known() == Known::Yes) else {
        return false;
    };
    // `bfloat16` is only read if `bf16` is missing.
    let mut dropped = is_monitor(key) || key == "bfloat16";
    if let Some((section, _)) = key.rsplit_once('.') {
        let Some(policy) = find(section, version).and_then(|section| section.policy()) else {
            return false;
        };
        dropped |= policy == UnknownKeys::Refused;
    }
    let compared = BATCH_SIZES.contains(&key)
        || key == "vocabulary_size"
        || key == "sequence_parallel_size" && !version.is_before(SEQUENCE_JUDGED);
    !dropped && (compared || entry.checked && entry.fault(&"auto".into()).is_some())
}

/// The first version that refuses a `sequence_parallel_size` that does not divide the ranks. Older ones go on as if there
/// were one rank.
pub const SEQUENCE_JUDGED: [u32; 3] = [0, 19, 3];

/// The first version that divides the ranks by `sequence_parallel_size`.
pub const SEQUENCE_DIVIDES: [u32; 3] = [0, 17, 0];
