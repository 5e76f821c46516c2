//! DeepSpeed's config keys: what each takes, in which versions. The data is a file that `tests/real/record_schema.py` records from
//! the real packages; a key is looked up by binary search, and only its own line is read. A version that was not recorded is judged by
//! a neighbour: `recorded.rs`. What a value must be is decided here as DeepSpeed decides it: by pydantic's coercions, or by the code
//! that reads it.

mod coercion;
mod pydantic1;
mod recorded;
mod value_type;

use std::iter::Copied;
use std::slice::Iter;

use serde_json::Value;

pub(crate) use coercion::{can_be_int, is_true, is_whole, real, truth, whole};
#[cfg(test)]
pub(crate) use recorded::NEWEST;
pub(crate) use recorded::{Judge, Release, release};
pub(crate) use value_type::{UnknownKeys, ValueFault};
use value_type::{ValueRange, ValueType, is_flag};

/// Sorted by key; the columns are explained in `record_schema.py`.
const TEXT: &str = include_str!("../recorded/deepspeed-schema.txt");

/// Before that, DeepSpeed's models were those of pydantic 1.
const PYDANTIC_2: Release = [0, 15, 0];

/// Split while compiling, because every key of a config is looked up at every launch.
static LINES: [&str; count_lines()] = lines();

const fn count_lines() -> usize {
    let (mut at, mut count) = (0, 0);
    while at < TEXT.len() {
        count += (TEXT.as_bytes()[at] == b'\n') as usize;
        at += 1;
    }
    count
}

const fn lines() -> [&'static str; count_lines()] {
    let mut lines = [""; count_lines()];
    let (mut rest, mut number) = (TEXT, 0);
    while number < lines.len() {
        let mut end = 0;
        while rest.as_bytes()[end] != b'\n' {
            end += 1;
        }
        (lines[number], rest) = rest.split_at(end);
        rest = rest.split_at(1).1;
        number += 1;
    }
    lines
}

/// The last part of each line's key. Every unknown key of a config is compared with all of them.
static NAMES: [&str; count_lines()] = names();

const fn names() -> [&'static str; count_lines()] {
    let mut names = lines();
    let mut number = 0;
    while number < names.len() {
        let (line, mut end, mut start) = (names[number].as_bytes(), 0, 0);
        while line[end] != b'\t' {
            end += 1;
            start = if line[end - 1] == b'.' { end } else { start };
        }
        names[number] = names[number].split_at(end).0.split_at(start).1;
        number += 1;
    }
    names
}

fn key_of(line: &'static str) -> &'static str {
    line.split('\t').next().unwrap_or(line)
}

/// The last part of a dotted key.
pub(crate) fn name_of(key: &str) -> &str {
    key.rsplit_once('.').map_or(key, |(_, name)| name)
}

/// The lines from the first one whose key is not smaller. Whole lines compare as their keys do: the tab behind a key is
/// smaller than anything in one.
fn lines_from(key: &str) -> Copied<Iter<'static, &'static str>> {
    LINES[LINES.partition_point(|line| *line < key)..].iter().copied()
}

/// What a version of DeepSpeed knows about a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct KeySpec {
    pub(crate) key: &'static str,
    version: Release,
    kind: ValueType,
    /// null is accepted too.
    nullable: bool,
    /// DeepSpeed looks at the value when it reads the config.
    pub(crate) checked: bool,
    /// As the file writes it; parsed when a value is checked.
    range: &'static str,
    /// As JSON, `-` where there is none, `required` for a parameter without one.
    pub(crate) default: &'static str,
    pub(crate) since: Option<Release>,
    pub(crate) removed: Option<Removed>,
    /// Another name of this key.
    pub(crate) alias_of: Option<&'static str>,
    pub(crate) replaced_by: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Removed {
    pub(crate) version: Release,
    /// DeepSpeed refuses the key by name. Otherwise it is an unknown key like any other.
    pub(crate) refused: bool,
}

/// Whether and why a version does not read a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    Yes,
    /// It came with a later version.
    Later(Release),
    /// It was dropped, and is an unknown key like any other.
    Dropped(Release),
    /// It was removed, and is refused by name.
    Refused(Release),
    /// It was read before and after this version.
    Paused,
}

