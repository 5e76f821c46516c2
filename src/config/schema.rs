//! DeepSpeed's config keys: what each takes, since when, until when. The data is a file that `tests/real/record_schema.py`
//! records from the real thing; a key is looked up in it by binary search, and only its own line is ever taken apart.
//! What a value must be is decided here as DeepSpeed decides it: by pydantic's coercions, or by the code that reads it.

mod value_type;

use serde_json::{Number, Value};

use crate::base::python_value::{self, number};
use value_type::{Range, ValueType, is_flag};

/// Sorted by key; the columns are explained in `record_schema.py`.
const TEXT: &str = include_str!("../recorded/deepspeed-schema.txt");

/// Where each line starts, found out while compiling.
static STARTS: [u16; count_lines()] = starts();

/// The version the data was recorded from, which holds where none is found.
pub(crate) const NEWEST: &str = "0.19.8";

const fn count_lines() -> usize {
    let bytes = TEXT.as_bytes();
    let (mut at, mut count) = (0, 0);
    while at < bytes.len() {
        if bytes[at] == b'\n' {
            count += 1;
        }
        at += 1;
    }
    count
}

#[expect(clippy::cast_possible_truncation, reason = "the file is far smaller than 64 kB, else this does not compile")]
const fn starts() -> [u16; count_lines()] {
    let bytes = TEXT.as_bytes();
    assert!(bytes.len() <= u16::MAX as usize);
    let mut starts = [0; count_lines()];
    let (mut at, mut line) = (0, 0);
    while at < bytes.len() {
        if bytes[at] == b'\n' && line + 1 < starts.len() {
            line += 1;
            starts[line] = at as u16 + 1;
        }
        at += 1;
    }
    starts
}

fn line(number: usize) -> &'static str {
    let start = usize::from(STARTS[number]);
    let end = STARTS.get(number + 1).map_or(TEXT.len(), |next| usize::from(*next));
    &TEXT[start..end - 1]
}

