//! Keys that DeepSpeed does not know, no longer knows, or knows by two names.

use super::rule::{Findings, Rule};
use super::subject::{Key, Subject};
use crate::config::schema::{self, KeySpec, UnknownKeys};
use crate::report::{Severity, When, nearest};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "unknown-key",
        severity: Severity::Error,
        when: When::Parse,
        doc: "a key that DeepSpeed's version does not know, in a section that refuses such keys",
        check: unknown_key,
    },
    Rule {
        name: "ignored-key",
        severity: Severity::Warning,
        when: When::Silent,
        doc: "a key that DeepSpeed's version does not know, in a section that ignores such keys without a word",
        check: ignored_key,
    },
    Rule {
        name: "removed-key",
        severity: Severity::Error,
        when: When::Parse,
        doc: "a key of a feature that was removed: newer versions refuse it, even with \"enabled\": false",
        check: removed_key,
    },
    Rule {
        name: "two-names",
        severity: Severity::Error,
        when: When::Parse,
        doc: "a key and another name of it, or what replaced it, stand side by side",
        check: two_names,
    },
    Rule {
        name: "old-key",
        severity: Severity::Warning,
        when: When::Silent,
        doc: "an old name that DeepSpeed still translates",
        check: old_key,
    },
];

/// Keys that this version or an older one introduced count as known. Most configs have one of them, and finding the
/// installed version means listing site-packages.
const TAKEN_AS_KNOWN: [u32; 3] = [0, 12, 4];

/// Why this version does not know the key; `None` if it does.
fn why_unknown(key: &Key, subject: &Subject) -> Option<String> {
    match key.entry {
        None => Some(format!("DeepSpeed knows no `{}`", key.path)),
        Some(KeySpec { since: Some(since), .. }) if since > TAKEN_AS_KNOWN && subject.is_before(since) => {
            // The section that came with it has been named already.
            (!is_in_unknown_section(key, subject)).then(|| {
                format!("{} does not know `{}` yet: it came with {}", subject.deepspeed(), key.path, dotted(since))
            })
        }
        Some(KeySpec { removed: Some(removed), .. }) if !removed.refused && !subject.is_before(removed.version) => {
            Some(format!(
                "{} no longer knows `{}`: it was dropped in {}",
                subject.deepspeed(),
                key.path,
                dotted(removed.version)
            ))
        }
        Some(_) => None,
    }
}

/// Whether a section around the key came after the version that is there.
pub(super) fn is_in_unknown_section(key: &Key, subject: &Subject) -> bool {
    let sections = key.path.match_indices('.').filter_map(|(end, _)| schema::find(&key.path[..end])?.since);
    sections.into_iter().any(|since| since > TAKEN_AS_KNOWN && subject.is_before(since))
}

fn dotted(version: [u32; 3]) -> String {
    version.map(|part| part.to_string()).join(".")
}

/// Whether the section refuses what it does not know, in the version that is there. Where it does not, it was a plain
/// dict, whose values nobody looked at either.
pub(super) fn refuses(policy: UnknownKeys, subject: &Subject) -> bool {
    match policy {
        UnknownKeys::Ignored => false,
        UnknownKeys::Refused(since) => since.is_none_or(|since| !subject.is_before(since)),
    }
}

fn unknown_key(subject: &Subject, found: &mut Findings) {
    for key in subject.keys().iter().filter(|key| key.policy != UnknownKeys::Ignored) {
        // pydantic drops an "auto" before it looks at the names.
        let dropped = key.value == "auto" && !key.keeps_auto;
        if let Some(why) = why_unknown(key, subject).filter(|_| !dropped && refuses(key.policy, subject)) {
            found.key(&[&key.path], format!("{why}, and the section refuses the whole config"), advice(key));
        }
    }
}

fn ignored_key(subject: &Subject, found: &mut Findings) {
    for key in subject.keys() {
        if is_comment(&key.path) {
            continue;
        }
        if let Some(why) = why_unknown(key, subject).filter(|_| !refuses(key.policy, subject)) {
            found.key(&[&key.path], format!("{why}: it is ignored without a word"), advice(key));
        }
    }
}

