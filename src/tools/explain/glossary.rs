//! The texts of `zlaunch explain`. They are one file, which is searched, not parsed: an entry starts with
//! `# name | other name`, its lines are `field: text`, and `field.zh` is the same in Chinese.

use crate::base::rows::plain;
use crate::report::Language;

/// In the order in which they are listed, which is that of `topics.txt`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic {
    Term,
    Stage,
    Template,
    Key,
    Variable,
    Rule,
    Failure,
}

impl Topic {
    pub(super) const LISTED: [Topic; 7] = [
        Topic::Term,
        Topic::Stage,
        Topic::Template,
        Topic::Key,
        Topic::Variable,
        Topic::Rule,
        Topic::Failure,
    ];

    /// The plural, and one of them in English and in Chinese.
    pub(super) fn names(self) -> [&'static str; 3] {
        plain(include_str!("topics.txt"))
            .nth(self as usize)
            .unwrap_or_default()
    }
}

#[derive(Clone, Copy)]
pub struct GlossaryEntry {
    pub names: &'static str,
    pub body: &'static str,
}

pub fn entries() -> impl Iterator<Item = GlossaryEntry> {
    let errors = of_failures().filter(|entry| entry.field("en").is_some());
    entries_of(include_str!("entries.txt")).chain(errors)
}

/// Rules: why they matter, a wrong and a right config, and the trainer's own error.
pub(super) fn of_rules() -> impl Iterator<Item = GlossaryEntry> {
    entries_of(include_str!("rules.txt"))
}

/// How the lines of errors in logs are recognized. Those that are no rule are entries.
pub(super) fn of_failures() -> impl Iterator<Item = GlossaryEntry> {
    entries_of(include_str!("failures.txt"))
}

fn entries_of(text: &'static str) -> impl Iterator<Item = GlossaryEntry> {
    let first = text.strip_prefix("# ").unwrap_or(text);
    first.split("\n# ").map(|text| {
        let (names, body) = text.split_once('\n').unwrap_or((text, ""));
        GlossaryEntry { names, body }
    })
}

impl GlossaryEntry {
    pub fn all_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.names.split(" | ")
    }

    pub fn name(&self) -> &'static str {
        self.all_names().next().unwrap_or_default()
    }

    pub fn field(&self, field: &str) -> Option<&'static str> {
        self.fields(field).next()
    }

    /// Every line of this name, where a field may be repeated.
    pub fn fields(self, field: &str) -> impl Iterator<Item = &'static str> + use<'_> {
        self.body
            .lines()
            .filter_map(move |line| line.strip_prefix(field)?.strip_prefix(": "))
    }

    pub(super) fn text(&self, field: &str, language: Language) -> Option<&'static str> {
        let translated = match language {
            Language::English => None,
            Language::Chinese if field == "en" => self.field("zh"),
            Language::Chinese => self.field(&format!("{field}.zh")),
        };
        translated.or_else(|| self.field(field))
    }

    pub(super) fn topic(&self) -> Topic {
        let name = self.name();
        match name {
            _ if name.starts_with("stage ") => Topic::Stage,
            "auto" | "ZeRO" | "offload" | "gradient_checkpointing" => Topic::Term,
            _ if self.field("find").is_some() => Topic::Failure,
            _ if name
                .chars()
                .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_') =>
            {
                Topic::Variable
            }
            _ => Topic::Key,
        }
    }

    /// A word may be the end of a dotted key, or a variable in any case.
    pub(super) fn is_meant_by(&self, word: &str) -> bool {
        self.all_names().any(|name| {
            let is_end = name
                .strip_suffix(word)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
            is_end || self.topic() == Topic::Variable && name.eq_ignore_ascii_case(word)
        })
    }
}

/// The keys directly below a section, without its name.
pub(super) fn keys_below(section: &str) -> Option<String> {
    let below = entries().filter_map(|entry| entry.name().strip_prefix(section)?.strip_prefix('.'));
    let keys: Vec<&str> = below.filter(|key| !key.contains('.')).collect();
    (!keys.is_empty()).then(|| keys.join(", "))
}
