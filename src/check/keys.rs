//! Keys that DeepSpeed does not know, no longer knows, or knows by two names.

use super::findings::Check;
use super::subject::{Key, Subject};
use super::values::{key_inside, number_in};
use crate::base::recorded::VersionMatch;
use crate::command::argument_class::TRAINING_ARGUMENTS;
use crate::config::places::as_typed;
use crate::config::schema::{self, KeySpec, Known, UnknownKeys};
use crate::report::fix::{Fix, Owner, give, rename, set, unset};
use crate::report::{Rule, Severity, When, nearest};

pub(super) const RULES: &[Check] = &[
    Check::code(
        Rule::UnknownKey,
        Severity::Error,
        When::Parse,
        |subject, found| {
            let severity = subject.severity_of_keys();
            // pydantic drops an "auto" before it looks at the names.
            let seen = subject
                .keys()
                .iter()
                .filter(|key| key.value != "auto" || key.keeps_auto);
            for key in seen.filter(|key| key.policy != UnknownKeys::Ignored && is_unknown(key)) {
                if !found.only_counted(severity) {
                    let what = why_unknown(key, subject) + ", so DeepSpeed refuses the config";
                    let help = advice(key, subject, found.are_many());
                    found.key(&[&key.path], what, help).severity = severity;
                }
            }
        },
    ),
    Check::code(
        Rule::IgnoredKey,
        Severity::Warning,
        When::Silent,
        |subject, found| {
            for key in subject
                .keys()
                .iter()
                .filter(|key| key.policy == UnknownKeys::Ignored && is_unknown(key))
            {
                if !is_comment(&key.path) && !found.only_counted(Severity::Warning) {
                    let what = why_unknown(key, subject) + ": it is silently ignored";
                    let fix = advice(key, subject, found.are_many());
                    // A key that `--set` asks for is not dropped silently.
                    let is_asked_for = (subject.place)(&key.path).is_setting();
                    let severity = if is_asked_for {
                        subject.severity_of_keys()
                    } else {
                        Severity::Warning
                    };
                    found.key(&[&key.path], what, fix).severity = severity;
                }
            }
        },
    ),
    Check::code(
        Rule::RemovedKey,
        Severity::Error,
        When::Parse,
        |subject, found| {
            for key in subject.keys() {
                let Some(entry) = key.entry else { continue };
                let Known::Refused(since) = entry.known() else {
                    continue;
                };
                let now = entry
                    .replaced_by
                    .map(|now| format!(", now `{now}`"))
                    .unwrap_or_default();
                let (path, deepspeed) = (&key.path, subject.deepspeed());
                let what = format!(
                    "`{path}` was removed in {since}{now}: {deepspeed} refuses a config that has it"
                );
                found.key(&[path], what, unset(path).safe()).severity = subject.severity_of_keys();
            }
        },
    ),
    Check::code(
        Rule::BetweenVersions,
        Severity::Note,
        When::Silent,
        |subject, found| {
            let VersionMatch::Between(_, newer) = subject.derived.judge else {
                return;
            };
            for key in subject.keys() {
                let (path, deepspeed) = (&key.path, subject.deepspeed());
                let (Some(one), Some(two)) = (key.entry, schema::find(path, newer)) else {
                    continue;
                };
                if one.known() != two.known() || one.fault(key.value) != two.fault(key.value) {
                    let what = format!(
                        "`{path}` is judged as {deepspeed} would; DeepSpeed {newer} treats it differently"
                    );
                    found.key(&[path], what, "ignore this unless DeepSpeed refuses it");
                }
            }
        },
    ),
    Check::code(
        Rule::TwoNames,
        Severity::Error,
        When::Parse,
        |subject, found| {
            let counts = |key: &Key| key.value != "auto" || key.keeps_auto;
            for key in subject
                .keys()
                .iter()
                .filter(|key| key.policy != UnknownKeys::Ignored && counts(key))
            {
                let Some(other) = key
                    .entry
                    .and_then(|entry| entry.alias_of.or(entry.replaced_by))
                else {
                    continue;
                };
                let path = &key.path;
                let mut others = subject.keys().iter().filter(|second| {
                    let is_alias = second
                        .entry
                        .is_some_and(|entry| entry.alias_of == Some(other));
                    second.path == other || second.path != *path && is_alias
                });
                if others.any(counts) {
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
        },
    ),
    Check::code(
        Rule::OldKey,
        Severity::Warning,
        When::Silent,
        |subject, found| {
            for key in subject.keys() {
                let Some(KeySpec {
                    replaced_by: Some(now),
                    removed: None,
                    ..
                }) = key.entry
                else {
                    continue;
                };
                if key.policy != UnknownKeys::Ignored && subject.get(now).is_some() {
                    continue;
                }
                let path = &key.path;
                found.key(
                    &[path],
                    format!("`{path}` is the old name of `{now}`"),
                    renamed(key, now, subject).safe(),
                );
            }
        },
    ),
];

/// Refused keys have a rule of their own.
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
    // `offload_optimizer: "cpu"` is its device.
    let moved = |to: &KeySpec| match (key_inside(key.value, to), key.value.as_str()) {
        (Some(inner), text) => rename(&key.path, inner, text.map_or_else(typed, str::to_string)),
        (None, _) => rename(
            &key.path,
            to.key,
            number_in(key.value, to).map_or_else(typed, |it| it.to_string()),
        ),
    };
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
    let reads = |entry: &KeySpec| {
        // Deeper down, many keys have the same name.
        let is_near = entry.key.split('.').count() < 3
            || entry.key.split('.').next() == key.path.split('.').next();
        entry.key != key.path && is_near && entry.removed.is_none() && subject.reads(entry.key)
    };
    // `zero_optimization/stage` or `zero_optimization:stage`.
    let dotted = key.path.trim_start_matches('/').replace(['/', ':'], ".");
    let meant = schema::find(&dotted, subject.version()).filter(reads);
    if let Some(entry) = meant.or_else(|| schema::named(name, subject.version()).find(reads)) {
        if let Some(now) = entry.replaced_by {
            return renamed(key, now, subject).safe();
        }
        let place = format!("it belongs in `{}`:", entry.key);
        return moved(&entry).lead(place).safe();
    }
    let job = subject.job;
    let is_taken = || {
        job.flow().map_or_else(
            || job.takes(name),
            |flow| flow.has_option(name) == Some(true),
        )
    };
    let is_argument =
        section.is_empty() && job.trainer.is_hf() && TRAINING_ARGUMENTS.row(name).is_some();
    // `--set per_device_train_batch_size=4`
    if is_argument && !job.args.is_given(name) && is_taken() {
        let dashes = if job.reads_mapping() { "" } else { "--" };
        let argument =
            give(format_args!("{dashes}{name}"), typed().trim_matches('"')).of(Owner::Trainer);
        return argument.and(remove).remark("it is the trainer's argument");
    }
    match nearest(
        name,
        schema::names_below(section).filter(|near| *near != name),
    ) {
        Some(near) => {
            let meant = if section.is_empty() {
                near.to_string()
            } else {
                format!("{section}.{near}")
            };
            let entry = schema::find(&meant, subject.version());
            entry
                .map_or_else(|| rename(&key.path, meant, typed()), |entry| moved(&entry))
                .meaning(near)
                .safe()
        }
        None => remove,
    }
}

/// `cpu_offload` is a switch, and the section that replaced it has a device.
fn renamed(key: &Key, now: &str, subject: &Subject) -> Fix {
    match unset(&key.path) {
        _ if !now.contains(".offload_") => rename(&key.path, now, key.value),
        remove if !schema::is_true(key.value) => remove,
        remove if subject.get(now).is_some() => {
            remove.and(set(format_args!("{now}.device"), "cpu"))
        }
        remove => remove.and(set(now, r#"{"device": "cpu"}"#)),
    }
}