pub(crate) fn find(key: &str, version: Release) -> Option<KeySpec> {
    let line = lines_from(key).next()?;
    Some(KeySpec::read(line, version)).filter(|entry| entry.key == key)
}

/// The names of the keys right below a section; `""` is the top.
pub(crate) fn names_below(section: &str) -> impl Iterator<Item = &'static str> {
    let prefix = if section.is_empty() { String::new() } else { format!("{section}.") };
    let names = lines_from(&prefix).map_while(move |line| Some(key_of(line.strip_prefix(&prefix)?)));
    names.filter(|name| !name.contains(['.', '@']))
}

/// Every key with that last part.
pub(crate) fn named(name: &str, version: Release) -> impl Iterator<Item = KeySpec> {
    let lines = LINES.iter().zip(&NAMES).filter(move |(line, own)| **own == name && !key_of(line).contains('@'));
    lines.map(move |(line, _)| KeySpec::read(line, version))
}

/// The parameters an optimizer or a scheduler takes; none for those that are not recorded.
pub(crate) fn parameters(section: &str, name: &str, version: Release) -> impl Iterator<Item = KeySpec> {
    let prefix = format!("{section}.params@{name}.");
    let lines = lines_from(&prefix).take_while(move |line| line.starts_with(&prefix));
    lines.map(move |line| KeySpec::read(line, version)).filter(|entry| entry.known() == Known::Yes)
}

impl KeySpec {
    fn read(line: &'static str, version: Release) -> Self {
        let [key, kind, range, default, since, removed, now] = columns(line);
        let kind = at(kind, version);
        let checked = !kind.starts_with('~');
        let kind = kind.strip_prefix('~').unwrap_or(kind);
        let nullable = kind.ends_with('?');
        KeySpec {
            key,
            version,
            // A test parses every line, so this never happens.
            kind: ValueType::parse(kind.strip_suffix('?').unwrap_or(kind)).unwrap_or(ValueType::Any),
            nullable,
            checked,
            range: at(range, version),
            default: at(default, version),
            since: release(since),
            removed: release(removed).map(|version| Removed { version, refused: removed.ends_with('!') }),
            alias_of: now.strip_prefix('='),
            replaced_by: now.strip_prefix('>'),
        }
    }

    /// The last part of the key.
    pub(crate) fn name(&self) -> &'static str {
        name_of(self.key)
    }

    pub(crate) fn known(&self) -> Known {
        match (self.since, self.removed) {
            (Some(since), _) if self.version < since => Known::Later(since),
            (_, Some(removed)) if self.version >= removed.version && removed.refused => Known::Refused(removed.version),
            (_, Some(removed)) if self.version >= removed.version => Known::Dropped(removed.version),
            _ if self.kind == ValueType::Unread => Known::Paused,
            _ => Known::Yes,
        }
    }

    /// A section of known keys, and what it does with others. Nothing is read in one that the version does not know.
    pub(crate) fn policy(&self) -> Option<UnknownKeys> {
        self.kind.policy().filter(|_| self.known() == Known::Yes)
    }

    fn bounds(&self) -> ValueRange {
        match self.range {
            // The range of its validator, which the file does not have.
            "-" if self.kind == ValueType::Scale => ValueRange::AtLeast(0.0),
            "-" => ValueRange::All,
            range => ValueRange::parse(range).unwrap_or(ValueRange::All),
        }
    }

    /// Whether DeepSpeed refuses the value.
    pub(crate) fn fault(&self, value: &Value) -> Option<ValueFault> {
        if value.is_null() {
            let taken = self.nullable || matches!(self.kind, ValueType::SectionOrFalsy | ValueType::Any);
            return (!taken).then_some(ValueFault::Type);
        }
        if self.version < PYDANTIC_2 && self.is_in_model() {
            return pydantic1::fault(self.kind, value, self.bounds());
        }
        self.kind.fault(value, self.bounds())
    }

    /// A field of a pydantic model. The monitors are fields of one that has no name in the config.
    fn is_in_model(&self) -> bool {
        let section = self.key.rsplit_once('.').and_then(|(section, _)| find(section, self.version));
        section.is_some_and(|section| section.kind.is_model()) || is_monitor(self.key)
    }

    /// Whether an unchecked key has a value of another type than it should. Such values are not coerced.
    pub(crate) fn is_odd(&self, value: &Value) -> bool {
        if value.is_null() {
            return !self.nullable;
        }
        match self.kind {
            ValueType::Bool => !is_flag(value),
            ValueType::Int => !is_whole(value),
            ValueType::Float => !value.is_number(),
            kind => kind.fault(value, self.bounds()).is_some(),
        }
    }

    /// What the key takes, in words.
    pub(crate) fn wanted(&self) -> String {
        self.kind.wanted(self.bounds()) + if self.nullable { " or null" } else { "" }
    }
}