fn key_of(line: &'static str) -> &'static str {
    line.split('\t').next().unwrap_or(line)
}

/// The last part of a dotted key.
pub(crate) fn name_of(key: &str) -> &str {
    key.rsplit_once('.').map_or(key, |(_, name)| name)
}

/// The first line whose key is not smaller.
fn lower_bound(key: &str) -> usize {
    let (mut low, mut high) = (0, STARTS.len());
    while low < high {
        let middle = low.midpoint(high);
        let start = usize::from(STARTS[middle]);
        // As many bytes as the key has: a line's own key ends in a tab, which is smaller than any byte of a key.
        let end = TEXT.len().min(start + key.len());
        let smaller = TEXT.as_bytes()[start..end] < *key.as_bytes();
        if smaller {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// What DeepSpeed knows about a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) key: &'static str,
    kind: ValueType,
    /// null is taken too.
    nullable: bool,
    /// A section refuses keys it does not know since that version.
    strict_since: Option<[u32; 3]>,
    /// DeepSpeed looks at the value when it reads the config.
    pub(crate) checked: bool,
    /// As the file writes it: taken apart for a value that is judged.
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
    /// DeepSpeed refuses the key by name; without it the key is as unknown as any other.
    pub(crate) refused: bool,
}

pub(crate) fn find(key: &str) -> Option<Entry> {
    let number = lower_bound(key);
    let line = (number < STARTS.len()).then(|| line(number))?;
    (key_of(line) == key).then(|| Entry::read(line))
}

/// The entries right below a section; `""` is the top.
pub(crate) fn children(section: &str) -> impl Iterator<Item = Entry> {
    let prefix = if section.is_empty() { String::new() } else { format!("{section}.") };
    let first = lower_bound(&prefix);
    let lines = (first..STARTS.len()).map(line);
    let inside = prefix.clone();
    lines
        .take_while(move |line| line.starts_with(&inside))
        .filter(move |line| !key_of(line)[prefix.len()..].contains(['.', '@']))
        .map(Entry::read)
}

/// Every key with that last part.
pub(crate) fn named(name: &str) -> impl Iterator<Item = Entry> {
    let lines = (0..STARTS.len()).map(line).filter(|line| !key_of(line).contains('@'));
    lines.filter(move |line| name_of(key_of(line)) == name).map(Entry::read)
}

/// The parameters an optimizer or a scheduler takes; none for those that are not recorded.
pub(crate) fn parameters(section: &str, name: &str) -> impl Iterator<Item = Entry> {
    let prefix = format!("{section}.params@{name}.");
    let lines = (lower_bound(&prefix)..STARTS.len()).map(line);
    lines.take_while(move |line| line.starts_with(&prefix)).map(Entry::read)
}

/// How a section treats keys it does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// They are refused, since that version.
    Strict(Option<[u32; 3]>),
    /// Nobody notices them.
    Loose,
}

/// Why a value is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Type,
    /// The type fits, the value does not.
    Value,
}

impl Entry {
    fn read(line: &'static str) -> Self {
        let [key, kind, range, default, since, removed, now] = columns(line);
        let checked = !kind.starts_with('~');
        let kind = kind.strip_prefix('~').unwrap_or(kind);
        let (kind, strict_since) = match kind.bytes().position(|b| b == b'@') {
            Some(at) => (&kind[..at], version(&kind[at + 1..])),
            None => (kind, None),
        };
        let nullable = kind.ends_with('?');
        Entry {
            key,
            // A test reads every line.
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

    /// A section of known keys, and what it does with others.
    pub(crate) fn policy(&self) -> Option<Policy> {
        self.kind.policy(self.strict_since)
    }

    /// The range, and the version it is checked since.
    fn bounds(&self) -> (Range, Option<[u32; 3]>) {
        match self.range {
            // Its validator's, which the file does not name.
            "-" if self.kind == ValueType::Scale => (Range::AtLeast(0.0), None),
            "-" => (Range::All, None),
            range => {
                let (range, since) = range.split_once('@').unwrap_or((range, "-"));
                (Range::parse(range).unwrap_or(Range::All), version(since))
            }
        }
    }

    /// Whether DeepSpeed refuses the value (of an unchecked key: whether it is of another type than is meant).
    /// `is_before` tells whether the version that reads it is older than that.
    pub(crate) fn fault(&self, value: &Value, is_before: impl Fn([u32; 3]) -> bool) -> Option<Fault> {
        if value.is_null() {
            let taken = self.nullable || matches!(self.kind, ValueType::SectionOrFalsy | ValueType::Any);
            return (!taken).then_some(Fault::Type);
        }
        // The first version of pydantic cut fractions off.
        if self.kind == ValueType::Int && value.is_f64() && is_before([0, 15, 1]) {
            return None;
        }
        let (range, since) = self.bounds();
        self.kind.fault(value, if since.is_some_and(is_before) { Range::All } else { range })
    }

    /// Whether the value of a key that nobody checks is of another type than is meant. Nothing is coerced there.
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
    // The monitors stand in a model of their own; whether the old name of bf16 is read at all depends on the new one.
    let monitor = ["tensorboard", "wandb", "csv_monitor", "comet", "bfloat16"].contains(&key);
    let batch = ["train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"].contains(&key);
    let compared = ["sequence_parallel_size", "vocabulary_size"].contains(&key);
    let refused = || find(key).is_some_and(|entry| entry.checked && entry.fault(&"auto".into(), |_| false).is_some());
    !monitor && !matches!(in_model, Some(Policy::Strict(_))) && (batch || compared || refused())
}

/// The seven columns of a line. Bytes are counted by hand: this is done for every key of a config at every launch.
fn columns(line: &'static str) -> [&'static str; 7] {
    let mut columns = ["-"; 7];
    let (mut start, mut column) = (0, 0);
    for (at, byte) in line.bytes().enumerate() {
        if byte == b'\t' && column < 6 {
            columns[column] = &line[start..at];
            (start, column) = (at + 1, column + 1);
        }
    }
    columns[column] = &line[start..];
    columns
}

/// `0.19.8` as three numbers.
pub(crate) fn version(text: &str) -> Option<[u32; 3]> {
    if text == "-" {
        return None;
    }
    let mut parts = text.trim_end_matches('!').split('.').map(|part| part.parse().ok());
    Some([parts.next()??, parts.next()??, parts.next()??])
}

/// Python's truth of a value.
pub(crate) fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(object) => !object.is_empty(),
    }
}

/// What pydantic takes for a bool.
pub(crate) fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::Number(number) => match number.as_u64() {
            Some(0) => Some(false),
            Some(1) => Some(true),
            _ => None,
        },
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "0" | "off" | "f" | "false" | "n" | "no" => Some(false),
            "1" | "on" | "t" | "true" | "y" | "yes" => Some(true),
            _ => None,
        },
        _ => None,
    }
}

