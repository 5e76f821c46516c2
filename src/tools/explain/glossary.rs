//! The texts about keys, stages, variables and rules.

use super::tables::topics::{TOPICS, Topic, TopicRow};
use crate::base::texts::{self, Entry};
use crate::check;
use crate::report::Rule;

impl Topic {
    pub(super) fn row(self) -> Option<&'static TopicRow> {
        TOPICS.iter().find(|row| row.topic == self)
    }
}

pub fn entries() -> impl Iterator<Item = Entry> {
    texts::entries(include_str!("entries.txt"))
}

/// Every rule with its sentence.
pub fn rules() -> impl Iterator<Item = (Rule, &'static str)> {
    let of_launches = Rule::all().filter_map(|rule| Some((rule, rule.about()?)));
    of_launches.chain(check::rules().map(|check| (check.rule, check.about)))
}

/// The reason for a rule, a wrong and a right config, and the trainer's own error.
pub(super) fn of_rule(name: &str) -> Option<Entry> {
    texts::find(include_str!("rules.txt"), name)
}

pub(super) fn topic(entry: &Entry) -> Topic {
    let name = entry.name();
    let is_variable = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    match name {
        _ if name.starts_with("stage ") => Topic::Stage,
        "auto" | "ZeRO" | "offload" | "gradient_checkpointing" => Topic::Term,
        _ if name.chars().all(is_variable) => Topic::Variable,
        _ => Topic::Key,
    }
}

/// A word may be the end of a dotted key, or a variable in any case.
pub(super) fn is_meant_by(entry: &Entry, word: &str) -> bool {
    entry.names().any(|name| {
        let is_end = name
            .strip_suffix(word)
            .is_some_and(|rest| rest.ends_with('.'));
        is_end || topic(entry) == Topic::Variable && name.eq_ignore_ascii_case(word)
    })
}

/// The keys directly below a section, without its name.
pub(super) fn keys_below(section: &str) -> Option<String> {
    let below = entries().filter_map(|entry| entry.name().strip_prefix(section)?.strip_prefix('.'));
    let keys: Vec<&str> = below.filter(|key| !key.contains('.')).collect();
    (!keys.is_empty()).then(|| keys.join(", "))
}
