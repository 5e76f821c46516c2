//! Keys that DeepSpeed does not know, no longer knows, or knows by two names; and values of another type or range than it takes.

use serde_json::Value;

use super::{
    rows::Findings,
    subject::{Key, Subject},
    tables::names::{BATCH_SIZES, COMMENTS, DTYPES, ELSEWHERE, KEYS_OF_SECTIONS, STAGE},
};
use crate::{
    base::{
        json::{get, text},
        size::number_meant,
    },
    command::argument_class::TRAINING_ARGUMENTS,
    config::schema::{self, KeySpec, Known, UnknownKeys, ValueFault},
    report::{
        fix::{rename, set_json},
        prelude::*,
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
        let what = format!("{} {why}{outcome}", subject.deepspeed());
        let fix = advice(key, subject, found.are_many());
        let is_of_layer = fix.is_for_a_layer();
        let problem = found.key(&[path], what, fix);
        // What `--set` or a patch asks for is not dropped silently.
        if is_of_layer || (subject.place)(path).is_setting() {
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
        let now = entry
            .replaced_by
            .map(|now| format!(", now `{now}`"))
            .unwrap_or_default();
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
    !name.starts_with(|c: char| c.is_ascii_alphabetic()) || COMMENTS.contains(&name)
}

/// The key that was probably meant, or the section it belongs in. Nothing is searched if there are too many to print.
fn advice(key: &Key, subject: &Subject, are_many: bool) -> Fix {
    let path = key.path.as_str();
    let (section, name) = path.rsplit_once('.').unwrap_or(("", path));
    let remove = unset(path);
    if are_many || is_comment(path) {
        return remove;
    }
    if let Some(entry) = key.entry {
        // Without a new name, the key is right for another version.
        return match entry.replaced_by {
            Some(now) => renamed(key, now, subject),
            None => remove,
        };
    }
    // `"zero_optimization.stage": 3`: only `--set` splits a name at its dots, and none at brackets.
    let inside = path.trim_matches(['/', ']']).replace(['/', '['], ".");
    if schema::find(&inside, subject.version()).is_some() {
        let fix = rename(path, &inside, key.value).safe();
        return unless_there(&inside, subject, path).unwrap_or(fix);
    }
    // `offload_param.cpu: true`
    let device = format!("{section}.device");
    let meant = if name == "enabled" { "cpu" } else { name };
    if let Some(entry) = schema::find(&device, subject.version())
        && entry.choices().contains(&meant)
        && *key.value == true
        && subject.get(&device).is_none()
    {
        return remove.and(set(device, meant));
    }
    let is_argument = section.is_empty() && TRAINING_ARGUMENTS.row(name).is_some();
    let correct = |right: &str, fix: Fix| {
        let fix = if is_argument { fix } else { fix.safe() };
        unless_there(right, subject, path).unwrap_or(fix)
    };
    let belongs_in =
        |place: &str, fix: Fix| correct(place, fix.lead(format!("it belongs in `{place}`:")));
    if let Some(parameter) = ELSEWHERE
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, to)| (*to).to_string())
        .or_else(|| parameter_meant(section, name, subject))
    {
        return belongs_in(&parameter, rename(path, &parameter, key.value));
    }
    match &keys_meant(key, name, subject)[..] {
        [] => {}
        [entry] => {
            return match entry.replaced_by {
                Some(now) => renamed(key, now, subject),
                None => belongs_in(entry.key, moved(key, entry)),
            };
        }
        // `pin_memory` above both offload sections.
        several if several.iter().all(|entry| has_section_of(entry, subject)) => {
            return several
                .iter()
                .map(|entry| set_json(entry.key, key.value))
                .fold(remove, Fix::and);
        }
        several => {
            let names: Vec<&str> = several.iter().map(|entry| entry.key).collect();
            return say(format_args!("it belongs in `{}`", names.join("` or `")));
        }
    }
    if is_argument && subject.is_hf() {
        return argument_meant(name, path, key.value, subject);
    }
    let known = schema::names_below(section).filter(|near| *near != name);
    let found = schema::nearest_name(name, known).and_then(|near| {
        schema::find(
            format!("{section}.{near}").trim_start_matches('.'),
            subject.version(),
        )
    });
    match found {
        Some(entry) => correct(
            entry.key,
            moved(key, &entry).meaning(schema::name_of(entry.key)),
        ),
        None => match nearest(name, TRAINING_ARGUMENTS.names()) {
            Some(near) if section.is_empty() && subject.is_hf() => {
                argument_meant(near, path, key.value, subject)
            }
            _ => remove,
        },
    }
}

/// A key that the trainer takes as its argument, unless that is given too and counts.
fn argument_meant(name: &str, path: &str, value: &Value, subject: &Subject) -> Fix {
    let job = subject.job;
    let give = give(format_args!("--{name}"), text(value)).of(Owner::Trainer);
    let is_taken = job.takes(name) && !job.args.is_given(name) && !job.trainer.args_set_in_script();
    let remove = unset(path);
    let fix = if is_taken { give.and(remove) } else { remove };
    fix.remark("it is an argument of transformers")
}

