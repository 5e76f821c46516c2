//! Keys that DeepSpeed does not know, no longer knows, or knows by two names; and values of another type or range than it takes.

use serde_json::{Value, json};

use super::{
    rows::Findings,
    subject::{Key, Subject},
    tables::names::{BATCH_SIZES, STAGE},
};
use crate::{
    base::{json::get, recorded::VersionMatch, size::number_meant},
    command::argument_class::TRAINING_ARGUMENTS,
    config::{
        places::as_typed,
        schema::{self, KeySpec, Known, UnknownKeys, ValueFault},
    },
    report::{
        Rule,
        fix::{Fix, Fixes, Owner, give, rename, say, set, set_json, unset},
        nearest,
    },
};

/// Keys that this version does not know: those that it refuses, or by another rule those that it ignores. What it refuses as
/// removed has a rule of its own.
pub fn unknown_keys(subject: &Subject, found: &mut Findings) {
    let ignored = found.rule() == Rule::IgnoredKey;
    let outcome = if ignored {
        ": it is silently ignored"
    } else {
        ", so DeepSpeed refuses the config"
    };
    for key in &subject.keys {
        let is_it = if ignored {
            key.policy == UnknownKeys::Ignored && !is_comment(&key.path)
        } else {
            key.is_read()
        };
        if !is_it {
            continue;
        }
        let path = &key.path;
        let why = match key.entry.map(|entry| entry.known()) {
            Some(Known::Yes | Known::Refused(_)) => continue,
            Some(Known::Later(since)) => {
                format!("does not know `{path}` yet: it was added in {since}")
            }
            Some(Known::Dropped(since)) => {
                format!("no longer knows `{path}`: it was dropped in {since}")
            }
            Some(Known::Paused) => {
                format!("does not read `{path}`, though older and newer versions do")
            }
            None => format!("has no key `{path}`"),
        };
        let is_exact = matches!(subject.judge, VersionMatch::Exact(_));
        let deepspeed = if key.entry.is_none() && is_exact {
            "DeepSpeed".to_string()
        } else {
            subject.deepspeed()
        };
        let fix = advice(key, subject, found.are_many());
        let problem = found.key(&[path], format!("{deepspeed} {why}{outcome}"), fix);
        // A key that `--set` asks for is not dropped silently.
        if (subject.place)(path).is_setting() {
            problem.severity = subject.severity_of_keys();
        }
    }
}

pub fn removed_keys(subject: &Subject, found: &mut Findings) {
    for key in &subject.keys {
        let Some(entry) = key.entry else { continue };
        let Known::Refused(since) = entry.known() else {
            continue;
        };
        let now = entry.replaced_by.map(|now| format!(", now `{now}`"));
        let now = now.unwrap_or_default();
        let path = &key.path;
        let what = format!(
            "`{path}` was removed in {since}{now}: {} refuses a config that has it",
            subject.deepspeed()
        );
        found.key(&[path], what, unset(path).safe());
    }
}

pub fn two_names(subject: &Subject, found: &mut Findings) {
    let alias_of = |key: &Key| key.entry.and_then(|entry| entry.alias_of);
    for key in &subject.keys {
        let path = &key.path;
        let replaced_by = key.entry.and_then(|entry| entry.replaced_by);
        let Some(other) = alias_of(key).or(replaced_by) else {
            continue;
        };
        let mut others = subject.keys.iter().filter(|second| {
            second.path == other || second.path != *path && alias_of(second) == Some(other)
        });
        if key.is_read() && others.any(Key::is_read) {
            let what = format!(
                "`{path}` and `{other}` are the same setting: DeepSpeed refuses both together"
            );
            let fix = if other.contains(".offload_") {
                renamed(key, other, subject)
            } else if get(subject.config, other) == Some(key.value) {
                unset(path).safe()
            } else {
                // Only one of two values can have been meant.
                unset(path)
            };
            found.key(&[path, other], what, fix);
        }
    }
}

pub fn old_keys(subject: &Subject, found: &mut Findings) {
    for key in &subject.keys {
        let entry = key.entry.filter(|entry| entry.removed.is_none());
        if let Some(now) = entry.and_then(|entry| entry.replaced_by)
            && (key.policy == UnknownKeys::Ignored || subject.get(now).is_none())
        {
            let what = format!("`{}` is the old name of `{now}`", key.path);
            found.key(&[&key.path], what, renamed(key, now, subject));
        }
    }
}

/// A key that is meant as a comment: `_comment`, `//`. (`/zero_optimization/stage` is a key.)
fn is_comment(path: &str) -> bool {
    let name = schema::name_of(path);
    let name = name.strip_prefix('/').unwrap_or(name);
    !name.starts_with(|c: char| c.is_ascii_alphabetic())
        || ["comment", "comments", "description"].contains(&name)
}

