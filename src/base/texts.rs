//! Texts that are only printed, in English and in Chinese: every `*.txt` outside of `recorded`. All of them have this format,
//! which a test holds:
//!
//! ```text
//! # NAME | OTHER NAME
//! field: a text on one line
//! field.zh: the same in Chinese
//! ```
//!
//! `en` and `zh` are the text itself. A field may be repeated. An empty line means nothing.

#[derive(Clone, Copy, PartialEq)]
pub enum Language {
    English,
    Chinese,
}

/// A few words in both languages.
#[derive(Clone, Copy, PartialEq)]
pub struct Phrase {
    pub en: &'static str,
    pub zh: &'static str,
}

impl Phrase {
    pub fn text(self, language: Language) -> &'static str {
        match language {
            Language::English => self.en,
            Language::Chinese => self.zh,
        }
    }
}

/// One entry of a file.
#[derive(Clone, Copy)]
pub struct Entry {
    head: &'static str,
    body: &'static str,
}

pub fn entries(file: &'static str) -> impl Iterator<Item = Entry> {
    file.strip_prefix("# ")
        .unwrap_or(file)
        .split("\n# ")
        .map(|entry| {
            let (head, body) = entry.split_once('\n').unwrap_or((entry, ""));
            Entry { head, body }
        })
}

pub fn find(file: &'static str, name: &str) -> Option<Entry> {
    entries(file).find(|entry| entry.is_called(name))
}

impl Entry {
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.head.split(" | ")
    }

    /// The first one.
    pub fn name(&self) -> &'static str {
        self.names().next().unwrap_or_default()
    }

    pub fn is_called(&self, name: &str) -> bool {
        self.names().any(|own| own == name)
    }

    pub fn field(&self, field: &str) -> Option<&'static str> {
        self.fields(field).first().copied()
    }

    /// The texts of a field that may be repeated.
    pub fn fields(&self, field: &str) -> Vec<&'static str> {
        self.body
            .lines()
            .filter_map(|line| line.strip_prefix(field)?.strip_prefix(": "))
            .collect()
    }

    /// The field in this language, or else in English.
    pub fn text(&self, field: &str, language: Language) -> Option<&'static str> {
        self.texts(field, language).first().copied()
    }

    pub fn texts(&self, field: &str, language: Language) -> Vec<&'static str> {
        let chinese = match (language, field) {
            (Language::English, _) => vec![],
            (Language::Chinese, "en") => self.fields("zh"),
            (Language::Chinese, _) => self.fields(&format!("{field}.zh")),
        };
        if chinese.is_empty() {
            self.fields(field)
        } else {
            chinese
        }
    }
}