/// A comment in the form of a key.
fn is_comment(path: &str) -> bool {
    let name = schema::name_of(path);
    !name.starts_with(|c: char| c.is_ascii_alphabetic()) || ["comment", "comments", "description"].contains(&name)
}

/// The key that was probably meant, or the section it belongs in.
fn advice(key: &Key) -> String {
    let (section, name) = key.path.rsplit_once('.').unwrap_or(("", &key.path));
    let remove = format!("--unset {}", key.path);
    if let Some(now) = key.entry.and_then(|entry| entry.replaced_by) {
        return format!("{remove} --set {now}={}", key.value);
    }
    // Right, but for a newer version.
    if key.entry.is_some_and(|entry| entry.since.is_some()) {
        return remove;
    }
    let elsewhere = schema::named(name).find(|entry| entry.key != key.path && entry.removed.is_none());
    if let Some(entry) = elsewhere {
        return format!("its place is `{}`: {remove} --set {}={}", entry.key, entry.key, key.value);
    }
    match nearest(name, schema::names_below(section)) {
        Some(near) => {
            let meant = if section.is_empty() { near.to_string() } else { format!("{section}.{near}") };
            format!("did you mean `{near}`? {remove} --set {meant}={}", key.value)
        }
        None => remove,
    }
}

fn removed_key(subject: &Subject, found: &mut Findings) {
    for key in subject.keys() {
        let Some(removed) = key.entry.and_then(|entry| entry.removed).filter(|removed| removed.refused) else {
            continue;
        };
        if subject.is_before(removed.version) {
            continue;
        }
        let now = key.entry.and_then(|entry| entry.replaced_by).map(|now| format!(", now `{now}`")).unwrap_or_default();
        let what = format!(
            "`{}` was removed{now}: {} refuses a config that holds it, since {}",
            key.path,
            subject.deepspeed(),
            dotted(removed.version)
        );
        found.key(&[&key.path], what, format!("--unset {}", key.path));
    }
}

fn two_names(subject: &Subject, found: &mut Findings) {
    let counts = |key: &Key| key.value != "auto" || key.keeps_auto;
    for key in subject.keys().iter().filter(|key| key.policy != UnknownKeys::Ignored && counts(key)) {
        let Some(other) = key.entry.and_then(|entry| entry.alias_of.or(entry.replaced_by)) else { continue };
        let is_it =
            |it: &Key| it.path == other || it.path != key.path && it.entry.is_some_and(|it| it.alias_of == Some(other));
        if subject.keys().iter().any(|it| is_it(it) && counts(it)) {
            let what = format!("`{}` and `{other}` are the same setting: DeepSpeed refuses both together", key.path);
            found.key(&[&key.path, other], what, format!("--unset {}", key.path));
        }
    }
}

fn old_key(subject: &Subject, found: &mut Findings) {
    for key in subject.keys() {
        let Some(KeySpec { replaced_by: Some(now), removed: None, .. }) = key.entry else { continue };
        // Removed keys have a rule of their own.
        if key.policy != UnknownKeys::Ignored && subject.get(now).is_some() {
            continue;
        }
        let written =
            if now.contains(".offload_") { format!("{now}.device=cpu") } else { format!("{now}={}", key.value) };
        let help = format!("--unset {} --set '{written}'", key.path);
        found.key(&[&key.path], format!("`{}` is the old name of `{now}`", key.path), help);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_no_keys() {
        for name in ["_comment", "//", "zero_optimization.#note", "comment"] {
            assert!(is_comment(name), "{name}");
        }
        assert!(!is_comment("use_dynamic_tiling") && !is_comment("zero_optimization.comment_x"));
    }

    #[test]
    fn versions_are_written_with_dots() {
        assert_eq!(dotted([0, 19, 8]), "0.19.8");
    }
}
