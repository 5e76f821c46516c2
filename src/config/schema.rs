//! DeepSpeed's config keys: what each takes, since when, until when. The data is a file that `tests/real/record_schema.py`
//! records from the real package; a key is looked up by binary search, and only its own line is read.
//! What a value must be is decided here as DeepSpeed decides it: by pydantic's coercions, or by the code that reads it.

mod coercion;
mod value_type;

use std::iter::Copied;
use std::slice::Iter;

use serde_json::Value;

pub(crate) use coercion::{can_be_int, is_true, is_whole, real, truth, whole};
pub(crate) use value_type::{UnknownKeys, ValueFault};
use value_type::{ValueRange, ValueType, is_flag};

/// Sorted by key; the columns are explained in `record_schema.py`.
const TEXT: &str = include_str!("../recorded/deepspeed-schema.txt");

/// Since then DeepSpeed checks a loss scale.
const SCALE_CHECKED: [u32; 3] = [0, 18, 8];

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

/// The version the data was recorded from, which holds where none is found.
pub(crate) const NEWEST: &str = "0.19.8";

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

/// What DeepSpeed knows about a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeySpec {
    pub(crate) key: &'static str,
    kind: ValueType,
    /// null is accepted too.
    nullable: bool,
    /// A section refuses keys it does not know since that version.
    strict_since: Option<[u32; 3]>,
    /// DeepSpeed looks at the value when it reads the config.
    pub(crate) checked: bool,
    /// As the file writes it; parsed when a value is checked.
    range: &'static str,
    /// As JSON, `-` where there is none, `required` for a parameter without one.
    pub(crate) default: &'static str,
    pub(crate) since: Option<[u32; 3]>,
    pub(crate) removed: Option<Removed>,
    /// Another name of this key.
    pub(crate) alias_of: Option<&'static str>,
    pub(crate) replaced_by: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Removed {
    pub(crate) version: [u32; 3],
    /// DeepSpeed refuses the key by name. Otherwise it is an unknown key like any other.
    pub(crate) refused: bool,
}

pub(crate) fn find(key: &str) -> Option<KeySpec> {
    let line = lines_from(key).next()?;
    Some(KeySpec::read(line)).filter(|entry| entry.key == key)
}

/// The names of the keys right below a section; `""` is the top.
pub(crate) fn names_below(section: &str) -> impl Iterator<Item = &'static str> {
    let prefix = if section.is_empty() { String::new() } else { format!("{section}.") };
    let names = lines_from(&prefix).map_while(move |line| Some(key_of(line.strip_prefix(&prefix)?)));
    names.filter(|name| !name.contains(['.', '@']))
}

/// Every key with that last part.
pub(crate) fn named(name: &str) -> impl Iterator<Item = KeySpec> {
    let lines = LINES.iter().zip(&NAMES).filter(move |(line, own)| **own == name && !key_of(line).contains('@'));
    lines.map(|(line, _)| KeySpec::read(line))
}

/// The parameters an optimizer or a scheduler takes; none for those that are not recorded.
pub(crate) fn parameters(section: &str, name: &str) -> impl Iterator<Item = KeySpec> {
    let prefix = format!("{section}.params@{name}.");
    lines_from(&prefix).take_while(move |line| line.starts_with(&prefix)).map(KeySpec::read)
}

impl KeySpec {
    fn read(line: &'static str) -> Self {
        let [key, kind, range, default, since, removed, now] = columns(line);
        let checked = !kind.starts_with('~');
        let kind = kind.strip_prefix('~').unwrap_or(kind);
        let (kind, strict_since) = match kind.bytes().position(|b| b == b'@') {
            Some(at) => (&kind[..at], version(&kind[at + 1..])),
            None => (kind, None),
        };
        let nullable = kind.ends_with('?');
        KeySpec {
            key,
            // A test parses every line, so this never happens.
            kind: ValueType::parse(kind.strip_suffix('?').unwrap_or(kind)).unwrap_or(ValueType::Any),
            nullable,
            strict_since,
            checked,
            range,
            default,
            since: version(since),
            removed: version(removed).map(|version| Removed { version, refused: removed.ends_with('!') }),
            alias_of: now.strip_prefix('='),
            replaced_by: now.strip_prefix('>'),
        }
    }