fn is_monitor(key: &str) -> bool {
    ["tensorboard", "wandb", "csv_monitor", "comet"].contains(&key)
}

/// Whether "auto" in this place makes DeepSpeed refuse the config when it reads it. In the sections that pydantic models
/// describe it is dropped instead.
pub(crate) fn refuses_auto(key: &str, version: Release) -> bool {
    let Some(entry) = find(key, version).filter(|entry| entry.known() == Known::Yes) else { return false };
    let section = key.rsplit_once('.').map(|(section, _)| find(section, version));
    let in_model = match section {
        None => None,
        // What is in a section that is not read is not read either.
        Some(section) => match section.and_then(|section| section.policy()) {
            None => return false,
            policy => policy,
        },
    };
    // `bfloat16` is only read where `bf16` is missing.
    let dropped = is_monitor(key) || key == "bfloat16" || in_model == Some(UnknownKeys::Refused);
    let batch = ["train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"].contains(&key);
    let compared = key == "vocabulary_size" || key == "sequence_parallel_size" && version >= [0, 19, 3];
    !dropped && (batch || compared || entry.checked && entry.fault(&"auto".into()).is_some())
}

/// Since then DeepSpeed divides the ranks by `sequence_parallel_size`.
pub(crate) const SEQUENCE_DIVIDES: Release = [0, 17, 0];

