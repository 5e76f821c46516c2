//! Keys that DeepSpeed does not know, no longer knows, or knows by two names.

use super::findings::Findings;
use super::subject::{Key, Subject};
use super::values::{key_inside, number_in};
use crate::base::recorded::VersionMatch;
use crate::command::argument_class::TRAINING_ARGUMENTS;
use crate::config::places::as_typed;
use crate::config::schema::{self, KeySpec, Known, UnknownKeys};
use crate::report::fix::{Fix, Owner, give, rename, set, unset};
use crate::report::nearest;

pub(super) fn unknown_keys(subject: &Subject, found: &mut Findings) {
    for key in subject.keys() {
        let is_refused = key.policy != UnknownKeys::Ignored && key.reaches_schema();
        if is_refused && is_unknown(key) {
            let what = why_unknown(key, subject) + ", so DeepSpeed refuses the config";
            let fix = advice(key, subject, found.are_many());
            found.key(&[&key.path], what, fix);
        }
    }
}

pub(super) fn ignored_keys(subject: &Subject, found: &mut Findings) {
    for key in subject.keys() {
        let is_ignored = key.policy == UnknownKeys::Ignored && !is_comment(&key.path);
        if is_ignored && is_unknown(key) {
            let what = why_unknown(key, subject) + ": it is silently ignored";
            let fix = advice(key, subject, found.are_many());
            let problem = found.key(&[&key.path], what, fix);
            // A key that `--set` asks for is not dropped silently.
            if (subject.place)(&key.path).is_setting() {
                problem.severity = subject.severity_of_keys();
            }
        }
    }
}