/// What pydantic takes for an int. Whole floats are integers by the time they come here.
pub(crate) fn whole(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => {
            let text = text.trim();
            let digits = text.split_once('.').filter(|(_, zeros)| is_zeros(zeros)).map_or(text, |(digits, _)| digits);
            python_value::large_int(digits)
        }
        other => number(other).filter(|_| !other.is_f64()),
    }
}

fn is_zeros(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b == b'0')
}

/// What pydantic takes for a float.
pub(crate) fn real(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => python_value::float(text),
        other => number(other),
    }
}

/// fp16's `loss_scale`: a finite number, and no bool.
fn scale(value: &Value) -> Option<f64> {
    real(value).filter(|number| number.is_finite() && !value.is_boolean())
}

/// fp16's counts: no bool, and a text must be one for Python's `int` too.
fn count(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(_) => None,
        Value::String(text) => python_value::large_int(text),
        other => whole(other),
    }
}

/// Python's `int(value)` works.
pub(crate) fn can_be_int(value: &Value) -> bool {
    match value {
        Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => python_value::large_int(text).is_some(),
        _ => false,
    }
}

/// A number that JSON wrote as a whole one.
pub(crate) fn is_whole(value: &Value) -> bool {
    value.as_number().is_some_and(|number: &Number| !number.is_f64())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fault(key: &str, value: &Value) -> Option<Fault> {
        find(key).unwrap().fault(value, |_| false)
    }

    #[test]
    fn the_file_is_sorted_and_every_line_is_found() {
        let keys: Vec<&str> = TEXT.lines().map(key_of).collect();
        assert!(keys.is_sorted() && keys.len() > 450);
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
            assert!(range == "-" || Range::parse(range.split('@').next().unwrap()).is_some(), "{line}");
        }
    }

    #[test]
    fn sections_know_their_keys() {
        let names: Vec<_> = children("zero_optimization.offload_param").map(|entry| entry.key).collect();
        assert!(names.len() == 6 && names.contains(&"zero_optimization.offload_param.max_in_cpu"), "{names:?}");
        assert!(children("").any(|entry| entry.key == "train_batch_size"));
        assert!(!children("").any(|entry| entry.key.contains('.')));
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
            assert_eq!(fault(key, &bad), Some(Fault::Type), "{bad}");
        }
        assert_eq!(fault(key, &json!(-1)), Some(Fault::Value));
        for (good, bad) in [(json!("Y"), json!(" true")), (json!(1), json!(2)), (json!("off"), json!(null))] {
            assert_eq!(fault("zero_optimization.reduce_scatter", &good), None, "{good}");
            assert!(fault("zero_optimization.reduce_scatter", &bad).is_some(), "{bad}");
        }
        assert_eq!(fault("zero_optimization.overlap_comm", &json!(null)), None);
        assert_eq!(fault("fp16.loss_scale", &json!("1_000")), None);
        assert!(fault("fp16.loss_scale", &json!(true)).is_some() && fault("fp16.loss_scale", &json!("nan")).is_some());
        assert!(fault("fp16.loss_scale_window", &json!("1.0")).is_some());
        assert!(fault("zero_optimization.zenflow.topk_ratio", &json!(1)).is_some());
        assert_eq!(fault("zero_optimization.zenflow.update_interval", &json!(0)), Some(Fault::Value));
        assert_eq!(fault("zero_optimization.stage", &json!("1.0")), None);
        assert_eq!(fault("zero_optimization.stage", &json!(4)), Some(Fault::Value));
    }

    #[test]
    fn ranges_hold_since_their_version() {
        let entry = find("zero_optimization.reduce_bucket_size").unwrap();
        assert_eq!(entry.fault(&json!(0), |_| false), Some(Fault::Value));
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