/// Only one of two spellings can count, and the one that DeepSpeed reads does, unless `--set` asks for the other. A file that
/// changes another one is to be corrected.
pub fn unless_there(right: &str, subject: &Subject, wrong: &str) -> Option<Fix> {
    let given = get(subject.config, right)?;
    let [asked, counts] = [wrong, right].map(subject.place);
    if counts.is_setting() || asked.file() == counts.file() && !asked.is_setting() {
        return Some(match get(subject.config, wrong) {
            // A value that was written means more than none.
            Some(written) if given == "auto" => unset(wrong).and(set_json(right, written)),
            _ => unset(wrong).remark(format!("`{right}` is set, too, and counts")),
        });
    }
    (!asked.is_setting()).then(|| Fix::in_a_layer(right))
}

fn has_section_of(entry: &KeySpec, subject: &Subject) -> bool {
    let section = entry.key.rsplit_once('.').map(|(section, _)| section);
    section.is_some_and(|section| subject.get(section).is_some_and(Value::is_object))
}

/// `optimizer.lr` is a parameter of the optimizer.
fn parameter_meant(section: &str, name: &str, subject: &Subject) -> Option<String> {
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
    let owner = ["optimizer", "scheduler"].into_iter().find(takes)?;
    Some(format!("{owner}.params.{name}"))
}

/// The keys of this name that the version reads elsewhere; of several, those in sections that the config has.
fn keys_meant(key: &Key, name: &str, subject: &Subject) -> Vec<KeySpec> {
    let is_there = |entry: &KeySpec| has_section_of(entry, subject);
    let reads = |entry: &KeySpec| {
        // Deeper down, many keys have the same name.
        let is_near = entry.key.split('.').count() < 3
            || entry.key.contains(".offload_")
                && entry.key.split('.').next() == key.path.split('.').next()
            || is_there(entry);
        let is_read = entry.removed.is_none() && subject.reads(entry.key);
        // Many sections can be enabled.
        entry.key != key.path && is_near && is_read && name != "enabled"
    };
    let mut named: Vec<KeySpec> = schema::named(name, subject.version())
        .filter(reads)
        .collect();
    if named.iter().any(is_there) {
        named.retain(is_there);
    }
    if named.len() > 1 {
        named.retain(|entry| subject.get(entry.key).is_none());
    }
    named
}

/// `offload_optimizer: "cpu"` is its device.
fn moved(key: &Key, to: &KeySpec) -> Fix {
    let value = key.value;
    match moved_inside(key, to) {
        Some(fix) => fix,
        None => rename(
            &key.path,
            to.key,
            value_meant(value, to).unwrap_or(value.clone()),
        ),
    }
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
        // What is switched on counts more than what is off.
        Some(given) if given == "none" => remove.and(set(device, "cpu")),
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
        let wanted = entry.wanted();
        let what = format!("`{path}` is {}, but DeepSpeed expects {wanted}", key.value);
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
        let is_text = key.value.is_string() && compares;
        let is_compared =
            path == STAGE && (is_text || key.value.is_boolean()) && key.fault.is_none();
        let is_odd = !entry.checked && entry.known() == Known::Yes && entry.is_odd(key.value);
        // "auto" and batch sizes have rules of their own, and accelerate overwrites steps_per_print.
        let is_left_alone = key.value == "auto"
            || path.ends_with("_dtype")
                && key.value.as_str().is_some_and(|it| DTYPES.contains(&it))
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

/// To the key that is meant by a value in place of a section: `"fp16": true`.
fn moved_inside(key: &Key, section: &KeySpec) -> Option<Fix> {
    if !section.is_section() || key.value.is_null() {
        return None;
    }
    let truth = truth(key.value);
    let given = truth.map_or_else(|| key.value.clone(), Value::from);
    let (inner, value) = KEYS_OF_SECTIONS.into_iter().find_map(|name| {
        let inner = schema::find(&format!("{}.{name}", section.key), section.version)?;
        let value = if truth.is_some() != (name == "enabled") {
            None
        } else if inner.fault(&given).is_none() {
            Some(given.clone())
        } else {
            value_meant(&given, &inner)
        };
        Some((inner, value?))
    })?;
    Some(rename(&key.path, inner.key, text(&value)))
}

/// Also reads `True`, as Python writes it, and `on`.
fn truth(value: &Value) -> Option<bool> {
    schema::truth(value).filter(|_| !value.is_number())
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
    let parsed = |text: &str| {
        serde_json::from_str(text.trim())
            .ok()
            .filter(|it: &Value| !it.is_null() && takes(it))
    };
    let decimal = || parsed(&text.replacen(',', ".", 1));
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
    parsed(text).or_else(number).or_else(decimal).or_else(word)
}

fn value_advice(key: &Key, entry: &KeySpec) -> Fixes {
    let path = &key.path;
    if let Some(fix) = moved_inside(key, entry) {
        return match path.as_str() {
            // By default they are not those of the trainer.
            "optimizer" => ["lr", "weight_decay"]
                .iter()
                .map(|name| set(format!("optimizer.params.{name}"), "auto"))
                .fold(fix.clone(), Fix::and)
                .or(fix),
            _ => fix.safe().into(),
        };
    }
    let device = format!("{path}.device");
    if key.value == true && schema::find(&device, entry.version).is_some() {
        return set(path, r#"{"device": "cpu"}"#).or(set(path, r#"{"device": "nvme"}"#));
    }
    if let Some(meant) = value_meant(key.value, entry) {
        return set_json(path, &meant).correcting(&meant).safe().into();
    }
    if key.value.is_null() {
        unset(path).into()
    } else {
        Fixes::from(format!("write {}", entry.wanted()))
    }
}