pub(super) fn removed_keys(subject: &Subject, found: &mut Findings) {
    for key in subject.keys() {
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

pub(super) fn between_versions(subject: &Subject, found: &mut Findings) {
    let VersionMatch::Between(_, newer) = subject.derived.judge else {
        return;
    };
    for key in subject.keys() {
        let path = &key.path;
        let (Some(one), Some(two)) = (key.entry, schema::find(path, newer)) else {
            continue;
        };
        if one.known() != two.known() || one.fault(key.value) != two.fault(key.value) {
            let what = format!(
                "`{path}` is judged as {} would; DeepSpeed {newer} treats it differently",
                subject.deepspeed()
            );
            found.key(&[path], what, "ignore this unless DeepSpeed refuses it");
        }
    }
}

pub(super) fn two_names(subject: &Subject, found: &mut Findings) {
    for key in subject.keys() {
        let names = key
            .entry
            .and_then(|entry| entry.alias_of.or(entry.replaced_by));
        let Some(other) = names else { continue };
        let path = &key.path;
        let is_other = |second: &Key| {
            let alias_of = second.entry.and_then(|entry| entry.alias_of);
            second.path == other || second.path != *path && alias_of == Some(other)
        };
        let mut others = subject.keys().iter().filter(|second| is_other(second));
        if key.policy != UnknownKeys::Ignored
            && key.reaches_schema()
            && others.any(Key::reaches_schema)
        {
            let what = format!(
                "`{path}` and `{other}` are the same setting: DeepSpeed refuses both together"
            );
            let fix = if other.contains(".offload_") {
                renamed(key, other, subject)
            } else {
                unset(path)
            };
            found.key(&[path, other], what, fix.safe());
        }
    }
}

pub(super) fn old_keys(subject: &Subject, found: &mut Findings) {
    for key in subject.keys() {
        let Some(KeySpec {
            replaced_by: Some(now),
            removed: None,
            ..
        }) = key.entry
        else {
            continue;
        };
        if key.policy == UnknownKeys::Ignored || subject.get(now).is_none() {
            let path = &key.path;
            let what = format!("`{path}` is the old name of `{now}`");
            found.key(&[path], what, renamed(key, now, subject).safe());
        }
    }
}

/// True if this version does not know the key. What it refuses as removed has a rule of its own.
fn is_unknown(key: &Key) -> bool {
    !matches!(
        key.entry.map(|entry| entry.known()),
        Some(Known::Yes | Known::Refused(_))
    )
}

fn why_unknown(key: &Key, subject: &Subject) -> String {
    let path = &key.path;
    let why = match key.entry.map(|entry| entry.known()) {
        Some(Known::Later(since)) => format!("does not know `{path}` yet: it was added in {since}"),
        Some(Known::Dropped(since)) => {
            format!("no longer knows `{path}`: it was dropped in {since}")
        }
        Some(Known::Paused) => {
            format!("does not read `{path}`, though older and newer versions do")
        }
        _ if matches!(subject.derived.judge, VersionMatch::Exact(_)) => {
            return format!("DeepSpeed has no key `{path}`");
        }
        _ => format!("has no key `{path}`"),
    };
    format!("{} {why}", subject.deepspeed())
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
    let typed = || as_typed(key.value, &(subject.place)(&key.path));
    if let Some(now) = key.entry.and_then(|entry| entry.replaced_by) {
        return renamed(key, now, subject).safe();
    }
    // The key is right for another version.
    if key
        .entry
        .is_some_and(|entry| entry.since.is_some() || entry.known() == Known::Paused)
    {
        return remove;
    }
    if let Some(entry) = meant(key, name, subject) {
        if let Some(now) = entry.replaced_by {
            return renamed(key, now, subject).safe();
        }
        let place = format!("it belongs in `{}`:", entry.key);
        return moved(key, &entry, subject).lead(place).safe();
    }
    if section.is_empty() && is_argument(name, subject) {
        let dashes = if subject.job.reads_mapping() {
            ""
        } else {
            "--"
        };
        return give(format_args!("{dashes}{name}"), typed().trim_matches('"'))
            .of(Owner::Trainer)
            .and(remove)
            .remark("it is the trainer's argument");
    }
    let known = schema::names_below(section).filter(|near| *near != name);
    let Some(near) = nearest(name, known) else {
        return remove;
    };
    let path = if section.is_empty() {
        near.to_string()
    } else {
        format!("{section}.{near}")
    };
    let fix = match schema::find(&path, subject.version()) {
        Some(entry) => moved(key, &entry, subject),
        None => rename(&key.path, path, typed()),
    };
    fix.meaning(near).safe()
}

/// A key of this name that the version reads elsewhere. Also `zero_optimization/stage` and `zero_optimization:stage`.
fn meant(key: &Key, name: &str, subject: &Subject) -> Option<KeySpec> {
    let reads = |entry: &KeySpec| {
        // Deeper down, many keys have the same name.
        let is_near = entry.key.split('.').count() < 3
            || entry.key.split('.').next() == key.path.split('.').next();
        entry.key != key.path && is_near && entry.removed.is_none() && subject.reads(entry.key)
    };
    let dotted = key.path.trim_start_matches('/').replace(['/', ':'], ".");
    schema::find(&dotted, subject.version())
        .filter(reads)
        .or_else(|| schema::named(name, subject.version()).find(reads))
}

/// `--set per_device_train_batch_size=4` is an argument of the trainer that is not given.
fn is_argument(name: &str, subject: &Subject) -> bool {
    let job = subject.job;
    let is_taken = || {
        job.flow().map_or_else(
            || job.takes(name),
            |flow| flow.has_option(name) == Some(true),
        )
    };
    job.trainer.is_hf()
        && TRAINING_ARGUMENTS.row(name).is_some()
        && !job.args.is_given(name)
        && is_taken()
}

/// `offload_optimizer: "cpu"` is its device.
fn moved(key: &Key, to: &KeySpec, subject: &Subject) -> Fix {
    let typed = || as_typed(key.value, &(subject.place)(&key.path));
    match key_inside(key.value, to) {
        Some(inner) => {
            let text = key.value.as_str().map(str::to_string);
            rename(&key.path, inner, text.unwrap_or_else(typed))
        }
        None => {
            let number = number_in(key.value, to).map(|number| number.to_string());
            rename(&key.path, to.key, number.unwrap_or_else(typed))
        }
    }
}

/// `cpu_offload` is a switch, and the section that replaced it has a device.
fn renamed(key: &Key, now: &str, subject: &Subject) -> Fix {
    if !now.contains(".offload_") {
        return rename(&key.path, now, key.value);
    }
    let remove = unset(&key.path);
    if !schema::is_true(key.value) {
        remove
    } else if subject.get(now).is_some() {
        remove.and(set(format_args!("{now}.device"), "cpu"))
    } else {
        remove.and(set(now, r#"{"device": "cpu"}"#))
    }
}