/// The key that was probably meant, or the section it belongs in. Nothing is searched if there are too many to print.
fn advice(key: &Key, subject: &Subject, are_many: bool) -> Fix {
    let (section, name) = key.path.rsplit_once('.').unwrap_or(("", &key.path));
    let remove = unset(&key.path);
    if are_many {
        return remove;
    }
    if let Some(entry) = key.entry {
        // Without a new name, the key is right for another version.
        return match entry.replaced_by {
            Some(now) => renamed(key, now, subject),
            None => remove,
        };
    }
    let belongs_in = |fix: Fix, place: &str| fix.lead(format!("it belongs in `{place}`:"));
    if let Some(parameter) = parameter_meant(key, section, name, subject) {
        let typed = as_typed(key.value, &(subject.place)(&key.path));
        let fix = belongs_in(rename(&key.path, &parameter, typed), &parameter);
        return unless_there(&parameter, subject, &key.path).unwrap_or_else(|| fix.safe());
    }
    let meant = meant(key, name, subject);
    match &meant[..] {
        [] => {}
        [entry] => {
            if let Some(now) = entry.replaced_by {
                return renamed(key, now, subject);
            }
            return unless_there(entry.key, subject, &key.path)
                .unwrap_or_else(|| belongs_in(moved(key, entry, subject), entry.key).safe());
        }
        // What stands above both offload sections is for both.
        several if several.iter().all(|entry| is_in_offload(entry, subject)) => {
            let typed = as_typed(key.value, &(subject.place)(&key.path));
            let missing = several
                .iter()
                .filter(|entry| subject.get(entry.key).is_none());
            let sets = missing.map(|entry| set(entry.key, &typed));
            return sets.fold(remove, Fix::and).safe();
        }
        several => {
            let names: Vec<&str> = several.iter().map(|entry| entry.key).collect();
            return say(format_args!("it belongs in `{}`", names.join("` or `")));
        }
    }
    if section.is_empty() && TRAINING_ARGUMENTS.row(name).is_some() {
        if !is_missing_argument(name, subject) {
            return remove.remark("it is an argument of transformers");
        }
        let typed = as_typed(key.value, &(subject.place)(&key.path));
        let is_mapping = subject.job.reads_mapping();
        let dashes = if is_mapping { "" } else { "--" };
        return give(format_args!("{dashes}{name}"), typed.trim_matches('"'))
            .of(Owner::Trainer)
            .and(remove)
            .remark("it is the trainer's argument");
    }
    let known = schema::names_below(section).filter(|near| *near != name);
    let Some(near) = nearest(name, known) else {
        return remove;
    };
    let path = format!("{section}.{near}");
    match schema::find(path.trim_start_matches('.'), subject.version()) {
        Some(entry) => unless_there(entry.key, subject, &key.path)
            .unwrap_or_else(|| moved(key, &entry, subject).meaning(near).safe()),
        None => remove,
    }
}

/// Only one of two spellings can count, and the one that DeepSpeed reads does, unless `--set` asks for the other.
pub fn unless_there(right: &str, subject: &Subject, wrong: &str) -> Option<Fix> {
    get(subject.config, right)?;
    let is_set = |key: &str| (subject.place)(key).is_setting();
    let remark = format!("`{right}` is set, too, and counts");
    (!is_set(wrong) || is_set(right)).then(|| unset(wrong).remark(remark))
}

fn has_section_of(entry: &KeySpec, subject: &Subject) -> bool {
    let section = entry.key.rsplit_once('.').map(|(section, _)| section);
    section.is_some_and(|section| subject.get(section).is_some_and(Value::is_object))
}

fn is_in_offload(entry: &KeySpec, subject: &Subject) -> bool {
    entry.key.starts_with("zero_optimization.offload_") && has_section_of(entry, subject)
}

/// `optimizer.lr` is a parameter of the optimizer.
fn parameter_meant(key: &Key, section: &str, name: &str, subject: &Subject) -> Option<String> {
    let takes = |owner: &&str| {
        let of_type = subject.text(&format!("{owner}.type"));
        let of_type = of_type.map(|of_type| match *owner {
            "optimizer" => of_type.to_ascii_lowercase(),
            _ => of_type.to_string(),
        });
        let is_near = section == *owner || section.is_empty() && subject.get(owner).is_some();
        is_near
            && schema::parameters(owner, of_type.as_deref(), subject.version())
                .any(|parameter| parameter.name() == name)
    };
    let mut owners = ["optimizer", "scheduler"].into_iter().filter(takes);
    let owner = owners.next().filter(|_| key.entry.is_none())?;
    owners
        .next()
        .is_none()
        .then(|| format!("{owner}.params.{name}"))
}