/// What a column says of a version. `new@0.17.1;old`: what holds since when, the newest first.
fn at(column: &'static str, version: Release) -> &'static str {
    if !column.contains(';') {
        return column;
    }
    let parts = column.split(';').map(|part| part.rsplit_once('@').unwrap_or((part, "-")));
    let holds = |(_, since): &(&str, &str)| release(since).is_none_or(|since| since <= version);
    parts.into_iter().find(holds).map_or("-", |(text, _)| text)
}

/// The seven columns of a line. They are so short that looking at each byte beats a search for the tab.
fn columns(line: &'static str) -> [&'static str; 7] {
    let mut rest = line;
    std::array::from_fn(|_| {
        let (column, behind) = rest.split_at(rest.bytes().position(|b| b == b'\t').unwrap_or(rest.len()));
        rest = behind.get(1..).unwrap_or_default();
        column
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fault(key: &str, value: &Value) -> Option<ValueFault> {
        find(key, NEWEST).unwrap().fault(value)
    }

    #[test]
    fn the_file_is_sorted_and_every_line_is_found() {
        let keys: Vec<&str> = TEXT.lines().map(key_of).collect();
        assert!(TEXT.is_ascii() && keys.is_sorted() && keys.len() > 450);
        for key in keys {
            assert_eq!(find(key, NEWEST).unwrap().key, key);
            assert!(find(&format!("{key}x"), NEWEST).is_none_or(|entry| entry.key != key));
        }
        for wrong in ["", "zzz", "zero_optimization."] {
            assert!(find(wrong, NEWEST).is_none());
        }
        assert!(TEXT.lines().all(|line| line.split('\t').count() == 7));
    }

    #[test]
    fn every_type_and_range_is_one_that_is_judged() {
        for line in TEXT.lines() {
            let [_, kind, range, ..] = columns(line);
            for kind in history(kind) {
                let kind = kind.trim_start_matches('~').trim_end_matches('?');
                assert!(ValueType::parse(kind).is_some(), "{line}");
            }
            assert!(history(range).all(|range| range == "-" || ValueRange::parse(range).is_some()), "{line}");
        }
    }

    fn history(column: &'static str) -> impl Iterator<Item = &'static str> {
        column.split(';').map(|part| part.split('@').next().unwrap())
    }

    #[test]
    fn sections_know_their_keys() {
        let names: Vec<_> = names_below("zero_optimization.offload_param").collect();
        assert!(names.len() == 6 && names.contains(&"max_in_cpu"), "{names:?}");
        assert!(names_below("").any(|name| name == "train_batch_size"));
        assert!(!names_below("").any(|name| name.contains('.')));
        assert!(LINES.iter().zip(NAMES).all(|(line, name)| name_of(key_of(line)) == name));
        assert_eq!(named("stage3_prefetch_bucket_size", NEWEST).count(), 1);
    }

    /// Each pair was seen on DeepSpeed 0.19.8 with pydantic 2.14.
    #[test]
    fn values_are_judged_as_pydantic_judges_them() {
        let key = "zero_optimization.sub_group_size";
        for good in [json!(true), json!(2), json!("2"), json!(" 1 "), json!("+1"), json!("1_000"), json!("1.00")] {
            assert_eq!(fault(key, &good), None, "{good}");
        }
        for bad in [
            json!(null),
            json!(1.5),
            json!(1e30),
            json!(""),
            json!("1__0"),
            json!("1."),
            json!("1e3"),
            json!([]),
            json!("１"),
        ] {
            assert_eq!(fault(key, &bad), Some(ValueFault::Type), "{bad}");
        }
        assert_eq!(fault(key, &json!(-1)), Some(ValueFault::Value));
        for (good, bad) in [(json!("Y"), json!(" true")), (json!(1), json!(2)), (json!("off"), json!(null))] {
            assert_eq!(fault("zero_optimization.reduce_scatter", &good), None, "{good}");
            assert!(fault("zero_optimization.reduce_scatter", &bad).is_some(), "{bad}");
        }
        assert_eq!(fault("zero_optimization.overlap_comm", &json!(null)), None);
        assert_eq!(fault("fp16.loss_scale", &json!("1_000")), None);
        assert!(fault("fp16.loss_scale", &json!(true)).is_some() && fault("fp16.loss_scale", &json!("nan")).is_some());
        assert!(fault("fp16.loss_scale_window", &json!("1.0")).is_some());
        assert!(fault("zero_optimization.zenflow.topk_ratio", &json!(1)).is_some());
        assert_eq!(fault("zero_optimization.zenflow.update_interval", &json!(0)), Some(ValueFault::Value));
        assert_eq!(fault("zero_optimization.stage", &json!("1.0")), None);
        assert_eq!(fault("zero_optimization.stage", &json!(4)), Some(ValueFault::Value));
    }

    #[test]
    fn a_column_says_what_holds_in_a_version() {
        assert_eq!(at("int", NEWEST), "int");
        for (version, holds) in
            [([0, 14, 3], "c"), ([0, 14, 4], "b"), ([0, 16, 5], "b"), ([0, 16, 6], "a"), (NEWEST, "a")]
        {
            assert_eq!(at("a@0.16.6;b@0.14.4;c", version), holds, "{version:?}");
        }
        let fault = |version| find("zero_optimization.reduce_bucket_size", version).unwrap().fault(&json!(0));
        assert_eq!((fault([0, 19, 5]), fault([0, 19, 6])), (None, Some(ValueFault::Value)));
    }

    #[test]
    fn a_key_is_known_from_one_version_to_another() {
        let known = |key: &str, version| find(key, version).unwrap().known();
        assert_eq!(known("tensor_parallel", [0, 16, 3]), Known::Later([0, 16, 4]));
        assert_eq!(known("tensor_parallel", [0, 16, 4]), Known::Yes);
        assert_eq!(known("amp", [0, 19, 7]), Known::Yes);
        assert_eq!(known("amp", [0, 19, 8]), Known::Refused([0, 19, 8]));
        assert_eq!(known("aio.thread_count", [0, 16, 4]), Known::Dropped([0, 16, 4]));
        assert_eq!(
            [[0, 14, 3], [0, 14, 4], [0, 16, 6]].map(|it| known("compile", it)),
            [Known::Yes, Known::Paused, Known::Yes]
        );
    }

    #[test]
    fn auto_is_dropped_by_models_only() {
        for key in
            ["train_batch_size", "communication_data_type", "optimizer", "zero_optimization", "torch_autocast.dtype"]
        {
            assert!(refuses_auto(key, NEWEST), "{key}");
        }
        for key in
            ["zero_optimization.stage", "fp16.loss_scale", "gradient_clipping", "aio.block_size", "wandb", "timers"]
        {
            assert!(!refuses_auto(key, NEWEST), "{key}");
        }
    }
}