    /// The last part of the key.
    pub(crate) fn name(&self) -> &'static str {
        name_of(self.key)
    }

    /// A section of known keys, and what it does with others. Before there was such a section, nothing in it was read.
    pub(crate) fn policy(&self) -> Option<UnknownKeys> {
        self.kind.policy(self.strict_since.or(self.since))
    }

    /// The range, and the version it is checked since.
    fn bounds(&self) -> (ValueRange, Option<[u32; 3]>) {
        match self.range {
            // The range of its validator, which the file does not have.
            "-" if self.kind == ValueType::Scale => (ValueRange::AtLeast(0.0), None),
            "-" => (ValueRange::All, None),
            range => {
                let (range, since) = range.split_once('@').unwrap_or((range, "-"));
                (ValueRange::parse(range).unwrap_or(ValueRange::All), version(since))
            }
        }
    }

    /// Whether DeepSpeed refuses the value. `is_before` tells whether the installed version is older than the given one.
    pub(crate) fn fault(&self, value: &Value, is_before: impl Fn([u32; 3]) -> bool) -> Option<ValueFault> {
        if value.is_null() {
            let taken = self.nullable || matches!(self.kind, ValueType::SectionOrFalsy | ValueType::Any);
            return (!taken).then_some(ValueFault::Type);
        }
        // pydantic 1 truncated fractions.
        if self.kind == ValueType::Int && value.is_f64() && is_before([0, 15, 1]) {
            return None;
        }
        // Any number was taken for a loss scale.
        if self.kind == ValueType::Scale && is_before(SCALE_CHECKED) {
            return ValueType::Float.fault(value, ValueRange::All);
        }
        let (range, since) = self.bounds();
        self.kind.fault(value, if since.is_some_and(is_before) { ValueRange::All } else { range })
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
            kind => kind.fault(value, self.bounds().0).is_some(),
        }
    }

    /// What the key takes, in words.
    pub(crate) fn wanted(&self) -> String {
        let (range, _) = self.bounds();
        self.kind.wanted(range) + if self.nullable { " or null" } else { "" }
    }
}

/// Whether "auto" in this place makes DeepSpeed refuse the config when it reads it. In the sections that pydantic models
/// describe it is dropped instead.
pub(crate) fn refuses_auto(key: &str) -> bool {
    let in_model = key.rsplit_once('.').and_then(|(section, _)| find(section)?.policy());
    // The monitors have a pydantic model of their own, and `bfloat16` is only read where `bf16` is missing.
    let monitor = ["tensorboard", "wandb", "csv_monitor", "comet", "bfloat16"].contains(&key);
    let batch = ["train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"].contains(&key);
    let compared = ["sequence_parallel_size", "vocabulary_size"].contains(&key);
    let refused = || find(key).is_some_and(|entry| entry.checked && entry.fault(&"auto".into(), |_| false).is_some());
    !monitor && !matches!(in_model, Some(UnknownKeys::Refused(_))) && (batch || compared || refused())
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

/// `0.19.8` as three numbers.
pub(crate) fn version(text: &str) -> Option<[u32; 3]> {
    if text == "-" {
        return None;
    }
    let mut parts = text.trim_end_matches('!').split('.').map(|part| part.parse().ok());
    Some([parts.next()??, parts.next()??, parts.next()??])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fault(key: &str, value: &Value) -> Option<ValueFault> {
        find(key).unwrap().fault(value, |_| false)
    }

    #[test]
    fn the_file_is_sorted_and_every_line_is_found() {
        let keys: Vec<&str> = TEXT.lines().map(key_of).collect();
        assert!(TEXT.is_ascii() && keys.is_sorted() && keys.len() > 450);
        for key in keys {
            assert_eq!(find(key).unwrap().key, key);
            assert!(find(&format!("{key}x")).is_none_or(|entry| entry.key != key));
        }
        assert!(find("").is_none() && find("zzz").is_none() && find("zero_optimization.").is_none());
        assert!(TEXT.lines().all(|line| line.split('\t').count() == 7));
    }

    #[test]
    fn every_type_and_range_is_one_that_is_judged() {
        for line in TEXT.lines() {
            let [_, kind, range, ..] = columns(line);
            let kind = kind.split('@').next().unwrap().trim_start_matches('~').trim_end_matches('?');
            assert!(ValueType::parse(kind).is_some(), "{line}");
            assert!(range == "-" || ValueRange::parse(range.split('@').next().unwrap()).is_some(), "{line}");
        }
    }

    #[test]
    fn sections_know_their_keys() {
        let names: Vec<_> = names_below("zero_optimization.offload_param").collect();
        assert!(names.len() == 6 && names.contains(&"max_in_cpu"), "{names:?}");
        assert!(names_below("").any(|name| name == "train_batch_size"));
        assert!(!names_below("").any(|name| name.contains('.')));
        assert!(LINES.iter().zip(NAMES).all(|(line, name)| name_of(key_of(line)) == name));
        assert_eq!(named("stage3_prefetch_bucket_size").count(), 1);
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
    fn ranges_hold_since_their_version() {
        let entry = find("zero_optimization.reduce_bucket_size").unwrap();
        assert_eq!(entry.fault(&json!(0), |_| false), Some(ValueFault::Value));
        assert_eq!(entry.fault(&json!(0), |since| since == [0, 19, 6]), None);
    }

    #[test]
    fn auto_is_dropped_by_models_only() {
        for key in
            ["train_batch_size", "communication_data_type", "optimizer", "zero_optimization", "torch_autocast.dtype"]
        {
            assert!(refuses_auto(key), "{key}");
        }
        for key in
            ["zero_optimization.stage", "fp16.loss_scale", "gradient_clipping", "aio.block_size", "wandb", "timers"]
        {
            assert!(!refuses_auto(key), "{key}");
        }
    }
}