/// The keys of this name that the version reads elsewhere; of several, those in sections that the config has. Also
/// `zero_optimization/stage` and `zero_optimization:stage`.
fn meant(key: &Key, name: &str, subject: &Subject) -> Vec<KeySpec> {
    let is_there = |entry: &KeySpec| has_section_of(entry, subject);
    let reads = |entry: &KeySpec| {
        // Deeper down, many keys have the same name.
        let is_near = entry.key.split('.').count() < 3
            || entry.key.split('.').next() == key.path.split('.').next()
            || is_there(entry);
        // `bfloat16` is another name of `bf16`.
        let is_old = entry.key.starts_with("bfloat16.") && !is_there(entry);
        let is_read = entry.removed.is_none() && subject.reads(entry.key);
        entry.key != key.path && is_near && !is_old && is_read
    };
    let dotted = key.path.trim_start_matches('/').replace(['/', ':'], ".");
    if let Some(entry) = schema::find(&dotted, subject.version()).filter(reads) {
        return vec![entry];
    }
    let mut named: Vec<KeySpec> = schema::named(name, subject.version())
        .filter(reads)
        .collect();
    if named.iter().any(is_there) {
        named.retain(is_there);
    }
    if named.len() > 1 {
        named.retain(|entry| subject.get(entry.key).is_none());
    }
    if named.is_empty() {
        // `load_universal_checkpoint` is `checkpoint.load_universal`, `fp16_enabled` is `fp16.enabled`.
        let parts = name.match_indices('_');
        let parts = parts.map(|(at, _)| (&name[..at], &name[at + 1..]));
        let keys = parts.flat_map(|(one, two)| [[one, ".", two], [two, ".", one]]);
        let mut entries = keys.filter_map(|key| schema::find(&key.concat(), subject.version()));
        named.extend(entries.find(reads));
    }
    named
}

/// `--set per_device_train_batch_size=4` is an argument of the trainer that is not given.
fn is_missing_argument(name: &str, subject: &Subject) -> bool {
    let job = subject.job;
    let is_taken = match job.flow() {
        Some(flow) => flow.has_option(name) == Some(true),
        None => job.takes(name),
    };
    is_taken && job.trainer.is_hf() && !job.args.is_given(name)
}

/// `offload_optimizer: "cpu"` is its device.
fn moved(key: &Key, to: &KeySpec, subject: &Subject) -> Fix {
    let inner = key_inside(key.value, to);
    let text = match &inner {
        Some(_) => key.value.as_str().map(str::to_string),
        None => value_meant(key.value, to).map(|meant| meant.to_string()),
    };
    let typed = || as_typed(key.value, &(subject.place)(&key.path));
    let to = inner.unwrap_or(to.key);
    rename(&key.path, to, text.unwrap_or_else(typed))
}

