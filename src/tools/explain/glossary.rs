//! The texts of `zlaunch explain`. They are one file, which is searched, not parsed: an entry starts with
//! `# name | other name`, its lines are `field: text`, and `field.zh` is the same in Chinese.

use crate::report::Language;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic {
    Stage,
    Key,
    Variable,
    Template,
    Rule,
    Term,
}

impl Topic {
    pub(super) const LISTED: [Topic; 6] =
        [Topic::Term, Topic::Stage, Topic::Template, Topic::Key, Topic::Variable, Topic::Rule];

    /// The plural, and one of them in English and in Chinese.
    pub(super) fn names(self) -> [&'static str; 3] {
        match self {
            Topic::Stage => ["stages", "a stage of ZeRO", "ZeRO 阶段"],
            Topic::Key => ["keys", "a key of DeepSpeed's config", "DeepSpeed 配置键"],
            Topic::Variable => ["variables", "a variable", "环境变量"],
            Topic::Template => ["templates", "a template", "模板"],
            Topic::Rule => ["rules", "a rule", "诊断规则"],
            Topic::Term => ["terms", "a term", "名词"],
        }
    }
}

#[derive(Clone, Copy)]
pub struct GlossaryEntry {
    pub names: &'static str,
    pub body: &'static str,
}

pub fn entries() -> impl Iterator<Item = GlossaryEntry> {
    entries_of(include_str!("entries.txt"))
}

/// Rules: why they matter, a wrong and a right config, and the trainer's own error.
pub(super) fn of_rules() -> impl Iterator<Item = GlossaryEntry> {
    entries_of(include_str!("rules.txt"))
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
        self.body.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(": "))
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
            _ if name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_') => Topic::Variable,
            _ => Topic::Key,
        }
    }

    /// A word may be the end of a dotted key, or a variable in any case.
    pub(super) fn is_meant_by(&self, word: &str) -> bool {
        self.all_names().any(|name| {
            let is_end = name.strip_suffix(word).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
            is_end || self.topic() == Topic::Variable && name.eq_ignore_ascii_case(word)
        })
    }
}

/// The keys directly below a section, without its name.
pub(super) fn keys_below(section: &str) -> Option<String> {
    let below = |entry: GlossaryEntry| entry.name().strip_prefix(section)?.strip_prefix('.');
    let keys: Vec<&str> = entries().filter_map(below).filter(|key| !key.contains('.')).collect();
    (!keys.is_empty()).then(|| keys.join(", "))
}

/// Names in few words: `zero_optimization.… 40, and 60 more`.
pub(super) fn grouped(names: &[String], separator: char) -> String {
    let mut groups: Vec<(&str, usize)> = Vec::new();
    for beginning in names.iter().filter_map(|name| name.split(separator).next()) {
        match groups.iter_mut().find(|(group, _)| *group == beginning) {
            Some((_, count)) => *count += 1,
            None => groups.push((beginning, 1)),
        }
    }
    let several =
        groups.iter().filter(|(_, count)| *count > 2).map(|(group, count)| format!("{group}{separator}… {count}"));
    let others = groups.iter().filter(|(_, count)| *count <= 2).map(|(_, count)| count).sum::<usize>();
    several.chain([format!("and {others} more")]).collect::<Vec<_>>().join(", ")
}