/// `cpu_offload` is a switch, and the section that replaced it has a device.
fn renamed(key: &Key, now: &str, subject: &Subject) -> Fix {
    if !now.contains(".offload_") {
        return rename(&key.path, now, key.value).safe();
    }
    let remove = unset(&key.path);
    if !schema::is_true(key.value) {
        return remove.safe();
    }
    let device = format!("{now}.device");
    match subject.get(&device) {
        // Only one of the two can have been meant.
        Some(given) if given != "cpu" => remove,
        Some(_) => remove.safe(),
        None if subject.get(now).is_some() => remove.and(set(device, "cpu")).safe(),
        None => remove.and(set(now, r#"{"device": "cpu"}"#)).safe(),
    }
}

/// Values of a wrong type, or by another rule those out of range.
pub fn wrong_values(subject: &Subject, found: &mut Findings) {
    let kind = match found.rule() {
        Rule::WrongType => ValueFault::Type,
        _ => ValueFault::Value,
    };
    for key in subject.keys.iter().filter(|key| key.fault == Some(kind)) {
        let Some(entry) = key.entry else { continue };
        let path = &key.path;
        let value = if found.are_many() {
            key.value.to_string()
        } else {
            as_typed(key.value, &(subject.place)(path))
        };
        let wanted = entry.wanted();
        let what = format!("`{path}` is {value}, but DeepSpeed expects {wanted}");
        found.key(&[path], what, value_advice(key, &entry));
    }
}

pub fn odd_values(subject: &Subject, found: &mut Findings) {
    let trainer = subject.job.trainer;
    let compares = trainer.uses_accelerate() || trainer.is_passthrough();
    for key in &subject.keys {
        let Some(entry) = key.entry else { continue };
        let path = key.path.as_str();
        // accelerate compares what is written, which DeepSpeed would convert: `"stage": "3"`.
        let is_compared = path == STAGE && key.value.is_string() && key.fault.is_none() && compares;
        let is_odd = !entry.checked && entry.known() == Known::Yes && entry.is_odd(key.value);
        // "auto" and batch sizes have rules of their own, and accelerate overwrites steps_per_print.
        let is_left_alone = key.value == "auto"
            || BATCH_SIZES.contains(&path)
            || path == "steps_per_print" && subject.is_hf();
        if is_left_alone || !is_compared && !is_odd {
            continue;
        }
        let why = if is_compared {
            "to transformers ZeRO is off"
        } else {
            "DeepSpeed does not check it"
        };
        let what = format!(
            "`{path}` is {}, and {why}: it should be {}",
            key.value,
            entry.wanted()
        );
        found.key(&[path], what, value_advice(key, &entry));
    }
}

/// The key that is meant by a value in place of a section: `"fp16": true`.
fn key_inside(value: &Value, entry: &KeySpec) -> Option<&'static str> {
    if !entry.is_section() {
        return None;
    }
    let is_truth = truth(value).is_some();
    let names = ["stage", "device", "enabled", "type"].into_iter();
    let mut inside =
        names.filter_map(|name| schema::find(&format!("{}.{name}", entry.key), entry.version));
    let takes = |it: &KeySpec| {
        let is_its_type = is_truth == it.key.ends_with(".enabled");
        is_its_type && !value.is_null() && it.fault(value).is_none()
    };
    inside.find(takes).map(|inner| inner.key)
}

/// Also reads `True`, as Python writes it.
fn truth(value: &Value) -> Option<bool> {
    value
        .as_bool()
        .or_else(|| value.as_str()?.to_lowercase().parse().ok())
}

/// The value that a text such as `"16"`, `"200M"` or `"ture"`, or a list of one value means, if the key takes it.
pub fn value_meant(value: &Value, entry: &KeySpec) -> Option<Value> {
    let takes = |it: &Value| entry.fault(it).is_none() && !entry.is_odd(it);
    if let Value::Array(list) = value {
        return list
            .first()
            .filter(|only| list.len() == 1 && takes(only))
            .cloned();
    }
    let text = value.as_str()?;
    let plain = serde_json::from_str(text.trim())
        .ok()
        .filter(|it: &Value| !it.is_null() && takes(it));
    let number = || number_meant(text, entry.key).map(Value::from).filter(takes);
    let word = || {
        let truths = if takes(&true.into()) {
            &["true", "false"][..]
        } else {
            &[]
        };
        let words = entry.choices().into_iter().chain(truths.iter().copied());
        let near = nearest(text, words)?;
        Some(truth(&near.into()).map_or_else(|| near.into(), Value::from))
    };
    let float = || {
        let float = text.trim().parse::<f64>().ok()?;
        Some(Value::from(float)).filter(|it| it.is_number() && takes(it))
    };
    plain.or_else(number).or_else(float).or_else(word)
}

fn value_advice(key: &Key, entry: &KeySpec) -> Fixes {
    let path = &key.path;
    if let Some(inner) = key_inside(key.value, entry) {
        let value = truth(key.value).map_or_else(|| key.value.clone(), Value::from);
        return rename(path, inner, value.as_str().unwrap_or(&value.to_string()))
            .safe()
            .into();
    }
    let device = format!("{path}.device");
    if key.value == true && schema::find(&device, entry.version).is_some() {
        return set(path, r#"{"device": "cpu"}"#).or(set(path, r#"{"device": "nvme"}"#));
    }
    if let Some(meant) = value_meant(key.value, entry) {
        return set_json(path, &meant).safe().or(unset(path));
    }
    let is_nothing = key.value.is_null() || key.value == false || *key.value == json!([]);
    if entry.is_section() && !is_nothing {
        return format!("write an object: `zlaunch explain {path}` says what is in it").into();
    }
    let choices = entry.choices();
    // The nearest stage, for example.
    let numbers = choices.iter().filter_map(|word| word.parse::<i64>().ok());
    if let Some(given) = key.value.as_i64()
        && let Some(number) = numbers.min_by_key(|number| number.abs_diff(given))
    {
        return set(path, number).or(unset(path));
    }
    match entry.default {
        "-" | "null" | "\"\"" | "{}" | "[]" | "required" => unset(path).into(),
        default => unset(path)
            .remark(format!("the default is {default}"))
            .into(),
    }
}
